"""A counter between processes of one machine: one injects, the other takes all. Source: reference library 0.81.1.

It is a file in shared memory with three numbers: what was injected, what was taken, and whether the last owner shut it down.
"""

from __future__ import annotations

import mmap
import struct
import time
from pathlib import Path

from tt_run.runtime.errors import fatal
from tt_run.runtime.native.classes import Native, native

_FOLDER = Path("/dev/shm")
_NUMBERS = struct.Struct("<QQQ")
_PAUSE = 0.005


@native("ttnn._ttnn.counter_channel.InterProcessCounterChannel")
class InterProcessCounterChannel(metaclass=Native):
    """Creates the channel `shm_name`; another process calls `connect` with the same name. One of them injects, one takes."""

    def __init__(self, shm_name: str) -> None:
        path = _FOLDER / shm_name.lstrip("/")
        before = path.read_bytes() if path.exists() else b""
        self._clean = len(before) < _NUMBERS.size or bool(_NUMBERS.unpack(before[: _NUMBERS.size])[2])
        path.write_bytes(_NUMBERS.pack(0, 0, 0))
        self._open(shm_name, owner=True)

    def _open(self, shm_name: str, owner: bool) -> None:
        self._name, self._owner = shm_name, owner
        with (_FOLDER / shm_name.lstrip("/")).open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _NUMBERS.size)

    @classmethod
    def connect(cls, shm_name: str, connect_timeout_ms: int = 30000) -> InterProcessCounterChannel:
        """The channel that another process creates. Raises RuntimeError when it does not within the time."""
        until = time.monotonic() + connect_timeout_ms / 1000
        path = _FOLDER / shm_name.lstrip("/")
        while not (path.exists() and path.stat().st_size >= _NUMBERS.size):
            if time.monotonic() > until:
                raise fatal(
                    f"no process created the counter channel {shm_name!r} within {connect_timeout_ms} ms",
                    hint="create it first in another process, or wait longer: connect_timeout_ms=…",
                )
            time.sleep(_PAUSE)
        channel = object.__new__(cls)
        channel._clean = True
        channel._open(shm_name, owner=False)
        return channel

    @property
    def shm_name(self) -> str:
        """The name in shared memory."""
        return self._name

    def had_clean_prior_shutdown(self) -> bool:
        """Whether the last channel of this name was shut down, or there was none."""
        return self._clean

    def inject(self, n: int) -> None:
        """Add to the counter. Raises RuntimeError for a negative number."""
        if n < 0:
            raise fatal(f"a counter only grows: inject({n})", hint="inject(0) or more")
        self._write(0, self._read(0) + n)

    def pending(self) -> int:
        """What was injected and not taken."""
        return self._read(0) - self._read(1)

    def try_consume_all(self) -> int:
        """Take what is pending, at once; 0 when there is nothing."""
        injected = self._read(0)
        taken = injected - self._read(1)
        self._write(1, injected)
        return taken

    def shutdown(self) -> None:
        """Say that the channel is done with; its creator removes it."""
        self._write(2, 1)
        if self._owner:
            (_FOLDER / self._name.lstrip("/")).unlink(missing_ok=True)

    def _read(self, place: int) -> int:
        number: int = struct.unpack_from("<Q", self._memory, 8 * place)[0]
        return number

    def _write(self, place: int, value: int) -> None:
        struct.pack_into("<Q", self._memory, 8 * place, value)
