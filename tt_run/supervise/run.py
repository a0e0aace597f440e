"""Running a plan from start to verdict, again if asked."""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Callable
from pathlib import Path

from mgd.diagnostics import Diagnostic, on_one_line
from mgd.lean import dataclass, replace
from tt_run.contract import FIRST_START_FILE
from tt_run.errors import LauncherError
from tt_run.granted import ALLOW, why_no_cpus
from tt_run.launch.backend import Backend, Job, MpirunBackend, Start
from tt_run.launch.line import LaunchLine, build_line
from tt_run.launch.machine import Machine
from tt_run.launch.memory_kills import memory_kills, memory_told
from tt_run.launch.mpirun import Launcher
from tt_run.launch.options import LaunchOptions
from tt_run.launch.process import Process
from tt_run.launch.wrapper import words_of_ranks, write_wrapper
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.folder import RunFolder, lock_folder, make_folder
from tt_run.supervise.options import RunOptions
from tt_run.supervise.signals import SignalInbox, watching_signals

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.supervise.attempt import Attempt
    from tt_run.supervise.observation import Observation
    from tt_run.supervise.status import StatusBoard
    from tt_run.supervise.terminal import LentTerminal
    from tt_run.supervise.timed_faults import TimedFaults


def run_plan(
    plan: LaunchPlan,
    launcher: Launcher,
    machine: Machine,
    launch: LaunchOptions,
    options: RunOptions,
    run_dir: Path,
    say: Callable[[str], None],
    announce: Callable[[LaunchLine, RunFolder], None] = lambda line, folder: None,
    backend: Backend | None = None,
    repeated: Callable[[Attempt], None] = lambda attempt: None,
) -> Attempt:
    """Runs the plan, up to `max_restarts` times again while ranks fail by themselves; the last attempt. `repeated` is told of the others.

    Once it starts again by itself: when daemons on other hosts met what killed ones had left, before any rank started.

    Raises LauncherError when mpirun cannot be executed, UsageError when the run folder cannot be used.
    """
    number, restarts = 0, 0
    with watching_signals() as inbox:
        run = _Run(plan, launcher, machine, launch, options, backend or MpirunBackend(), inbox, say, announce)
        while True:
            number += 1
            folder = make_folder(run_dir if number == 1 else run_dir.with_name(f"{run_dir.name}.{number}"))
            if number == 1:
                run_dir = folder.path
            else:
                (folder.path / FIRST_START_FILE).write_text(run_dir.name, encoding="utf-8")
            attempt = run.attempt(folder, number)
            if attempt.met_leftovers and number == 1:
                hosts = ", ".join(host.name for host in attempt.lost_hosts)
                say(
                    f"the launcher's daemon ended at once on {hosts}, as over what a killed one left there: starting again"
                )
                repeated(attempt)
                continue
            if attempt.is_final or restarts == options.max_restarts:
                return attempt
            restarts += 1
            say(f"{attempt.verdict.sentence}; restart {restarts} of {options.max_restarts}")
            repeated(attempt)


@dataclass(frozen=True, slots=True)
class _Run:
    """What every start of a run is made from."""

    plan: LaunchPlan
    launcher: Launcher
    machine: Machine
    launch: LaunchOptions
    options: RunOptions
    backend: Backend
    inbox: SignalInbox
    say: Callable[[str], None]
    announce: Callable[[LaunchLine, RunFolder], None]

    def attempt(self, folder: RunFolder, number: int) -> Attempt:
        """One start, watched to its end and judged. The folder is locked while its ranks are there."""
        held = lock_folder(folder)
        try:
            start = self._start(folder)
            faults = _faults(self.plan, self.options, folder)
            job, feeder = _start_job(self.plan, start, folder, self.backend, self.launch)
            board, observation = self._attend(job, start.line, folder, faults, feeder)
        finally:
            os.close(held)
        from tt_run.supervise.attempt import conclude

        return conclude(self.plan, start.line, board, observation, number, self.machine.environ)

    def _start(self, folder: RunFolder) -> Start:
        words = words_of_ranks(self.plan, folder.path)
        return Start(
            build_line(self.plan, self.launcher, self.machine, self.launch, folder.path, words),
            words,
            len(self.plan.ranks),
            self.plan.cwd,
            folder.launcher_log,
            self.machine.environ,
            abandoned=_abandoned(self.plan, folder, self.machine),
            is_multi_host=self.plan.placement.is_multi_host,
        )

    def _attend(
        self,
        job: Job,
        line: LaunchLine,
        folder: RunFolder,
        faults: TimedFaults | None,
        feeder: Process | None,
    ) -> tuple[StatusBoard, Observation]:
        """Stands by the job until it has ended; what was lent to its ranks is back then."""
        terminal = _terminal(folder, self.launch)
        try:
            self.announce(line, folder)
            from tt_run.supervise.attend import attend  # while mpirun starts

            if not gc.isenabled():
                gc.freeze()  # the first collection would copy what is shared with the keeper, while the ranks start
                gc.enable()
            helpers = () if feeder is None else (feeder.pid,)
            return attend(job, self.plan, folder, self.options, self.inbox, self.say, faults, helpers)
        except BaseException:
            job.finish()
            raise
        finally:
            if terminal is not None:
                terminal.close()
            if feeder is not None:
                feeder.kill()
                feeder.wait()


