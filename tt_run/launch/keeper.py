"""The process between tt-run and mpirun: it starts mpirun, and nothing below it outlives tt-run, whatever ends that and whenever.

A fork of tt-run, so that it is there before anything is started and costs no start of a program. It is told what to do through one pipe
and answers through another; when the first closes without the word that all is well, tt-run was killed. As a child subreaper it is the
last parent of every process of this machine that the run has started.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from mgd.lean import dataclass
from tt_run.launch.descendants import end_descendants, inherit_orphans
from tt_run.launch.open_files import allow_open_files
from tt_run.launch.process import Process, spawn, tied_to_parent

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import NoReturn

ORDERLY_SECONDS = 2.0  # what mpirun gets for an orderly end of all hosts once tt-run has been killed
# Words on the pipes, one per line.
SIGNAL, KILL, WELL = b"signal", b"kill", b"well"
STARTED, FAILED, ENDED, LEFT = b"started", b"failed", b"ended", b"left"
_OURS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTSTP,
    signal.SIGCONT,
)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# tt-run, sent one of these as well (by `pkill`, or at the end of a service), acts by then; twice would be an end without grace.
RELAY_SECONDS = 0.3
TELL_SECONDS = 1.0  # what whoever reads tt-run's standard error gets to make room for a last line


@dataclass(frozen=True, slots=True)
class Order:
    """What a keeper starts: words, folder, environment, a descriptor to read from or None, a log, mpirun's own scratch folder, and how many
    files it may have to open."""

    words: Sequence[str]
    cwd: Path
    environ: Mapping[str, str]
    stdin: int | None = None
    log: Path | None = None
    scratch: Path | None = None
    files: int = 0


def keep(order: Order, commands: int, replies: int, abandoned: Callable[[int], str]) -> NoReturn:
    """The life of a forked keeper; `abandoned` is called, with mpirun's process number, when tt-run was killed and everything on this machine has
    been ended, and gives what tt-run can no longer say on standard error."""
    try:
        terminal = _copy(2)
        stdin = _detach({commands, replies, terminal}, order.stdin)
        _Keeper(order, commands, replies, abandoned, terminal).live(stdin)
    except BaseException as error:
        with suppress(BaseException):
            os.write(replies, b"%s 5 keeper: %s\n" % (FAILED, repr(error).encode()))
        end_descendants(at_once=True)
    finally:
        os._exit(0)


def _copy(stream: int) -> int:
    """A descriptor for the same, which no program that is started inherits; -1 where it is closed."""
    try:
        return os.dup(stream)
    except OSError:
        return -1


def _detach(kept: set[int], stdin: int | None) -> int | None:
    """Leaves tt-run's session, streams and signals; the descriptor to read from, which is not number 0 any more."""
    try:
        os.setsid()
    except OSError:
        # A sandbox may refuse it: then at least what the terminal sends comes through tt-run alone.
        os.setpgid(0, 0)
    if stdin is not None:
        stdin = os.dup(stdin)
        kept = {*kept, stdin}
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - a list of numbers, not of paths
        if int(name) > 2 and int(name) not in kept:
            with suppress(OSError):
                os.close(int(name))
    signal.set_wakeup_fd(-1)
    for number in _OURS:
        # A handler and not SIG_IGN, which mpirun would inherit; what was ignored before stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _nothing)
    return stdin


def _nothing(number: int, frame: FrameType | None) -> None:
    """Wakes the keeper up, and does not end it."""


