"""The clocks that a program reads: what they said in the run they say in a replay.

`time.time`, `monotonic`, `perf_counter`, `process_time`, `clock_gettime`, their `_ns` forms, `localtime` and its kin without a moment, `datetime`'s
`now`, `utcnow` and `today`, and what the process has used: `os.times` and `resource.getrusage`. Only what the main thread of the program asks counts: threads, and libraries that wait, ask as often as it
happens to take, and read the true clock.
"""

from __future__ import annotations

import datetime
import functools
import os
import resource
import struct
import sys
import sysconfig
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

CLOCKS = (
    "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns",
    "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns",
)  # fmt: skip
_USED = ("times", "getrusage")
"""Calls that give several numbers, each of which is a reading; after the clocks by number."""
_NAMES = (*CLOCKS, *_USED)
_FROM_NOW = ("localtime", "gmtime", "ctime")
_SECONDS, _NANOSECONDS = struct.Struct("<Bd"), struct.Struct("<Bq")
_STANDARD = sysconfig.get_path("stdlib") + "/"
_OWN = __file__.removesuffix("runtime/record/clocks.py")
REAL: dict[str, Callable[..., Any]] = {
    name: getattr(time, name) for name in (*CLOCKS, *_FROM_NOW, "strftime", "asctime")
}
"""The clocks themselves."""


class Counted(dict[str, bool]):
    """Whether readings of a source file are part of the program, looked at once for each."""

    def __missing__(self, name: str) -> bool:
        if name.startswith(_OWN):
            found = "/runtime/train/" in name
        elif "/site-packages/mpi4py" in name:
            found = False
        else:
            found = (
                not name.startswith(("<frozen", _STANDARD))
                or "/site-packages/" in name
                or "/logging/" in name
                or name.endswith("/uuid.py")
            )
        self[name] = found
        return found


class Written:
    """Readings on their way into the record; `take` empties it."""

    def __init__(self) -> None:
        self.kept = bytearray()
        """What was read since `take`."""

    def reading(self, which: int, real: Callable[[], Any]) -> Any:
        """What a clock says now."""
        found = real()
        form = _NANOSECONDS if isinstance(found, int) else _SECONDS
        self.kept += form.pack(which, found)
        return found

    def take(self) -> bytes:
        """What was read since the last time."""
        found = bytes(self.kept)
        self.kept.clear()
        return found


class Replayed:
    """Readings of a record, those of each clock in their order; where they end, it goes on from the last."""

    def __init__(self, data: bytes) -> None:
        self._queues: tuple[deque[Any], ...] = tuple(deque() for _ in _NAMES)
        self._offsets: list[Any] = [0] * len(_NAMES)
        for which, found in readings(data):
            self._queues[which].append(found)

    def reading(self, which: int, real: Callable[[], Any]) -> Any:
        """What the clock said in the run."""
        now, queue = real(), self._queues[which]
        if not queue:
            return now + self._offsets[which]
        found = queue.popleft()
        self._offsets[which] = found - now
        return found

    def take(self) -> bytes:
        """Nothing to write down."""
        return b""


def readings(data: bytes) -> Iterator[tuple[int, Any]]:
    """The clocks that were read, and what they said."""
    for at in range(0, len(data) - len(data) % _SECONDS.size, _SECONDS.size):
        form = _NANOSECONDS if _NAMES[data[at]].endswith("_ns") else _SECONDS
        yield form.unpack_from(data, at)


def install(book: Written | Replayed) -> None:
    """Let the program of this process read the clocks through the book."""
    counted, main = Counted(), threading.main_thread().ident

    def wrapped(which: int, real: Callable[..., Any]) -> Callable[..., Any]:
        def clock() -> Any:
            if counted[sys._getframe(1).f_code.co_filename] and threading.get_ident() == main:
                return book.reading(which, real)
            return real()

        def clock_of(clk_id: int, /) -> Any:
            if counted[sys._getframe(1).f_code.co_filename] and threading.get_ident() == main:
                return book.reading(which, lambda: real(clk_id))
            return real(clk_id)

        return clock_of if CLOCKS[which].startswith("clock_") else clock

    def now() -> float:
        """For the calls below: whose frame it is that asks is two further up."""
        if counted[sys._getframe(2).f_code.co_filename] and threading.get_ident() == main:
            found: float = book.reading(0, REAL["time"])
            return found
        return float(REAL["time"]())

    def from_now(real: Callable[..., Any]) -> Callable[..., Any]:
        def calendar(secs: float | None = None) -> Any:
            return real(now() if secs is None else secs)

        return calendar

    def strftime(format: str, *moment: Any) -> str:
        return str(REAL["strftime"](format, *(moment or (REAL["localtime"](now()),))))

    def asctime(*moment: Any) -> str:
        return str(REAL["asctime"](*(moment or (REAL["localtime"](now()),))))

    made: dict[str, Callable[..., Any]] = {name: wrapped(n, REAL[name]) for n, name in enumerate(CLOCKS)}
    made |= {name: from_now(REAL[name]) for name in _FROM_NOW} | {"strftime": strftime, "asctime": asctime}
    for name, function in made.items():
        function.__name__ = function.__qualname__ = name
        function.__module__, function.__doc__ = "time", REAL[name].__doc__
        setattr(time, name, staticmethod(function))  # as the original, no method where a class holds it
    os.times = _used("times", os.times, book, counted, main)
    resource.getrusage = _used("getrusage", resource.getrusage, book, counted, main)
    datetime.datetime, datetime.date = _calendars(now)  # type: ignore[misc]


def _used(
    name: str, real: Callable[..., Any], book: Written | Replayed, counted: Counted, main: int | None
) -> Callable[..., Any]:
    """A call of `_USED` whose numbers are those of the book."""
    which = _NAMES.index(name)

    def reading(value: float) -> Any:
        return type(value)(book.reading(which, lambda: float(value)))

    @functools.wraps(real)
    def numbers(*words: Any) -> Any:
        found = real(*words)
        if not (counted[sys._getframe(1).f_code.co_filename] and threading.get_ident() == main):
            return found
        return type(found)(reading(value) for value in found)

    return numbers


def _calendars(now: Callable[[], float]) -> tuple[Any, Any]:
    """`datetime` and `date` whose present is that of the book; what the originals made is an instance of them too."""

    def at(cls: Any, tz: datetime.tzinfo | None = None) -> Any:
        return cls.fromtimestamp(now(), tz)

    def utcnow(cls: Any) -> Any:
        return cls.fromtimestamp(now(), datetime.timezone.utc).replace(tzinfo=None)

    def today(cls: Any) -> Any:
        return cls.fromtimestamp(now())

    return (
        _dated(datetime.datetime, {"now": at, "utcnow": utcnow, "today": today}),
        _dated(datetime.date, {"today": today}),
    )


def standing_in(original: type, methods: dict[str, Any], module: str) -> Any:
    """A subclass that looks like the original to whoever asks."""
    checks = {
        "__instancecheck__": lambda cls, instance: isinstance(instance, original),
        "__subclasscheck__": lambda cls, other: issubclass(other, original),
    }
    kind = type("type", (type(original),), checks)
    return kind(
        original.__name__, (original,), {**methods, "__module__": module, "__doc__": original.__doc__}
    )


def _dated(original: type, methods: dict[str, Any]) -> Any:
    plain: Any = original.__repr__
    facts: dict[str, Any] = {name: classmethod(function) for name, function in methods.items()}
    facts["__repr__"] = lambda self: f"datetime.{plain(self)}"
    return standing_in(original, facts, "datetime")
