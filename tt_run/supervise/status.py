"""Status records: what the wrapper of each rank wrote about its start and end. Read incrementally, believed completely."""

from __future__ import annotations

import functools
import os
import re
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mgd.lean import dataclass, field, replace
from tt_run.supervise.folder import RunFolder

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

_OF_LIMITS: dict[int, str] = {
    signal.SIGXCPU: "it had used the processor time that it may have (ulimit -t)",
    signal.SIGXFSZ: "it wrote more into a file than that may hold (ulimit -f)",
}
"""What signals mean by which the kernel ends who comes to a limit."""


@dataclass(frozen=True, slots=True)
class RankStatus:
    """How far one rank has come. `code` and `signal` exclude each other; both None means that no end is on record."""

    rank: int
    host: str | None = None
    pid: int | None = None
    pgid: int | None = None
    start: float | None = None
    end: float | None = None
    code: int | None = None
    signal: int | None = None
    error: str | None = None  # why the program could not be started at all
    told: bool = (
        False  # it was sent SIGTERM from outside before it ended, with its whole group: as mpirun does
    )
    passed: str = ""  # a signal that its whole group was sent and that mpirun passes on, without SIG
    over: str = ""  # how the program ended, `signal:9`, as far as is known while its wrapper sees to what it has left behind
    memory: str = ""  # why its SIGKILL is known to be the memory killer's
    limit: str = ""  # which limit of its own a SIGKILL is known to be for
    left: bool = False  # it has left processes behind on its host, which its wrapper has ended
    cgroup: str | None = None  # a control group of its own, where its wrapper could make one

    @property
    def started(self) -> bool:
        return self.start is not None

    @property
    def ended(self) -> bool:
        return self.code is not None or self.signal is not None

    @property
    def succeeded(self) -> bool:
        return self.code == 0

    @property
    def failed(self) -> bool:
        return self.ended and not self.succeeded

    @property
    def was_killed(self) -> bool:
        """Whether a signal ended it that was not mpirun's."""
        return self.signal is not None and not self.told

    @property
    def exit_code(self) -> int | None:
        """As a shell reports it: the code, or 128 + signal."""
        return 128 + self.signal if self.signal is not None else self.code

    def settled(self) -> RankStatus:
        """The same once nothing more can come: of a wrapper that was killed after its program had ended, the end that it knew of."""
        how, _, value = self.over.partition(":")
        if self.ended or _whole(value) is None:
            return self
        return replace(self, signal=int(value)) if how == "signal" else replace(self, code=int(value))

    def outcome(self, with_reason: bool = True) -> str:
        """The end in words; what is known of why a signal was sent only `with_reason`."""
        if self.error:
            return f"did not start: {self.error}"
        if self.signal is not None:
            by = f"was killed by {signal_name(self.signal)}"
            why = (
                f"out of memory ({self.memory})" if self.memory else self.limit or _OF_LIMITS.get(self.signal)
            )
            return f"{by}: {why}" if why and with_reason else by
        if self.code is not None:
            return f"exited with {self.code}"
        return "did not start" if not self.started else "left no record of its end"


@dataclass(frozen=True, slots=True)
class FirstSeen:
    """When the start and the end of a rank were first seen here, in seconds since 1970."""

    start: float | None = None
    end: float | None = None


CRASHES = frozenset(
    (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGSYS)
)
"""Signals that a process gets for what it did itself."""


def signal_name(number: int) -> str:
    """SIGSEGV for 11; "signal 72" for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def parse_status(rank: int, text: str) -> RankStatus:
    """A record from its lines NAME=VALUE; a last line without its line end is still being written and is left out."""
    values: dict[str, str] = {}
    for line in text.split("\n")[:-1]:
        name, separator, value = line.partition("=")
        if separator:
            values[name] = value
    return RankStatus(
        rank=rank,
        host=values.get("host"),
        pid=_whole(values.get("pid")),
        pgid=_whole(values.get("pgid")),
        start=_seconds(values.get("start")),
        end=_seconds(values.get("end")),
        code=_whole(values.get("exit")),
        signal=_whole(values.get("signal")),
        error=values.get("error"),
        told="told" in values,
        passed=values.get("passed", ""),
        over=values.get("over", ""),
        memory=values.get("memory", ""),
        limit=values.get("limit", ""),
        left="left" in values,
        cgroup=values.get("cgroup"),
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.lstrip("-").isdigit() else None


def _seconds(text: str | None) -> float | None:
    """Seconds since 1970; a date command without %N leaves the letters, which are cut off."""
    if not text:
        return None
    try:
        if text.startswith("@"):
            return _booted() + float(text[1:])
        return float(text.rstrip("%N").rstrip("."))
    except ValueError:
        return None


_LONGEST = 1 << 16  # bytes of a record
# What `rank.sh` says where its record cannot be written: on a disk that is full or fails.
_UNRECORDED = r"^tt-run: unrecorded rank=0*(\d+) end=(\S*) (exit|signal)=(\d+)$"


@functools.cache
def _booted() -> float:
    """When this machine was started, in seconds since 1970; to the hundredth, as precise as the kernel tells its uptime.

    Asked once: asked for every record, the hundredth that it is off differs, and an end could come before its start.
    """
    with open("/proc/uptime", "rb") as stream:
        up = stream.read().split()[0]
    return wall_time() - float(up)


def wall_time() -> float:
    """Seconds since 1970 by the clock as it stood at the first call: one that is set during a run, or jumps when a laptop wakes up, would
    put what follows before or after the records that ranks of this machine make by its uptime."""
    began, at = _began()
    return began + _since_boot() - at


@functools.cache
def _began() -> tuple[float, float]:
    return time.time(), _since_boot()


def _since_boot() -> float:
    """Counts on while the machine sleeps, as its uptime does."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass()
