"""Standard input of the ranks: nothing, or for rank 0 what tt-run itself is given.

Open MPI 5 never tells a rank that its input has ended, so a program that reads to the end would wait for ever. Ranks therefore read from
/dev/null, and rank 0, where it is asked for and runs on this machine, from a pipe of our own. A rank 0 elsewhere gets mpirun's.
"""

from __future__ import annotations

import os
from pathlib import Path

from tt_run.launch.process import Process, spawn, tied_to_parent
from tt_run.plan.model import LaunchPlan

PIPE = "stdin"
FORWARDED = "stdin-from-mpirun"


def is_forwarded(plan: LaunchPlan) -> bool:
    """Whether rank 0 runs on another host, which only mpirun can reach."""
    host = plan.ranks[0].host
    return host is not None and host not in ("localhost", os.uname().nodename)


def prepare_stdin(plan: LaunchPlan, run_dir: Path) -> None:
    """Makes what `rank.sh` looks for in the launch folder."""
    if is_forwarded(plan):
        (run_dir / "launch" / FORWARDED).touch()
    else:
        os.mkfifo(run_dir / "launch" / PIPE, 0o600)


def feed_stdin(plan: LaunchPlan, run_dir: Path) -> Process | None:
    """Starts the process that copies this one's standard input to rank 0; it ends with the input, or is to be killed with the run."""
    if is_forwarded(plan):
        return None
    # Tied to this process, whatever kills it; not if that has happened already.
    script = '[ "$PPID" = "$2" ] && exec cat >"$1"'
    words = ("/bin/sh", "-c", script, "tt-run-stdin", str(run_dir / "launch" / PIPE), str(os.getpid()))
    return spawn(tied_to_parent(words), Path.cwd(), os.environ, stdin=0)
