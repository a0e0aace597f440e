"""One stream of what happens: operations, collectives, sends, receives, waits, steps.

Nothing else hooks into the runtime, and what is listened to takes the same path as what is not. There are three ears, for different ends:

- `subscribe(listener)` hears every event after it happened: ledger, timeline, a model of time.
- `keep(keeper)` hears the same as drafts: a function and what it would make the event of. A draft costs a fraction of the event, which is made
  only where somebody wants it at once. For what writes down everything and reads it at the end.
- `precede(before)` is asked before an operation, a collective, a send or a receive begins, before any rank has agreed to it. It may wait,
  raise, or end the process (fault injection), look at the arguments, and return what is to be called with the outcome (the recorder of
  a trace). What another machine says instead of this one's peers belongs into another `comm.World`, not here.

It costs one test of a module attribute when nobody listens:

    begun = events.begin("op", "matmul", operation, args) if events.listening else None
    ...
    if begun is not None:
        begun.end(result, (make_event, operation, begun.start, events.now(), *events.place()))

What has no arguments to look at is only announced: `events.emit(Event(...))`, or as a draft `events.tell(make_event, ...)`.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from mgd.lean import dataclass
from tt_run import contract
from tt_run.runtime import launched

T = TypeVar("T")
Listener = Callable[["Event"], None]
Draft = tuple[Any, ...]
"""A function that makes an `Event`, and its arguments: of what never changes, since it may be called much later."""
Keeper = Callable[[Draft, tuple[Any, ...], Any], None]
"""Called with a draft, with the arguments of its call and with the result, which it must not keep."""

listening = False
"""True while anybody listens. Test it before building an event."""

Trained = Callable[[Mapping[str, Any], Callable[[Any], Any]], None]
"""Called with tensors by their names that a program trains, and with what reads the value of one."""

_trained: list[Trained] = []
_listeners: list[Listener] = []
_keepers: list[Keeper] = []
_befores: list[Before] = []


def hear_of_trained(listener: Trained) -> None:
    """Call `listener` with what optimizers, and functions that sum gradients, are given from now on."""
    _trained.append(listener)


def tell_of_trained(parameters: Mapping[str, Any], read: Callable[[Any], Any]) -> None:
    """Tell whoever listens that these are trained."""
    for listener in _trained:
        listener(parameters, read)


PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # noqa: PTH100, PTH120 - hot path strings


@dataclass(frozen=True, slots=True)
class Event:
    """Something with a beginning and an end on one rank.

    `kind` is op, collective, send, recv, wait, step or mesh; `name` the function. `groups` are the groups of a collective as tuples
    of physical device numbers (row-major index in the system mesh of `mesh_id`) in group order, `devices` the rank's own devices that
    took part. `bytes` counts what one device contributes; `times` are seconds of `now()`. `operands` and `results` are shapes and element
    types on one device where the call has no arguments to look at; `peers` are the ranks at the other end of a message. `traffic` is the
    pattern of a collective's messages.
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
    operands: tuple[tuple[tuple[int, ...], str], ...] = ()
    results: tuple[tuple[tuple[int, ...], str], ...] = ()
    peers: tuple[int, ...] = ()
    traffic: Any = None


now = time.perf_counter
"""Seconds on the clock of all events; on Linux it is one clock for all processes of a host."""


def subscribe(listener: Listener) -> Callable[[], None]:
    """Call `listener` with every event from now on; returns a function that ends it."""
    return _enter(_listeners, listener)


def keep(keeper: Keeper) -> Callable[[], None]:
    """Call `keeper` with the draft of every event from now on; returns a function that ends it."""
    return _enter(_keepers, keeper)


def _enter(ears: list[T], ear: T) -> Callable[[], None]:
    global listening
    ears.append(ear)
    listening = True

    def leave() -> None:
        global listening
        if ear in ears:
            ears.remove(ear)
        listening = bool(_listeners or _keepers or _befores)

    return leave


After = Callable[[Any, BaseException | None], None]
"""Called with the result of a call, or with the error that ended it."""
Before = Callable[["Begun"], After | None]


