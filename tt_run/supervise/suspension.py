"""Ctrl-Z and `fg`: the ranks stand still as long as tt-run does, and go on with it.

The kernel stops the processes of the terminal's foreground group, and the ranks are none of it. mpirun passes SIGTSTP on to them as SIGSTOP,
but goes on itself, so that a shell never gets its terminal back; here all of it stops, but for mpirun and its keeper, which end what is
left when tt-run is killed meanwhile.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress

from tt_run.launch.backend import Job
from tt_run.supervise.vitals import STANDS, state_of

APART_SECONDS = 0.2
"""Between both signals to mpirun, which would act upon the second one first where it finds them together."""


def suspend(job: Job, helpers: Iterable[int], *, elsewhere: bool) -> float:
    """Stop all ranks and this process until somebody continues it, then let go on what was stopped here; seconds that it stood.

    `helpers` are processes of this machine that stand still too. With `elsewhere` mpirun is told of it, for the ranks of other hosts.
    """
    began = time.monotonic()
    stopped = _stop(job, helpers)
    if elsewhere:
        job.send(signal.SIGTSTP)
    # Not SIGTSTP, which the kernel drops where no shell controls the job: in a batch system it is sent to us all the same.
    os.kill(os.getpid(), signal.SIGSTOP)
    seconds = time.monotonic() - began
    if elsewhere:
        time.sleep(max(0.0, APART_SECONDS - seconds))
        job.send(signal.SIGCONT)
    for pid in stopped:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGCONT)
    return seconds


def _stop(job: Job, helpers: Iterable[int]) -> set[int]:
    """Stops what runs; who was stopped. What somebody else has stopped is left to them."""
    stopped: set[int] = set()
    while running := {pid for pid in (*helpers, *job.processes()) if state_of(pid) not in STANDS} - stopped:
        for pid in running:  # they may have started others meanwhile: look until there is none
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= running
    return stopped
