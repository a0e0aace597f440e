"""The start of a process that is recorded or replayed: chance, clocks, environment and standard input, before the program has used any of them.

Called by the launcher's Python hook before the program, else by whoever first asks for the ranks. It loads NumPy, whose global generator
is seeded then, and nothing else that is heavy.
"""

from __future__ import annotations

import atexit
import io
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from tt_run import contract
from tt_run.runtime import launched
from tt_run.runtime.record import clocks as program_clocks
from tt_run.runtime.record import file_system_calls, files, frames, streams
from tt_run.runtime.record.numbers import RecordedNumber

_OWN_CHANCE = ("/runtime/comm/", "/runtime/guard/", "/tempfile.py", "/mpi4py/")
"""Who draws random bytes that no result depends on, and that a replay does not draw."""

_UNRECORDED_PARTS = ("mpi4py.futures", "mpi4py.util.sync", "mpi4py.util.pool")
"""Modules that reach into the library in ways of their own."""

_urandom, _getrandom = os.urandom, getattr(os, "getrandom", None)
_source: Callable[[int, Callable[[int], bytes]], bytes] | None = None
_kept: list[bytes] = []
begun = False
clocks = program_clocks.Written()
"""What this process's program reads from clocks, when it is recorded."""
opened: files.Read | None = None
"""The files that it reads, likewise."""
_ends: list[Callable[[], None]] = []
state: dict[str, Any] = {}
"""What was found when the process began."""


def begin() -> None:
    """Take over chance, clocks and standard input, once per process."""
    global begun, opened, _source
    if begun:
        return
    begun = True
    atexit.register(_end)  # before the program's own, which then come first
    import numpy as np

    os.urandom = staticmethod(_chance)  # as the original, no method where a class holds it
    if _getrandom is not None:
        os.getrandom = staticmethod(lambda size, flags=0: _chance(size))
    random._urandom = _chance  # type: ignore[attr-defined]
    random.Random.seed = _seed  # type: ignore[method-assign]
    random.seed = random._inst.seed  # it was bound before
    streams.tell_threads_apart()
    if replayed := launched.variables.get(contract.REPLAY):
        try:
            rank = _restore(Path(replayed))
        except (ValueError, OSError) as error:  # no exception: the interpreter would show it and go on
            from tt_run.runtime.record.folder import finding_of

            print(finding_of(error), file=sys.stderr, flush=True)
            os._exit(contract.Exit.UNREADABLE)
        _stand_in()
        # Only a replay needs it, and it loads a debugger.
        from tt_run.runtime.record import stops

        stops.install(rank)
        return
    version, numbers, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    state.update(
        random=[version, list(numbers), gauss],
        numpy=[kind, [int(key) for key in keys], int(position), int(has_gauss), float(cached)],
        environment=dict(os.environ),
        cwd=os.getcwd(),  # noqa: PTH109 - as text
        argv=list(sys.orig_argv),
        executable=sys.executable,
    )
    _source = _keep
    program_clocks.install(clocks)
    opened = files.Read()
    file_system_calls.install(opened)
    _follow()
    if _is_piped():
        _replace_input(_Tapped())


def _follow() -> None:
    """Let the program's own calls of mpi4py go through the book, once it loads that, and PyTorch draw from it."""
    from tt_run.runtime.library_imports import Finder
    from tt_run.runtime.record.mpi.recorded import recorded_module, recorded_pickles, tell_unrecorded

    unrecorded = dict.fromkeys(_UNRECORDED_PARTS, lambda module: tell_unrecorded(module.__name__))
    parts = {**unrecorded, "mpi4py.util.pkl5": recorded_pickles}
    sys.meta_path.insert(
        0, Finder({"mpi4py.MPI": lambda module: recorded_module(module, _book), **parts, **_MET})
    )
    _meet_loaded()


def _sow(torch: Any) -> None:
    """Seed PyTorch's generator, which the machine has seeded, from chance that is in the book; likewise where the program asks for that."""

    def seed() -> int:
        found = int.from_bytes(_chance(8), "big") >> 1
        torch.manual_seed(found)
        return found

    def seed_one(self: Any) -> int:
        found = int.from_bytes(_chance(8), "big") >> 1
        self.manual_seed(found)
        return found

    seed()
    seed.__doc__ = torch.seed.__doc__
    torch.seed = torch.random.seed = seed
    torch.Generator = program_clocks.standing_in(torch.Generator, {"seed": seed_one}, "torch._C")


def _name_by_chance(uuid: Any) -> None:
    """Let `uuid1` read the clock and chance as any program does: the system's own source is not in the book."""
    uuid._generate_time_safe = None


_MET = {"torch": _sow, "uuid": _name_by_chance, **streams.POOLS}
"""Libraries with a chance of their own, and pools of threads."""


def _meet_loaded() -> None:
    """The same for those that have been loaded before."""
    for name, meet in _MET.items():
        if name in sys.modules:
            meet(sys.modules[name])


def _stand_in() -> None:
    """Put an mpi4py that answers from the record in the place of the library, installed or not; PyTorch draws from the record."""
    from tt_run.runtime.library_imports import Finder
    from tt_run.runtime.record.mpi.replayed import replayed_modules

    sys.meta_path.insert(0, Finder(_MET))
    _meet_loaded()
    whose = int(state["rank"]), int(state["size"]), str(state["host"])
    sys.modules.update(replayed_modules(_book, *whose, state["library"]))


