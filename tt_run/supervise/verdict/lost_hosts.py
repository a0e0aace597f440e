"""Which hosts the launcher says it cannot reach: a host that dies leaves no record of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mgd.lean import dataclass, replace
from tt_run.launch.agent import RemoteAgent
from tt_run.supervise.looking.stacks import rank_list
from tt_run.supervise.status import RankStatus

_GONE = r"lost communication with.*?Remote daemon\s*:\s*\[.*?\] on node (?P<host>[^\s\x00]+)"
_NEVER_UP = (
    r"failed to report back.*?Remote host:\s+(?P<host>[^\s\x00]+)(?:\s+Daemon exit status:\s+(?P<code>\d+))?"
)
# What OpenSSH says of a host that it does not come to, and what that means.
_SSH = (
    (r"ssh: Could not resolve hostname (?P<host>[^\s\x00]+):", "the name does not resolve"),
    (
        r"ssh: connect to host (?P<host>[^\s\x00]+) port \d+: Connection refused",
        "no ssh daemon listens there",
    ),
    (r"ssh: connect to host (?P<host>[^\s\x00]+) port \d+: (?!Connection refused)", "it does not answer ssh"),
    (r"(?:[^\s@\x00]+@)?(?P<host>[^\s:@\x00]+): Permission denied \(", "ssh does not let this user in"),
)
# The words are folded where a line is full.
_IMPROPER = r"exited\s+due\s+to\s+process\s+rank\s+(?P<rank>\d+)\s+with\s+PID\s+\d+\s+on\s+node\s+\S+\s+exiting\s+improperly"
_FIRST_EXIT = (
    r"first process to do so was:\s+Process name: \[[^\]\n]*,(?P<rank>\d+)\]\s+Exit code:\s+(?P<code>\d+)"
)
# What mpirun of Open MPI 4.1 says when it crashes while it ends ranks, and of daemons that did not start, wherever that was.
_CRASHED_WHILE_ENDING = r"mpirun: abort is already in progress.*(?:Process received signal|Caught signal \d+)"
_SOME_NEVER_UP = "ORTE was unable to reliably start one or more daemons"
_NO_DAEMON = r"\borted: (?:command )?not found"
_ASK_SECONDS = 6.0
_NOTICED = r"process rank (?P<rank>\d+) with PID \d+ on node \S+\s+exited\s+on\s+signal\s+9\b"
# How a daemon of Open MPI 5 ends that finds the folder of a killed one with its process number: the next one has another.
LEFTOVER_FOUND = 213


@dataclass(frozen=True, slots=True)
class LostHost:
    """A host by the launcher's name for it; `was_up` is False when its daemon never reported back, or so the launcher says: it says the
    same of one whose remote shell has ended with an error. `code` is what the daemon ended with, where that is known; `why` is what ssh
    says of it."""

    name: str
    was_up: bool
    code: int | None = None
    why: str = ""

    def is_home_of(self, status: RankStatus) -> bool:
        """Whether a rank ran there; one side may know the host by its full name, the other by its first part."""
        return status.host is not None and _short(status.host) == _short(self.name)


def _met(pattern: str, launcher_said: str, flags: int = 0) -> Iterator[re.Match[str]]:
    """Where a pattern is met. As a rule the launcher has said nothing: then none is compiled, while somebody waits for the end."""
    return re.finditer(pattern, launcher_said, flags) if launcher_said else iter(())


def read_lost_hosts(launcher_said: str) -> tuple[LostHost, ...]:
    """The hosts that Open MPI reports as lost or never reached, each once, in the order of its messages."""
    found = {
        match["host"]: LostHost(match["host"], False, int(match["code"]) if match["code"] else None)
        for match in _met(_NEVER_UP, launcher_said, re.DOTALL)
    }
    if found:  # mpirun names one host; those that ssh gave up are as much out of reach
        for pattern, why in _SSH:
            for match in re.finditer(pattern, launcher_said):
                name = next((each for each in found if _short(each) == _short(match["host"])), match["host"])
                known = found.get(name) or LostHost(name, False)
                found[name] = replace(known, name=match["host"], why=why)
    found |= {match["host"]: LostHost(match["host"], True) for match in _met(_GONE, launcher_said, re.DOTALL)}
    return tuple(found.values())


def read_noticed(launcher_said: str) -> tuple[int, ...]:
    """The ranks whose wrappers Open MPI says were killed: the one that it noticed first, whether or not it began it."""
    return tuple(int(match["rank"]) for match in _met(_NOTICED, launcher_said))


def read_first_exits(launcher_said: str) -> dict[int, int]:
    """The rank whose wrapper Open MPI says was the first to exit with other than 0, and its code; empty where none was."""
    return {int(match["rank"]): int(match["code"]) for match in _met(_FIRST_EXIT, launcher_said)}


def ask_unnamed(
    launcher_said: str, agent: RemoteAgent, hosts: Sequence[str], here: str
) -> tuple[LostHost, ...]:
    """The hosts whose remote shell fails, where mpirun of Open MPI 4.1 says that a daemon did not start and not on which host; those to which
    it comes where the shell says that it does not find the daemon."""
    if _SOME_NEVER_UP not in launcher_said:
        return ()
    answers = agent.ask([host for host in hosts if host != here], "command -v orted", _ASK_SECONDS)
    failed = [(host, said) for host, said in answers.items() if said.code not in (0, 1, 127)]
    if failed:
        return tuple(LostHost(host, False, said.code, _why(said.err)) for host, said in failed)
    if not re.search(_NO_DAEMON, launcher_said):
        return ()
    why = "Open MPI's daemon orted was not found by its remote shell"
    return tuple(LostHost(host, False, None, why) for host, said in answers.items() if said.code)


def _why(said: str) -> str:
    return next((why for pattern, why in _SSH if re.search(pattern, said)), "")


def read_improper(launcher_said: str, quiet: Sequence[RankStatus] = ()) -> tuple[int, ...]:
    """The ranks that Open MPI says left with 0 in the middle of MPI, for which it ended the others.

    Before mpirun of Open MPI 4.1 says so it may crash in the midst of ending them: it is the one that ended with 0 among the `quiet` then,
    which have no note of an orderly end.
    """
    found = tuple(int(match["rank"]) for match in _met(_IMPROPER, launcher_said))
    if found or not any(_met(_CRASHED_WHILE_ENDING, launcher_said, re.DOTALL)):
        return found
    there = tuple(status.rank for status in quiet if status.succeeded)
    return there if len(there) == 1 else ()


def lost_sentence(hosts: Sequence[LostHost], statuses: Sequence[RankStatus]) -> str:
    """One sentence: `host h3 was lost; rank 3 ran there`."""
    names = ", ".join(host.name for host in hosts)
    many = len(hosts) > 1
    ranks = [status.rank for status in statuses if any(host.is_home_of(status) for host in hosts)]
    if not ranks and not any(host.was_up for host in hosts):
        return _out_of_reach(hosts)
    there = f"; {rank_list(ranks)} ran there" if ranks else ""
    return f"host{'s' * many} {names} {'were' if many else 'was'} lost{there}"


def _out_of_reach(hosts: Sequence[LostHost]) -> str:
    """`hosts h1, h2 could not be reached: h1: its name does not resolve; …`, with the reason once where it is the same."""
    names = ", ".join(host.name for host in hosts)
    start = f"host{'s' * (len(hosts) > 1)} {names} could not be reached: "
    none = "no launcher daemon reported back"
    reasons = {host.why or none for host in hosts}
    if len(reasons) > 1:
        return start + "; ".join(f"{host.name}: {host.why or none}" for host in hosts)
    codes = sorted({host.code for host in hosts if host.code is not None and not host.why})
    return start + reasons.pop() + (f" (exit status {', '.join(map(str, codes))})" if codes else "")


def _short(name: str) -> str:
    """`node1` of `node1.cluster.example`; an address stays whole."""
    return name if re.fullmatch(r"[\d.]+|.*:.*", name) else name.partition(".")[0]
