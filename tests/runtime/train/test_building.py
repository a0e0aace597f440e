"""Building models: parameters that wait for their numbers, adapters, parameters cut over an axis; equal to the plain model in bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tests.sweep import sweep
from tt_run import contract
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd import arithmetic
from tt_run.runtime.train.autograd.callbacks import callback
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.parallelism import DistributedConfig
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.utils import initialize_device
from tt_run.runtime.train.memory import MemoryUsageTracker
from tt_run.runtime.train.models.llama import Llama, LlamaConfig
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType, memory_efficient_runner
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.lazy import is_lazy_init_enabled, lazy_init, materialize_module
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.modules.lora import LoraConfig, LoraLinear, LoraModel
from tt_run.runtime.train.modules.parameter import Parameter, TensorMetadata, replace_lazy_mapper
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.ops.unary import mean
from tt_run.runtime.train.optimizers import registry
from tt_run.runtime.train.optimizers.clipping import clip_grad_norm
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel import fsdp, named_mesh
from tt_run.runtime.train.parallel.distributed import release_metal_env, shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.gather_slots import SlotSchedule
from tt_run.runtime.train.parallel.named_mesh import Mesh, open_device_mesh, sync_gradients
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter

SIZES = {
    "num_heads": 4,
    "num_groups": 4,
    "embedding_dim": 64,
    "num_blocks": 2,
    "vocab_size": 64,
    "max_sequence_length": 32,
}


@pytest.fixture
def opened_mesh(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """opened_mesh(shape, names): a named mesh in a context as a new process would have it."""
    monkeypatch.setenv(contract.SYSTEM, "t3000")
    made: list[AutoContext] = []

    def make(
        shape: tuple[int, int], names: tuple[str, str] = ("dp", "tp"), kind: str = "float32"
    ) -> AutoContext:
        for context in made:
            context.close_device()
        monkeypatch.setattr(AutoContext, "_instance", None)
        monkeypatch.setattr(named_mesh, "_open", None)
        context = AutoContext.get_instance()
        made.append(context)
        arithmetic.choose(kind)
        open_device_mesh(Mesh(shape, names))
        context.set_seed(7)
        return context

    AutoContext.get_instance().close_device()
    yield make
    for context in made:
        context.close_device()
    arithmetic.choose("bfloat16")


def model(**changes: Any) -> Llama:
    return Llama(LlamaConfig(**{**SIZES, **changes}))


def ids(mapper: Any = None, batch: int = 8, seed: int = 3) -> tuple[Tensor, Tensor]:
    draw = np.random.default_rng(seed).integers(0, 64, (batch, 33), np.uint32)
    x, y = draw[:, :-1].reshape(batch, 1, 1, 32), draw[:, 1:]
    return tuple(  # type: ignore[return-value]
        Tensor.from_numpy(np.ascontiguousarray(a), Layout.ROW_MAJOR, DataType.UINT32, mapper) for a in (x, y)
    )


def bits(module: AbstractModuleBase) -> dict[str, bytes]:
    return {name: whole_parameter(tensor).tobytes() for name, tensor in module.parameters().items()}


# --- lazy ----------------------------------------------------------------------------------------------------------


def test_a_lazy_model_has_the_numbers_of_an_eager_one(opened_mesh: Any) -> None:
    opened_mesh((1, 1))
    eager = bits(model(weight_tying=WeightTyingType.Enabled))
    AutoContext.get_instance().set_seed(7)
    with lazy_init():
        assert is_lazy_init_enabled()
        lazy = model(weight_tying=WeightTyingType.Enabled)
        with pytest.raises(RuntimeError, match="leave the lazy_init block first"):
            materialize_module(lazy)
    assert not is_lazy_init_enabled()
    assert not lazy.parameters()  # as in the reference: what is not made yet is none
    with pytest.raises(RuntimeError, match="has not been materialized yet"):
        lazy(*ids()[:1])
    assert bits(materialize_module(lazy)) == eager
    assert not list(lazy.lazy_parameters())


def test_a_plan_lays_parameters_that_wait(opened_mesh: Any) -> None:
    """By their dotted paths, on the open mesh; the numbers stay those of an eager model."""
    opened_mesh((1, 2))
    device, seen = AutoContext.get_instance().get_device(), []
    eager = bits(LinearLayer(8, 4))
    AutoContext.get_instance().set_seed(7)
    with lazy_init():
        layers = ModuleList([LinearLayer(8, 4)])

    def plan(path: str, held: TensorMetadata) -> Any:
        seen.append((path, held.shape))
        return shard_tensor_to_mesh_mapper(device, 2, 1) if path.endswith("weight") else None

    with pytest.raises(ValueError, match="mesh_device is another mesh than the open one; help"):
        materialize_module(layers, Mesh((2, 1), ("a", "b")))
    with pytest.raises(TypeError, match="expects AbstractModuleBase, got int; help"):
        materialize_module(3)
    assert materialize_module(layers, named_mesh.maybe_mesh(), plan, on_device_init=True) is layers
    assert seen == [("0.weight", (1, 1, 4, 8)), ("0.bias", (1, 1, 1, 4))]
    layer: Any = layers[0]
    assert layer.weight.tensor.shape() == [1, 1, 2, 8] and layer.bias.tensor.shape() == [1, 1, 1, 4]
    assert [*bits(layer).values()] == [*eager.values()]


def test_a_parameter_that_waits(opened_mesh: Any) -> None:
    opened_mesh((1, 2))
    seen = []
    with lazy_init():
        layer = LinearLayer(8, 4, True)
    assert isinstance(layer.weight, Parameter) and layer.weight.is_lazy
    held = layer.weight.peek_tensor()
    assert isinstance(held, TensorMetadata) and held.shape == (1, 1, 4, 8)
    device = AutoContext.get_instance().get_device()
    replace_lazy_mapper(layer.weight, shard_tensor_to_mesh_mapper(device, 2, 1))
    layer.weight.add_post_materialize_callback(lambda p: seen.append(p.tensor.shape()))
    materialize_module(layer)
    layer.weight.add_post_materialize_callback(lambda p: seen.append("at once"))
    assert seen == [[1, 1, 2, 8], "at once"]
    assert whole_parameter(layer.weight.tensor).shape == (1, 1, 4, 8)
    with pytest.raises(RuntimeError, match="materialized Parameter"):
        replace_lazy_mapper(layer.weight, None)


# --- initial weights -----------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["fan_in", "fan_out"])
@pytest.mark.parametrize(
    ("name", "theirs", "settings"),
    [
        ("xavier_uniform", "xavier_uniform_", {"gain": 2.0}),
        ("xavier_normal", "xavier_normal_", {"gain": 0.5}),
        ("kaiming_uniform", "kaiming_uniform_", {"a": 0.3}),
        ("kaiming_normal", "kaiming_normal_", {"nonlinearity": "relu"}),
    ],
)
def test_deviations_of_initial_weights(
    opened_mesh: Any, name: str, theirs: str, settings: dict[str, Any], mode: str
) -> None:
    torch = torch_or_skip()
    opened_mesh((1, 1))
    if "kaiming" in name:
        settings = {**settings, "mode": mode}
    made = getattr(initial, name)(**settings)((1, 1, 400, 300)).to_numpy()
    again = getattr(initial, f"{name}_")(initial.zeros()((1, 1, 400, 300)), **settings).to_numpy()
    twin = torch.empty(400, 300)
    getattr(torch.nn.init, theirs)(twin, **settings)
    for found in (made, again):
        assert abs(found.std() / float(twin.std()) - 1) < 0.02
        assert abs(np.abs(found).max() / float(twin.abs().max()) - 1) < (0.01 if "uniform" in name else 0.4)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"])
def test_gains(name: str) -> None:
    torch = torch_or_skip()
    assert initial.calculate_gain(name) == pytest.approx(torch.nn.init.calculate_gain(name))
    assert initial.calculate_gain("leaky_relu", 0.5) == pytest.approx(
        torch.nn.init.calculate_gain("leaky_relu", 0.5)
    )
    with pytest.raises(ValueError, match="Unsupported nonlinearity relo"):
        initial.calculate_gain("relo")


# --- adapters ------------------------------------------------------------------------------------------------------


def test_adapters_start_as_nothing_and_are_all_that_is_trained(
    opened_mesh: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    opened_mesh((1, 1))
    base = model()
    x, y = ids()
    before = base(x).to_numpy()
    config = LoraConfig(
        rank=4, alpha=8.0, target_modules=[r"q_linear$", r"mlp\.w1"], trainable_modules=["ln_fc"]
    )
    adapted = LoraModel(base, config)
    assert np.array_equal(adapted(x).to_numpy(), before)
    trained = sorted(n for n, t in adapted.parameters().items() if t.get_requires_grad())
    assert len(trained) == 2 * 2 * 2 + 1 and all("lora_" in n or "ln_fc" in n for n in trained)
    frozen = {n: b for n, b in bits(adapted).items() if n not in trained}
    optimizer = registry.create_optimizer({"type": "AdamW", "lr": 0.01}, adapted.parameters())
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = cross_entropy_loss(adapted(x), y)
        losses.append(float(loss.to_numpy().item()))
        loss.backward()
        AutoContext.get_instance().reset_graph()
        optimizer.step()
    assert losses[2] < losses[0]
    assert {n: b for n, b in bits(adapted).items() if n not in trained} == frozen
    assert capsys.readouterr().out == ""
    LoraModel(model(), LoraConfig(rank=2, target_modules=["w2"], verbose=True))
    assert capsys.readouterr().out.splitlines()[0] == "LoRA: llama_block_0.mlp.w2, rank 2"
    with pytest.raises(ValueError, match="no linear layer matches"):
        LoraModel(model(), LoraConfig(target_modules=["q_proj"]))
    for targets, message in ((["q_("], r"'q_\(' is no regular expression: missing \)"), ("q_linear", r"help: target_modules=\['q_linear'\]")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            LoraConfig(target_modules=targets)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "parts"),
    [("qkv_linear", ["q_linear", "kv_linear"]), (r"mlp\.w_gate_up$", ["w1", "w3"]), ("kv_linear", ["kv_linear"])],
)  # fmt: skip
def test_a_joint_layer_that_a_model_has_not_stands_for_its_parts(
    opened_mesh: Any, target: str, parts: list[str]
) -> None:
    opened_mesh((1, 1))
    adapted = LoraModel(model(), LoraConfig(target_modules=[target]))
    found = {name.split("/")[-2] for name in adapted.parameters() if name.endswith("lora_A")}
    assert found == set(parts)


@pytest.mark.torch
@pytest.mark.parametrize("rslora", [False, True])
def test_an_adapted_layer_against_torch(opened_mesh: Any, rslora: bool) -> None:
    torch = torch_or_skip()
    opened_mesh((1, 1))
    layer = LoraLinear(
        LinearLayer(6, 5), LoraConfig(rank=3, alpha=4.0, use_rslora=rslora, is_bias_trainable=True)
    )
    initial.normal_(layer.lora_B)
    named = {n.split("/")[1]: t for n, t in layer.parameters().items()}
    twins = {n: torch.tensor(t.to_numpy(), requires_grad=t.get_requires_grad()) for n, t in named.items()}
    x = np.random.default_rng(1).standard_normal((2, 1, 7, 6), np.float32)
    out = layer(Tensor.from_numpy(x))
    tx, nn = torch.tensor(x), torch.nn.functional
    scale = 4.0 / (3**0.5 if rslora else 3)
    low = nn.linear(nn.linear(tx, twins["lora_A"][0, 0]), twins["lora_B"][0, 0])
    expected = nn.linear(tx, twins["weight"][0, 0], twins["bias"].view(-1)) + scale * low
    np.testing.assert_allclose(out.to_numpy(), expected.detach(), rtol=1e-5, atol=1e-5)
    out.backward()
    expected.sum().backward()
    for name in ("lora_A", "lora_B", "bias"):
        np.testing.assert_allclose(named[name].get_grad().to_numpy(), twins[name].grad, rtol=1e-5, atol=1e-4)
    assert not named["weight"].is_grad_initialized()


# --- parameters cut over an axis -----------------------------------------------------------------------------------


def train(
    context: AutoContext, module: Llama, mapper: Any, settings: dict[str, Any], steps: int = 3, parts: int = 2
) -> dict[str, bytes]:
    """A few steps of two micro-batches each, clipped."""
    optimizer = registry.create_optimizer(settings, module.parameters())
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(parts):
            x, y = ids(mapper, seed=10 * step + part)
            (cross_entropy_loss(module(x), y) * (1.0 / parts)).backward()
            context.reset_graph()
        sync_gradients(module.parameters(), ("dp", "fsdp"))
        clip_grad_norm(module.parameters(), 0.5)
        optimizer.step()
    return bits(module)


@pytest.mark.parametrize("axes", ["dp", ("dp",), ["tp", "dp"]])
def test_gradients_are_averaged_over_axes_by_their_names(opened_mesh: Any, axes: Any) -> None:
    context = opened_mesh((1, 2), ("_", "dp"))
    layer, x = LinearLayer(4, 4, False), np.arange(8, dtype=np.float32).reshape(2, 1, 1, 4)
    layer(Tensor.from_numpy(x, mapper=shard_tensor_to_mesh_mapper(context.get_device(), 0, 1))).backward()
    sync_gradients(layer.parameters(), axes)
    gradient = layer.weight.tensor.get_grad_tensor().to_numpy()
    np.testing.assert_array_equal(gradient, np.broadcast_to(x.mean(0), gradient.shape))


@pytest.mark.parametrize(
    "runner", [RunnerType.Default, pytest.param(RunnerType.MemoryEfficient, marks=pytest.mark.wide)]
)
@pytest.mark.parametrize("wrapped", sweep(["blocks and root", "root", "lazy"], quick=["blocks and root"]))
def test_cut_parameters_train_as_data_parallel_ones(
    opened_mesh: Any, wrapped: str, runner: RunnerType
) -> None:
    """The same bits where nothing but order could differ; clipping sums squares by parts, so there it is close."""
    settings = {"type": "AdamW", "lr": 0.01}
    context = opened_mesh((1, 4), ("_", "dp"))
    mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 1)
    plain = model(runner_type=runner)
    start, expected = bits(plain), train(context, plain, mapper, settings)
    context = opened_mesh((1, 4), ("_", "fsdp"))
    mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 1)
    if wrapped == "lazy":
        with lazy_init():
            cut = model(runner_type=runner)
    else:
        cut = model(runner_type=runner)
    if wrapped != "root":
        for block in (child for name, child in cut.named_children() if "block" in name):
            fsdp.fully_shard(block)  # type: ignore[arg-type]
    fsdp.fully_shard(cut, reshard_after_forward=wrapped != "root")
    materialize_module(cut)
    assert bits(cut) == start
    for name, tensor in cut.parameters().items():
        assert fsdp.is_fsdp_managed(tensor) and fsdp.fsdp_axis_of(tensor) == 1, name
        assert tensor.shape()[tensor.fsdp_dim or 0] * 4 == whole_parameter(tensor).shape[tensor.fsdp_dim or 0]
    found = train(context, cut, mapper, settings)
    assert found.keys() == expected.keys() and found != start
    for name in expected:
        ours, theirs = (np.frombuffer(side[name], np.float32) for side in (found, expected))
        assert np.abs(ours - theirs).max() <= 2e-5, name


@pytest.mark.parametrize("kind", sweep(["float32", "bfloat16"], quick=["bfloat16"]))
def test_without_clipping_the_bits_are_those_of_data_parallelism(opened_mesh: Any, kind: str) -> None:
    def run(name: str, whole: Sequence[str] = ()) -> dict[str, bytes]:
        context = opened_mesh((1, 4), ("_", name), kind)
        mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 1)
        module = model()
        if name == "fsdp":
            fsdp.fully_shard(module, replicate_params=whole)
            for path, tensor in module.named_parameters():
                assert fsdp.is_fsdp_managed(tensor) != any(part in path for part in whole)
        optimizer = registry.create_optimizer(
            {"type": "SGD", "lr": 0.1, "momentum": 0.9}, module.parameters()
        )
        for step in range(3):
            optimizer.zero_grad()
            x, y = ids(mapper, seed=step)
            cross_entropy_loss(module(x), y).backward()
            context.reset_graph()
            sync_gradients(module.parameters(), ("dp", "fsdp"))
            optimizer.step()
        return bits(module)

    expected = run("dp")
    assert run("fsdp") == expected
    assert run("fsdp", ["gamma", "tok_emb"]) == expected


@pytest.mark.parametrize(
    "shape, taken, size, expected",
    [
        ([1, 1, 1024, 384], (), 8, 2),
        ([1, 1, 384, 1024], (), 8, 3),
        ([1, 1, 384, 384], (), 8, 2),
        ([1, 1, 100, 48], (), 8, 3),
        ([1, 1, 1, 384], (), 8, 3),
        ([1, 1, 2, 64], (), 2, 3),
        ([1, 1, 2, 7], (), 2, 2),
        ([1, 1, 384, 1024], (3,), 8, 2),
        ([1, 1, 384, 1024], (), None, 2),
        ([1, 1, 1, 1], (), 8, None),
    ],
)
def test_pieces_are_whole_tiles_where_they_can_be(
    shape: list[int], taken: tuple[int, ...], size: int | None, expected: int | None
) -> None:
    assert fsdp.pick_shard_dim(shape, taken, axis_size=size) == expected


def test_both_axes_at_once(opened_mesh: Any) -> None:
    """Hybrid: cut over one axis, replicated over the other; the batch over both."""
    settings = {"type": "SGD", "lr": 0.1}
    context = opened_mesh((1, 4), ("_", "dp"))
    expected = train(context, model(), shard_tensor_to_mesh_mapper(context.get_device(), 0, 1), settings)
    context = opened_mesh((2, 2), ("dp", "fsdp"))
    mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0)
    found = train(context, fsdp.fully_shard(model()), mapper, settings)  # type: ignore[arg-type]
    for name in expected:
        ours, theirs = (np.frombuffer(side[name], np.float32) for side in (found, expected))
        np.testing.assert_allclose(ours, theirs, atol=2e-6)


@pytest.mark.parametrize("frozen", [False, True])
def test_whole_parameters_are_there_only_while_their_block_runs(opened_mesh: Any, frozen: bool) -> None:
    """What the tracker counts on a device: resharding after the forward pass holds one block's parameters at a time."""

    def run(reshard: bool) -> tuple[int, int, bytes]:
        context = opened_mesh((1, 4), ("_", "fsdp"), "bfloat16")
        chain = ModuleList(LinearLayer(128, 128, False) for _ in range(6))
        for layer in chain:
            fsdp.fully_shard(layer, reshard_after_forward=reshard)  # type: ignore[arg-type]
            if frozen:
                layer.weight.tensor.set_requires_grad(False)  # type: ignore[attr-defined]
        guard = MemoryUsageTracker.begin_capture()
        try:
            x = first = Tensor.from_numpy(np.ones((1, 1, 32, 128), np.float32), new_type=DataType.BFLOAT16)
            for layer in chain:
                x = layer(x)
            MemoryUsageTracker.snapshot("forward")
            x.backward()
            MemoryUsageTracker.snapshot("backward")
            gradient = first.get_grad().to_numpy().tobytes()
            context.reset_graph()
            found = [MemoryUsageTracker.get_dram_usage(name) for name in ("forward", "backward")]
        finally:
            guard.release()
            MemoryUsageTracker.clear()
        return found[0].after, found[0].after + found[1].peak, gradient

    whole = 128 * 128 * 2
    kept, given_back = run(False), run(True)
    assert kept[0] - given_back[0] == 6 * whole
    assert kept[1] - given_back[1] >= 4 * whole
    assert kept[2] == given_back[2]


