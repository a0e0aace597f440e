"""`tt-run --doctor` for several hosts: asks each one through the remote shell that mpirun would use, then lets them all add 1 + 1."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mgd.lean import dataclass, replace
from tt_run.cli.doctor.checks import HostAnswer, LaunchingSide
from tt_run.cli.doctor.probe import Question, read_facts
from tt_run.cli.doctor.report import Check
from tt_run.cli.doctor.trial import program, try_out
from tt_run.cli.reading.command_line import CommandLine
from tt_run.errors import InputError, LauncherError
from tt_run.inputs.findings import Findings
from tt_run.inputs.hosts.lists import HostList, HostSlots, parse_hosts, read_hostfile, scheduler_hosts
from tt_run.inputs.mpi_args import MpiArgs, host_token, read_mpi_args, split_mpi_args
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.site import Site
from tt_run.launch.agent import Answer, RemoteAgent, answer
from tt_run.launch.machine import Machine, user_home
from tt_run.launch.mpirun import Launcher, find_launcher
from tt_run.launch.options import LaunchOptions
from tt_run.plan.model import LaunchPlan, Placement, RankPlan

HOST_SECONDS = 20.0  # for one host to answer everything: name servers and file systems may be slow
TRIAL_SECONDS = 40.0


@dataclass(frozen=True)
class Trip:
    """One visit to all hosts: who they are, how they are reached, and what a launch would use there."""

    hosts: HostList
    agent: RemoteAgent
    launcher: Launcher
    site: Site
    python: str
    program: str
    mca: Mapping[str, str]
    interface: str | None = None
    emulate: bool = False

    def is_here(self, host: str) -> bool:
        return self.site.is_here(host)


def hosts_to_check(given: CommandLine, site: Site) -> tuple[HostList | None, MpiArgs]:
    """The hosts of a launch with these options, in the planner's order of sources; None for a launch on this machine.

    Raises UsageError and InputError as the launch would.
    """
    findings = Findings()
    args = read_mpi_args(split_mpi_args(given.mpi_args))
    found = _named(given, args, site, findings)
    if found is None and not given.no_scheduler:
        found = scheduler_hosts(site, findings)
    if any(finding.is_error for finding in (*findings.broken, *findings.judged)):
        raise InputError((*findings.broken, *findings.judged))
    return found, args


def _named(given: CommandLine, args: MpiArgs, site: Site, findings: Findings) -> HostList | None:
    search = PathSearch(site, findings)
    if args.rankfile is not None:
        from tt_run.inputs.hosts.rankfiles import read_rankfile

        path = search.find(args.rankfile, "rankfile")
        rankfile = read_rankfile(path, site, findings) if path else None
        names = rankfile.hosts if rankfile else ()
        return HostList(tuple(HostSlots(name) for name in names), f"rankfile {args.rankfile}")
    if args.hostfile is not None:
        path = search.find(args.hostfile, "hostfile")
        return read_hostfile(path, site, findings) if path else None
    if args.hosts:
        tokens = dict(host_token(token) for token in args.hosts)
        return HostList(tuple(HostSlots(name, count or 1) for name, count in tokens.items()), "--host")
    return parse_hosts(given.hosts) if given.hosts else None


def remote_checks(given: CommandLine, site: Site, hosts: HostList, args: MpiArgs) -> Iterator[Check]:
    """Every check of every host, then the trial that needs all of them."""
    agent = RemoteAgent.chosen(site.environ, args.words)
    yield Check("hosts", None, f"{', '.join(host.name for host in hosts.hosts)} ({hosts.source})")
    yield Check("remote shell", None, f"{shlex.join(agent.words)} ({agent.source})")
    try:
        launcher = find_launcher(site.environ)
    except LauncherError as error:
        first = error.diagnostics[0]
        yield Check("launcher", False, first.message, first.help or "")
        return
    program = given.program[0] if given.program else sys.executable
    trip = Trip(
        hosts,
        agent,
        launcher,
        site,
        _python(program),
        program,
        args.mca,
        given.tcp_interface,
        given.emulate,
    )
    bad = False
    for check in _all_hosts(trip):
        bad = bad or check.ok is False
        yield check
    if bad:
        yield Check("MPI over all hosts", None, "not tried: see above")
    else:
        yield trial_over_hosts(trip)


def _python(program: str) -> str:
    """The interpreter that the ranks would use: the program itself when it is one, else the one of tt-run."""
    return program if os.path.basename(program).startswith("python") else sys.executable  # noqa: PTH119


def _all_hosts(trip: Trip) -> Iterable[Check]:
    names = [host.name for host in trip.hosts.hosts]
    token = trip.site.cwd / f".tt-run-doctor-{os.getpid()}"
    daemon = Path(trip.launcher.path).parent / ("orted" if trip.launcher.major == 4 else "prted")
    question = Question(
        trip.launcher.path,
        str(daemon),
        trip.python,
        trip.program,
        trip.site.get("PATH") or "",
        token,
        Path(__file__).resolve().parents[2],
        names,
    )
    try:
        token.touch()
        answers = _ask(trip, names, f"cd {shlex.quote(str(trip.site.cwd))} 2>/dev/null; {question.line()}")
    except OSError as error:
        yield Check("launch folder", False, f"{trip.site.cwd} is not writable: {error.strerror}")
        return
    finally:
        token.unlink(missing_ok=True)
    is_python = trip.program == trip.python
    wanted = LaunchingSide(
        question,
        trip.launcher.version,
        trip.agent.words,
        trip.site.cwd,
        trip.interface,
        is_python,
        trip.emulate,
    )
    for name in names:
        yield from answers[name].checks(wanted)


def _ask(trip: Trip, names: Sequence[str], line: str) -> dict[str, HostAnswer]:
    asked = time.time()
    away = [name for name in names if not trip.is_here(name)]
    said = trip.agent.ask(away, line, HOST_SECONDS) if away else {}
    for name in names:
        if name not in said:
            said[name] = answer(("/bin/sh", "-c", line), HOST_SECONDS, trip.site.environ)
    answered = time.time()
    return {name: HostAnswer(name, said[name], read_facts(said[name].out), asked, answered) for name in names}


def trial_over_hosts(trip: Trip) -> Check:
    """One MPI rank on each host, started with the words of a launch: they add 1 + 1 over the network."""
    hosts = tuple(replace(host, slots=1) for host in trip.hosts.hosts)
    ranks = tuple(RankPlan(rank, (), {}, 0) for rank in range(len(hosts)))
    words = tuple(word for name, value in trip.mca.items() for word in ("--mca", name, value))
    record = (
        trip.site.cwd / f".tt-run-doctor-{os.getpid()}.json"
    )  # the hosts share this folder, as was found out
    plan = LaunchPlan(
        ranks,
        program(str(trip.site.which(trip.python) or trip.python), record),
        trip.site.cwd,
        Placement(hosts, source=trip.hosts.source),
        mpi_args=words,
    )
    machine = Machine(trip.site.environ, trip.site.cores, trip.site.is_root, user_home())
    options = LaunchOptions(tcp_interface=trip.interface)
    tried = try_out(plan, trip.launcher, machine, options, record, TRIAL_SECONDS)
    name = "MPI over all hosts"
    if tried.ranks == len(hosts):
        return Check(name, True, f"{len(hosts)} ranks, one on each host, have summed over the network")
    return Check(name, False, _why(tried.said), f"run it by hand: {shlex.join(tried.command)}"[:600])


def _why(said: Answer) -> str:
    from tt_run.supervise.verdict.lost_hosts import read_lost_hosts

    lost = read_lost_hosts(said.out + said.err)
    if lost:
        return f"the launcher's daemon on {', '.join(host.name for host in lost)} did not report back"
    lines = [line for line in (said.err + said.out).splitlines() if line.strip(" -\x00")]
    return lines[0] if lines else f"mpirun ended with {said.code}"