class StatusBoard:
    """The records of all ranks, kept up to date by `refresh`."""

    folder: RunFolder
    size: int
    ranks: dict[int, RankStatus] = field(default_factory=dict)
    seen: dict[int, FirstSeen] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)
    _files: tuple[str, ...] = ()

    def refresh(self) -> bool:
        """Reads what has grown; True when anything did."""
        changed = False
        # Asked fifty times a second for every rank, while these start: names are put together once.
        self._files = self._files or tuple(str(self.folder.status(rank)) for rank in range(self.size))
        for rank, file in enumerate(self._files):
            known = self.ranks.get(rank)
            if known is not None and known.ended:
                continue
            try:
                size = os.stat(file).st_size  # noqa: PTH116
                if size == self._sizes.get(rank):
                    continue
                text = self._text_of(rank)
            except OSError:
                continue
            self._sizes[rank] = size
            self.ranks[rank] = parse_status(rank, text)
            self._note(self.ranks[rank])
            changed = True
        return changed

    def settle(self, said: str = "") -> None:
        """Takes what is known of every end for the end: the run is over, and no wrapper is left to write more.

        `said` is the launcher's log, where wrappers tell what they could not record.
        """
        for rank, end, how, value in re.findall(_UNRECORDED, said, re.MULTILINE) if said else ():
            status = self.of(int(rank))
            if not status.ended and int(rank) < self.size:
                known = ""
                with suppress(OSError):
                    known = self._text_of(int(rank))
                self.ranks[int(rank)] = parse_status(int(rank), f"{known}\nend={end}\n{how}={value}\n")
                self._note(self.ranks[int(rank)])
        self.ranks = {rank: status.settled() for rank, status in self.ranks.items()}

    def _text_of(self, rank: int) -> str:
        """What a record says, no more than one has, whatever a program has put in its place. Raises OSError where it cannot be read."""
        with self.folder.status(rank).open("rb") as stream:
            return stream.read(_LONGEST).decode(errors="replace")

    def _note(self, status: RankStatus) -> None:
        moment, before = wall_time(), self.seen.get(status.rank, FirstSeen())
        start = moment if before.start is None and status.started else before.start
        self.seen[status.rank] = FirstSeen(start, moment if status.ended else None)

    def of(self, rank: int) -> RankStatus:
        return self.ranks.get(rank) or RankStatus(rank)

    def all(self) -> tuple[RankStatus, ...]:
        return tuple(self.of(rank) for rank in range(self.size))

    @property
    def started(self) -> int:
        """How many ranks have started."""
        return sum(status.started for status in self.ranks.values())

    @property
    def all_started(self) -> bool:
        return self.started == self.size

    @property
    def all_ended(self) -> bool:
        return len(self.ranks) == self.size and all(status.ended for status in self.ranks.values())

    def first_failure(self) -> RankStatus | None:
        """The failed rank that ended first."""
        failed = [status for status in self.ranks.values() if status.failed]
        return min(failed, key=lambda status: status.end or 0.0, default=None)


def mpi_at_end(folder: RunFolder, rank: int) -> str:
    """What a Python rank noted at its end about MPI: "never" entered, "finalized", still "open"; empty without a note."""
    try:
        text = folder.ending(rank).read_text(encoding="utf-8")
    except OSError:
        return ""
    return text.rstrip().rpartition("mpi=")[2]


def read_failure(folder: RunFolder, rank: int) -> Mapping[str, Any] | None:
    """What the rank itself wrote about its failure, None when it wrote nothing readable."""
    return _record(folder.failure(rank))


def failure_of(folder: RunFolder, status: RankStatus) -> Mapping[str, Any] | None:
    """The same, and of a rank that left with a code alone what the last Python that it had started wrote."""
    found = read_failure(folder, status.rank)
    is_code = found is None or found.get("exception") == "SystemExit"
    return (status.code and is_code and _record(folder.child_failure(status.rank))) or found


def _record(path: Path) -> Mapping[str, Any] | None:
    import json

    try:
        record = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return None
    return _printable(record) if isinstance(record, dict) else None


def _printable(value: Any) -> Any:
    """The same with lone surrogates, which no stream takes, written out as `\\ud800`."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_printable(name): _printable(each) for name, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list) else value
