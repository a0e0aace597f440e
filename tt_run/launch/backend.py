"""Starting the ranks of a plan: one interface, two back ends (mpirun, and a stand-in that needs no MPI)."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tt_run.launch.line import LaunchLine

# As in rank.sh: a link leads to busybox, whose setpriv cannot tie a process to its parent.
SETPRIV = ("/usr/bin/setpriv", "/bin/setpriv", "/usr/local/bin/setpriv")


class Job(Protocol):
    """A started launch. It ends by itself once every rank has ended; it can be asked, told and forced to end."""

    @property
    def pid(self) -> int:
        """The process that ends when the launch has ended."""

    def poll(self) -> int | None:
        """Its exit code (negative for a signal), or None while it runs."""

    def send(self, number: int) -> None:
        """Sends it a signal, which it passes on to its ranks; no error when it is gone."""

    def kill(self) -> None:
        """Ends it at once, with every process of its session."""


@dataclass
class ProcessJob:
    """A launcher process in a session of its own, so that Ctrl-C on the terminal reaches tt-run alone."""

    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def poll(self) -> int | None:
        return self.process.poll()

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            self.process.kill()


def start(
    line: LaunchLine, cwd: Path, log: Path, environ: Mapping[str, str], stdin: bool = False
) -> ProcessJob:
    """Starts the launcher with its own output in `log`. It is told to end when this process dies, whatever kills it.

    Raises OSError when the launcher cannot be executed.
    """
    environment = {name: value for name, value in environ.items() if name not in line.unset}
    environment.update(line.environment)
    return _spawn(line.command, cwd, log, environment, stdin)


def start_local(
    words: Sequence[str], size: int, cwd: Path, log: Path, environ: Mapping[str, str]
) -> ProcessJob:
    """The stand-in: `size` processes of this machine, numbered as mpirun numbers its ranks; the first failure ends the others.

    For tests of everything around a launch and for programs that do not use MPI.
    """
    script = (
        "size=$1; shift; pids=\n"
        "trap 'kill -TERM $pids 2>/dev/null; trap \"\" TERM; wait; exit 143' TERM INT HUP\n"
        "i=0; while [ $i -lt $size ]; do\n"
        '  OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=$size setsid "$@" & pids="$pids $!"; i=$((i + 1))\n'
        "done\n"
        "code=0; for p in $pids; do wait $p; c=$?; [ $c = 0 ] || { code=$c; kill -TERM $pids 2>/dev/null; }; done; exit $code"
    )
    command = ("/bin/sh", "-c", script, "tt-run-local", str(size), *words)
    return _spawn(command, cwd, log, dict(environ), stdin=False)


def _spawn(
    command: Sequence[str], cwd: Path, log: Path, environment: Mapping[str, str], stdin: bool
) -> ProcessJob:
    # TERM, not KILL: mpirun ends the ranks of every host in order; what is left after that is the guardian's.
    prefix = next(((path, "--pdeathsig", "TERM") for path in SETPRIV if _is_real(path)), ())
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*prefix, *command],
            cwd=cwd,
            env=dict(environment),
            stdin=None if stdin else subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return ProcessJob(process)


def _is_real(path: str) -> bool:
    return os.access(path, os.X_OK) and not Path(path).is_symlink()
