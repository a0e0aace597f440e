"""What programs call by keyword: the arguments of ttml's compiled part, their names and order as the reference binds them."""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.test_names import SHIMS
from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.autocast import AutocastTensor
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import Graph, GraphNode, PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.memory import MemoryUsageTracker
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.ops import rope
from tt_run.runtime.train.ops.attention import scaled_dot_product_attention
from tt_run.runtime.train.ops.ring_attention import ring_attention_sdpa
from tt_run.runtime.train.optimizers import adamw, registry, remote, schedulers, sgd
from tt_run.runtime.train.optimizers.base import OptimizerBase
from tt_run.runtime.train.parallel.distributed import create_mesh_composer_config, shard_tensor_to_mesh_mapper

BOUND = """
autograd.AutoContext.set_seed: seed
autograd.AutoContext.add_backward_node: grad_function links
autograd.AutoContext.set_gradient_mode: mode
autograd.AutoContext.open_device: mesh_shape device_ids
autograd.AutoContext.initialize_socket_manager: socket_type
autograd.AutoContext.initialize_parallelism_context: config
autograd.AutocastTensor.set_tensor: tensor
autograd.DistributedConfig: enable_ddp enable_tp
autograd.Graph.add_node: grad_function links
autograd.Tensor.from_numpy: numpy_tensor layout new_type mapper
autograd.Tensor.to_numpy: new_type composer
autograd.Tensor.set_value: value
autograd.Tensor.set_grad: grad
autograd.Tensor.set_grad_from_tensor: grad_tensor
autograd.Tensor.add_grad: grad
autograd.Tensor.set_node: node
autograd.Tensor.set_requires_grad: requires_grad
autograd.Tensor.get_value: precision
autograd.Tensor.backward: retain_graph
autograd.Tensor.assign: other
autograd.create_tensor: value requires_grad
core.clip_grad_norm: parameters max_norm p_norm_type error_if_nonfinite
core.empty_like: tensor
core.ones_like: tensor
core.zeros_like: tensor
core.TTProfiler.read_results: device noop_identifier
core.distributed.concat_mesh_to_tensor_composer: mesh_device dim
core.distributed.create_mesh_composer: mesh_device config
core.distributed.create_mesh_composer_config: dims mesh_shape_override
core.distributed.shard_tensor_to_mesh_mapper: device dim cluster_axis
core.distributed.synchronize_gradients: parameters cluster_axes
core.distributed.DistributedContext.create_sub_context: ranks
core.distributed.SocketManager.send: tensor distributed_ctx rank use_grad
core.distributed.SocketManager.recv: tensor distributed_ctx rank use_grad
core.utils.MemoryUsageTracker.begin_capture: mode
core.utils.MemoryUsageTracker.end_capture: name
core.utils.MemoryUsageTracker.snapshot: name
core.utils.MemoryUsageTracker.get_dram_usage: name
core.utils.MemoryUsageTracker.get_l1_usage: name
models.mlp.MultiLayerPerceptronParameters.create: input_features hidden_features output_features
models.distributed.pipeline_parallel.llama.create_llama_model: config pipeline_parallel_config is_tensor_parallel
modules.LinearLayer: in_features out_features has_bias
modules.ModuleBase.create_name: name
modules.ModuleBase.register_tensor: tensor name
modules.ModuleBase.register_module: module name
modules.ModuleBase.override_tensor: tensor name
modules.ModuleBase.override_module: module name
ops.attention.scaled_dot_product_attention: query key value mask
ops.attention.scaled_dot_product_attention_composite: query key value mask
ops.binary.add: a b
ops.binary.sub: a b
ops.binary.mul: a b
ops.binary.div: a b
ops.distributed.all_gather: tensor dim cluster_axis grad_output_type
ops.distributed.all_reduce: tensor noop_backward cluster_axis
ops.distributed.broadcast: tensor cluster_axis
ops.distributed.reduce_scatter: tensor dim cluster_axis
ops.distributed.ring_attention_sdpa: query key value mask mask_type cp_axis layout
ops.distributed.scatter: tensor dim cluster_axis
ops.dropout.dropout: tensor probability use_per_device_seed
ops.embedding.embedding: tensor weight
ops.layernorm.layernorm: tensor gamma beta
ops.layernorm.composite_layernorm: tensor gamma beta
ops.linear.linear: tensor weight bias
ops.linear.moreh_linear_backward: tensor weight bias out
ops.linear.ttnn_linear_backward: tensor weight bias out
ops.loss.cross_entropy_loss: prediction target reduce
ops.loss.mse_loss: prediction target reduce
ops.loss.nll_loss: prediction target reduce
ops.matmul.matmul_op: a b transpose_a transpose_b
ops.multi_head_utils.grouped_heads_creation: qs kvs num_heads num_groups
ops.multi_head_utils.heads_creation: qkv num_heads
ops.multi_head_utils.heads_fusion: x
ops.reshape.reshape: tensor shape
ops.rmsnorm.rmsnorm: tensor gamma epsilon
ops.rmsnorm.rmsnorm_composite: tensor gamma epsilon
ops.rope.build_rope_params: sequence_length head_dim theta rope_scaling_params cp_axis
ops.rope.gen_freqs: head_dim sequence_length theta rope_scaling_params mesh_mapper
ops.rope.rope: input rope_params token_position
ops.rope.validate_rope_input_and_params: input rope_params
ops.sample.sample_op: logits temperature seed logits_padding_mask seed_axes positions
ops.unary.broadcast_batch: tensor new_batch_dim
ops.unary.gelu: tensor
ops.unary.log_softmax: tensor dim
ops.unary.log_softmax_moreh: tensor dim
ops.unary.mean: tensor
ops.unary.relu: tensor
ops.unary.silu: tensor use_composite_bw
optimizers.AdamW: parameters config
optimizers.AdamWConfig.make: lr beta1 beta2 epsilon weight_decay amsgrad stochastic_rounding
optimizers.AdamWFullPrecision: parameters config
optimizers.AdamWFullPrecisionConfig.make: lr beta1 beta2 epsilon weight_decay amsgrad
optimizers.Muon: parameters config
optimizers.MuonConfig.make: lr momentum ns_steps
optimizers.NoOp: parameters
optimizers.OptimizerBase: parameters
optimizers.OptimizerBase.set_lr: lr
optimizers.OptimizerBase.set_state_dict: dict
optimizers.OptimizerBase.set_steps: steps
optimizers.RemoteOptimizer: parameters aggregator_rank
optimizers.RemoteOptimizer.set_state_dict: dict
optimizers.SGD: parameters config
optimizers.SGDConfig.make: lr momentum dampening weight_decay nesterov
optimizers.create_optimizer: config params
optimizers.register_optimizer: type creator
schedulers.CosineAnnealingScheduler: optimizer T_max eta_min
schedulers.LRSchedulerBase.set_state_dict: dict
schedulers.LambdaScheduler: optimizer lr_lambda
schedulers.LambdaScheduler.set_state_dict: dict
schedulers.LinearScheduler: optimizer start_factor end_factor total_steps
schedulers.StepScheduler: optimizer step_size gamma
"""


