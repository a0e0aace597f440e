"""A call by its rule: operands are laid as the plan says, collectives go before and after, and the trace is told."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard
from tt_run.runtime.train.dispatch import rules
from tt_run.runtime.train.dispatch.plans import ShardingPlan, get_rule
from tt_run.runtime.train.dispatch.trace import TraceEntry, dispatch_trace
from tt_run.runtime.train.distributed import set_tensor_placements
from tt_run.runtime.train.layouts import Layout, Shard, counted, get_layout, replicated_layout
from tt_run.runtime.train.mesh_runtime import get_runtime
from tt_run.runtime.train.ops import attention, binary, distributed, dropout, loss, matmul, norms, unary
from tt_run.runtime.train.ops.distributed import GradOutputType
from tt_run.runtime.train.tensor import Tensor

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
    "layernorm": norms.layernorm,
    "scaled_dot_product_attention": attention.scaled_dot_product_attention,
    "cross_entropy_loss": loss.cross_entropy_loss,
}
"""Operations by the names of their rules, and those that programs register."""
for _name in ("add", "sub", "mul", "div"):
    rules.register_rule(_name)(rules.elementwise_binary_rule)
for _name in ("relu", "gelu", "silu"):
    rules.register_rule(_name)(rules.elementwise_unary_rule)


def redistribute(tensor: Tensor, target: Layout, grad_replicated: bool = False) -> Tensor:
    """A tensor in another layout, gradients on the way back: gathered where it is cut otherwise, then cut.

    `grad_replicated` says that the gradient of what is gathered is the same on every device. Raises ValueError for a layout of another mesh.
    """
    rank, has = tensor.get_rank(), get_layout(tensor)
    if has.ndim != target.ndim:
        raise ValueError(f"redistribute: the tensor lies over {has.ndim} axes, the layout has {target.ndim}")
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
    RAW[op_name] = target

    @functools.wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        return dispatch(op_name, *args, **kwargs)

    return call


def dispatch(op_name: str, *args: Any, **kwargs: Any) -> Any:
    """Call an operation by its rule; by none, all operands are whole on every device. As it is where no operand is on a mesh of several devices.

    Raises KeyError for an operation that is not registered.
    """
    raw = RAW[op_name]
    with dispatch_trace.call():
        places = [number for number, given in enumerate(args) if isinstance(given, Tensor)]
        tensors: list[Tensor] = [args[number] for number in places]
        layouts = [get_layout(tensor) for tensor in tensors if _several(tensor)]
        if len(layouts) < len(tensors) or not layouts:
            out = raw(*args, **kwargs)
            _tell(
                op_name,
                [get_layout(t) if _several(t) else None for t in tensors],
                "fast_path",
                None,
                [],
                [],
                [],
                None,
            )
            return out
        rule, plan = get_rule(op_name), _plan(op_name, layouts, kwargs)
        before, moves = [], []
        laid = list(args)
        for number, (place, tensor) in enumerate(zip(places, tensors, strict=True)):
            wanted = plan.input_layouts[number] if number < len(plan.input_layouts) else layouts[number]
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
        if not after:
            _stamp(out, plan.output_layout)
        for each in after:
            out = each(out)
        if late is not None:
            out = binary.add(out, late)
        name = getattr(rule, "__name__", None)
        told = [each.log_dict(out_idx=0) for each in after]
        _tell(op_name, list(layouts), name, plan, before, moves, told, plan.output_layout)
        return out


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


def _several(tensor: Tensor) -> bool:
    device = tensor.get_value().device()
    return device is not None and device.get_num_devices() > 1


def _plan(op_name: str, layouts: list[Layout], kwargs: dict[str, Any]) -> ShardingPlan:
    rule, runtime = get_rule(op_name), get_runtime()
    if rule is None:
        whole = replicated_layout(layouts[0].ndim)
        return ShardingPlan([whole] * len(layouts), whole)
    simple = {name: value for name, value in kwargs.items() if isinstance(value, (bool, int, float, str))}
    key = (op_name, rule, tuple(layouts), tuple(sorted(simple.items())))
    found: ShardingPlan | None = None if runtime is None else runtime.plan_cache.get(key)
    if found is None:
        found = rule(*layouts, runtime=runtime, **kwargs)
        if runtime is not None and len(simple) == len(kwargs):
            runtime.plan_cache.put(key, found)
    return found


def _tell(name: str, *facts: Any) -> None:
    if dispatch_trace.enabled:
        dispatch_trace.record(TraceEntry(name, *facts))
