"""How a rank of a job ends: normally without leaving others to hang, by an exception that names it, or asked where it is meanwhile."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NoReturn

from tt_run import contract
from tt_run.granted import usable_cpus
from tt_run.runtime import events, launched
from tt_run.runtime.comm import debugger_pause
from tt_run.runtime.comm.world import World, flush_streams
from tt_run.runtime.guard.board import CALLS, ENDED, RAISED
from tt_run.runtime.guard.last_place import LastPlace
from tt_run.runtime.guard.own_traffic import own_traffic
from tt_run.runtime.guard.report import GuardError
from tt_run.runtime.guard.watch import Guard

_GRACE = 2.0  # seconds between a rank's failure and the end of the job: the others report in that time
_LONG = 5.0  # seconds that a rank whose program is over waits for others before it says so
_COURTESY = 0.3  # by which a rank that only waited leaves the end of the job to the one at fault, and to its exit code
_FINALIZE = (
    60  # seconds that MPI may take to shut down once all ranks have ended, on a machine that is not busy
)
_FINALIZE_MOST = 900
_BEACON_SECONDS = 0.1


class Lifecycle:
    """Installed once per process that has MPI peers. `guard` is None when the guard is off."""

    def __init__(
        self,
        world: World,
        guard: Guard | None,
        comparisons: Sequence[Callable[[], None]] = (),
        unreceived: Sequence[Callable[[], list[str]]] = (),
    ) -> None:
        self._world = world
        self._guard = guard
        self._pid = os.getpid()
        self._exit_site = ""
        self._exit_status = 0
        self._calls_at_exit = 0
        self._failed = False
        self._previous_hook = sys.excepthook
        self._exit = sys.exit
        self._finalize: Callable[[], None] | None = None
        self._is_shut = False  # MPI is, by the program: nobody can be told anything any more
        self._before: list[Callable[[], None]] = []
        self._after: list[Callable[[], None]] = []
        self._expected: list[Callable[[], bool]] = []
        self._comparisons = comparisons
        self._unreceived = unreceived

    def install(self) -> None:
        """Take over uncaught exceptions and the end of the program; start the beacon."""
        sys.excepthook = self.on_exception
        self._previous_unraisable = sys.unraisablehook
        sys.unraisablehook = self._on_unraisable
        self._previous_thread_hook = threading.excepthook
        threading.excepthook = self._on_thread_exception
        sys.exit = self._on_sys_exit
        atexit.register(self.on_exit)
        if self._guard is not None:
            library = sys.modules.get("mpi4py.MPI")
            if library is not None:
                self._finalize, library.Finalize = library.Finalize, self._on_finalize  # type: ignore[attr-defined]
            threading.Thread(
                target=self._beacon, args=(self._guard,), name="tt-run beacon", daemon=True
            ).start()

    def at_end(
        self,
        before: Callable[[], None],
        after: Callable[[], None] | None,
        is_done: Callable[[], bool] | None = None,
    ) -> None:
        """Call `before` when this rank ends, `after` once all ranks of the job have ended as well. `is_done` tells whether the `after` of another
        rank has done its part for this one, which then may end the job."""
        self._before.append(before)
        if is_done is not None:
            self._expected.append(is_done)
        if after is not None:
            self._after.append(after)

    def on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Show the traceback, tell the others and the launcher, then end the whole job with code 1."""
        if os.getpid() != self._pid:
            self._previous_hook(kind, error, trace)
            self._leave_fork(1)
        self._failed = True
        flush_streams()
        with suppress(Exception):  # a full disk, a closed stream: the others must hear of it all the same
            if contract.RUN_DIR not in launched.variables:  # tt-run puts the rank in front of every line
                print(f"[rank {self._world.rank}] uncaught {kind.__name__}", file=sys.stderr)
            self._show(kind, error, events.users_part(trace) if issubclass(kind, GuardError) else trace)
        self._tell(kind, error, trace)

    def _tell(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Let the others and the launcher know of an exception that ends the program, then end the job."""
        self._failed = True
        flush_streams()
        site = _origin(trace)
        _call_all(self._before)
        write_failure(self._world, self._guard, error, trace)
        if self._guard is not None and not self._is_shut:
            self._guard.end(RAISED, self._summary(kind, error), site)
            self._wait_for_others(time.monotonic() + _GRACE)
            if self._guard.others_gone():
                self._wait_for_what_they_do(time.monotonic() + _GRACE)
            if isinstance(error, GuardError) and self._world.rank not in error.culprits:
                time.sleep(_COURTESY)
        _call_all(self._after)
        self._world.abort(130 if issubclass(kind, KeyboardInterrupt) else 1)

    def _show(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """What the hook before this one shows; where that is the program's and fails, what Python shows then."""
        try:
            self._previous_hook(kind, error, trace)
        except (OSError, ValueError):
            raise
        except Exception as own:
            print("Error in sys.excepthook:", file=sys.stderr)
            sys.__excepthook__(type(own), own, own.__traceback__)
            print("\nOriginal exception was:", file=sys.stderr)
            sys.__excepthook__(kind, error, trace)

    def _on_unraisable(self, found: sys.UnraisableHookArgs) -> None:
        """A report of the guard is no exception to ignore: in an exit handler or a destructor the call would wait for ever on a cluster."""
        if isinstance(found.exc_value, GuardError) and os.getpid() == self._pid and not self._failed:
            self.on_exception(type(found.exc_value), found.exc_value, found.exc_traceback)
        self._previous_unraisable(found)

    def _on_thread_exception(self, found: threading.ExceptHookArgs) -> None:
        """A report of the guard ends the job, in whichever thread it comes: on a cluster the thread would hang, and whoever waits for it."""
        if isinstance(found.exc_value, GuardError) and os.getpid() == self._pid and not self._failed:
            self.on_exception(type(found.exc_value), found.exc_value, found.exc_traceback)
        self._previous_thread_hook(found)

    def on_exit(self) -> None:
        """Say that this rank has ended and wait for the others, so that shutting MPI down cannot block for ever."""
        if os.getpid() != self._pid:
            self._leave_fork(self._exit_status)
        if self._failed:
            return
        hidden = _hidden_exception()
        if hidden is not None and self._guard is not None and not self._is_shut:
            self._tell(type(hidden), hidden, hidden.__traceback__)
        _call_all(self._before)
        if self._is_shut:
            pass  # the others have ended
        elif self._guard is not None:
            self._leave(self._guard)
            self._meet(self._guard)
        elif self._after or self._before:
            self._world.everyone.barrier()
        _call_all(self._after)
        if self._guard is not None and not self._is_shut:
            if self._world.has_lost_mpi:
                self._leave_without_mpi()
            # All ranks have ended. No Python runs any more when MPI shuts down: only the kernel can end a shutdown that blocks.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(shutdown_seconds(len(self._world.neighbours.ranks)))

    def _on_finalize(self) -> None:
        """A program that shuts MPI down itself makes no more calls: others that end must not wait for it in vain, nor it for them in MPI."""
        assert self._guard is not None and self._finalize is not None
        if os.getpid() == self._pid and not self._world.mpi.Is_finalized():
            self._guard.end(ENDED, "", events.call_site())
            self._wait_for_others(None)
            self._meet(self._guard)
            self._is_shut, own_traffic.used = True, False
        self._finalize()

    def _leave_without_mpi(self) -> NoReturn:
        """End this rank, in which MPI can do nothing any more; mpirun ends the others."""
        error = RuntimeError(
            "the program has closed every socket that MPI had opened (os.closerange?), without which MPI cannot shut down\n"
            "  help: leave open what the program has not opened itself: start a process with close_fds=True, or fork before MPI starts"
        )
        with suppress(Exception):
            print(error, file=sys.stderr)
        flush_streams()
        write_failure(self._world, self._guard, error, None)
        os._exit(1)

    def _meet(self, guard: Guard) -> None:
        """Lets the ranks compare what they have come to, where all have come to an end without an exception: then each of them is here."""
        if self._world.has_lost_mpi or not (compares_replicas() and guard.others_ended()):
            return
        everyone = self._world.everyone
        everyone.waiting = None  # nobody is waited for any more
        if not all(map(bool, everyone.allgather_bytes(b"." * len(self._comparisons)))):
            return  # a rank that never came to what is compared
        try:
            for compare in self._comparisons:
                compare()
        except (
            GuardError
        ) as error:  # at the end of the interpreter an exception would be shown, and the program end with 0
            self.on_exception(type(error), error, error.__traceback__)

    def _leave_fork(self, status: int) -> NoReturn:
        """End a forked child: it is no rank, and shutting down the MPI it inherited would block."""
        flush_streams()
        os._exit(status)

    def _leave(self, guard: Guard) -> None:
        """Wait for the others; after an exit with a code only for a moment, then the job ends with that code."""
        status, text, site = self._how_it_ends(guard)
        said = f": {contract.essence(text)[:500]}" if text else ""
        guard.end(ENDED, f"exit code {status}{said}" if status else "", site)
        self._wait_for_others(time.monotonic() + _GRACE if status else None)
        if status and not guard.others_ended():
            _call_all(self._after)
            self._world.abort(status)
        if status:  # mpirun ends the others when it sees the code
            self._wait_for_what_they_do(time.monotonic() + _GRACE)
        elif guard.others_ended() and not self._world.has_lost_mpi:
            # Whatever this rank itself has done with MPI. A program that has changed its root finds no more files of ours.
            with suppress(OSError, ValueError, ImportError):
                from tt_run.runtime.guard.unreceived import unreceived, unreceived_tensors

                sends = [words for told in self._unreceived for words in told()]
                for text in (
                    unreceived(self._world.rank, self._world.size),
                    unreceived_tensors(self._world.rank, sends),
                ):
                    if text:
                        print(text, file=sys.stderr, flush=True)

    def _how_it_ends(self, guard: Guard) -> tuple[int, str, str]:
        """Exit code, text and line of an exit that nobody caught: from the launcher's hook, which sees them all, or as sys.exit noted."""
        seen = getattr(sys, contract.EXIT_SEEN, None)
        if seen is not None:
            code, text, (file, line) = seen
            return code, text, f"{file}:{line}" if file else ""
        if guard.whereabouts.words[CALLS] != self._calls_at_exit:
            return 0, "", ""
        return self._exit_status, "", self._exit_site

    def _wait_for_others(self, deadline: float | None) -> None:
        assert self._guard is not None
        nap, long = 0.0005, time.monotonic() + _LONG
        while not self._guard.others_gone() and (
            deadline is None or time.monotonic() < deadline or debugger_pause.is_now()
        ):
            if deadline is None and time.monotonic() >= long:
                self._note_ending()
                long = float("inf")
            time.sleep(nap)
            nap = min(nap * 1.5, 0.05)

    def _note_ending(self) -> None:
        """Tell the launcher that this rank's program is over: a rank that waits inside of MPI for its part of a call waits for ever."""
        folder = launched.variables.get(contract.RUN_DIR)
        if folder:
            path = Path(folder) / contract.ENDING_FILE.format(rank=self._world.rank)
            with suppress(OSError):
                path.write_text(f"pid={os.getpid()} mpi=open\n", encoding="utf-8")

    def _wait_for_what_they_do(self, deadline: float) -> None:
        """Ending the job ends a rank that still joins the files of all."""
        while time.monotonic() < deadline and not all(is_done() for is_done in self._expected):
            time.sleep(0.01)

    def _on_sys_exit(self, status: Any = None) -> Any:
        """Remember where and how the program asked to end: the interpreter does not keep it.

        A program that catches the exit and goes on to another collective takes it back.
        """
        self._exit_site = events.call_site()
        self._exit_status = status if isinstance(status, int) else int(status is not None)
        self._calls_at_exit = int(self._guard.whereabouts.words[CALLS]) if self._guard is not None else 0
        return self._exit(status)

    def _summary(self, kind: type[BaseException], error: BaseException) -> str:
        text = contract.essence(_text(error))
        return f"{kind.__name__}: {text}" if text else kind.__name__

    def _beacon(self, guard: Guard) -> None:
        """Answer the question where this rank is, also while its program computes or loops, and write it down for those who cannot ask."""
        main = threading.main_thread().ident
        last, look = LastPlace(self._world), 0
        while main is not None:
            time.sleep(_BEACON_SECONDS)
            if last.is_due(look):
                line = _place(sys._current_frames().get(main)) if last.has_line else ""
                whereabouts = guard.whereabouts
                last.note(line, whereabouts.last_call, int(whereabouts.words[CALLS]))
            look += 1
            if guard.whereabouts.asked:
                words, wait = guard.threads.said()
                guard.whereabouts.answer(_place(sys._current_frames().get(main)) + words, wait)


def compares_replicas() -> bool:
    """Whether what devices should hold alike is compared in this job."""
    said = os.environ.get(contract.CHECK_REPLICAS, "").strip().lower()
    return said not in ("", "0", "off", "no", "false")


def shutdown_seconds(ranks: int) -> int:
    """How long shutting down may take where so many ranks of a host do it at once: in proportion to those that share a processor."""
    try:
        running = max(float(ranks), os.getloadavg()[0])
    except OSError:
        running = float(ranks)
    share = running / len(usable_cpus())
    return int(min(_FINALIZE * max(share, 1.0), _FINALIZE_MOST))


def _call_all(actions: list[Callable[[], None]]) -> None:
    """Call each; the end of a rank must not be stopped by one that fails."""
    for action in actions:
        try:
            action()
        except Exception:
            with suppress(OSError, ValueError):
                traceback.print_exc()


def write_failure(
    world: World, guard: Guard | None, error: BaseException, trace: TracebackType | None
) -> None:
    """Leave a record of an uncaught exception in the run folder, for the launcher's report."""
    folder = launched.variables.get(contract.RUN_DIR)
    if not folder:
        return
    frames = traceback.extract_tb(trace)
    own = [
        f
        for f in frames
        # The constructor of a dataclass has no file.
        if not events.is_library(f.filename) and (f.filename, f.name) != ("<string>", "__init__")
    ]
    place = own[-1] if own else (frames[-1] if frames else None)
    record = {
        "rank": world.rank,
        "pid": os.getpid(),
        "time": time.time(),
        "exception": type(error).__name__,
        "message": "\n".join([_text(error), *map(str, getattr(error, "__notes__", ()))]),
        "file": place.filename if place else None,
        "line": place.lineno if place else None,
        "function": place.name if place else None,
        "traceback": "".join(traceback.format_exception(type(error), error, trace)),
        "last_collective": guard.whereabouts.last_call if guard else "",
        "calls": int(guard.whereabouts.words[CALLS]) if guard else 0,
        "guard": {"code": error.code, "culprits": list(error.culprits)}
        if isinstance(error, GuardError)
        else None,
    }
    path = Path(folder) / contract.FAILURE_FILE.format(rank=world.rank)
    try:
        path.write_text(json.dumps(record, indent=1))
    except OSError as problem:
        # Where no file grows any more, neither does that of the errors: the others must hear of the exception all the same.
        with suppress(OSError, ValueError):
            print(f"[rank {world.rank}] cannot write {path}: {problem}", file=sys.stderr, flush=True)


def _text(error: BaseException) -> str:
    """The message of an exception, whose own `__str__` may fail."""
    try:
        return str(error)
    except BaseException as problem:  # it may even ask for the end of the process
        return f"(its __str__ raised {type(problem).__name__})"


def _hidden_exception() -> BaseException | None:
    """What ended the program, where a hook of its own in our place has kept it to itself.

    The interpreter remembers what it has shown to a hook; so do consoles and test runners, whose tracebacks do not begin in the program.
    An exit that came after it, as of the hook, is the program's word.
    """
    error, trace = getattr(sys, "last_value", None), getattr(sys, "last_traceback", None)
    if trace is None or getattr(sys, contract.EXIT_SEEN, None) is not None:
        return None
    first = trace.tb_frame
    names = vars(sys.modules.get("__main__", sys))
    if first.f_globals is not names and first.f_globals.get("__name__") != "runpy":
        return None
    is_console = first.f_code.co_filename in ("<console>", "<stdin>")
    return error if isinstance(error, BaseException) and not is_console else None


def _origin(trace: TracebackType | None) -> str:
    """The innermost line of the user's program in a traceback, `file:line`; of a library where nothing else is in it."""
    lines = []
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    outside = [(file, line) for file, line in lines if not file.startswith(events.PACKAGE)]
    own = [(file, line) for file, line in outside if not events.is_library(file)] or outside
    return f"{own[-1][0]}:{own[-1][1]}" if own else ""


def _place(frame: FrameType | None) -> str:
    """The innermost line of the user's program in a running stack, with its function, and where in a library that waits or computes."""
    while frame is not None and frame.f_code.co_filename.startswith(events.PACKAGE):
        frame = frame.f_back
    own = frame
    while own is not None and events.is_library(own.f_code.co_filename):
        own = own.f_back
    if frame is None or own is None or own is frame:
        return _line(own or frame)
    return f"{_line(own)} ({_line(frame)})"


def _line(frame: FrameType | None) -> str:
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