def _book() -> Any:
    """The book of this process: of this module's own, so that it need not be known before the program begins."""
    global _found
    if _found is None:
        from tt_run.runtime.comm.world import world

        _found = world().book  # type: ignore[attr-defined]
    return _found


_found: Any = None


def connect(
    source: Callable[[int, Callable[[int], bytes]], bytes], read: Callable[[bytes], None], reads: files.Hand
) -> None:
    """Hand over what was drawn and read so far, and all that comes, to the book."""
    global _source
    for found in _kept:
        source(len(found), lambda size, found=found: found)  # type: ignore[misc]
    _kept.clear()
    _source = source
    for data in _Tapped.kept:
        read(data)
    _Tapped.kept.clear()
    _Tapped.hand = read
    if opened is not None:
        for told, data in opened.waiting:
            reads(told, data)
        opened.waiting.clear()
        opened.hand = reads


@contextmanager
def unasked() -> Iterator[None]:
    """While it is not the program that asks for files."""
    if opened is not None:
        opened.paused = True
    try:
        yield
    finally:
        if opened is not None:
            opened.paused = False


def at_failure(tell: Callable[[type[BaseException], BaseException], None]) -> None:
    """Call `tell` for an exception that ends the program, before others hear of it."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        tell(kind, error)
        before(kind, error, trace)

    sys.excepthook = hook


def at_end(tell: Callable[[], None]) -> None:
    """Call `tell` at the ordinary end of the program, after what it has left for that itself."""
    _ends.append(tell)


def _end() -> None:
    for tell in reversed(_ends):
        tell()


def _keep(size: int, source: Callable[[int], bytes]) -> bytes:
    _kept.append(source(size))
    return _kept[-1]


def _chance(size: int) -> bytes:
    """`os.urandom`, for the program's own use in the book."""
    if _source is None:
        return _urandom(size)
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if any(part in name for part in _OWN_CHANCE):
            return _urandom(size)
        frame = frame.f_back  # type: ignore[assignment]
    return _source(size, _urandom)


_seed_before = random.Random.seed


def _seed(self: random.Random, a: Any = None, version: int = 2) -> None:
    """As `random.Random.seed`; what the machine would draw comes through `os.urandom`."""
    if a is None and _source is not None:
        a = int.from_bytes(_chance(32), "big")
    _seed_before(self, a, version)


def _restore(path: Path) -> int:
    """Chance and standard input as a record has them; whose it is."""
    global _source
    import numpy as np

    openings = []
    drawn, read, told, library = [], bytearray(), bytearray(), {}
    for frame in frames.read_frames(path):
        if frame.kind == frames.HEADER:
            header = frame.json
        elif frame.kind == frames.ENTROPY:
            drawn.append(bytes(frame.body))
        elif frame.kind == frames.INPUT:
            read += frame.body
        elif frame.kind == frames.CLOCK:
            told += frame.body
        elif frame.kind == frames.FILE:
            openings.append((frame.json, bytes(frame.body)))
        elif frame.kind == frames.LIBRARY:
            library = frame.json
    began = header.get("time")
    if (
        contract.REPLAY_HOW in launched.variables
    ):  # not in a child that this process starts, such as an editor's adapter
        _reopen(header, began if isinstance(began, float) else float("inf"), openings)
    program_clocks.install(program_clocks.Replayed(bytes(told)))
    version, numbers, gauss = header["random"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, *rest = header["numpy"]
    np.random.set_state((kind, np.array(keys, np.uint32), *rest))
    queue = iter(drawn)

    def source(size: int, otherwise: Callable[[int], bytes]) -> bytes:
        found = next(queue, b"")
        return found if len(found) == size else otherwise(size)

    _source = source
    if read:
        _replace_input(io.BytesIO(bytes(read)))
    from tt_run.runtime.record.play import SHOWN

    launched.show(header["environment"], SHOWN)
    state.update(rank=header["rank"], size=header["size"], host=header["host"], library=library)
    return int(header["rank"])


def _reopen(header: dict[str, Any], began: float, openings: list[tuple[dict[str, Any], bytes]]) -> None:
    """Let the program read the files that it read, as they were."""
    from tt_run.runtime.record import play, reopened

    def unchanged() -> bool:
        return sys.orig_argv[1:] == header["argv"][1:] and not play.has_changed(header["program"])

    number = RecordedNumber(header.get("pid") or os.getpid())
    number.install()
    found = reopened.Reopened(began, unchanged, number.here)
    for told, data in openings:
        found.add(told, data)
    reopened.install(found)


def _is_piped() -> bool:
    """Whether there is a standard input that a replay would not have."""
    import stat

    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


class _Tapped(io.RawIOBase):
    """Standard input, of which a copy goes into the book."""

    kept: list[bytes] = []  # noqa: RUF012 - one standard input per process
    hand: Callable[[bytes], None] = kept.append

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def readinto(self, buffer: Any) -> int:
        data = os.read(0, len(buffer))
        buffer[: len(data)] = data
        type(self).hand(data)
        return len(data)


def _replace_input(raw: Any) -> None:
    sys.stdin = io.TextIOWrapper(io.BufferedReader(raw), encoding=sys.stdin.encoding, errors=sys.stdin.errors)
