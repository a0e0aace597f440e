"""Stacks of all ranks: asked for with SIGUSR1, read from their files, grouped; the odd one out is where to look.

Works for Python ranks, whose hook registers faulthandler and says so in the stack file; no other process is ever sent the signal,
which would kill it. Ranks of other hosts are reached through mpirun, which passes SIGUSR1 on.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Sequence

from mgd.lean import dataclass
from tt_run import contract
from tt_run.launch.backend import Job
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.status import StatusBoard

COLLECT_SECONDS = 2.0
# Patterns as text: compiling them is left to the first use, since most runs have none.
_REGISTERED = r"^# registered pid=(\d+)$"
_FRAME = r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$'
_OTHERS_CODE = r"/site-packages/|/lib/python3\.\d+/|/tt_run/runtime/|/tt_run/launch/hook/|^<frozen"
# Where the emulation waits for other ranks without MPI: in shared memory, and before MPI starts.
_WAITS = ("/tt_run/runtime/ccl/exchange/window.py", "/tt_run/runtime/comm/arrival.py")
_LIBRARY_CALL = re.compile(r"\b(?:library|real)\(")
_AROUND_LIBRARY = ("/tt_run/runtime/own_mpi/communicators.py", "/tt_run/runtime/record/mpi/crossing.py")
"""Where the runtime passes the program's own calls on to MPI, by those names."""
_GUARD_WAITS = ("/tt_run/runtime/guard/watch.py", "/tt_run/runtime/guard/channel.py")
_MPI_CALL = (
    r"\b(?:[Bb]arrier|[IN]?[Aa]ll(?:reduce|gather|gatherv|toall|toallv)|[Bb]cast|[Rr]educe(?:_scatter(?:_block)?)?|[Gg]atherv?|"
    r"[Ss]catterv?|[IM]?[Ss]?[Ss]end(?:recv)?|[IM]?[Rr]ecv|[IM]?[Pp]robe|[Ww]ait(?:all|any|some)?|Fence|Lock|Split|Dup|Create|Finalize|"
    r"[Ss]can|[Ee]xscan)\w*\s*\("
)
_POLL = r"\b(?:[Ii]m?[Pp]robe|[Tt]est(?:all|any|some)?|[Gg]et_status)\s*\("
_AROUND = 3  # lines


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a stack; `text` is the source line where it can be read here."""

    file: str
    line: int
    function: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}" + (f": {self.text}" if self.text else "")


@dataclass(frozen=True, slots=True)
class RankStack:
    """The main thread of one rank, innermost frame first; empty when the rank gave none."""

    rank: int
    frames: tuple[Frame, ...] = ()

    @property
    def where(self) -> Frame | None:
        """The innermost frame of the user's own code: not inside the standard library, an installed package or the emulation."""
        inner = self.innermost_own
        return self.frames[0 if inner is None else inner] if self.frames else None

    @property
    def innermost_own(self) -> int | None:
        """The number of the innermost frame of the user's own code; None where there is none."""
        return next((n for n in range(len(self.frames)) if not self._is_others(n)), None)

    def _is_others(self, number: int) -> bool:
        """Whether a frame is not the user's; one that was made from a text, as dataclasses are, is whose its caller is."""
        file = self.frames[number].file
        if file == "<string>" and number + 1 < len(self.frames):
            return self._is_others(number + 1)
        return bool(re.search(_OTHERS_CODE, file))

    @property
    def at_rest(self) -> tuple[Frame, ...]:
        """The frames that stay as they are while nothing goes on: those of the guard differ with every look, since it asks again and again."""
        inner = self.innermost_own or 0
        asks = any(frame.file.endswith(_GUARD_WAITS) for frame in self.frames[:inner])
        return self.frames[inner:] if asks else self.frames

    @property
    def waits(self) -> bool:
        """Whether it waits for other ranks: in MPI, or in the guard of the emulation."""
        return self.in_mpi or any(frame.file.endswith(_GUARD_WAITS) for frame in self.frames[:4])

    @property
    def polls(self) -> bool:
        """Whether the user's lines around its own look whether a message or request is there."""
        where = self.where
        lines = range(where.line - _AROUND, where.line + _AROUND + 1) if where else ()
        return where is not None and any(re.search(_POLL, _source_line(where.file, line)) for line in lines)

    @property
    def in_mpi(self) -> bool:
        """Whether the innermost line calls MPI or imports mpi4py, which starts it, or waits for others in other ways."""
        if not self.frames:
            return False
        inner = self.frames[0]
        if any(frame.file.endswith(_WAITS) for frame in self.frames[:4]):
            return True
        if inner.file.endswith(_AROUND_LIBRARY) and _LIBRARY_CALL.search(inner.text):
            return True
        importing = any("mpi4py" in frame.text and "import" in frame.text for frame in self.frames)
        return importing or "/mpi4py/" in inner.file or bool(re.search(_MPI_CALL, inner.text))