@pytest.fixture(autouse=True)
def shims(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(SHIMS))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("ttml", "ttnn")]:
        monkeypatch.delitem(sys.modules, name)


def tensor(*shape: int) -> Tensor:
    return Tensor.from_numpy(np.random.default_rng(sum(shape)).standard_normal(shape, np.float32))


@pytest.mark.parametrize("line", BOUND.strip().splitlines(), ids=lambda line: line.partition(":")[0])
def test_arguments_have_the_names_of_the_reference(line: str) -> None:
    """Each by its name, and those by position in the reference's order."""
    path, _, names = line.partition(": ")
    found: Any = reduce(getattr, path.split("."), importlib.import_module("ttml"))
    own = [name for name in inspect.signature(found).parameters if name != "self"]
    assert own[: len(names.split())] == names.split()


def test_graphs_are_built_by_hand() -> None:
    graph, ran = Graph(), []
    first = graph.add_node(lambda: ran.append(1), [])
    second = graph.add_node(grad_function=lambda: ran.append(2), links=[first])
    assert graph.get_edges() == [[], [first]]
    assert [node.links for node in graph.get_graph_nodes()] == [(), (0,)]
    graph.backward(second, False)
    assert ran == [2, 1]
    node = GraphNode()
    with pytest.raises(RuntimeError, match="no backward rule"):
        node.grad_function()
    node.grad_function = lambda: ran.append(3)
    node.grad_function()
    assert ran[-1] == 3


def test_copies_of_tensors(opened: Any) -> None:
    """Of the same value, without gradient and graph."""
    context = opened()
    x = tensor(1, 1, 2, 3)
    x.set_requires_grad(False)
    copy = Tensor(x * 1.0)
    assert copy.to_numpy().tobytes() == x.to_numpy().tobytes()
    assert copy.get_node() is None
    assert Tensor(x).get_requires_grad() is False
    assert (
        AutocastTensor(AutocastTensor(x.get_value())).get_tensor()
        is AutocastTensor(x.get_value()).get_tensor()
    )
    assert context.add_backward_node(grad_function=lambda: None, links=None) is not None
    assert context.get_ccl_resources() is None


