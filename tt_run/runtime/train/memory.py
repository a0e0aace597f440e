"""`ttml.core.utils.MemoryUsageTracker`: how much device memory each phase of a program takes.

While a capture runs, every device tensor that is made counts with the bytes that a device would hold (bfloat16 in 2, tiles padded), and is taken
off when the last reference to its buffer goes. State of optimizers counts too. The text is that of the reference, so that
`scripts/analyze_memory.py` reads either. L1 is not emulated: its lines say 0.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from mgd.lean import dataclass, field
from tt_run.runtime import events
from tt_run.runtime.enums import DataType
from tt_run.runtime.tensor.tensor import Tensor as Value
from tt_run.runtime.tensor.tensor import observe
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import element_size

MIB = 1024 * 1024


LAST = "END_TRACE"
"""What the last phase is called unless it is given a name."""


@dataclass(frozen=True)
class DRAMUsage:
    """What happened between two snapshots, in bytes per device: the most that was held beyond the beginning, and all that came and went."""

    name: str = field(repr=False)
    peak: int
    total_allocations: int
    total_deallocations: int
    before: int = field(repr=False)

    @property
    def change(self) -> int:
        """Allocated less freed."""
        return self.total_allocations - self.total_deallocations

    @property
    def after(self) -> int:
        """What is held at the end."""
        return self.before + self.change

    def __str__(self) -> str:
        return "\n".join(
            [
                "DRAM Usage:",
                f"  Peak:          {self.peak / MIB:.2f} MB",
                f"  Allocations:   {self.total_allocations / MIB:.2f} MB",
                f"  Deallocations: {self.total_deallocations / MIB:.2f} MB",
            ]
        )


@dataclass(frozen=True)
class L1UsagePerCore:
    """The most of a core's L1 that a phase used, in bytes: zeros, for it belongs to kernels, which are not emulated."""

    peak_cb: int = 0
    peak_l1: int = 0
    peak_total: int = 0


@dataclass()
class _Capture:
    segments: list[DRAMUsage] = field(default_factory=list)
    held: int = 0
    peak: int = 0
    start: int = 0
    allocated: int = 0
    freed: int = 0
    counted: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)

    def add(self, size: int) -> None:
        self.held += size
        self.allocated += size
        self.peak = max(self.peak, self.held)

    def take(self, size: int) -> None:
        self.held -= size
        self.freed += size

    def cut(self, name: str) -> None:
        self.segments.append(DRAMUsage(name, self.peak - self.start, self.allocated, self.freed, self.start))
        self.start = self.peak = self.held
        self.allocated = self.freed = 0


_capture: _Capture | None = None
_leave: list[Callable[[], None]] = []
_running = False


class Guard:
    """A capture as an object, and as a context whose end leaves it running: `MemoryUsageTracker.MemoryUsageGuard(mode)` is `begin_capture(mode)`."""

    def __init__(self, mode: Any = None) -> None:
        _begin(mode)

    def release(self) -> None:
        """Nothing: a capture ends by `end_capture()` or `clear()`. The reference's ends with its guard unless that was released."""

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


