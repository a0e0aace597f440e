"""A call by its rule: operands are laid as the plan says, collectives go before and after, and the trace is told."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.dispatch import rules
from tt_run.runtime.train.dispatch.plans import ShardingPlan, get_rule
from tt_run.runtime.train.dispatch.trace import TraceEntry, dispatch_trace
from tt_run.runtime.train.ops import (
    attention,
    binary,
    distributed,
    dropout,
    embedding,
    loss,
    matmul,
    norms,
    ring_attention,
    rope,
    shapes,
    unary,
)
from tt_run.runtime.train.ops.distributed import GradOutputType
from tt_run.runtime.train.parallel.distributed import set_tensor_placements
from tt_run.runtime.train.parallel.layouts import (
    Layout,
    Replicate,
    Shard,
    counted,
    get_layout,
    is_distributed,
    replicated_layout,
)
from tt_run.runtime.train.parallel.mesh_runtime import get_runtime

RAW: dict[str, Callable[..., Any]] = {
    "linear": matmul.linear,
    "matmul": matmul.matmul_op,
    "add": binary.add,
    "sub": binary.sub,
    "mul": binary.mul,
    "div": binary.div,
    "relu": unary.relu,
    "gelu": unary.gelu,
    "silu": unary.silu,
    "dropout": dropout.dropout,
    "rmsnorm": norms.rmsnorm,
    "rmsnorm_composite": norms.rmsnorm_composite,
    "layernorm": norms.layernorm,
    "composite_layernorm": norms.composite_layernorm,
    "sdpa": attention.scaled_dot_product_attention,
    "ring_sdpa": ring_attention.ring_attention_sdpa,
    "embedding": embedding.embedding,
    "grouped_heads_creation": shapes.grouped_heads_creation,
    "heads_creation": shapes.heads_creation,
    "heads_fusion": shapes.heads_fusion,
    "rope": rope.rope,
    "reshape": shapes.reshape,
    "cross_entropy_loss": loss.cross_entropy_loss,
    "broadcast": distributed.broadcast,
    "all_gather": distributed.all_gather,
    "all_reduce": distributed.all_reduce,
    "scatter": distributed.scatter,
}
"""Operations by the names of their rules, and those that programs register."""
for _name in ("add", "sub", "mul", "div"):
    rules.register_rule(_name)(rules.elementwise_binary_rule)
for _name in ("relu", "gelu", "silu"):
    rules.register_rule(_name)(rules.elementwise_unary_rule)


@naming_faults
def redistribute(tensor: Tensor, target: Layout, grad_replicated: bool = False) -> Tensor:
    """A tensor in another layout, gradients on the way back: gathered where it is cut otherwise, then cut.

    `grad_replicated` says that the gradient of what is gathered is the same on every device. Raises ValueError for a layout of another mesh.
    """
    rank, has = tensor.get_rank(), get_layout(tensor)
    if has.ndim != target.ndim:
        raise ValueError(
            f"redistribute: the tensor lies over {has.ndim} axes, the layout has {target.ndim}; help: a placement for each axis of the mesh"
        )
    kind = GradOutputType.REPLICATED if grad_replicated else GradOutputType.SHARDED
    wanted = counted(target, rank)
    moved = [axis for axis in range(has.ndim) if has.placements[axis] != wanted.placements[axis]]
    for axis in moved:
        dim = has.shard_dim(axis)
        if dim is not None:
            tensor = distributed.all_gather(tensor, dim % rank, axis, kind)
    for axis in moved:
        dim = wanted.shard_dim(axis)
        if dim is not None:
            tensor = distributed.scatter(tensor, dim % rank, axis)
    return tensor


def register_op(op_name: str, target: Callable[..., Any]) -> Callable[..., Any]:
    """An operation that goes by the rule of a name from now on; gives the function that programs call."""
    if not callable(target):
        raise TypeError(
            f"register_op: an operation is a function, not {type_name(target)}; help: register_op({op_name!r}, function)"
        )
    RAW[op_name] = target

    @functools.wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        return dispatch(op_name, *args, **kwargs)

    return call


@naming_faults
def dispatch(op_name: str, *args: Any, **kwargs: Any) -> Any:
    """Call an operation by its rule; by none, all operands are whole on every device. As it is where no operand is on a mesh of several devices.

    Raises KeyError for an operation that is not registered.
    """
    raw = RAW[op_name]
    with dispatch_trace.call():
        places = [number for number, given in enumerate(args) if isinstance(given, Tensor)]
        tensors: list[Tensor] = [args[number] for number in places]
        layouts = [get_layout(tensor) for tensor in tensors if is_distributed(tensor)]
        if len(layouts) < len(tensors) or not layouts:
            out = raw(*args, **kwargs)
            _tell(
                op_name,
                [get_layout(t) if is_distributed(t) else None for t in tensors],
                "fast_path",
                None,
                [],
                [],
                [],
                None,
                kwargs,
            )
            return out
        rule, plan = get_rule(op_name), _plan(op_name, layouts, kwargs)
        before, moves = [], []
        laid = list(args)
        for number, (place, tensor) in enumerate(zip(places, tensors, strict=True)):
            wanted = plan.input_layouts[number] if number < len(plan.input_layouts) else layouts[number]
            wanted = _broadcasting(wanted, layouts[number], tensor)
            if counted(wanted, tensor.get_rank()) != layouts[number]:
                moves.append({"arg_idx": number, "from": layouts[number], "to": wanted})
                tensor = redistribute(tensor, wanted, rule is None)
            collective = (plan.pre_collectives or [None] * len(places))[number]
            if collective is not None:
                before.append(collective.log_dict(arg_idx=number))
                tensor = collective(tensor)
            laid[place] = tensor
        late = None if plan.added_after is None else laid[places[plan.added_after]]
        if plan.added_after is not None:
            laid[places[plan.added_after]] = None
        out = raw(*laid, **kwargs)
        after = [each for each in plan.post_collectives or () if each is not None]
        if not after and plan.named:
            _stamp(out, plan.output_layout)
        for each in after:
            out = each(out)
        if late is not None:
            out = binary.add(out, late)
        name = getattr(rule, "__name__", None)
        told = [each.log_dict(out_idx=0) for each in after]
        _tell(op_name, list(layouts), name, plan, before, moves, told, plan.output_layout, kwargs)
        return out


def _broadcasting(wanted: Layout, has: Layout, tensor: Tensor) -> Layout:
    """A layout that leaves dimensions whole which are of length 1 on every device: each repeats them."""
    shape = tensor.shape()
    placements = [
        own if isinstance(p, Shard) and own == Replicate() and shape[p.dim % len(shape)] == 1 else p
        for p, own in zip(wanted.placements, has.placements, strict=True)
    ]
    return Layout(placements=placements)


def _stamp(out: Any, layout: Layout) -> None:
    """Say how the results lie, which an operation takes from one of its operands."""
    for each in out if isinstance(out, tuple) else (out,):
        if isinstance(each, Tensor) and get_layout(each) != counted(layout, each.get_rank()):
            rank = each.get_rank()
            placed = [
                PlacementShard(p.dim % rank) if isinstance(p, Shard) else PlacementReplicate()
                for p in layout.placements
            ]
            set_tensor_placements(each, placed)


def _plan(op_name: str, layouts: list[Layout], kwargs: dict[str, Any]) -> ShardingPlan:
    rule, runtime = get_rule(op_name), get_runtime()
    if rule is None:
        whole = replicated_layout(layouts[0].ndim)
        return ShardingPlan([whole] * len(layouts), whole)
    key = (op_name, rule, tuple(layouts), hashable(kwargs))
    found: ShardingPlan | None = None if runtime is None else runtime.plan_cache.get(key)
    if found is None:
        found = rule(*layouts, runtime=runtime, **kwargs)
        if runtime is not None and all(isinstance(value, _SIMPLE) for value in kwargs.values()):
            runtime.plan_cache.put(key, found)
    return found


_SIMPLE = (bool, int, float, str, type(None))
"""What a plan may be kept for: an object could change between calls."""


def hashable(kwargs: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Keywords by their names in order, those that cannot be hashed as their identities."""

    def kept(value: Any) -> Any:
        try:
            hash(value)
        except TypeError:
            return id(value)
        return value

    return tuple((name, kept(kwargs[name])) for name in sorted(kwargs))


def get_raw(op_name: str) -> Callable[..., Any]:
    """The operation that a name stands for, by no rule. Raises KeyError for one that is not registered."""
    return RAW[op_name]


def _tell(name: str, *facts: Any) -> None:
    if dispatch_trace.enabled:
        dispatch_trace.record(TraceEntry(name, *facts))