def test_what_cannot_be_cut_is_told(opened_mesh: Any) -> None:
    opened_mesh((1, 4), ("_", "fsdp"))
    layer = LinearLayer(8, 8)
    with pytest.raises(RuntimeError, match="no axis named 'zero'"):
        fsdp.fully_shard(layer, mesh_axis="zero")
    with pytest.warns(UserWarning, match="axis '_' has size 1") as told:
        assert fsdp.fully_shard(layer, mesh_axis="_") is layer
    assert told[0].filename == __file__
    with pytest.raises(
        RuntimeError, match=r"'weight' has shape \[1, 1, 6, 6\]; dim 2 does not divide by the 4"
    ):
        fsdp.fully_shard(LinearLayer(6, 6))
    with pytest.warns(UserWarning, match="'bias' of shape .* stays whole"):
        fsdp.fully_shard(layer, shard_dim=2)
    with pytest.raises(RuntimeError, match="already wrapped"):
        fsdp.fully_shard(layer)
    with pytest.warns(
        UserWarning, match=r"ModuleList defines no forward\(\), .*'1.weight' first.*help: for block in"
    ):
        fsdp.fully_shard(ModuleList([layer, LinearLayer(8, 8)]))
    fsdp.fully_shard(ModuleList([layer]))  # has none of its own
    assert not fsdp.is_fsdp_managed(Tensor.from_numpy(np.ones((1, 1, 1, 1), np.float32)))


