"""What a call of the library is as work on one device: from its declared class, its operands' specs and its tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from tt_run.runtime.enums import BufferType, MathFidelity
from tt_run.runtime.errors import fatal
from tt_run.runtime.events import Begun, Event
from tt_run.runtime.model.operations import HOST, Operand, work_of
from tt_run.runtime.model.work import Collective, Kernel, Matmul, Work
from tt_run.runtime.ops.declaration.costs import DeviceCall
from tt_run.runtime.prediction import fused
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.traffic import Fabric, NoWay, ring_order

# Operations of the training library -> class of cost; others are elementwise.
TRAINING = {
    "linear": "matmul",
    "matmul_op": "matmul",
    "scaled_dot_product_attention": "attention",
    "layernorm": "norm",
    "rmsnorm": "norm",
    "mean": "reduction",
    "log_softmax": "reduction",
    "cross_entropy_loss": "reduction",
    "nll_loss": "reduction",
    "mse_loss": "reduction",
    "reshape": "free",
    "embedding": "data movement",
    "partial_embedding": "data movement",
    "heads_creation": "data movement",
    "grouped_heads_creation": "data movement",
    "heads_fusion": "data movement",
    "all_reduce": "collective",
    "all_gather": "collective",
    "reduce_scatter": "collective",
    "broadcast": "collective",
    "ring_shift": "collective",
    "scatter": "data movement",
}
BACKWARD = " backward"
UPDATED_TENSORS = 7
GATHERED_BYTES = (
    1 << 20
)  # of all devices together: what fits in L1 beside the rest and pays less for bytes than for steps


PLAIN = ("all_gather", "reduce_scatter", "all_reduce", "all_broadcast", "broadcast", "point_to_point")
"""Collectives without buffers and semaphores of the program's: they are set up for each call, wherever their tensors lie."""


def operand(tensor: Tensor) -> Operand:
    """A tensor as the model sees it."""
    spec = tensor.spec
    config = spec.memory_config
    return Operand(
        tuple(int(n) for n in tensor.shape),
        spec.dtype.name.lower(),
        in_dram=config.buffer_type is BufferType.DRAM,
        sharded=config.is_sharded(),
    )


def of_operation(begun: Begun, result: Any, traced: bool) -> Work | None:
    """The work of an operation that has run; None where it costs a device nothing or its class is unknown."""
    subject = begun.subject
    cost = subject.cost
    if cost is None:
        return None
    call = DeviceCall.of(begun.args, begun.kwargs, result)
    if not any(tensor.device() for tensor in (*call.inputs, *call.outputs)):
        return None
    family = subject.family
    if cost.name in ("data movement", "free") and _stayed(call):
        return None
    inputs, outputs = [operand(t) for t in call.inputs], [operand(t) for t in call.outputs]
    kind = HOST if family is not None and family.name == HOST else cost.name
    config = begun.kwargs.get("program_config")
    return work_of(
        subject.short_name,
        kind,
        inputs,
        outputs,
        fidelity=_fidelity(begun.kwargs),
        transposed=bool(begun.kwargs.get("transpose_a")),
        traced=traced,
        ring=bool(getattr(config, "gather_in0", False)),
        causal=_causal(subject.short_name, begun.kwargs),
    )


def _causal(name: str, kwargs: Mapping[str, Any]) -> bool | None:
    """Whether attention looks back only: as the call says; beside a joint sequence, over windows and under a mask it looks everywhere."""
    if "joint" in name or "windowed" in name:
        return False
    asked = kwargs.get("is_causal")
    if asked is None and kwargs.get("attn_mask") is not None:
        return False
    return None if asked is None else bool(asked)


def _stayed(call: DeviceCall) -> bool:
    """Whether the result lies where an operand does: the same bytes under another shape, or the operand itself."""
    places = [getattr(tensor.storage, "place", None) for tensor in call.inputs]
    found = [getattr(tensor.storage, "place", None) for tensor in call.outputs]
    return bool(found) and all(place is not None and place in places for place in found)


def of_fused(begun: Begun, result: Any, collectives: Sequence[Collective], traced: bool) -> list[Work]:
    """The works of an operation that called collectives: they alone, or what it computes with them."""
    name = begun.subject.short_name
    if not fused.is_fused(name):
        return list(collectives)
    inputs = [operand(tensor) for tensor in DeviceCall.of(begun.args, begun.kwargs, result).inputs]
    ring = bool(getattr(begun.kwargs.get("program_config"), "gather_in0", False))

    def product(first: Operand, weights: Operand, rows: int) -> Matmul:
        inner, columns = weights.shape[-2:]
        sides = replace(first, shape=(rows, inner)), replace(weights, shape=(inner, columns))
        found = work_of(
            "matmul",
            "matmul",
            sides,
            [Operand((rows, columns), first.dtype)],
            fidelity=_fidelity(begun.kwargs),
            traced=traced,
            ring=ring,
        )
        assert isinstance(found, Matmul)
        return found

    return fused.works_of(name, inputs, collectives, product)


