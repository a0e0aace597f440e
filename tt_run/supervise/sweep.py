"""The last step where mpirun could not do it: ending what is left of a run, on other hosts through the remote shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from mgd.lean import dataclass
from tt_run import contract
from tt_run.launch.agent import RemoteAgent, answer
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.status import RankStatus

SWEEP_SECONDS = 3.0
# A process belongs to the run when its environment says so: process ids may have been used again, sessions left.
_SCRIPT = """
for found in $(grep -lszxF {mark} /proc/[0-9]*/environ 2>/dev/null); do
    pid=${{found#/proc/}}; pid=${{pid%/environ}}
    [ "$pid" != "$$" ] && kill -s KILL "$pid" 2>/dev/null && echo "$pid"
done
exit 0
"""


@dataclass(frozen=True, slots=True)
class Swept:
    """Hosts where processes of the run were still there and were ended, and hosts that did not answer."""

    ended: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


def sweep_hosts(agent: RemoteAgent, statuses: Sequence[RankStatus], folder: RunFolder, here: str) -> Swept:
    """Ends what is left of the run here and on every other host whose ranks have left no record of their end."""
    hosts = sorted({s.host for s in statuses if s.host and s.host != here and not s.ended})
    script = _SCRIPT.format(mark=shlex.quote(f"{contract.RUN_DIR}={folder.path}"))
    answers = agent.ask(hosts, f"/bin/sh -c {shlex.quote(script)}", SWEEP_SECONDS)
    answers[here] = answer(("/bin/sh", "-c", script), SWEEP_SECONDS)
    return Swept(
        tuple(host for host, said in answers.items() if said.out.strip()),
        tuple(host for host in hosts if answers[host].code != 0),
    )