def test_an_optimizer_is_made_after_parameters_are_cut(opened_mesh: Any) -> None:
    context = opened_mesh((1, 4), ("_", "fsdp"))
    for momentum in (0.0, 0.9):
        layer = LinearLayer(8, 8, False)
        optimizer = SGD(layer.parameters(), SGDConfig.make(lr=0.1, momentum=momentum))
        fsdp.fully_shard(layer)
        mean(layer(Tensor.from_numpy(np.ones((4, 1, 2, 8), np.float32)))).backward()
        context.reset_graph()
        if not momentum:
            optimizer.step()  # keeps nothing
            continue
        with pytest.raises(
            RuntimeError, match=r"state of \[1, 1, 8, 8\] per device for a parameter that is \[1, 1, 2, 8\]"
        ):
            optimizer.step()


# --- the rest of the surface ---------------------------------------------------------------------------------------


def test_callbacks_come_after_the_gradient(opened_mesh: Any) -> None:
    opened_mesh((1, 1))
    x = Tensor.from_numpy(np.ones((1, 1, 1, 2), np.float32))
    order: list[str] = []
    inner = callback(x * 2.0, lambda: order.append("inner"))
    outer = callback(inner * 3.0, lambda: order.append("outer"))
    outer.backward()
    assert (order, x.get_grad().to_numpy().ravel().tolist()) == (["outer", "inner"], [6.0, 6.0])