def test_linear_layers_of_tensors_that_are_there(opened: Any) -> None:
    opened()
    weight, bias, x = tensor(1, 1, 3, 4), tensor(1, 1, 1, 3), tensor(2, 1, 5, 4)
    expected = x.to_numpy() @ weight.to_numpy()[0, 0].T
    for layer in (LinearLayer(weight, bias), LinearLayer(weight=weight, bias=bias)):
        np.testing.assert_allclose(layer(x).to_numpy(), expected + bias.to_numpy(), rtol=1e-5)
        assert layer.get_weight() is weight
        assert (layer.in_features, layer.out_features) == (4, 3)
    bare = LinearLayer(weight, False)
    np.testing.assert_allclose(bare(x).to_numpy(), expected, rtol=1e-5)
    assert list(LinearLayer(weight=weight).parameters()) == ["LinearLayer/weight", "LinearLayer/bias"]
    again = pickle.loads(pickle.dumps(bare))
    assert again.get_weight_numpy().tobytes() == weight.to_numpy().tobytes()
    assert list(again.parameters()) == ["LinearLayer/weight"]
    for wrong in ((weight, 3), (4,), (4, weight)):
        with pytest.raises(TypeError, match=r"LinearLayer\(\) takes"):
            LinearLayer(*wrong)


def test_tables_of_rotation_that_a_program_sets(opened: Any) -> None:
    opened()
    built, own = rope.build_rope_params(6, 8, 100.0), rope.RotaryEmbeddingParams()
    for name in ("cos_cache", "sin_cache", "neg_cos_cache", "neg_sin_cache", "trans_mat"):
        setattr(own, name, getattr(built, name))
    assert (own.sequence_length, own.head_dim) == (6, 8)
    x, twin = tensor(1, 2, 6, 8), tensor(1, 2, 6, 8)
    one, other = rope.rope(x, built), rope.rope(twin, own)
    np.testing.assert_allclose(other.to_numpy(), one.to_numpy(), atol=2e-2)  # the tables are bfloat16
    for out in (one, other):
        out.backward()
    np.testing.assert_allclose(
        twin.get_grad_tensor().to_numpy(),
        x.get_grad_tensor().to_numpy(),
        atol=2e-2,  # type: ignore[union-attr]
    )
    own.neg_sin_cache = own.sin_cache
    assert own.turn_back()[1].tobytes() == own.sin.tobytes()
    with pytest.raises(ValueError, match="each pair's number twice"):
        own.cos_cache = tensor(1, 1, 6, 8)
    with pytest.raises(ValueError, match="swaps the two of each pair"):
        own.trans_mat = tensor(1, 1, 32, 32)


def test_masks_are_tensors_of_either_kind(opened: Any) -> None:
    opened()
    q, k, v = tensor(1, 2, 4, 8), tensor(1, 2, 4, 8), tensor(1, 2, 4, 8)
    mask = Tensor.from_numpy(np.tril(np.ones((1, 1, 4, 4), np.float32)))
    one = scaled_dot_product_attention(q, k, v, mask)
    other = scaled_dot_product_attention(q, k, v, mask.get_value())
    alone = ring_attention_sdpa(q, k, v)  # causal, on one device as on several
    assert one.to_numpy().tobytes() == other.to_numpy().tobytes() == alone.to_numpy().tobytes()


def test_mappers_take_the_dimension_by_either_name(opened: Any) -> None:
    device = opened((1, 4), ddp=True).get_device()
    array = np.arange(8, dtype=np.float32).reshape(4, 1, 1, 2)
    for given in ({"dim": 0}, {"rank": 0}):
        mapper = shard_tensor_to_mesh_mapper(device, **given)
        assert Tensor.from_numpy(array, mapper=mapper).shape() == [1, 1, 1, 2]
    for wrong in ({}, {"dim": 0, "rank": 0}):
        with pytest.raises(TypeError, match="takes the tensor dimension once"):
            shard_tensor_to_mesh_mapper(device, **wrong)  # type: ignore[arg-type]
    assert tuple(create_mesh_composer_config([0, 1], [1, 4]).mesh_shape_override) == (1, 4)


def test_optimizers_by_configuration_alone(opened: Any) -> None:
    opened()
    parameters = {"w/weight": tensor(1, 1, 2, 2)}
    assert type(registry.create_optimizer({"lr": 0.1}, parameters)) is adamw.AdamW
    both = registry.create_optimizer(config={"type": "MuonWithAdamW"}, params=parameters)
    assert isinstance(both, OptimizerBase)
    assert issubclass(remote.RemoteOptimizer, OptimizerBase)
    assert issubclass(registry.MuonWithAdamW, OptimizerBase)


