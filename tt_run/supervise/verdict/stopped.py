"""Which ranks of other hosts a signal has stopped: asked of their hosts once a run counts as hung, before anything is ended."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tt_run.launch.agent import RemoteAgent
from tt_run.supervise.status import RankStatus

ASK_SECONDS = 3.0
_SCRIPT = """
for pid in {pids}; do
    read -r line </proc/$pid/stat && case ${{line##*)}} in ' T '*) echo "$pid" ;; esac
done 2>/dev/null
exit 0
"""


def stopped_elsewhere(agent: RemoteAgent, statuses: Sequence[RankStatus], here: str) -> tuple[int, ...]:
    """The numbers of stopped ranks; hosts that do not answer have no say."""
    asked = [s for s in statuses if s.host and s.host != here and s.pid is not None and not s.ended]
    hosts = sorted({str(status.host) for status in asked})
    if not hosts:
        return ()
    # Of every rank on every host: to ask each host something else would take as many questions, and numbers of processes repeat.
    script = _SCRIPT.format(pids=" ".join(str(status.pid) for status in asked))
    answers = agent.ask(hosts, f"/bin/sh -c {shlex.quote(script)}", ASK_SECONDS)
    found = {
        (host, int(word)) for host, said in answers.items() for word in said.out.split() if word.isdigit()
    }
    return tuple(status.rank for status in asked if (str(status.host), status.pid) in found)
