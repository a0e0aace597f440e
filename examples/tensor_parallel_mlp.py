"""Falcon-7B's MLP, tensor-parallel over a 2x4 mesh: every weight sharded on its width, one ring all-gather in between.

    tt-run --emulate --rank-binding configs/bindings/t3k_2x4_two_hosts.yaml python examples/tensor_parallel_mlp.py
    tt-run --emulate --system t3000 --split 2x2 python examples/tensor_parallel_mlp.py

The program is the tensor-parallel tutorial of "Programming Mesh of Devices with TT-NN" (section 7.1) at the model's real size with
seeded random weights. It runs with PyTorch where that is installed and on NumPy arrays where it is not, and prints the same hash
of its output however the mesh is cut over ranks.
"""

import argparse
import contextlib
import hashlib
import os
import sys
import time

import numpy as np
import ttnn

try:
    import torch
except ImportError:
    torch = None

HIDDEN, SEQUENCE, BATCH, SEED = 4544, 256, 1, 2718


class Linear:
    """A layer as torch.nn.Linear stores it: weight (out features, in features), no bias."""

    def __init__(self, weight):
        self.weight = weight


class FalconMLP:
    """The reference: dense_h_to_4h, gelu, dense_4h_to_h in plain NumPy float32."""

    def __init__(self, rng, hidden):
        def layer(inputs, outputs):
            # Uniform with the variance 1/inputs: four times as quick to draw as normal ones, and every rank draws all.
            weight = rng.random((outputs, inputs), np.float32)
            weight -= np.float32(0.5)
            weight *= np.float32((12 / inputs) ** 0.5)
            return Linear(weight)

        self.dense_h_to_4h = layer(hidden, 4 * hidden)
        self.dense_4h_to_h = layer(4 * hidden, hidden)

    def forward(self, x):
        h = x @ self.dense_h_to_4h.weight.T
        return gelu(h) @ self.dense_4h_to_h.weight.T


