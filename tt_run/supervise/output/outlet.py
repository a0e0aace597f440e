"""Writing without waiting for whoever reads: behind a pager, a stopped terminal (Ctrl-S) or a collector of logs that hangs, tt-run keeps to its
deadlines and hears signals all the same."""

from __future__ import annotations

import io
import os
import select
import stat
import time
from collections.abc import Callable
from contextlib import suppress

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any, BinaryIO, TextIO

_AT_ONCE = select.PIPE_BUF  # what a pipe that takes something at all takes whole
UNREAD_SECONDS = 0.5


class Outlet:
    """A stream to write to, as `Console` has them. What nobody takes yet is kept, and tried again with each `flush`."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._pending = stream, bytearray()
        self._descriptor, self._own = _without_waiting(stream)
        self.taken = 0
        """Bytes that were taken so far."""

    @property
    def behind(self) -> bool:
        """Whether something is left that nobody has taken."""
        return bool(self._pending)

    @property
    def is_free(self) -> bool:
        """Whether a line that is written now is taken at once."""
        return not self._pending and self._takes(0)

    def write(self, text: bytes) -> None:
        self._pending += text

    def flush(self, seconds: float = 0.0) -> None:
        """Hand over what is taken within `seconds`, all in all. Raises OSError where nobody reads any more, or there is no room; nothing is kept then."""
        deadline = time.monotonic() + seconds
        try:
            if self._descriptor is None:
                self._stream.write(bytes(self._pending))
                self._stream.flush()
                self._pending.clear()
                return
            while self._pending and self._takes(max(0.0, deadline - time.monotonic())):
                done = os.write(self._descriptor, self._pending if self._own else self._pending[:_AT_ONCE])
                del self._pending[:done]
                self.taken += done
        except BlockingIOError:
            return
        except (OSError, ValueError):
            self._pending.clear()
            raise

    def close(self, seconds: float) -> bool:
        """Give whoever reads so long for the rest; False where it was not taken, or there is no room for more."""
        with suppress(OSError, ValueError):
            self.flush(seconds)
        is_free = not self._pending and self._takes(0)
        if self._own and self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._own = None, False
        self._pending.clear()
        return is_free

    def _takes(self, seconds: float) -> bool:
        if self._descriptor is None:
            return True
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        return bool(poll.poll(seconds * 1000))


class Unread(io.RawIOBase):
    """A pipe or terminal from which nobody has read for a while: it is waited for once, and what it does not take after that is dropped."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._patience = descriptor, UNREAD_SECONDS

    @classmethod
    def in_place_of(cls, stream: TextIO) -> TextIO:
        """A text stream that writes to where `stream` does."""
        raw: Any = cls(stream.fileno())
        return io.TextIOWrapper(raw, encoding=stream.encoding, errors=stream.errors, write_through=True)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: Any) -> int:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        left = bytes(data)
        while left and poll.poll(self._patience * 1000):
            left = left[os.write(self._descriptor, left[:_AT_ONCE]) :]
        self._patience = 0.0 if left else UNREAD_SECONDS
        return len(bytes(data))


class Words:
    """What tt-run itself says meanwhile by `say`, which waits for whoever reads: after what the outlet has still to hand over."""

    def __init__(self, outlet: Outlet, say: Callable[[str], None]) -> None:
        self._outlet, self._say = outlet, say
        self._later: list[str] = []

    def say(self, text: str) -> None:
        """Say it now, or as soon as nobody waits for it."""
        self._later.append(text)
        if self._outlet.is_free:
            self.catch_up()

    def catch_up(self) -> None:
        """Say what was left."""
        while self._later:
            self._say(self._later.pop(0))


def _without_waiting(stream: BinaryIO) -> tuple[int | None, bool]:
    """A descriptor for a pipe or terminal, and whether it is one of our own that never waits; None for what makes nobody wait.

    The stream's own is shared with programs that know nothing of a descriptor which never waits.
    """
    try:
        descriptor = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return None, False
    if not (stat.S_ISFIFO(mode) or os.isatty(descriptor)):
        return None, False
    try:
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return os.open(f"/proc/self/fd/{descriptor}", flags), True
    except OSError:  # a terminal of another user
        return descriptor, False
