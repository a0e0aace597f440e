"""Events of training: an operation, a step or a message enters the stream that ledger, timeline and guard listen to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from tt_run.runtime import events
from tt_run.runtime.train.autograd.graph import PreferredPrecision

if TYPE_CHECKING:
    from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
    from tt_run.runtime.tensor.tensor import Tensor as Value


def emit(
    kind: str,
    name: str,
    start: float,
    value: Value | None = None,
    operands: Sequence[TensorSpec] = (),
    results: Sequence[TensorSpec] = (),
    **facts: Any,
) -> None:
    """Emit an event that ends now, in the place of a value; `facts` are further fields of it."""
    end, where = events.now(), events.place()
    device = None if value is None else value.device()
    layout = (0, (), ()) if device is None else (device.mesh_id, device.positions, device.local_positions)
    events.tell(training_event, kind, name, start, end, *where, *layout, operands, results, facts)


def trained(parameters: Mapping[str, Any]) -> None:
    """Tell whoever compares what ranks should hold alike that the program trains these."""
    events.tell_of_trained(parameters, lambda tensor: tensor.get_value(PreferredPrecision.NATIVE))


def training_event(
    kind: str,
    name: str,
    start: float,
    end: float,
    code: CodeType | None,
    at: int,
    mesh_id: int,
    positions: Sequence[int],
    local: Sequence[int],
    operands: Sequence[TensorSpec],
    results: Sequence[TensorSpec],
    facts: Mapping[str, Any],
) -> events.Event:
    """The event of something on a mesh whose devices are at `positions`, those with the numbers `local` here."""
    return events.Event(
        kind,
        name,
        start,
        end,
        events.site_of(code, at),
        mesh_id=mesh_id,
        devices=tuple(positions[i] for i in local),
        operands=_outlines(operands),
        results=_outlines(results),
        **facts,
    )


def _outlines(specs: Sequence[TensorSpec]) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Shapes and element types, as events carry them."""
    return tuple((tuple(spec.shape), spec.dtype.name.lower()) for spec in specs)
