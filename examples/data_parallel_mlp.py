"""Falcon-7B's MLP, data-parallel over four devices: the batch is sharded, the weights are replicated.

    tt-run --emulate --system t3000 python examples/data_parallel_mlp.py
    tt-run --emulate --system t3000 --split 1x4 python examples/data_parallel_mlp.py --hidden 4544

Section 6.1 of "Programming Mesh of Devices with TT-NN", with seeded random weights; a quarter of the model's width unless
`--hidden 4544` asks for all of it.
"""

import argparse
import sys

import numpy as np
import ttnn
from arrays import as_array, as_user_tensor, correlation, digest, gelu, torch

BATCH, SEQUENCE = 4, 128


class Linear:
    """A layer as torch.nn.Linear stores it: weight (out features, in features), no bias."""

    def __init__(self, weight):
        self.weight = weight


class FalconMLP:
    """The reference: dense_h_to_4h, gelu, dense_4h_to_h in plain NumPy float32."""

    def __init__(self, hidden, rng):
        def layer(inputs, outputs):
            return Linear(rng.standard_normal((outputs, inputs), np.float32) * np.float32(inputs**-0.5))

        self.dense_h_to_4h = layer(hidden, 4 * hidden)
        self.dense_4h_to_h = layer(4 * hidden, hidden)

    def forward(self, x):
        return gelu(x @ self.dense_h_to_4h.weight.T) @ self.dense_4h_to_h.weight.T


class TtFalconMLP:
    """The TT-NN module of the tutorial."""

    def __init__(self, parameters):
        self.dense_h_to_4h_weights = parameters.dense_h_to_4h.weight
        self.dense_4h_to_h_weights = parameters.dense_4h_to_h.weight

    def __call__(self, x: ttnn.Tensor) -> ttnn.Tensor:
        ff1_linear: ttnn.Tensor = ttnn.linear(x, self.dense_h_to_4h_weights)
        gelu = ttnn.gelu(ff1_linear)
        ff2_linear: ttnn.Tensor = ttnn.linear(gelu, self.dense_4h_to_h_weights)

        return ff2_linear


def torch_twin(model):
    """The same weights as a torch module, as the tutorial takes them from a checkpoint; the model itself without torch."""
    if torch is None:
        return model
    twin = torch.nn.Module()
    for name in ("dense_h_to_4h", "dense_4h_to_h"):
        weight = torch.from_numpy(getattr(model, name).weight)
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
        layer.weight = torch.nn.Parameter(weight, requires_grad=False)
        setattr(twin, name, layer)
    return twin.eval()


def main() -> int:
    parser = argparse.ArgumentParser(description="Data-parallel Falcon-7B MLP on a 1x4 mesh.")
    parser.add_argument("--hidden", type=int, default=1136, help="hidden size, 4544 in Falcon-7B [1136]")
    options = parser.parse_args()

    # Initialize model and hidden states; seeded: every rank holds the same
    rng = np.random.default_rng(2718)
    model = FalconMLP(options.hidden, rng)
    hidden = rng.random((BATCH, 1, SEQUENCE, options.hidden), np.float32) * 2 - 1

    # Device Initialization
    mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(y=1, x=4))

    # Shard input activations on batch dimension to devices in the mesh
    with ttnn.distribute(ttnn.ShardTensorToMesh(mesh_device, dim=0)):
        hidden_states = ttnn.from_torch(
            as_user_tensor(hidden),
            dtype=ttnn.bfloat16,
            layout=ttnn.TILE_LAYOUT,
            device=mesh_device,
        )

    # Replicate model parameters to devices in the mesh
    with ttnn.distribute(ttnn.ReplicateTensorToMesh(mesh_device)):
        parameters = ttnn.model_preprocessing.preprocess_model_parameters(
            initialize_model=lambda: torch_twin(model),
            device=mesh_device,
        )

    # Initialize Model
    ttnn_model = TtFalconMLP(parameters)
    ttnn_output = ttnn_model(hidden_states)

    # Ranks that host none of the four devices have nothing to read.
    if mesh_device.get_device_ids():
        with ttnn.distribute(ttnn.ConcatMeshToTensor(mesh_device, dim=0)):
            output = as_array(ttnn.to_torch(ttnn_output))
        pcc = correlation(model.forward(hidden), output)
        print(f"output {output.shape}  correlation with NumPy float32 {pcc:.6f}  sha256 {digest(output)}")
        if not pcc >= 0.98:
            sys.exit(f"correlation {pcc:.6f} is below 0.98")
    ttnn.close_mesh_device(mesh_device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
