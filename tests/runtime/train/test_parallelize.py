"""`ttml.distributed`: a whole model cut by a plan or a policy computes and learns what it did; layouts as values; what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.enums import DataType
from tt_run.runtime.enums import Layout as TensorLayout
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.utils import get_loss_over_devices
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3, Qwen3Config
from tt_run.runtime.train.models.llama_forms import Llama
from tt_run.runtime.train.modules.layers import Embedding
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.layouts import (
    Layout,
    Replicate,
    Shard,
    distribute_batch,
    distribute_tensor,
    get_layout,
    layout_to_mapper_config,
    replicated_layout,
    set_layout,
)
from tt_run.runtime.train.parallel.mesh_runtime import MeshRuntime, get_runtime, set_runtime
from tt_run.runtime.train.parallel.parallelize import (
    ColwiseParallel,
    RowwiseParallel,
    distribute_module,
    parallelize_module,
    sync_gradients,
)
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter

PLAN = {
    r".*\.(qkv_linear|w_gate_up|q_proj|k_proj|v_proj|gate_proj|up_proj)": ColwiseParallel(),
    r".*\.(out_linear|w2|o_proj|down_proj)": RowwiseParallel(),
    "fc|lm_head": ColwiseParallel(gather_output=True),
}
POLICY = {
    r".*\.(qkv_linear|w_gate_up)\.weight": Layout(placements=(Replicate(), Shard(-2))),
    r".*\.qkv_linear\.bias": Layout(2, {1: Shard(-1)}),
    r".*\.(out_linear|w2)\.weight": Layout(2, {1: Shard(-1)}),
}


OLDER = {
    r".*\.(q_linear|kv_linear|w1|w3)": ColwiseParallel(),
    r".*\.(out_linear|w2)": RowwiseParallel(),
}


def llama() -> Llama:
    return Llama(LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, vocab_size=64, attention_bias=True))  # fmt: skip


def qwen3() -> Qwen3:
    return Qwen3(Qwen3Config(vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=32))  # fmt: skip


def trained(opened: Any, make: Callable[[], Any], shape: tuple[int, int], cut: Callable[[Any, Any], Any] | None) -> tuple[list[float], dict[str, np.ndarray]]:  # fmt: skip
    context = opened(shape, ddp=shape[0] > 1, tp=shape[1] > 1)
    device = context.get_device()
    model = make()
    if cut is not None:
        assert cut(model, device) is model
    optimizer = SGD(model.parameters(), SGDConfig.make(0.1, 0.0, 0.0, 0.0, False))
    mapper = shard_tensor_to_mesh_mapper(device, 0, 0) if shape[0] > 1 else None
    losses = []
    for step in range(3):
        draw = np.random.default_rng(step).integers(0, 64, (2, 33), np.uint32)
        x, y = (
            Tensor.from_numpy(np.ascontiguousarray(part).reshape(size), TensorLayout.ROW_MAJOR, DataType.UINT32, mapper)
            for part, size in ((draw[:, :-1], (2, 1, 1, 32)), (draw[:, 1:], (2, 32)))
        )  # fmt: skip
        optimizer.zero_grad()
        loss = cross_entropy_loss(model(x), y)
        losses.append(get_loss_over_devices(loss))
        loss.backward()
        context.reset_graph()
        sync_gradients(model, cluster_axes=[0] if shape[0] > 1 else None)
        optimizer.step()
    return losses, {name: whole_parameter(tensor) for name, tensor in model.parameters().items()}


@pytest.mark.parametrize(
    ("make", "shape", "cut"),
    [
        (llama, (1, 2), lambda model, device: parallelize_module(model, device, {**PLAN}, tp_axis=1)),
        (qwen3, (2, 2), lambda model, device: parallelize_module(model, device, {**PLAN}, tp_axis=1)),
        (llama, (2, 2), lambda model, device: distribute_module(model, device, POLICY)),
        (llama, (1, 2), lambda model, device: parallelize_module(model, device, OLDER, tp_axis=1)),
    ],
)
def test_a_model_that_is_cut_learns_as_it_did(opened: Any, make: Any, shape: Any, cut: Any) -> None:
    """Losses and weights of three steps, with biases, joint keys and values, and the norms of heads."""
    (losses, weights), (expected, whole) = (
        trained(opened, make, shape, cut),
        trained(opened, make, (1, 1), None),
    )
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert weights.keys() == whole.keys()
    for name, array in whole.items():
        np.testing.assert_allclose(weights[name], array, atol=2e-5, err_msg=name)


def test_what_a_plan_cuts(opened: Any) -> None:
    device = opened((1, 2), tp=True).get_device()
    model = llama()
    parallelize_module(model, device, PLAN, tp_axis=1)
    runtime = get_runtime()
    assert isinstance(runtime, MeshRuntime) and (runtime.tp_axis, tuple(runtime.mesh_shape)) == (1, (1, 2))
    parameters = model.parameters()
    for name, placement in (("qkv_linear/weight", Shard(-2)), ("qkv_linear/bias", Shard(-1)), ("out_linear/weight", Shard(-1)), ("out_linear/bias", Replicate())):  # fmt: skip
        assert get_layout(parameters[f"Llama/blocks/0/attention/{name}"]).placements == (
            Replicate(),
            placement,
        )
    assert model.blocks[0].attention.num_heads == 2 and parameters["Llama/blocks/0/attention/qkv_linear/weight"].shape() == [1, 1, 64, 64]  # fmt: skip
    set_runtime(None)
    sync_gradients(model)  # no axis is said to carry data
    assert get_runtime() is None


def test_gradients_are_averaged_over_the_axes_of_the_runtime(opened: Any) -> None:
    device = opened((2, 2), ddp=True, tp=True).get_device()
    table = Embedding(32, 32)
    each = np.arange(2, dtype=np.float32).repeat(1024).reshape(2, 1, 32, 32)
    gradient = Tensor.from_numpy(
        each, new_type=DataType.FLOAT32, mapper=shard_tensor_to_mesh_mapper(device, 0, 0)
    )
    table.weight.tensor.set_grad(gradient.get_value())
    sync_gradients(table, MeshRuntime(device, tp_axis=1, dp_axis=0))
    assert np.unique(table.weight.tensor.get_grad().shards.data).tolist() == [0.5]


def test_layouts_are_values(opened: Any) -> None:
    device = opened((2, 2), ddp=True, tp=True).get_device()
    rows = Layout(2, {1: Shard(-2)})
    assert rows == Layout(placements=[Replicate(), Shard(-2)]) and hash(rows) == hash(
        Layout(2, {1: Shard(-2)})
    )
    assert (rows.ndim, rows.shard_dim(1), rows.shard_dim(0)) == (2, -2, None)
    assert rows.is_sharded_on(1) and not rows.is_sharded_on(0) and not rows.is_sharded_on(5)
    assert replicated_layout(2).is_replicated() and not rows.is_replicated()
    assert Layout().ndim == 2 and rows.with_placement(1, Replicate()) == Layout(2)
    assert len(layout_to_mapper_config(rows).placements) == 2
    numbers = np.arange(2 * 64 * 32, dtype=np.float32).reshape(2, 1, 64, 32)
    tensor = Tensor.from_numpy(numbers, new_type=DataType.FLOAT32)
    moved = distribute_tensor(tensor, device, rows, requires_grad=False)
    assert get_layout(moved) == rows and moved.shape() == [2, 1, 32, 32] and not moved.get_requires_grad()
    np.testing.assert_array_equal(whole_parameter(moved), numbers)
    both = distribute_tensor(moved, device, Layout(placements=[Shard(0), Shard(-1)]))
    assert both.shape() == [1, 1, 64, 16] and get_layout(both).placements == (Shard(0), Shard(-1))
    np.testing.assert_array_equal(whole_parameter(both), numbers)
    batch = distribute_batch(tensor, device, 0)
    assert get_layout(batch).placements == (Shard(0), Replicate()) and batch.get_requires_grad()
    set_layout(moved, Layout(2, {1: Shard(2)}))
    with pytest.raises(ValueError, match=r"set_layout: the tensor lies as .*help: distribute_tensor"):
        set_layout(moved, Layout(2, {1: Shard(-1)}))
    with pytest.raises(ValueError, match="axis 2 is none of a mesh of 2 dimensions"):
        Layout(2, {2: Shard(0)})
    with pytest.raises(TypeError, match="takes placements, or ndim"):
        Layout(2, placements=[Replicate()])


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"blocks.0.mlp.w9": ColwiseParallel()}, r"'blocks.0.mlp.w9' names no linear layer; help: one of .*blocks.0"),
        ({r".*\.qkv_linear": ColwiseParallel()}, "cuts all layers of 'blocks.0.attention' or none"),
        ({r".*\.w_gate_up": ColwiseParallel()}, r"blocks.0.mlp.w_gate_up.weight: \[1, 1, 60, 64\] does not divide over 4 devices"),
        ({r".*\.qkv_linear": ColwiseParallel(), r".*\.out_linear": RowwiseParallel()}, r"blocks.0.attention: num_groups \(2\) must be divisible by the 4 devices"),
    ],
)  # fmt: skip
def test_plans_that_do_not_fit(opened: Any, plan: dict[str, Any], said: str) -> None:
    device = opened((1, 4), tp=True).get_device()
    model = Llama(LlamaConfig(hidden_size=64, intermediate_size=30, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=1))  # fmt: skip
    before = whole_parameter(model.fc.weight.tensor)
    with pytest.raises(ValueError, match=said):
        parallelize_module(model, device, plan, tp_axis=1)
    assert AutoContext.get_instance().get_device() is device
    np.testing.assert_array_equal(whole_parameter(model.fc.weight.tensor), before)
    with pytest.raises(
        ValueError, match="cp_axis cuts positions of a Llama or a Qwen3, Embedding has no attention"
    ):
        parallelize_module(Embedding(4, 4), device, {}, cp_axis=0)


def test_policies_that_do_not_fit(opened: Any) -> None:
    device = opened((2, 2), ddp=True, tp=True).get_device()
    model = llama()
    assert distribute_module(model, device, {}) is model
    for policy, said in (
        ({"fc.weight": Layout(2, {0: Shard(0)})}, r"'fc.weight' is Layout.*help: Shard\(-2\) or Shard\(-1\)"),
        ({"fc.weight": Layout(2)}, "over one axis of the mesh"),
        ({"fc.weight": Layout(2, {0: Shard(-2)}), "blocks.0.mlp.w_gate_up.weight": Layout(2, {1: Shard(-2)})}, r"axes \[0, 1\]"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            distribute_module(model, device, policy)


@pytest.mark.parametrize("make", [llama, qwen3])
@pytest.mark.parametrize(("shape", "plan"), [((2, 2), PLAN), ((4, 1), {})])
def test_positions_cut_by_a_plan_learn_as_whole_ones(opened: Any, make: Any, shape: Any, plan: Any) -> None:
    """`cp_axis` alone and beside matrices that are cut: losses and weights of three steps, gradients averaged over the runtime's axes."""

    def run(mesh: tuple[int, int], cut: bool) -> tuple[list[float], dict[str, np.ndarray]]:
        context = opened(mesh, ddp=mesh[0] > 1, tp=mesh[1] > 1)
        device, model, losses = context.get_device(), make(), []
        if cut:
            parallelize_module(model, device, plan, tp_axis=1, cp_axis=0)
            runtime = get_runtime()
            assert runtime is not None and runtime.is_cp_enabled and runtime.is_tp_enabled == bool(plan)
        optimizer = SGD(model.parameters(), SGDConfig.make(0.1, 0.0, 0.0, 0.0, False))
        for step in range(3):
            draw = np.random.default_rng(step).integers(0, 64, (2, 33), np.uint32)
            x, y = (
                Tensor.from_numpy(np.ascontiguousarray(part).reshape(size), TensorLayout.ROW_MAJOR, DataType.UINT32,
                    shard_tensor_to_mesh_mapper(device, len(size) - 1, 0) if cut else None)
                for part, size in ((draw[:, :-1], (2, 1, 1, 32)), (draw[:, 1:], (2, 32)))
            )  # fmt: skip
            optimizer.zero_grad()
            loss = cross_entropy_loss(model(x), y)
            losses.append(get_loss_over_devices(loss))
            loss.backward()
            context.reset_graph()
            sync_gradients(model)
            optimizer.step()
        return losses, {name: whole_parameter(tensor) for name, tensor in model.parameters().items()}

    (losses, weights), (expected, whole) = run(shape, True), run((1, 1), False)
    set_runtime(None)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for name, array in whole.items():
        np.testing.assert_allclose(weights[name], array, atol=2e-5, err_msg=name)
