"""Operations by rules of how their operands lie: plans, moves with gradients, what programs register, and the trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.launch import ROOT, environment
from tt_run import contract
from tt_run.runtime.ccl import collectives
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.dispatch import rules
from tt_run.runtime.train.dispatch.calls import RAW, dispatch, hashable, redistribute, register_op
from tt_run.runtime.train.dispatch.plans import (
    MODULE_RULES,
    OP_RULES,
    AllGather,
    AllReduce,
    Broadcast,
    PlanCache,
    Scatter,
    ShardingPlan,
    get_module_rule,
    get_rule,
    register_module_rule,
    register_rule,
)
from tt_run.runtime.train.dispatch.trace import (
    DispatchTraceCallback,
    DispatchTracer,
    TraceEntry,
    dispatch_trace,
)
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.models.llama_forms import Llama
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.ops import matmul, norms, unary
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.parallel.layouts import (
    Layout,
    Replicate,
    Shard,
    bias_layout,
    distribute_tensor,
    get_layout,
    is_distributed,
    layout_from_topology,
    layout_to_mapper_config,
)
from tt_run.runtime.train.parallel.mesh_runtime import MeshRuntime, get_runtime, set_runtime
from tt_run.runtime.train.parallel.parallelize import (
    ColwiseParallel,
    RowwiseParallel,
    distribute_module,
    match_policy,
    parallelize_module,
)
from tt_run.runtime.train.parallel.sharded_parameters import whole_array

WHOLE = Layout((Replicate(), Replicate()))
LAYOUTS = [
    WHOLE,
    *(Layout(2, {axis: Shard(dim)}) for axis in (0, 1) for dim in (0, -2, -1)),
    Layout((Shard(-2), Shard(-1))),
]
AT = {str(layout): layout for layout in LAYOUTS}


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def on(array: np.ndarray, layout: Layout) -> Tensor:
    return distribute_tensor(Tensor.from_numpy(array), AutoContext.get_instance().get_device(), layout)


@pytest.mark.parametrize("to", AT)
@pytest.mark.parametrize("start", AT)
def test_a_tensor_in_another_layout_is_the_same(opened: Any, start: str, to: str) -> None:
    """Its numbers and, of a loss that is the same on every device, its gradient."""
    opened((2, 2), ddp=True, tp=True)
    array, weight = numbers(0, 4, 1, 4, 4), numbers(1, 4, 1, 4, 4)
    tensor = on(array, AT[start])
    moved = redistribute(tensor, AT[to], grad_replicated=True)
    assert get_layout(moved) == AT[to]
    np.testing.assert_array_equal(whole_array(moved.get_value()), array)
    if moved is not tensor:
        moved.set_grad(on(weight, AT[to]).get_value())
        moved.backward()
        np.testing.assert_array_equal(
            whole_array(tensor.get_value().derive(tensor.get_grad().shards)), weight
        )
    with pytest.raises(ValueError, match="lies over 2 axes, the layout has 1"):
        redistribute(tensor, Layout((Replicate(),)))


CALLS: dict[str, tuple[Any, list[tuple[int, ...]], list[Layout]]] = {
    "column": (matmul.linear, [(4, 1, 3, 8), (1, 1, 4, 8), (1, 1, 1, 4)], [Layout((Shard(0), Replicate())), Layout(2, {1: Shard(-2)}), Layout(2, {1: Shard(-1)})]),
    "row": (matmul.linear, [(4, 1, 3, 8), (1, 1, 4, 8), (1, 1, 1, 4)], [Layout((Shard(0), Replicate())), Layout(2, {1: Shard(-1)}), WHOLE]),
    "row of cut features": (matmul.linear, [(2, 1, 3, 8), (1, 1, 4, 8)], [Layout(2, {1: Shard(-1)}), Layout(2, {1: Shard(-1)})]),
    "whole weight": (matmul.linear, [(2, 1, 3, 8), (1, 1, 4, 8)], [Layout(2, {1: Shard(-1)}), WHOLE]),
    "matmul": (matmul.matmul_op, [(1, 1, 3, 8), (1, 1, 8, 4)], [WHOLE, Layout(2, {1: Shard(-1)})]),
    "matmul inside": (matmul.matmul_op, [(1, 1, 3, 8), (1, 1, 8, 4)], [WHOLE, Layout(2, {0: Shard(-2)})]),
    "norm": (norms.rmsnorm, [(2, 1, 3, 8), (1, 1, 1, 8)], [Layout((Shard(0), Shard(-1))), WHOLE]),
    "silu": (unary.silu, [(2, 1, 4, 8)], [Layout((Shard(-2), Shard(-1)))]),
}  # fmt: skip
NAMES = {"matmul_op": "matmul"}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_by_its_rule_is_the_call_on_one_device(opened: Any, name: str) -> None:
    """Values and the gradient of every operand, of a loss whose weights are the same wherever an element is."""
    function, shapes, layouts = CALLS[name]
    arrays = [numbers(seed, *shape) for seed, shape in enumerate(shapes)]
    more = (1e-5,) if name == "norm" else ()
    found = []
    for mesh in ((1, 1), (2, 2)):
        cut = mesh != (1, 1)
        opened(mesh, ddp=cut, tp=cut)
        set_runtime(MeshRuntime(AutoContext.get_instance().get_device(), tp_axis=1))
        tensors = [
            on(a, layout) if cut else Tensor.from_numpy(a) for a, layout in zip(arrays, layouts, strict=True)
        ]
        out = dispatch(NAMES.get(function.__name__, function.__name__), *tensors, *more)
        weight = numbers(9, *np.broadcast_shapes(whole_array(out.get_value()).shape))
        out.set_grad((on(weight, get_layout(out)) if cut else Tensor.from_numpy(weight)).get_value())
        out.backward()
        gradients = []
        for number, tensor in enumerate(tensors):
            own = tensor.get_value().derive(tensor.get_grad().shards)
            if cut and layouts[0].shard_dim(0) == 0 and number:
                own = collectives.all_reduce(own, cluster_axis=0)  # a weight sees a part of the batch
            gradients.append(whole_array(own))
        found.append([whole_array(out.get_value()), *gradients])
        set_runtime(None)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


def test_plans() -> None:
    column, row = Layout((Replicate(), Shard(-2))), Layout((Replicate(), Shard(-1)))
    plan = rules.linear_rule(WHOLE, column, WHOLE, runtime=None)
    assert plan.input_layouts == [WHOLE, column, row] and plan.output_layout == row
    assert plan.pre_collectives == [Broadcast(1), None, None] and plan.post_collectives is None
    plan = rules.linear_rule(WHOLE, row, runtime=None)
    assert plan.post_collectives == [AllReduce(1, True)] and plan.input_layouts[0] == row
    assert rules.linear_rule(WHOLE, WHOLE).output_layout.is_replicated()
    plan = rules.matmul_rule(WHOLE, row)
    assert plan.output_layout == row and plan.post_collectives is None
    assert rules.matmul_rule(WHOLE, row, transpose_b=True).post_collectives == [AllReduce(1, True)]
    with pytest.raises(ValueError, match="transpose_a is for operands that are whole"):
        rules.matmul_rule(WHOLE, row, transpose_a=True)
    one, none = Layout((Shard(-1),)), Layout((Replicate(),))
    assert rules.elementwise_binary_rule(none, one).input_layouts == [one, one]
    assert rules.elementwise_binary_rule(one, None).input_layouts == [one]
    assert rules.elementwise_unary_rule().output_layout.is_replicated()
    assert rules.dropout_rule(one).output_layout == one
    heads, batch = Layout((Shard(0), Shard(1))), Layout((Shard(0), Replicate()))
    assert rules.sdpa_rule(heads, WHOLE, WHOLE, batch).input_layouts == [heads, heads, heads, WHOLE]
    assert rules.cross_entropy_loss_rule(Layout((Shard(0), Shard(-1))), WHOLE).input_layouts == [batch, batch]


def test_plans_of_what_moves_dimensions() -> None:
    """Operands as they lie; a result is told to lie in a way only where the operation does not say it better."""
    features, batch = Layout((Replicate(), Shard(-1))), Layout((Shard(0), Replicate()))
    for rule in (rules.rmsnorm_rule, rules.layernorm_rule):
        plan = rule(features, features, features)
        assert plan.output_layout == features and plan.input_layouts == [WHOLE, WHOLE, WHOLE]
        assert plan.post_collectives == [Scatter(-1, 1)] and rule(batch).post_collectives is None
    moving = ("grouped_heads_creation", "heads_creation", "heads_fusion", "rope", "reshape", "ring_sdpa")
    for name in moving:
        plan = getattr(rules, f"{name}_rule")(features, batch)
        assert plan.input_layouts == [features, batch] and plan.output_layout == features and not plan.named
    assert rules.embedding_rule(features, WHOLE).output_layout == Layout((Replicate(), Shard(2)))
    for name in (*moving, "rmsnorm", "embedding", "sdpa", "cross_entropy_loss", "elementwise_unary"):
        assert getattr(rules, f"{name}_rule")(runtime=None).output_layout.is_replicated()
    for name in ("broadcast", "all_gather", "all_reduce"):
        rule = getattr(rules, f"{name}_rule")
        assert rule(Layout((Shard(0), Shard(-1))), cluster_axis=1).output_layout == batch
        assert rule(Layout((Shard(0), Shard(-1)))).output_layout == WHOLE
    assert rules.scatter_rule(WHOLE, dim=-1, cluster_axis=1).output_layout == features


def test_published_operations_go_by_rules_once_a_program_asks() -> None:
    """In a process of its own, for the choice stays."""
    path = {"PYTHONPATH": f"{ROOT / 'tt_run' / 'shims'}:{ROOT}", contract.SYSTEM: "t3000", contract.ARITHMETIC: "float32"}  # fmt: skip
    program = Path(__file__).parent / "programs" / "rules.py"
    ran = subprocess.run([sys.executable, program], env=environment(path), capture_output=True, text=True, timeout=60)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "[] ['linear', 'linear', 'rmsnorm', 'heads_creation', 'all_gather']",
        "{'dim': -1, 'cluster_axis': 1}",
    ]


def test_small_answers(opened: Any) -> None:
    class Names:
        @staticmethod
        def placements() -> list[Any]:
            return list(layout_to_mapper_config(Layout((Shard(-1), Replicate()))).placements)

    assert layout_from_topology(Names()) == Layout((Shard(-1), Replicate()))
    assert layout_from_topology(Names(), 3) == Layout((Shard(-1), Replicate(), Replicate()))
    assert bias_layout(Layout((Replicate(), Shard(-2)))) == Layout((Replicate(), Shard(-1)))
    assert bias_layout(Layout((Replicate(), Shard(-1)))) == WHOLE
    rows, columns = Layout((Replicate(), Shard(-2))), Layout((Replicate(), Shard(-1)))
    policy = {"[w(1": rows, r".*\.w1": rows, "a.w1": columns}
    assert [match_policy(name, policy) for name in ("a.w1", "b.w1", "b.w2")] == [columns, rows, None]
    assert hashable({"z": 1, "a": [1]})[1] == ("z", 1) and hashable({}) == ()
    runtime = MeshRuntime(opened((2, 2), ddp=True, tp=True).get_device(), tp_axis=1)
    assert (runtime.tp_size, runtime.dp_size, runtime.num_devices) == (2, 1, 4) and runtime.mesh_shape[0] == 2
    assert is_distributed(on(numbers(0, 1, 1, 2, 2), WHOLE)) and not is_distributed(object())
    entry = TraceEntry(
        "linear", [WHOLE], "linear_rule", None, [], [{"arg_idx": 0}], [{"type": "scatter"}], WHOLE
    )
    assert "linear_rule" in repr(entry) and "redist=" in repr(entry) and "kwargs=" not in repr(entry)
    assert entry.to_dict()["op_kwargs"] == {}


def test_what_programs_register(opened: Any) -> None:
    """An operation of their own goes by their rule; without one its operands are whole. A class of modules is cut by theirs."""
    opened((1, 2), tp=True)
    cut = on(numbers(0, 1, 1, 2, 4), Layout(2, {1: Shard(-1)}))
    try:
        twice = register_op("twice", lambda x, by=2.0: x * by)
        assert get_rule("twice") is None and get_layout(twice(cut)).is_replicated()

        @register_rule("twice")
        def rule(layout: Layout, **_: Any) -> ShardingPlan:
            return ShardingPlan([layout], layout, None, [AllGather(-1, 1, gather_grad_replicated=True)])

        assert get_rule("twice") is rule
        with DispatchTracer() as tracer:
            np.testing.assert_allclose(
                whole_array(twice(cut, by=3.0).get_value()), 3 * numbers(0, 1, 1, 2, 4), rtol=1e-6
            )
        (entry,) = tracer.entries
        assert entry.to_dict()["post_collectives"] == [{"out_idx": 0, "type": "all_gather", "dim": -1, "mesh_axis": 1, "grad_replicated": True}]  # fmt: skip

        class Own(LinearLayer):
            pass

        seen = []
        register_module_rule(Own)(lambda module, device, policy, prefix: seen.append(prefix))
        assert (
            get_module_rule(type("Below", (Own,), {})) is get_module_rule(Own)
            and get_module_rule(LinearLayer) is None
        )
        model = Llama(
            LlamaConfig(
                hidden_size=32,
                num_attention_heads=1,
                num_key_value_heads=1,
                num_hidden_layers=1,
                vocab_size=32,
            )
        )
        model.fc = Own(32, 32, False)
        distribute_module(model, AutoContext.get_instance().get_device(), {})
        assert seen == ["fc"]
    finally:
        OP_RULES.pop("twice", None)
        RAW.pop("twice", None)
        MODULE_RULES.clear()
        set_runtime(None)
    with pytest.raises(KeyError, match="twice"):
        dispatch("twice", cut)


def test_plans_are_kept_and_the_oldest_goes() -> None:
    cache = PlanCache(maxsize=2)
    assert cache.get("a") is None
    for key in "ab":
        cache.put(key, key)
    assert cache.get("a") == "a"
    cache.put("c", "c")
    assert cache.get("b") is None and cache.get("a") == "a" and len(cache) == 2
    cache.clear()
    assert len(cache) == 0


def test_the_trace_of_a_model_that_is_cut(opened: Any, capsys: pytest.CaptureFixture[str]) -> None:
    device = opened((1, 2), tp=True).get_device()
    model = Llama(
        LlamaConfig(
            hidden_size=64, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=1, vocab_size=64
        )
    )
    plan = {r".*\.(qkv_linear|w_gate_up)": ColwiseParallel(), r".*\.(out_linear|w2)": RowwiseParallel()}
    parallelize_module(model, device, plan, tp_axis=1)
    ids = Tensor.from_numpy(np.arange(32, dtype=np.uint32).reshape(1, 1, 1, 32))
    callback = DispatchTraceCallback()
    callback.on_train_begin(None)
    with DispatchTracer() as tracer:
        loss = cross_entropy_loss(model(ids), Tensor.from_numpy(np.zeros((1, 32), np.uint32)))
    assert dispatch_trace.enabled and loss.to_numpy().size == 1
    found = [(entry.module_stack[-1], entry.rule_name, entry.depth) for entry in tracer.entries]
    layers = ("attention.qkv_linear", "attention.out_linear", "mlp.w_gate_up", "mlp.w2")
    assert found == [(f"blocks.0.{layer}", "linear_rule", 1) for layer in layers]
    assert tracer.entries[0].pre_collectives == [{"arg_idx": 0, "type": "broadcast", "mesh_axis": 1}]
    assert tracer.entries[1].output_layout == WHOLE
    runtime = get_runtime()
    assert (
        runtime is not None
        and len(runtime.plan_cache) == 2
        and runtime.is_tp_enabled
        and not runtime.is_dp_enabled
    )
    callback.on_step_end(None, 1)
    said = capsys.readouterr().out
    assert (
        "blocks.0.mlp.w2\n  linear [linear_rule], all_reduce(axis=1)" in said and not dispatch_trace.enabled
    )
    dispatch_trace.clear()
    model(ids)
    assert dispatch_trace.entries == [] and dispatch_trace.format_entries_tree() == "(no trace entries)"
    set_runtime(None)