class Begun:
    """A call that is about to begin, or under way: of `kind` op, collective, send or recv, or the replay of a trace.

    `subject` is what is called: an `Operation`, the `Plan` of a collective, a socket. `start` is on the clock of the events. A message has
    the ranks at its other end, and how many bytes go there.
    """

    __slots__ = ("_after", "args", "kind", "kwargs", "name", "nbytes", "peers", "start", "subject")

    def __init__(
        self, kind: str, name: str, subject: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self.kind, self.name, self.subject, self.args, self.kwargs = kind, name, subject, args, kwargs
        self.start = now()
        self.peers: tuple[int, ...] = ()
        self.nbytes = 0
        self._after: list[After] | None = None

    def ask(self) -> None:
        """Let everybody act who wants to act before."""
        for before in tuple(_befores):
            after = before(self)
            if after is not None:
                self._after = [*(self._after or ()), after]

    def end(self, result: Any, draft: Draft | None) -> None:
        """Tell the outcome; the call went well if there is a draft of its event."""
        if self._after is not None:
            for after in self._told():
                after(result, None)
        if draft is not None:
            args = (*self.args, *self.kwargs.values()) if self.kwargs else self.args
            for keeper in _keepers:
                keeper(draft, args, result)
            if _listeners:
                _hand_out(draft[0](*draft[1:]))

    def fail(self, error: BaseException) -> None:
        """Tell that the call ended in an error: no event for listeners, and for keepers the draft of one that says so."""
        for after in self._told():
            after(None, error)
        if _keepers:
            draft = (failed_event, self.kind, self.name, self.start, now(), *place(), type(error).__name__)
            for keeper in _keepers:
                keeper(draft, (*self.args, *self.kwargs.values()), None)

    def _told(self) -> Iterator[After]:
        """Whom to tell, and nobody afterwards: what knows this call would keep it, and its tensors, in a circle with it."""
        after, self._after = self._after, None
        return reversed(after or ())


def begin(
    kind: str, name: str, subject: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> Begun:
    """Say that a call is about to begin; whoever acts before it does so now. Follow it with `end` or `fail`."""
    return _asked(Begun(kind, name, subject, args, kwargs or {}))


def _asked(begun: Begun) -> Begun:
    if _befores:
        try:
            begun.ask()
        except BaseException as error:
            begun.fail(error)
            raise
    return begun


class Block:
    """A call as a `with` block, for what is not called often: `facts` are further fields of its event; `peers` and `nbytes` are a message's.

    It is a class and no generator because a generator would put its frames between the event and the user's line.
    """

    __slots__ = ("_begun", "facts", "kind", "name", "nbytes", "peers", "subject")

    def __init__(
        self, kind: str, name: str, subject: Any = None, peers: tuple[int, ...] = (), nbytes: int = 0
    ) -> None:
        self.kind, self.name, self.subject, self.peers, self.nbytes = kind, name, subject, peers, nbytes
        self.facts: dict[str, Any] = {}
        self._begun: Begun | None = None

    def __enter__(self) -> Block:
        if listening:
            begun = Begun(self.kind, self.name, self.subject, (), {})
            begun.peers, begun.nbytes = self.peers, self.nbytes
            self._begun = _asked(begun)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._begun is None:
            return
        if error is not None:
            self._begun.fail(error)
            return
        event = Event(self.kind, self.name, self._begun.start, now(), call_site(), **self.facts)
        self._begun.end(None, (_itself, event))


def precede(before: Before) -> Callable[[], None]:
    """Ask `before` ahead of every call from now on; returns a function that ends it."""
    return _enter(_befores, before)


def emit(event: Event) -> None:
    """Hand an event to every keeper and listener, in the order of subscription."""
    tell(_itself, event)


def tell(*draft: Any) -> None:
    """The same with the draft of an event."""
    for keeper in _keepers:
        keeper(draft, (), None)
    if _listeners:
        _hand_out(draft[0](*draft[1:]))


def _hand_out(event: Event) -> None:
    for listener in tuple(_listeners):
        listener(event)


def _itself(event: Event) -> Event:
    return event


def failed_event(
    kind: str, name: str, start: float, end: float, code: CodeType | None, at: int, error: str
) -> Event:
    """The event of a call that an error of a type ended; only keepers see it."""
    return Event(kind, name, start, end, site_of(code, at))


# Environment variable -> module whose `attach()` subscribes; named as text because they lie above this module.
_NAMED_BY_ENVIRONMENT = {
    contract.CHECK_REPLICAS: "tt_run.runtime.listeners.replicas",
    contract.INJECT: "tt_run.runtime.faults.injector",
    contract.LEDGER: "tt_run.runtime.listeners.ledger",
    contract.MEMORY: "tt_run.runtime.memory.listen",
    contract.ENFORCE_MEMORY: "tt_run.runtime.memory.listen",
    contract.TIMELINE: "tt_run.runtime.timeline",
    contract.PREDICT: "tt_run.runtime.prediction.listen",
}
_NEED_NO_MESH = (contract.INJECT,)
_attached: set[str] = set()


def attach_listeners(is_mesh_known: bool = True) -> None:
    """Start the listeners that the environment asks for, each once; where the system mesh is not known yet, those that need none."""
    for variable, module in _NAMED_BY_ENVIRONMENT.items():
        if variable in _attached or not (is_mesh_known or variable in _NEED_NO_MESH):
            continue
        _attached.add(variable)
        if launched.variables.get(variable):
            import_module(module).attach()


class _Ours(dict[str, bool]):
    """Whether a file is one of this package, looked at once for each."""

    def __missing__(self, name: str) -> bool:
        found = self[name] = name.startswith(PACKAGE)
        return found


_ours = _Ours()


def user_frame(skip: int = 1) -> FrameType | None:
    """The innermost frame of the stack that is not inside this package; None when there is none."""
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None and _ours[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def warn(text: str, kind: type[Warning] = RuntimeWarning) -> None:
    """A warning at the program's line."""
    frame = user_frame(2)
    at = ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    warnings.warn_explicit(text, kind, *at)


def place(skip: int = 2) -> tuple[CodeType | None, int]:
    """The user's code that led here and where in it, for `site_of`: finding the line costs more, and can wait."""
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None and _ours[frame.f_code.co_filename]:
        frame = frame.f_back
    return (None, 0) if frame is None else (frame.f_code, frame.f_lasti)


def site_of(code: CodeType | None, at: int) -> str:
    """`file:line` of a place, or `?` for none."""
    return "?" if code is None else f"{code.co_filename}:{_line(code, at)}"


@lru_cache(maxsize=4096)
def _line(code: CodeType, at: int) -> int:
    for start, end, line in code.co_lines():
        if start <= at < end:
            return line or code.co_firstlineno
    return code.co_firstlineno


# What Cython compiles names files of its own, as mpi4py does and NumPy's chance.
_LIBRARIES = re.compile(r"/(?:site|dist)-packages/|/lib/python3\.\d+/|^<frozen|\.p[yx][xi]$")


def is_library(file: str) -> bool:
    """Whether a line is not the user's to repair: the standard library's, an installed package's, or this package's."""
    return file.startswith(PACKAGE) or _LIBRARIES.search(file) is not None


def callers(depth: int = 3) -> str:
    """From where the function was called that holds the user's line, innermost first: `a.py:3, from b.py:7`; empty at the top of a file."""
    found: list[str] = []
    frame = user_frame(2)
    while frame is not None and len(found) < depth and frame.f_code.co_name != "<module>":
        frame = frame.f_back
        if frame is None or "/lib/python3" in frame.f_code.co_filename:
            break
        if not frame.f_code.co_filename.startswith((PACKAGE, "<frozen")):
            found.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
    return ", from ".join(found)


def call_site() -> str:
    """`file:line` of the user's code that led here, or `?` when the stack is ours alone."""
    frame = user_frame(2)
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def site_of_main_thread() -> str:
    """`file:line` of the user's code that the main thread is in, as any thread may ask; empty where there is none."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and (is_library(frame.f_code.co_filename) or _is_made(frame)):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_made(frame: FrameType) -> bool:
    """Whether a library runs code that it has made: no line of any file."""
    before = frame.f_back
    return (
        frame.f_code.co_filename.startswith("<")
        and before is not None
        and is_library(before.f_code.co_filename)
    )


def users_part(trace: TracebackType | None) -> TracebackType | None:
    """A traceback cut off after the last line of the user's program: how the runtime found a mistake out says nothing about it."""
    last, each = None, trace
    while each is not None:
        if not each.tb_frame.f_code.co_filename.startswith(PACKAGE):
            last = each
        each = each.tb_next
    if last is not None:
        last.tb_next = None
    return trace
