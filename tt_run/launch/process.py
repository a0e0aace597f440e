"""Starting one process of our own: a session for itself, files for its streams, tied to this process's life.

Straight on posix_spawn: the subprocess module costs a tenth of what a launch may add to mpirun's own time.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from tt_run.launch.descendants import can_be_tied

# As in rank.sh: a link leads to busybox, whose setpriv cannot tie a process to its parent.
SETPRIV = ("/usr/bin/setpriv", "/bin/setpriv", "/usr/local/bin/setpriv")
_REFUSED = (errno.EPERM, errno.ENOSYS, errno.EIO)  # what the C library makes of a refused setsid
_CHANGE_FOLDER = 'cd "$1" && shift && exec "$@"'


class Process:
    """A started process."""

    __slots__ = ("pid", "returncode")

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal, or None while it runs."""
        if self.returncode is None:
            ended, state = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(state)
        return self.returncode

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def send(self, number: int) -> None:
        """Signals it; no error when it is gone."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it at once, with every process of its session's first group."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


def spawn(
    words: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    *,
    stdin: int | None = None,
    log: Path | None = None,
) -> Process:
    """Starts a program by its path in `cwd`.

    `stdin` is a descriptor to read from, or None for nothing to read; output is appended to `log`, or thrown away. Raises OSError when
    the program cannot be executed.
    """
    raise_unstartable(words[0])
    if cwd != Path.cwd():
        words = ("/bin/sh", "-c", _CHANGE_FOLDER, "sh", str(cwd), *words)
    open_flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    reading = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    actions = [
        reading if stdin is None else (os.POSIX_SPAWN_DUP2, stdin, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log or os.devnull), open_flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    # Python ignores these two itself; a program expects them as they are.
    ours = (signal.SIGPIPE, signal.SIGXFSZ)
    spawn = partial(os.posix_spawn, words[0], tuple(words), environ, file_actions=actions, setsigdef=ours)
    try:
        return Process(spawn(setsid=True))
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
        return Process(spawn(setpgroup=0))  # a sandbox may refuse a session, and a group is nearly as much


def raise_unstartable(path: str) -> None:
    """Raises the OSError of a program that cannot be executed: started through another, it would only show as an exit code."""
    if not os.access(path, os.X_OK):
        missing = errno.EACCES if Path(path).exists() else errno.ENOENT
        raise OSError(missing, os.strerror(missing), path)


def tied_to_parent(words: Sequence[str], signal_name: str = "TERM") -> tuple[str, ...]:
    """The words with those in front that make the kernel send a signal when their parent dies, whatever kills it.

    TERM for mpirun, which then ends the ranks of every host in order; what is left after that is the keeper's.
    None where there is nothing that could do it.
    """
    for path in SETPRIV if can_be_tied() else ():
        if os.access(path, os.X_OK) and not Path(path).is_symlink():
            return (path, "--pdeathsig", signal_name, *words)
    return tuple(words)
