"""What one try of a run amounts to once it is over: the verdict on its records, and what had to be ended elsewhere.

Imported while the ranks run: it takes longer than mpirun takes to start them, and they need the cores.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence

from mgd.lean import dataclass, field, replace
from tt_run.contract import Exit
from tt_run.launch.agent import RemoteAgent
from tt_run.launch.line import LaunchLine
from tt_run.launch.wrapper import SCRIPT
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.observation import EndedBy, Observation
from tt_run.supervise.output.console import last_lines
from tt_run.supervise.status import CRASHES, StatusBoard, failure_of, mpi_at_end, signal_name
from tt_run.supervise.sweep import Swept, hosts_of, sweep_hosts
from tt_run.supervise.verdict.clocks import failures_on_one_clock, offsets, on_one_clock
from tt_run.supervise.verdict.culprit import ENDED_BY_MPIRUN, PEER_CODES
from tt_run.supervise.verdict.evidence import Verdict, rank_and_host
from tt_run.supervise.verdict.injected import with_dropped_messages
from tt_run.supervise.verdict.limits import limit_met, limit_words, with_limits, with_refused_calls
from tt_run.supervise.verdict.lost_hosts import (
    LEFTOVER_FOUND,
    LostHost,
    ask_unnamed,
    lost_sentence,
    read_first_exits,
    read_improper,
    read_lost_hosts,
    read_noticed,
)
from tt_run.supervise.verdict.unreachable_hosts import (
    may_be_split,
    never_met,
    silent_verdict,
    split_verdict,
    start_verdict,
)
from tt_run.supervise.verdict.verdict import judge

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

_NO_START = r"MPI_INIT (?:has )?failed|An error occurred in MPI_Init"
_LINES = 60  # of a rank's errors, among which MPI says so


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
    lost_hosts: tuple[LostHost, ...] = ()

    @property
    def met_leftovers(self) -> bool:
        """Whether all that was wrong may be what killed daemons had left on their hosts, which the next daemons do not meet."""
        codes = {host.code for host in self.lost_hosts}
        return codes == {LEFTOVER_FOUND} and not self.board.started and not self.is_final

    @property
    def is_final(self) -> bool:
        """Whether another try makes no sense: it succeeded, or the user or the clock ended it."""
        return self.verdict.succeeded or self.observation.ended_by in (EndedBy.SIGNAL, EndedBy.TIMEOUT)


def conclude(
    plan: LaunchPlan,
    line: LaunchLine,
    board: StatusBoard,
    observation: Observation,
    number: int,
    environ: Mapping[str, str],
) -> Attempt:
    """Judges a run that is over, and ends on other hosts what mpirun itself could not end there.

    `environ` is the launcher's, which may name the remote shell.
    """
    folder = board.folder
    said = folder.launcher_said()
    board.settle(said)
    failures = {
        status.rank: found for status in board.all() if (found := failure_of(folder, status)) is not None
    }
    agent = RemoteAgent.chosen(environ, plan.mpi_args)
    here = os.uname().nodename
    lost = read_lost_hosts(said)
    if not lost and not board.started:
        lost = ask_unnamed(said, agent, [host.name for host in plan.placement.hosts], here)
    without_mpi = frozenset(s.rank for s in board.all() if s.ended and mpi_at_end(folder, s.rank) == "never")
    leaving = frozenset(s.rank for s in board.all() if not s.ended and mpi_at_end(folder, s.rank))
    added = offsets(board.all(), board.seen, observation.started_at, here)
    verdict = judge(
        on_one_clock(board.all(), added),
        observation,
        failures_on_one_clock(failures, board.all(), added),
        plan.placement.is_multi_host,
        lost,
        without_mpi,
        read_noticed(said),
        None if folder.path.is_dir() else folder.path,
        _without_folder(plan, board, said),
        leaving,
        read_first_exits(said),
        read_improper(said, [s for s in board.all() if not mpi_at_end(folder, s.rank)]),
    )
    verdict = _with_reach(verdict, plan, board, observation, failures, agent)
    verdict = _with_shutdown(verdict, folder)
    verdict = _without_a_start_of_mpi(verdict, board, said)
    verdict = with_refused_calls(verdict, board)
    verdict = with_limits(verdict, board, observation)
    verdict = _without_logs(verdict, board, said)
    verdict = with_dropped_messages(verdict, observation, board)
    elsewhere = Swept()
    if not verdict.succeeded:
        elsewhere = _swept(agent, board, lost, observation)
        verdict = _after_a_crash_of_mpirun(verdict, observation, board, elsewhere.silent)
    return Attempt(folder, line, board, observation, failures, verdict, number, elsewhere, lost)


def _with_reach(
    verdict: Verdict,
    plan: LaunchPlan,
    board: StatusBoard,
    observation: Observation,
    failures: Mapping[int, Mapping[str, Any]],
    agent: RemoteAgent,
) -> Verdict:
    """The verdict, where hosts do not reach each other: asked only of a run that looks like it, for it takes seconds."""
    if may_be_split(observation, failures, board.all(), verdict.culprit) and not (
        observation.stopped or observation.frozen
    ):
        return split_verdict(agent, board.all()) or verdict
    if not plan.placement.is_multi_host:
        return verdict
    if waited := never_met(board.all(), failures, board.folder):
        return start_verdict(agent, verdict, board.all(), waited)
    if observation.ended_by is EndedBy.START_TIMEOUT:
        hosts = [host.name for host in plan.placement.hosts]
        return silent_verdict(agent, verdict, hosts, os.uname().nodename)
    return verdict


def _swept(
    agent: RemoteAgent, board: StatusBoard, lost: Sequence[LostHost], observation: Observation
) -> Swept:
    """What had to be ended on other hosts.

    A wrapper whose rank ended by itself has seen to the rest; one that mpirun was told to end has been killed in the midst of it.
    """
    hosts = hosts_of(board.all(), os.uname().nodename)
    for host in lost:
        if host.was_up and not any(host.is_home_of(status) for status in board.all()):
            hosts[host.name] = []
    return sweep_hosts(agent, hosts, board.folder, observation.launcher_pid)


def _after_a_crash_of_mpirun(
    verdict: Verdict, observation: Observation, board: StatusBoard, silent: Sequence[str]
) -> Verdict:
    """The verdict, where mpirun crashed by itself and hosts of ranks do not answer: Open MPI 4.1 may crash over a daemon that goes, and
    then says nothing of it."""
    code = observation.launcher_code or 0
    hosts = [LostHost(name, True) for name in silent]
    if verdict.culprit is not None or -code not in CRASHES or not hosts:
        return verdict
    sentence = f"{lost_sentence(hosts, board.all())}; mpirun crashed with it ({signal_name(-code)})"
    return replace(verdict, exit_code=Exit.HOST_LOST, sentence=sentence)


def _with_shutdown(verdict: Verdict, folder: RunFolder) -> Verdict:
    """The verdict, where its culprit had come to its end and its own alarm ended what MPI did after that."""
    culprit = verdict.culprit
    if culprit is None or culprit.signal != signal.SIGALRM or not mpi_at_end(folder, culprit.rank):
        return verdict
    why = "its program was over, but shutting MPI down took longer than the emulation allows"
    return replace(verdict, sentence=f"{verdict.sentence}: {why}")


def _without_a_start_of_mpi(verdict: Verdict, board: StatusBoard, launcher_said: str) -> Verdict:
    """The verdict, where MPI says that it could not start: the rank in which it could not ends like one that saw a connection close, and
    mpirun ends the others."""
    failed = [status for status in board.all() if status.failed]
    first = min((s for s in failed if s.code in PEER_CODES), key=lambda s: s.end or 0.0, default=None)
    if first is None or verdict.culprit is None:
        return verdict
    own = "\n".join(last_lines(board.folder.err(first.rank), _LINES))
    if not re.search(_NO_START, f"{launcher_said}\n{own}"):
        return verdict
    if not all(s.told or s.signal in ENDED_BY_MPIRUN or s.code in PEER_CODES for s in failed):
        return verdict
    victims = tuple(status for status in failed if status is not first)
    sentence, code = f"MPI could not start in {rank_and_host(first)}", first.code or Exit.FAILED
    if (limit := limit_met(board.folder, first.rank)) is not None:
        sentence, code = f"{sentence}: {limit_words(limit)}", Exit.NO_LAUNCHER
    return Verdict(code, sentence, first, (), victims, verdict.lost)


def _without_logs(verdict: Verdict, board: StatusBoard, launcher_said: str) -> Verdict:
    """The verdict, where a rank could not write its logs, nor even that."""
    if verdict.succeeded or (verdict.culprit is not None and verdict.culprit.error):
        return verdict
    found = re.search(r"^tt-run: (\S+/rank-(\d+)\.\w+ cannot be written on .*)$", launcher_said, re.MULTILINE)
    if found is None:
        return verdict
    sentence = f"rank {int(found[2])} did not start: {found[1]}"
    return replace(verdict, exit_code=Exit.NO_LAUNCHER, sentence=sentence)


def is_missing(folder: RunFolder, launcher_said: str) -> bool:
    """Whether the shell of a host says that it does not find the wrapper's script, so that the run folder is not there."""
    path = f"{folder.path}/launch/{SCRIPT}"
    return any(
        path in line and ("open" in line or "No such file" in line) for line in launcher_said.splitlines()
    )


def _without_folder(plan: LaunchPlan, board: StatusBoard, launcher_said: str) -> tuple[str, ...]:
    """The hosts on which no rank has started, where a shell says that the wrapper's script is not there."""
    if not is_missing(board.folder, launcher_said):
        return ()
    started = {rank.host for rank in plan.ranks if board.of(rank.rank).started}
    found = (rank.host for rank in plan.ranks if not board.of(rank.rank).started)
    return tuple(dict.fromkeys(host for host in found if host is not None and host not in started))
