"""One stream of what happens: operations, collectives, sends, receives, waits, steps.

Ledger and timeline are listeners of it; nothing else hooks into the operations. It costs one test of a module attribute when nobody
listens:

    if events.listening:
        start = events.now()
        ...
        events.emit(Event("op", "matmul", start=start, end=events.now(), site=events.call_site()))
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import FrameType

from tt_run import contract

Listener = Callable[["Event"], None]

listening = False
"""True while anybody listens. Test it before building an event."""

_listeners: list[Listener] = []

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # noqa: PTH100, PTH120 - hot path strings


@dataclass(frozen=True, slots=True)
class Event:
    """Something with a beginning and an end on one rank.

    `kind` is op, collective, send, recv, wait, step or mesh; `name` the function. `groups` are the groups of a collective as tuples
    of physical device numbers (row-major index in the system mesh of `mesh_id`) in group order, `devices` the rank's own devices that
    took part. `bytes` counts what one device contributes; `times` are seconds of `now()`.
    """

    kind: str
    name: str
    start: float
    end: float
    site: str = ""
    mesh_id: int = 0
    devices: tuple[int, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    axis: int | None = None
    bytes: int = 0
    messages: int = 0
    detail: str = ""


now = time.perf_counter
"""Seconds on the clock of all events; on Linux it is one clock for all processes of a host."""


def subscribe(listener: Listener) -> Callable[[], None]:
    """Call `listener` with every event from now on; returns a function that ends it."""
    global listening
    _listeners.append(listener)
    listening = True

    def unsubscribe() -> None:
        global listening
        if listener in _listeners:
            _listeners.remove(listener)
        listening = bool(_listeners)

    return unsubscribe


def emit(event: Event) -> None:
    """Hand an event to every listener, in the order of subscription."""
    for listener in tuple(_listeners):
        listener(event)


# Environment variable -> module whose `attach()` subscribes; named as text because they lie above this module.
_NAMED_BY_ENVIRONMENT = {
    contract.LEDGER: "tt_run.runtime.ledger",
    contract.TIMELINE: "tt_run.runtime.timeline",
}
_attached = False


def attach_listeners() -> None:
    """Start the listeners that the environment asks for, once. The system mesh must be known."""
    global _attached
    if _attached:
        return
    _attached = True
    for variable, module in _NAMED_BY_ENVIRONMENT.items():
        if os.environ.get(variable):
            import_module(module).attach()


def user_frame(skip: int = 1) -> FrameType | None:
    """The innermost frame of the stack that is not inside this package; None when there is none."""
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame


def call_site() -> str:
    """`file:line` of the user's code that led here, or `?` when the stack is ours alone."""
    frame = user_frame(2)
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
