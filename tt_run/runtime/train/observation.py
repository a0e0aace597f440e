"""Events of training: an operation, a step or a message enters the stream that ledger, timeline and guard listen to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt_run.runtime import events

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


def emit(kind: str, name: str, start: float, value: Value | None = None, **facts: Any) -> None:
    """Emit an event that ends now, in the place of a value; `facts` are further fields of it."""
    device = None if value is None else value.device()
    if device is not None:
        facts["mesh_id"] = device.mesh_id
        facts["devices"] = tuple(device.positions[i] for i in device.local_positions)
    events.emit(events.Event(kind, name, start, events.now(), events.call_site(), **facts))
