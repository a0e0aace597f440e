"""The last step where mpirun could not do it: ending what is left of a run on other hosts, through the remote shell.

Found by the run folder in its environment, and by the control group that the wrapper made for its rank where the host let it. A process
there that has emptied its environment and left its session, on a host without a control group of our own, cannot be told from others.
The folder of a daemon of mpirun that was killed goes, too: the next daemon with its process number would not start.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from mgd.lean import dataclass
from tt_run import contract
from tt_run.launch.agent import RemoteAgent
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.status import RankStatus, StatusBoard

SWEEP_SECONDS = 3.0
_SCRIPT = """
for group in {groups}; do
    [ -d "$group" ] || continue
    read -r any <"$group/cgroup.procs" && [ -n "$any" ] && echo 1 >"$group/cgroup.kill" && echo "$group"
    rmdir "$group" || {{ sleep 0.2; rmdir "$group"; }}
done 2>/dev/null
for found in $(grep -lszxF {mark} /proc/[0-9]*/environ 2>/dev/null); do
    pid=${{found#/proc/}}; pid=${{pid%/environ}}
    [ "$pid" != "$$" ] && kill -s KILL "$pid" 2>/dev/null && echo "$pid"
done
daemons() {{ grep -lszxE '[p]rterun-.*-{launcher}@0' /proc/[0-9]*/cmdline 2>/dev/null; }}
# What gave up with mpirun is on its way; one that is stopped, or waits for a host that is gone, is not.
for again in 1 2 3 4 5 6 7 8 9 0; do
    [ -n "$(daemons)" ] || break
    if [ $again = 0 ]; then
        for found in $(daemons); do pid=${{found#/proc/}}; kill -s KILL "${{pid%/cmdline}}"; done 2>/dev/null
    fi
    sleep 0.1
done
for found in "${{TMPDIR:-/tmp}}"/prted.*/pmix.*.tool.prterun-*-{launcher}@0; do
    found=${{found%/*}}
    [ -d "$found" ] || continue
    for pid in "$found"/pmix.*.tool.[0-9]*; do  # its own number, which the folder's name has at other places in other releases
        kill -0 "${{pid##*.}}" && continue 2
    done
    rm -rf "$found"
done 2>/dev/null
exit 0
"""


@dataclass(frozen=True, slots=True)
class Swept:
    """Hosts where processes of the run were still there and were ended, and hosts that did not answer."""

    ended: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


def sweep_hosts(
    agent: RemoteAgent, hosts: Mapping[str, Sequence[str]], folder: RunFolder, launcher_pid: int = 0
) -> Swept:
    """Ends what is left of the run on each of the hosts, which are given with the control groups of their ranks."""
    if not hosts:
        return Swept()
    mark = shlex.quote(f"{contract.RUN_DIR}={folder.path}")
    groups = " ".join(shlex.quote(group) for found in hosts.values() for group in found) or "''"
    script = _SCRIPT.format(mark=mark, groups=groups, launcher=launcher_pid)
    answers = agent.ask(list(hosts), f"/bin/sh -c {shlex.quote(script)}", SWEEP_SECONDS)
    return Swept(
        tuple(host for host, said in answers.items() if said.out.strip()),
        tuple(host for host in hosts if answers[host].code != 0),
    )


def hosts_of(statuses: Sequence[RankStatus], here: str) -> dict[str, list[str]]:
    """The other hosts on which these ranks ran, each with the control groups of its ranks."""
    found: dict[str, list[str]] = {}
    for status in statuses:
        if status.host and status.host != here:
            found.setdefault(status.host, []).extend([status.cgroup] if status.cgroup else [])
    return found


def sweep_abandoned(
    plan: LaunchPlan, folder: RunFolder, environ: Mapping[str, str], launcher_pid: int
) -> None:
    """The same for a run whose tt-run was killed: on every host of the plan, also where no rank has told of its start yet."""
    here = os.uname().nodename
    if not any(rank.host not in (None, here, "localhost") for rank in plan.ranks):
        return
    board = StatusBoard(folder, len(plan.ranks))
    board.refresh()
    hosts = hosts_of(board.all(), here)
    for rank in plan.ranks:
        if not board.of(rank.rank).started and rank.host not in (None, here, "localhost"):
            hosts.setdefault(str(rank.host), [])
    sweep_hosts(RemoteAgent.chosen(environ, plan.mpi_args), hosts, folder, launcher_pid)