class _Keeper:
    def __init__(
        self, order: Order, commands: int, replies: int, abandoned: Callable[[int], str], terminal: int
    ) -> None:
        self.order = order
        self.commands = commands
        self.replies = replies
        self.abandoned = abandoned
        self.terminal = terminal
        self.job: Process | None = None
        self.pending = b""
        self.inherits = False
        self.tt_run = os.getppid()
        self.asked: tuple[int, float] | None = None  # a signal to the keeper, and when it is tt-run's

    def live(self, stdin: int | None) -> None:
        wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, _nothing)
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._ask)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        self.inherits = inherit_orphans(b"tt-run-keeper")  # before there can be any
        if not self._start(stdin):
            return
        while True:
            ready, _, _ = select.select([self.commands, wake], [], [], self._relay())
            if wake in ready:
                with suppress(BlockingIOError):
                    os.read(wake, 4096)
            self._reap()
            if self.commands in ready:
                word = self._obey(os.read(self.commands, 4096))
                if word is not None:
                    (self._finish if word == WELL else self._clean_up)()
                    return

    def _ask(self, number: int, frame: FrameType | None) -> None:
        """Whoever signals the keeper means tt-run."""
        self.asked = self.asked or (number, time.monotonic() + RELAY_SECONDS)

    def _relay(self) -> float | None:
        """Passes a signal on to tt-run when it is time; the seconds until then."""
        if self.asked is None:
            return None
        number, due = self.asked
        if (left := due - time.monotonic()) > 0:
            return left
        self.asked = None
        if os.getppid() == self.tt_run:
            with suppress(OSError):
                os.kill(self.tt_run, number)
        return None

    def _start(self, stdin: int | None) -> bool:
        scratch = self.order.scratch
        environment = dict(self.order.environ)
        if scratch is not None:
            try:
                scratch.mkdir(0o700)
            except OSError:  # mpirun will have words for it
                for name in [name for name, value in environment.items() if value == str(scratch)]:
                    del environment[name]
        allow_open_files(self.order.files)
        try:
            self.job = spawn(
                tied_to_parent(self.order.words), self.order.cwd, environment, stdin=stdin, log=self.order.log
            )
        except OSError as error:
            self._remove_scratch()
            self._say(FAILED, b"%d %s" % (error.errno or 5, os.fsencode(str(error.filename or ""))))
            return False
        if stdin is not None:
            os.close(stdin)
        self._say(STARTED, b"%d" % self.job.pid)
        return True

    def _say(self, word: bytes, rest: bytes) -> None:
        with suppress(OSError):
            os.write(self.replies, b"%s %s\n" % (word, rest))

    def _reap(self) -> None:
        """Collects what has ended, and tells of mpirun's end."""
        assert self.job is not None
        with suppress(ChildProcessError):
            while True:
                pid, state = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self.job.pid:
                    self.job.returncode = os.waitstatus_to_exitcode(state)
                    self._say(ENDED, b"%d" % self.job.returncode)

    def _obey(self, text: bytes) -> bytes | None:
        """Carries out what was written; WELL, or an empty word when tt-run is gone, for an end."""
        assert self.job is not None
        if not text:
            return b""
        *lines, self.pending = (self.pending + text).split(b"\n")
        for line in lines:
            self.asked = None
            word, _, rest = line.partition(b" ")
            if word == SIGNAL:
                self.job.send(int(rest))
            elif word == KILL:
                self.job.kill()
            elif word == WELL:
                return WELL
        return None

    def _finish(self) -> None:
        """The run has ended in order: what is left is strays."""
        left = end_descendants() if self.inherits else {}
        self._remove_scratch()
        ranks = b" ".join(b"%d" % rank for rank in left.values())
        self._say(LEFT, b"%d %s" % (self.inherits, ranks))

    def _clean_up(self) -> None:
        """tt-run was killed: mpirun ends the ranks of every host if it can, then nothing of it may be left here."""
        assert self.job is not None
        self.job.send(signal.SIGTERM)
        deadline = time.monotonic() + ORDERLY_SECONDS
        while self.job.returncode is None and time.monotonic() < deadline:
            time.sleep(0.01)
            self._reap()
        self.job.kill()
        end_descendants(at_once=True)
        try:
            self._tell(self.abandoned(self.job.pid))
        finally:
            self._remove_scratch()

    def _tell(self, text: str) -> None:
        """Writes what tt-run would say, unless nobody reads it."""
        data = os.fsencode(text)
        with suppress(OSError, ValueError):
            if select.select([], [self.terminal], [], TELL_SECONDS)[1]:
                os.write(self.terminal, data[: select.PIPE_BUF])

    def _remove_scratch(self) -> None:
        if self.order.scratch is not None:
            remove_tree(self.order.scratch)


def remove_tree(folder: Path) -> None:
    """Removes a folder with all that is in it; as a rule mpirun has emptied it."""
    try:
        folder.rmdir()
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def fork_keeper(order: Order, abandoned: Callable[[int], str]) -> tuple[int, int, int]:
    """Forks the keeper of one job: its process id, the end to write commands to, the end to read answers from."""
    commands, commanding = os.pipe2(os.O_CLOEXEC)
    replies, replying = os.pipe2(os.O_CLOEXEC)
    for stream in (sys.stdout, sys.stderr):  # what they still hold is to be written once
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    with warnings.catch_warnings():
        # Of threads beside this one, as in a test runner, the keeper needs nothing.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        keep(order, commands, replying, abandoned)
    os.close(commands)
    os.close(replying)
    return pid, commanding, replies
