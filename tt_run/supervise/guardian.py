"""A process that outlives the launcher by a few seconds: ends what is left when tt-run itself is killed.

It holds the reading end of a pipe. When the pipe closes without the word that all is well, tt-run was killed: the guardian ends mpirun,
then every process group of this machine that the ranks' records name. Ranks of other hosts end with their daemon. Either way it removes
what mpirun left in its folder, if it did.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tt_run.launch.process import Process, spawn
from tt_run.supervise.folder import RunFolder

WELL = b"well\n"
# mpirun has been told by the kernel already (parent-death signal TERM); it gets two seconds for an orderly end.
_SCRIPT = """
trap '' HUP INT TERM
cd /
read -r word
clean() { [ -z "$1" ] || [ ! -d "$1" ] || rm -rf -- "$1"; }
[ "$word" = well ] && { clean "$3"; exit 0; }
kill -TERM "$1" 2>/dev/null
i=0; while kill -0 "$1" 2>/dev/null && [ $i -lt 20 ]; do sleep 0.1; i=$((i + 1)); done
kill -KILL "$1" 2>/dev/null
read -r here </proc/sys/kernel/hostname
for record in "$2"/rank-*.status; do
    host= pgid=
    while IFS='=' read -r name value; do
        case $name in host) host=$value ;; pgid) pgid=$value ;; esac
    done <"$record"
    [ "$host" = "$here" ] && [ -n "$pgid" ] && kill -s KILL -- "-$pgid" 2>/dev/null
done
clean "$3"
exit 0
"""


class Guardian:
    """The watching process; `dismiss` tells it that the run has ended in order."""

    def __init__(self, process: Process, pipe: int, scratch: Path | None = None) -> None:
        self.process = process
        self.pipe = pipe
        self.scratch = scratch

    def dismiss(self) -> None:
        if self.scratch is not None:
            # As a rule mpirun has emptied it, and the guardian has no need of another process.
            with suppress(OSError):
                self.scratch.rmdir()
        with suppress(OSError):
            os.write(self.pipe, WELL)
        os.close(self.pipe)
        self.process.wait()


def post_guardian(launcher_pid: int, folder: RunFolder, scratch: Path | None = None) -> Guardian:
    """Starts the guardian of a run; `scratch` is a folder to remove at its end."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    words = (
        "/bin/sh",
        "-c",
        _SCRIPT,
        "tt-run-guardian",
        str(launcher_pid),
        str(folder.path),
        str(scratch or ""),
    )
    try:
        process = spawn(words, Path.cwd(), os.environ, stdin=read_end)
    finally:
        os.close(read_end)
    return Guardian(process, write_end, scratch)
