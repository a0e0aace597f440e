"""One try of a run, from the moment the launcher has started to the verdict.

Imported while mpirun starts its ranks, which takes longer than the import: none of it costs the user time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from mgd.lean import dataclass, field
from tt_run.launch.agent import RemoteAgent
from tt_run.launch.backend import Job
from tt_run.launch.line import LaunchLine
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.console import Console
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.guardian import post_guardian
from tt_run.supervise.hang import HangWatch
from tt_run.supervise.lost_hosts import read_lost_hosts
from tt_run.supervise.options import RunOptions
from tt_run.supervise.progress import Progress
from tt_run.supervise.signals import SignalInbox
from tt_run.supervise.status import StatusBoard, read_failure
from tt_run.supervise.sweep import Swept, sweep_hosts
from tt_run.supervise.verdict import Verdict, judge
from tt_run.supervise.watch import EndedBy, Observation, Watch


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was started, what was seen, and what it means."""

    folder: RunFolder
    line: LaunchLine
    board: StatusBoard
    observation: Observation
    failures: Mapping[int, Mapping[str, Any]]
    verdict: Verdict
    number: int = 1
    elsewhere: Swept = field(default_factory=Swept)

    @property
    def is_final(self) -> bool:
        """Whether another try makes no sense: it succeeded, or the user or the clock ended it."""
        return self.verdict.succeeded or self.observation.ended_by in (EndedBy.SIGNAL, EndedBy.TIMEOUT)


def attend(
    job: Job,
    plan: LaunchPlan,
    line: LaunchLine,
    folder: RunFolder,
    options: RunOptions,
    inbox: SignalInbox,
    say: Callable[[str], None],
    number: int = 1,
    agent: RemoteAgent | None = None,
) -> Attempt:
    """Watches a started job to its end and judges it. The job is gone when this returns or raises.

    `agent` reaches other hosts where mpirun itself could not end what it had started there.
    """
    board = StatusBoard(folder, len(plan.ranks))
    guardian = post_guardian(job.pid, folder)
    console = Console(
        folder,
        board.size,
        options.tee,
        sys.stdout.buffer,
        sys.stderr.buffer,
        time.monotonic,
        colour=sys.stdout.isatty(),
        prefixes=options.prefixes,
    )
    hang = HangWatch(options.hang_timeout, options.automatic_hang, options.stranded_seconds)
    progress = Progress(sys.stderr if options.progress else None, board.size)
    survives_failures = "--with-ft" in plan.mpi_args
    try:
        watch = Watch(job, board, console, options, inbox, hang, progress, say, survives_failures)
        observation = watch.run()
    except BaseException:
        job.kill()
        raise
    finally:
        guardian.dismiss()
    failures = {
        rank: found for rank in range(board.size) if (found := read_failure(folder, rank)) is not None
    }
    lost = read_lost_hosts(folder.launcher_said())
    verdict = judge(board.all(), observation, failures, plan.placement.is_multi_host, lost)
    is_orderly = observation.launcher_code is not None and observation.launcher_code >= 0
    elsewhere = Swept()
    if agent is not None and (lost or not is_orderly):
        elsewhere = sweep_hosts(agent, board.all(), folder, os.uname().nodename)
    return Attempt(folder, line, board, observation, failures, verdict, number, elsewhere)