@pytest.mark.parametrize(
    ("owner", "missing"),
    [("SGD", "steps"), ("StepScheduler", "m_last_step"), ("MuonWithAdamW", "muon")],
)
def test_states_of_something_else_are_told(opened: Any, owner: str, missing: str) -> None:
    opened()
    parameters = {"w/weight": tensor(1, 1, 2, 2)}
    own: Any = sgd.SGD(parameters, sgd.SGDConfig.make(lr=0.1))
    if owner == "StepScheduler":
        own = schedulers.StepScheduler(own, 2)
    elif owner == "MuonWithAdamW":
        own = registry.create_optimizer({"type": owner}, parameters)
    with pytest.raises(KeyError, match=rf"{owner}: the saved state has no '{missing}'; it holds other"):
        own.set_state_dict({"other": 1})


def test_captures_of_memory_by_the_names_of_the_reference(opened: Any) -> None:
    opened()
    with MemoryUsageTracker.begin_capture() as guard:
        kept = [tensor(1, 1, 64, 64).get_value()]
        MemoryUsageTracker.snapshot("first")
    kept.append(tensor(1, 1, 32, 32).get_value())
    MemoryUsageTracker.end_capture()
    guard.release()
    assert MemoryUsageTracker.get_trace_names() == ["first", "END_TRACE"]
    first, last = (usage for _, usage in MemoryUsageTracker.get_dram_usage_all())
    assert first is MemoryUsageTracker.get_dram_usage("first")
    assert last is MemoryUsageTracker.get_dram_usage()
    assert (first.peak, first.total_allocations, first.total_deallocations) == (4 * 64 * 64, 4 * 64 * 64, 0)
    assert str(last).splitlines()[2] == "  Allocations:   0.00 MB"
    assert repr(last) == "DRAMUsage(peak=4096, total_allocations=4096, total_deallocations=0)"
    assert MemoryUsageTracker.get_l1_usage().peak_total == 0
    assert [name for name, _ in MemoryUsageTracker.get_l1_usage_all()] == ["first", "END_TRACE"]
    MemoryUsageTracker.clear()
    with pytest.warns(UserWarning, match="end_capture: no capture is running"):
        MemoryUsageTracker.end_capture("late")


def test_memory_is_counted_of_models_that_fit_nowhere(opened: Any) -> None:
    """A weight of 64 GiB: nothing of it is computed."""
    context = opened((1, 1), "bfloat16")
    guard = MemoryUsageTracker.MemoryUsageGuard("NO_DISPATCH")
    layer = LinearLayer(1 << 18, 1 << 17, False)
    MemoryUsageTracker.end_capture("model")
    assert MemoryUsageTracker.get_dram_usage("model").change == 1 << 36
    assert layer.get_weight().shape() == [1, 1, 1 << 17, 1 << 18]
    guard.release()
    MemoryUsageTracker.clear()
    assert tensor(1, 1, 2, 2).to_numpy().any(), "values are computed again"
    context.reset_graph()


def test_a_profiler_may_be_disabled(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tt_run.runtime import events

    context: AutoContext = opened()
    profiler, heard = context.get_profiler(), []
    monkeypatch.setenv("TTML_NAIVE_PROFILER", "1")
    assert profiler.is_enabled()
    assert profiler.get_naive_profiling()
    leave = events.subscribe(lambda event: heard.append(event.name))
    try:
        profiler.read_results(context.get_device(), "one", dump_results=True)
        profiler.disable()
        context.get_profiler().read_results(context.get_device(), "two")
        profiler.enable()
        profiler.read_results(context.get_device(), "three")
    finally:
        leave()
    assert heard == ["one", "three"]
    context.close_profiler()
    assert context.get_profiler() is not profiler


@pytest.mark.parametrize("own", [DataType.BFLOAT16, DataType.FLOAT32])
def test_values_are_taken_in_the_type_of_the_tensor(opened: Any, own: DataType) -> None:
    """Of `assign` and of what fills a tensor that is there."""
    opened((1, 1), "bfloat16")
    taken = {}
    for other in (DataType.BFLOAT16, DataType.FLOAT32):
        held = Tensor.from_numpy(np.zeros((1, 1, 32, 32), np.float32), new_type=own)
        held.assign(Tensor.from_numpy(np.full((1, 1, 32, 32), 1.1, np.float32), new_type=other))
        taken[other] = float(held.to_numpy().flat[0])
        assert held.get_value(PreferredPrecision.NATIVE).dtype is own
        initial.uniform_(Parameter(held), -1.0, 1.0)
        assert held.get_value(PreferredPrecision.NATIVE).dtype is own
    assert taken[DataType.BFLOAT16] == 1.1015625
    assert taken[DataType.FLOAT32] == (1.1015625 if own is DataType.BFLOAT16 else np.float32(1.1))