class MemoryUsageTracker:
    """Counts device memory between `begin_capture` and `end_capture`."""

    MemoryUsageGuard = Guard

    @staticmethod
    def begin_capture(mode: Any = None) -> Guard:
        """Start counting from nothing. With `ttnn.graph.RunMode.NO_DISPATCH` tensors have shapes only until the capture ends, so that models are
        counted which fit no memory. Raises RuntimeError while a capture runs."""
        return Guard(mode)

    @staticmethod
    def snapshot(name: str) -> None:
        """End a phase and give it a name. Warns when no capture runs: loops name their phases whether or not memory is watched."""
        if capture := _current("snapshot"):
            capture.cut(name)

    @staticmethod
    def end_capture(name: str = LAST) -> None:
        """End the last phase and the capture. Warns when no capture runs."""
        if capture := _current("end_capture"):
            capture.cut(name)
            _stop()

    @staticmethod
    def print_memory_usage() -> None:
        """Print a block for each phase and the overall peak."""
        print(report(), flush=True)

    @staticmethod
    def get_dram_usage(name: str = LAST) -> DRAMUsage:
        """The phase of that name. Raises RuntimeError, listing the phases, when there is none."""
        for segment in _segments():
            if segment.name == name:
                return segment
        names = ", ".join(s.name for s in _segments()) or "none"
        raise RuntimeError(
            f"MemoryUsageTracker: no phase {name!r}; there are {names}; help: snapshot(name) begins one"
        )

    @staticmethod
    @naming_faults
    def get_dram_usage_all() -> list[tuple[str, DRAMUsage]]:
        """Every phase with its name, in order."""
        return [(segment.name, segment) for segment in _segments()]

    @staticmethod
    def get_l1_usage(name: str = LAST) -> L1UsagePerCore:
        """Zeros for the phase of that name. Raises RuntimeError as `get_dram_usage`."""
        MemoryUsageTracker.get_dram_usage(name)
        return L1UsagePerCore()

    @staticmethod
    @naming_faults
    def get_l1_usage_all() -> list[tuple[str, L1UsagePerCore]]:
        """Zeros for every phase."""
        return [(segment.name, L1UsagePerCore()) for segment in _segments()]

    @staticmethod
    @naming_faults
    def get_trace_names() -> list[str]:
        """The names of the phases, in order."""
        return [segment.name for segment in _segments()]

    @staticmethod
    @naming_faults
    def get_dram_peak() -> int:
        """The largest number of bytes held at any time."""
        return max((s.before + s.peak for s in _segments()), default=0)

    @staticmethod
    @naming_faults
    def get_current() -> int:
        """Bytes held on a device now, as far as they were counted: 0 when no capture runs."""
        return _capture.held if _running and _capture is not None else 0

    @staticmethod
    @naming_faults
    def clear() -> None:
        """Forget what was captured."""
        global _capture
        _stop()
        _capture = None


def _begin(mode: Any) -> None:
    global _capture, _running
    if _running:
        raise RuntimeError("MemoryUsageTracker: a capture is running; end_capture() it first")
    _capture, _running = _Capture(), True
    _leave.append(observe(_made))
    if getattr(mode, "name", mode) == "NO_DISPATCH":
        without_values = ExitStack()
        without_values.enter_context(shapes.only())
        _leave.append(without_values.close)


def report() -> str:
    """The text of `print_memory_usage`."""
    lines: list[str] = []
    overall = 0
    for segment in _segments():
        overall = max(overall, segment.before + segment.peak)
        lines += [
            f"--- {segment.name} ---",
            f"DRAM: Segment Peak {segment.peak / MIB:.2f} MB, Allocations {segment.total_allocations / MIB:.2f} MB, "
            f"Deallocations {segment.total_deallocations / MIB:.2f} MB, Segment Change {segment.change / MIB:+.2f} MB",
            f"DRAM: Cumulative Peak {overall / MIB:.2f} MB, Cumulative Current {segment.after / MIB:.2f} MB",
            "L1: Peak CB 0.00 MB, Peak Buffer 0.00 MB, Peak Total 0.00 MB",
        ]
    lines.append(f"Overall DRAM Peak: {overall / MIB:.2f} MB")
    return "\n".join(lines)


def count_state(shape: tuple[int, ...], dtype: DataType, owner: Any) -> None:
    """State that an optimizer keeps on a device for as long as `owner` lives."""
    if _running and _capture is not None:
        _track(math.prod(shape) * element_size(dtype), owner)


def _made(value: Value) -> None:
    if value.device() is None or _capture is None or value.storage in _capture.counted:
        return
    # The buffer, not the tensor: several tensors may be of one buffer, and a tensor may get another.
    _capture.counted.add(value.storage)
    _track(math.prod(value.padded_shape) * element_size(value.dtype), value.storage)


def _track(size: int, owner: Any) -> None:
    capture = _capture
    assert capture is not None
    capture.add(size)
    weakref.finalize(owner, capture.take, size).atexit = False


def _current(method: str) -> _Capture | None:
    """The capture that runs; without one None, and a warning that names what was called."""
    if _running:
        return _capture
    events.warn(
        f"MemoryUsageTracker.{method}: no capture is running; begin_capture() starts one", UserWarning
    )
    return None


def _segments() -> list[DRAMUsage]:
    return [] if _capture is None else _capture.segments


def _stop() -> None:
    global _running
    while _leave:
        _leave.pop()()
    _running = False