def _fidelity(kwargs: Mapping[str, Any]) -> str:
    config = kwargs.get("compute_kernel_config")
    found = getattr(config, "math_fidelity", None)
    known = isinstance(found, MathFidelity) and found is not MathFidelity.Invalid
    return str(found.name) if known and found is not None else "HiFi2"


def of_training(event: Event) -> list[Work]:
    """The work of an operation of the training library, or of its backward rule, which multiplies twice."""
    name = event.name.removeprefix("ttml.")
    backward = name.endswith(BACKWARD)
    name = name.removesuffix(BACKWARD)
    kind = TRAINING.get(name, "elementwise")
    if kind in ("collective", "free") or not event.operands:
        return []
    inputs = [Operand(shape, dtype) for shape, dtype in event.operands]
    outputs = [Operand(shape, dtype) for shape, dtype in event.results]
    work = work_of(name, kind, inputs, outputs, fidelity="HiFi4")
    if work is None:
        return []
    if kind in ("matmul", "attention"):
        return [work, work] if backward else [work]
    return [work]


def of_update(parameters: Sequence[tuple[tuple[int, ...], str]]) -> Kernel:
    """One step of an optimizer over all parameters: weights, gradients and two moments read, all but the gradients written."""
    tensors = [Operand(shape, dtype) for shape, dtype in parameters]
    return Kernel("binary", sum(t.tiles for t in tensors), UPDATED_TENSORS * sum(t.bytes for t in tensors))


def of_collective(
    plan: Any, tensor: Tensor, fabric: Fabric, channels: int, usual: float
) -> tuple[Collective, dict[tuple[int, int], float]]:
    """A collective as the busiest of its links sees it, and what each link carries.

    `channels` are those of a whole link, `usual` as many as a collective takes that asks for no number of them.
    """
    positions = plan.device.positions
    groups = [tuple(positions[p] for p in group) for group in plan.moved]
    size = max(map(len, groups), default=1)
    pattern = plan.traffic
    try:
        carried = {
            link: float(load.bytes) for link, load in pattern.loads(groups, plan.nbytes, fabric).items()
        }
    except NoWay as wrong:
        raise fatal(
            f"{plan.signature.operation} cannot run on what --degrade leaves: {wrong}",
            hint="degrade less, or ttnn.Topology.Linear for a ring that is cut",
        ) from None
    orders = [ring_order(group, fabric.dims[1]) for group in groups]
    kind = pattern.algorithm
    work = Collective(
        kind,
        size,
        plan.nbytes,
        ring=not (pattern.one_way or plan.line) and size > 2 and all(map(fabric.closed, orders)),
        wire=max(
            (
                nbytes / carries(fabric, link, channels, plan.links or usual)
                for link, nbytes in carried.items()
            ),
            default=None,
        ),
        links=_links(plan, channels),
        detour=max((_detour(order, fabric) for order in orders), default=0) if fabric.left else 0,
    )
    small = plan.nbytes * size <= GATHERED_BYTES and plan.signature.operation not in PLAIN
    if tensor.spec.memory_config.buffer_type is not BufferType.L1 or not small:
        return work, carried
    if kind == "all_reduce":
        # Small ones in L1 are gathered and added up at the end.
        work = replace(work, kind="all_reduce_by_gather", wire=None)
    return replace(work, implementation="decode"), carried


def _links(plan: Any, channels: int) -> int | None:
    """The channels that the program asks for, as far as the descriptor has them; None: those that are usual on the system."""
    return min(plan.links, channels or plan.links) if plan.links else None


def carries(fabric: Fabric, link: tuple[int, int], channels: int, used: float) -> float:
    """The part of its usual rate that a link still has: one that lost cables nobody used is as good as whole."""
    left = fabric.left.get(link, 1.0)
    return min(left * channels / min(used, channels), 1.0) if channels else left


def _detour(order: Sequence[int], fabric: Fabric) -> int:
    """Hops more than without losses from the first to the last of a group, one after the other."""
    whole = replace(fabric, left={})
    return sum(len(fabric.route(a, b)) - len(whole.route(a, b)) for a, b in pairwise(order))