def test_a_function_run_again_in_the_backward_pass(opened_mesh: Any) -> None:
    context = opened_mesh((1, 1))
    layer, calls = LinearLayer(4, 4), []

    def forward(x: Tensor, scale: float) -> Tensor:
        calls.append(1)
        return layer(x) * scale

    x = Tensor.from_numpy(np.ones((1, 1, 2, 4), np.float32))
    memory_efficient_runner(forward, x, 3.0).backward()
    kept = x.get_grad().to_numpy(), layer.weight.tensor.get_grad().to_numpy()
    context.reset_graph()
    x.set_grad(None)
    layer.weight.tensor.set_grad(None)
    forward(x, 3.0).backward()
    assert len(calls) == 3
    assert np.array_equal(kept[0], x.get_grad().to_numpy())
    assert np.array_equal(kept[1], layer.weight.tensor.get_grad().to_numpy())


def test_a_mesh_that_is_closed_in_another_way_is_forgotten(opened_mesh: Any) -> None:
    """By its context, or by its device: the names of its axes say nothing of the mesh that is opened next."""
    for close in (AutoContext.close_device, lambda context: context.get_device().close()):
        context = opened_mesh((1, 2), ("dp", "fsdp"))
        close(context)
        assert named_mesh.maybe_mesh() is None
        with pytest.raises(RuntimeError, match="no mesh is open"):
            named_mesh.mesh()
        context.close_device()
        context.open_device((2, 2))
        assert named_mesh.maybe_mesh() is None and not context.is_parallelism_context_initialized()
        context.close_device()