def gelu(x):
    """x * Phi(x) with the error function by Abramowitz and Stegun 7.1.26 (absolute error 1.5e-7): NumPy has no erf."""
    z = np.abs(x) * np.float32(2**-0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return (0.5 * x * (1 + np.sign(x) * (1 - series * np.exp(-z * z)))).astype(np.float32)


class TtFalconMLP:
    """The TT-NN module of the tutorial."""

    def __init__(self, parameters, clock):
        self.dense_h_to_4h_weights = parameters.dense_h_to_4h.weight
        self.dense_4h_to_h_weights = parameters.dense_4h_to_h.weight
        self.clock = clock

    def __call__(self, x: ttnn.Tensor) -> ttnn.Tensor:
        with self.clock.section("computed"):
            ff1_linear: ttnn.Tensor = ttnn.linear(x, self.dense_h_to_4h_weights)
            gelu = ttnn.gelu(ff1_linear)

        # Invoke CCL Ring All-Gather on gelu before passing to ff2_linear
        with self.clock.section("communicated"):
            gelu = ttnn.all_gather(gelu, dim=3, num_links=1)

        with self.clock.section("computed"):
            ff2_linear: ttnn.Tensor = ttnn.linear(gelu, self.dense_4h_to_h_weights)

        return ff2_linear


class Clock:
    """How long this rank spent in each kind of work; waits for the devices, so that a section holds what it started."""

    def __init__(self, mesh_device):
        self.mesh_device = mesh_device
        self.seconds = {"computed": 0.0, "communicated": 0.0}

    @contextlib.contextmanager
    def section(self, kind):
        started = time.perf_counter()
        yield
        ttnn.synchronize_device(self.mesh_device)
        self.seconds[kind] += time.perf_counter() - started

    def __str__(self):
        return ", ".join(f"{kind} {seconds:.2f} s" for kind, seconds in self.seconds.items())


def as_user_tensor(array):
    """What a user's script holds: a torch tensor where torch is installed, else the NumPy array."""
    return torch.from_numpy(array) if torch is not None else array


def as_array(tensor):
    return (
        tensor.float().numpy()
        if torch is not None and isinstance(tensor, torch.Tensor)
        else np.asarray(tensor, np.float32)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Tensor-parallel Falcon-7B MLP on a 2x4 mesh.")
    parser.add_argument("--quiet", action="store_true", help="no drawings; progress goes to standard error")
    parser.add_argument(
        "--hidden", type=int, default=HIDDEN, help="another hidden size than Falcon-7B's 4544"
    )
    options = parser.parse_args()

    first = int(os.environ.get("TT_RUN_RANK", "0")) == 0

    def say(text):  # among drawings in their order; beside a result that somebody reads on, apart from it
        if first:
            print(text, file=sys.stderr if options.quiet else sys.stdout, flush=True)

    say(f"making {8 * options.hidden**2 / 1e6:.0f} million weights …")
    rng = np.random.default_rng(SEED)
    model = FalconMLP(rng, options.hidden)
    hidden = rng.random((BATCH, 1, SEQUENCE, options.hidden), np.float32) * 2 - 1

    mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
    if first and not options.quiet:
        ttnn.visualize_system_mesh()

    say("rounding them to bfloat16 and sharding them over the devices …")
    # Initialize input activations on all devices in the mesh
    with ttnn.distribute(ttnn.ReplicateTensorToMesh(mesh_device)):
        hidden_states = ttnn.from_torch(
            as_user_tensor(hidden),
            dtype=ttnn.bfloat16,
            layout=ttnn.TILE_LAYOUT,
            device=mesh_device,
        )

    # Shard model parameters on width dimension to devices in the mesh: as preprocess_model_parameters does for a
    # torch model, each Linear weight is transposed to (in, out) first, so that dim=-1 is the layer's output features.
    with ttnn.distribute(ttnn.ShardTensorToMesh(mesh_device, dim=-1)):
        parameters = ttnn.model_preprocessing.preprocess_model_parameters(
            initialize_model=lambda: torch_twin(model) if torch is not None else model,
            device=mesh_device,
        )
    if first and not options.quiet:
        ttnn.visualize_tensor(parameters.dense_h_to_4h.weight)

    say("computing on eight devices, then once more in NumPy to compare …")
    clock = Clock(mesh_device)
    ttnn_output = TtFalconMLP(parameters, clock)(hidden_states)

    with ttnn.distribute(ttnn.ConcatMeshToTensor(mesh_device, dim=3)):
        output = as_array(ttnn.to_torch(ttnn_output))
    report(mesh_device, model.forward(hidden) if first else None, output, clock)
    ttnn.close_mesh_device(mesh_device)
    return 0


def torch_twin(model):
    """The same weights as a torch module, as the tutorial takes them from a checkpoint."""
    twin = torch.nn.Module()
    for name in ("dense_h_to_4h", "dense_4h_to_h"):
        weight = torch.from_numpy(getattr(model, name).weight)
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
        layer.weight = torch.nn.Parameter(weight, requires_grad=False)
        setattr(twin, name, layer)
    return twin.eval()


def report(mesh_device, expected, output, clock):
    """Print the result from the first rank and how each rank spent its time; end with an error when the numbers are wrong."""
    print(f"devices {mesh_device.get_device_ids()}: {clock}", flush=True)
    if expected is None:
        return
    pcc = float(np.corrcoef(expected.ravel(), output.ravel())[0, 1])
    digest = hashlib.sha256(np.ascontiguousarray(output).tobytes()).hexdigest()[:16]
    print(f"output {tuple(output.shape)}  sha256 {digest}")
    print(f"correlation with NumPy float32 {pcc:.6f}", flush=True)
    if not pcc >= 0.98:
        sys.exit(f"correlation {pcc:.6f} is below 0.98")


if __name__ == "__main__":
    sys.exit(main())