def _faults(plan: LaunchPlan, options: RunOptions, folder: RunFolder) -> TimedFaults | None:
    """The faults on purpose of ranks without emulation, written down for their hooks."""
    if not options.faults:
        return None
    from tt_run.faults import read_fault
    from tt_run.supervise.timed_faults import TimedFaults

    found = TimedFaults([read_fault(text) for text in options.faults])
    found.write(plan, folder.path)
    return found


def _abandoned(plan: LaunchPlan, folder: RunFolder, machine: Machine) -> Callable[[int], str]:
    """What the keeper of the job does about other hosts when this process was killed, and then says in its place."""
    before = memory_kills()

    def sweep(launcher_pid: int) -> str:
        from tt_run.supervise.sweep import sweep_abandoned

        sweep_abandoned(plan, folder, machine.environ, launcher_pid)
        why = memory_told(memory_kills() - before)
        told = f"out of memory, as it seems ({why})" if why else "by SIGKILL or a crash, for it wrote no end"
        return f"tt-run: tt-run itself was killed: {told}; all ranks were ended\n  logs: {on_one_line(str(folder.path))}\n"

    return sweep


def _terminal(folder: RunFolder, launch: LaunchOptions) -> LentTerminal | None:
    """This terminal, for the rank that is to have it."""
    if launch.debug_rank is None:
        return None
    from tt_run.supervise.terminal import LentTerminal

    return LentTerminal(folder)


def _warm(plan: LaunchPlan, launch: LaunchOptions) -> str:
    """What the ranks of a host have imported before they are forked; empty where each is started by itself."""
    if not launch.may_warm(len(plan.ranks)):
        return ""
    from tt_run.launch.warm import warm_modules

    return warm_modules(plan, launch)


def _start_job(
    plan: LaunchPlan, start: Start, folder: RunFolder, backend: Backend, launch: LaunchOptions
) -> tuple[Job, Process | None]:
    """Writes what the ranks read and starts the launcher, and what feeds rank 0 where that is asked for."""
    if (refused := why_no_cpus()) is not None:
        text = f"{start.line.launcher} would ask for ever which processors it may use: {refused}"
        raise LauncherError(Diagnostic("TTR504", text, help=ALLOW.format("sched_getaffinity")))
    _write_files(plan, start.line, folder, launch)
    feeder = None
    if launch.stdin:
        from tt_run.launch.stdin import feed_stdin, is_forwarded, prepare_stdin

        prepare_stdin(plan, folder.path)
        start = replace(start, stdin=is_forwarded(plan))
        feeder = feed_stdin(plan, folder.path)
    try:
        return backend.start(start), feeder
    except OSError as error:
        if feeder is not None:
            feeder.kill()
        raise _not_executed(start.line.launcher, error) from None


def _write_files(plan: LaunchPlan, line: LaunchLine, folder: RunFolder, launch: LaunchOptions) -> None:
    """The wrapper, what debuggers need, files that the plan has made up, its folders and its rankfile."""
    try:
        write_wrapper(plan, folder.path, _warm(plan, launch))
    except OSError as error:
        error.filename = error.filename or str(folder.path)  # not known of what is written through a buffer
        raise
    if launch.debug_rank is not None or launch.debugpy:
        from tt_run.launch.debuggers import write_debuggers

        write_debuggers(launch, folder.path)
    if plan.generated_files:
        from tt_run.launch.generated import write_generated

        write_generated(plan.generated_files)
    for made in plan.folders:
        made.mkdir(parents=True, exist_ok=True)
    rankfile = line.rankfile
    if rankfile is not None and rankfile.text is not None:
        rankfile.path.write_text(rankfile.text, encoding="utf-8")


def _not_executed(launcher: str, error: OSError) -> LauncherError:
    reason = error.strerror
    help = "tt-run --doctor shows what is there"
    if error.errno == errno.EAGAIN:
        help = "your processes are as many as they may be: see ulimit -u"
    elif not Path("/proc/self/stat").exists():
        reason = "there is no /proc, where it and tt-run find processes"
        help = "mount -t proc proc /proc"
    return LauncherError(Diagnostic("TTR504", f"{launcher} cannot be executed: {reason}", help=help))