def test_a_closed_mesh_is_forgotten(opened_mesh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what the names of its axes implied; then the system may be another."""
    context = opened_mesh((2, 2), ("dp", "tp"))
    named_mesh.close_device_mesh()
    assert named_mesh.maybe_mesh() is None and not context.is_parallelism_context_initialized()
    monkeypatch.setenv(contract.SYSTEM, "n150")
    release_metal_env()
    with pytest.raises(RuntimeError, match="wants 4 devices"):
        open_device_mesh((2, 2))
    monkeypatch.setenv(contract.SYSTEM, "t3000")
    named_mesh.reset_metal_env()
    open_device_mesh((2, 2))
    assert named_mesh.maybe_mesh() is not None
    named_mesh.reset_metal_env()
    assert named_mesh.maybe_mesh() is None and context.live_device is None
    open_device_mesh((2, 2))
    named_mesh.close_device_mesh()
    initialize_device({"device_config": {"mesh_shape": [1, 2], "enable_tp": True}})
    assert context.get_parallelism_context().get_tp_size() == 2
    context.initialize_parallelism_context(DistributedConfig(enable_ddp=True))
    assert context.get_parallelism_context().get_ddp_size() == 2
    loss = mean(Tensor.from_numpy(np.full((1, 1, 2, 2), 3.0, np.float32)))
    assert (float(loss.to_numpy()), int(loss.to_numpy())) == (3.0, 3)


def test_a_named_mesh_says_what_its_axes_carry(opened_mesh: Any) -> None:
    context = opened_mesh((2, 2), ("dp", "tp"))
    axes = context.get_parallelism_context()
    assert (axes.get_ddp_axis(), axes.get_tp_axis(), axes.get_tp_size()) == (0, 1, 2)
    mesh = named_mesh.mesh()
    assert named_mesh.maybe_mesh() is mesh and mesh.num_devices() == 4
    assert (mesh.has_axis("tp"), mesh.has_axis("fsdp"), mesh.axis_index("tp"), mesh.axis_size("dp")) == (
        True,
        False,
        1,
        2,
    )
    x = Tensor.from_numpy(np.arange(4, dtype=np.float32).reshape(4, 1), mapper=mesh.axis_mapper("tp", 0))
    assert x.shape() == [2, 1]
    with pytest.raises(RuntimeError, match="axis names: dp, tp"):
        mesh.axis_pos("fsdp")


@pytest.mark.parametrize("lookahead", [1, 2, 3])
def test_a_gather_waits_for_the_release_half_a_turn_back(lookahead: int) -> None:
    """Forward and back again; a buffer that one unit keeps is waited for from wherever it was released."""
    schedule = SlotSchedule(lookahead)
    assert schedule.num_slots == 2 * lookahead and schedule.oldest_needed() == 0
    kept = schedule.release("kept")
    released = {}
    for unit in range(10):
        slot = schedule.slot_of(unit)
        before = released.get(unit - lookahead) if unit >= schedule.num_slots else None
        assert schedule.wait_target(slot) == before
        released[unit] = schedule.release(slot)
    assert schedule.wait_target(schedule.slot_of(9)) is None
    for unit in range(9, -1, -1):
        released[unit] = schedule.release(schedule.slot_of(unit))
    assert schedule.wait_target("kept") == lookahead and schedule.oldest_needed() == kept
    schedule.release("kept")
    assert schedule.oldest_needed() > kept
    with pytest.raises(ValueError, match="lookahead must be at least 1"):
        SlotSchedule(0)