def read_frame(text: str) -> Frame:
    """A frame from its words."""
    found = re.match(r"(.*?):(\d+) in (.*?)(?:: (.*))?$", text)
    return Frame(found[1], int(found[2]), found[3], found[4] or "") if found else Frame(text, 0, "")


def parse_stack(rank: int, text: str) -> RankStack:
    """The last dump in a stack file; the main thread is the last one that faulthandler lists."""
    dump = text.rsplit("# registered", 1)[-1]  # of the process that the rank is now
    frames: list[Frame] = []
    for line in dump.splitlines():
        if "most recent call first" in line:
            frames = []
            continue
        found = re.match(_FRAME, line)
        if found:
            number = int(found["line"])
            frames.append(
                Frame(found["file"], number, found["function"], _source_line(found["file"], number))
            )
    return RankStack(rank, tuple(frames))


def _source_line(file: str, number: int) -> str:
    import linecache

    return linecache.getline(file, number).strip()


def collect(board: StatusBoard, job: Job, folder: RunFolder, host: str) -> list[RankStack]:
    """Asks every live Python rank for its stack and waits until all have answered, at most COLLECT_SECONDS."""
    live = [status for status in board.all() if status.started and not status.ended]
    before = {status.rank: _size(folder, status.rank) for status in live}
    asked: set[int] = set()
    remote = []
    for status in live:
        pids = registered_pids(folder, status.rank)
        if not pids or folder.ending(status.rank).exists():
            continue  # not Python, or past the end of its program, where nothing answers any more
        if status.host == host:
            asked.update(status.rank for pid in pids if contract.ask_stacks(pid))
        else:
            remote.append((status, pids))
    if remote and all(status.pid in registered_pids(folder, status.rank) for status in live):
        job.send(signal.SIGUSR1)
        asked.update(status.rank for status, _ in remote)
    deadline = time.monotonic() + COLLECT_SECONDS
    sizes = dict(before)
    while time.monotonic() < deadline:
        time.sleep(0.05)
        now = {rank: _size(folder, rank) for rank in asked}
        if all(now[rank] > before[rank] for rank in asked) and all(
            now[rank] == sizes[rank] for rank in asked
        ):
            break
        sizes.update(now)
    return [_read(folder, status.rank, before[status.rank]) for status in live]


def _read(folder: RunFolder, rank: int, offset: int) -> RankStack:
    try:
        with folder.stacks(rank).open("rb") as source:
            source.seek(offset)
            return parse_stack(rank, source.read().decode("utf-8", errors="replace"))
    except OSError:
        return RankStack(rank)


def _size(folder: RunFolder, rank: int) -> int:
    try:
        return folder.stacks(rank).stat().st_size
    except OSError:
        return 0


def registered_pids(folder: RunFolder, rank: int) -> list[int]:
    """The Python processes of a rank that answer SIGUSR1."""
    try:
        text = folder.stacks(rank).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [int(pid) for pid in re.findall(_REGISTERED, text, re.MULTILINE)]


def grouped(stacks: Sequence[RankStack]) -> list[tuple[Frame | None, list[int]]]:
    """Ranks by the place they are in, the smallest group first: the odd one out."""
    groups: dict[Frame | None, list[int]] = {}
    for stack in stacks:
        groups.setdefault(stack.where, []).append(stack.rank)
    return sorted(groups.items(), key=lambda item: (len(item[1]), item[1]))


def rank_list(ranks: Sequence[int]) -> str:
    """Ranks as people write them: "rank 3", "ranks 0-5, 7"."""
    numbers = sorted(ranks)
    parts: list[str] = []
    start = previous = None
    for number in [*numbers, None]:
        if start is not None and number is not None and previous is not None and number == previous + 1:
            previous = number
            continue
        if start is not None:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = number
    return ("rank " if len(numbers) == 1 else "ranks ") + ", ".join(parts)
