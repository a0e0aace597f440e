"""What faults do to this process: its disk, its main thread, its tensors."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.faults import Fault
from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards


def fill_disk() -> None:
    """From now on writing to this rank's standard streams fails as on a full disk."""
    full = os.open("/dev/full", os.O_WRONLY)
    for number in (1, 2):
        os.dup2(full, number)
    os.close(full)


class _SlowDisk(io.FileIO):
    """A file whose every write takes its time first."""

    seconds = 0.0

    def write(self, data: Any) -> int:
        time.sleep(self.seconds)
        return super().write(data) or 0


def slow_disk(seconds: float) -> None:
    """From now on each write of Python to this rank's standard streams takes so much longer; what they held already is written before."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        stream.flush()
        raw = _SlowDisk(stream.fileno(), "w", closefd=False)
        raw.seconds = seconds
        buffered = io.BufferedWriter(raw)
        slowed = io.TextIOWrapper(
            buffered,
            stream.encoding,
            stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        setattr(sys, name, slowed)


def raise_in_main_thread(text: str) -> None:
    """An exception in the main thread, at its next line of Python: what is in a call of a library ends that first."""
    import ctypes

    kind = type(
        "InjectedFault", (RuntimeError,), {"__init__": lambda self: RuntimeError.__init__(self, text)}
    )
    main = threading.main_thread().ident
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main or 0), ctypes.py_object(kind))


def floats_in(args: Iterable[Any]) -> list[Tensor]:
    """The tensors of floats among a call's arguments, those in lists included."""
    found: list[Tensor] = []
    for value in args:
        if isinstance(value, (list, tuple)):
            found += floats_in(value)
        elif isinstance(value, Tensor) and value.shards.data.dtype == np.float32 and value.shards.data.size:
            found.append(value)
    return found


def spoil_first_element(args: Iterable[Any], fault: Fault, name: str) -> None:
    """Put a NaN into, or turn a bit over in, the first element of the first float tensor among a call's arguments.

    Raises RuntimeError when there is none, or not that bit: a fault that does nothing would look like one that was survived.
    """
    found = floats_in(args)
    if not found:
        raise fatal(
            f"--inject {fault.text}: {name} has no tensor of floats",
            hint="call=… or op=… of another operation; --ledger says which call has which number",
        )
    if fault.action == "flip" and fault.bit < 16 and found[0].dtype is not DataType.FLOAT32:
        raise fatal(
            f"--inject {fault.text}: {found[0].dtype.name} has the bits 16 to 31 of a float32 (31 is the sign, 23 to 30 the exponent)",
            hint="bit=16 to 31",
        )
    data = found[0].shards.data.copy()
    first = data.reshape(-1)[:1]
    SPOILERS[fault.action](first, fault)
    found[0].overwrite(Shards(data, found[0].shards.index))


def _put_nan(first: npt.NDArray[np.float32], fault: Fault) -> None:
    first[0] = np.nan


def _turn_bit(first: npt.NDArray[np.float32], fault: Fault) -> None:
    bits = first.view(np.uint32)
    bits ^= np.uint32(1 << fault.bit)


SPOILERS = {"nan": _put_nan, "flip": _turn_bit}
"""What each fault of `SPOILING` does to an array of one number."""
