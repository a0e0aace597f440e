"""Which hosts of a run no longer reach each other: asked of each of them when ranks of several hosts have waited in vain.

Ranks whose network is split wait for each other as if one of them looped, while mpirun, whose daemons talk to its own host alone, notices nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence

from mgd.lean import replace
from tt_run.contract import Exit
from tt_run.launch.agent import RemoteAgent, answer
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.looking.stacks import rank_list
from tt_run.supervise.observation import EndedBy, Observation
from tt_run.supervise.output.console import last_lines
from tt_run.supervise.status import RankStatus
from tt_run.supervise.verdict.culprit import PEER_CODES, is_consequence
from tt_run.supervise.verdict.evidence import Verdict

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

ASK_SECONDS = 6.0
LATE = ("TTG005", "TTG007")  # of the guard: a rank did not come, or did not start
_GIVEN_UP = r"Timeout \(\d+:\d\d:\d\d\)!"  # of Python's faulthandler
LINES = 60
# A port on which nobody listens answers as well as any: it refuses.
_PROGRAM = """
import socket, sys, threading
def reach(host):
    try:
        socket.create_connection((host, 9), timeout=2).close()
    except ConnectionRefusedError:
        pass
    except OSError:
        print(host, flush=True)
threads = [threading.Thread(target=reach, args=(host,)) for host in sys.argv[1:]]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def may_be_split(
    observation: Observation,
    failures: Mapping[int, Mapping[str, Any]],
    statuses: Sequence[RankStatus],
    culprit: RankStatus | None = None,
) -> bool:
    """Whether ranks of several hosts waited for each other until a deadline ended that, or MPI gave up a connection between them: a rank
    ended for one that closed, and of nobody is it known why, the `culprit` included."""
    if len({status.host for status in statuses if status.host}) < 2:
        return False
    codes = {(record.get("guard") or {}).get("code") for record in failures.values()}
    if observation.ended_by is EndedBy.HANG or codes & set(LATE):
        return True
    gave_up = any(status.code in PEER_CODES for status in statuses)
    return gave_up and culprit is not None and is_consequence(culprit, failures)


def never_met(
    statuses: Sequence[RankStatus], failures: Mapping[int, Mapping[str, Any]], folder: RunFolder
) -> list[int]:
    """The ranks that waited in vain for those of other hosts when MPI started: nothing interrupts that, so their watchdog ended them."""
    return [
        status.rank
        for status in statuses
        if status.code == Exit.FAILED
        and status.rank not in failures
        and any(re.match(_GIVEN_UP, line) for line in last_lines(folder.err(status.rank), LINES))
    ]


def start_verdict(
    agent: RemoteAgent, verdict: Verdict, statuses: Sequence[RankStatus], ranks: Sequence[int]
) -> Verdict:
    """The verdict on a run whose ranks have `never_met`."""
    split = split_verdict(agent, statuses)
    if split is not None:
        return split
    hosts = ", ".join(sorted({status.host for status in statuses if status.host}))
    told = f"MPI did not start: {rank_list(ranks)} waited in vain for the other ranks on {hosts}"
    return replace(verdict, exit_code=Exit.START_TIMEOUT, sentence=told)


def silent_verdict(agent: RemoteAgent, verdict: Verdict, hosts: Sequence[str], here: str) -> Verdict:
    """The verdict on a run whose ranks did not start in time, with the hosts to which nothing comes through."""
    answers = agent.ask([host for host in hosts if host != here], "true", ASK_SECONDS)
    silent = sorted(host for host, said in answers.items() if said.code is None)
    if not silent:
        return verdict
    told = f"{verdict.sentence}; the remote shell to {', '.join(silent[:8])} does not answer"
    return replace(verdict, sentence=told)


def unreached(agent: RemoteAgent, hosts: Sequence[str], here: str) -> list[tuple[str, str]]:
    """The pairs of hosts of which at least one does not reach the other; hosts that cannot be asked have no say."""
    pythons = " ".join(map(shlex.quote, (sys.executable, "python3", "python")))
    words = " ".join(map(shlex.quote, (_PROGRAM, *hosts)))
    line = f'for p in {pythons}; do command -v "$p" >/dev/null && exec "$p" -S -c {words}; done'
    answers = agent.ask([host for host in hosts if host != here], line, ASK_SECONDS)
    if here in hosts:
        answers[here] = answer(("/bin/sh", "-c", line), ASK_SECONDS)
    pairs = {
        (min(host, other), max(host, other))
        for host, said in answers.items()
        if said.code == 0
        for other in said.out.split()
        if other in hosts and other != host
    }
    return sorted(pairs)


def split_verdict(agent: RemoteAgent, statuses: Sequence[RankStatus]) -> Verdict | None:
    """The verdict on a run whose hosts do not reach each other; None where all that can be asked do."""
    hosts = sorted({status.host for status in statuses if status.host})
    pairs = unreached(agent, hosts, os.uname().nodename)
    if not pairs:
        return None
    told = "; ".join(
        f"{a} and {b} do not reach each other ({_ranks(statuses, a)} and {_ranks(statuses, b)})"
        for a, b in pairs[:4]
    )
    left = len(pairs) - 4
    more = f"; and {left} more pair{'s' * (left > 1)}" if left > 0 else ""
    failed = tuple(status for status in statuses if status.failed)
    lost = tuple(status for status in statuses if not status.ended)
    return Verdict(
        Exit.HOST_LOST, f"the network between hosts is split: {told}{more}", None, (), failed, lost
    )


def _ranks(statuses: Sequence[RankStatus], host: str) -> str:
    return rank_list([status.rank for status in statuses if status.host == host])
