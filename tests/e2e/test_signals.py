"""Signals to tt-run itself: every rank ends with it, whatever the signal, and the exit code says which it was."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.jobs import GONE_WITHIN, Job, Jobs, until
from tests.e2e.launch import environment, tt_run
from tests.sweep import sweep
from tt_run import contract
from tt_run.contract import Exit

SLEEP = ("sleep", "600")
# A rank that ignores whatever can be ignored.
STUBBORN = ("sh", "-c", "trap '' HUP INT TERM; echo up; while :; do sleep 0.2; done")
CODES = {
    signal.SIGINT: Exit.INTERRUPTED,
    signal.SIGTERM: Exit.TERMINATED,
    signal.SIGHUP: Exit.HUNG_UP,
}


@pytest.mark.parametrize("number", sweep(CODES, quick=[signal.SIGINT]), ids=lambda number: number.name)
def test_a_signal_to_the_launcher_alone_ends_every_rank(jobs: Jobs, number: signal.Signals) -> None:
    ran = jobs.start(*SLEEP).wait_started().send(number).end(GONE_WITHIN)
    assert ran.code == CODES[number]
    assert number.name in ran.err


@pytest.mark.parametrize("number", sweep(CODES, quick=[signal.SIGTERM]), ids=lambda number: number.name)
def test_ranks_that_ignore_signals_end_too(jobs: Jobs, number: signal.Signals) -> None:
    ran = jobs.start(*STUBBORN).wait_for_line("up").send(number).end(GONE_WITHIN)
    assert ran.code == CODES[number]


def test_a_second_interrupt_ends_the_run_at_once(jobs: Jobs) -> None:
    job = jobs.start(*STUBBORN).wait_for_line("up").send(signal.SIGINT)
    until(lambda: job.process.poll() is not None or job.send(signal.SIGINT))
    ran = job.end(GONE_WITHIN)
    assert ran.code == Exit.INTERRUPTED


SHARED = """
import os, signal
from pathlib import Path
from mpi4py import MPI

world = MPI.COMM_WORLD
window = MPI.Win.Allocate_shared(1 << 16, comm=world)
world.allreduce(1)
held = Path(os.environ["OMPI_MCA_btl_sm_backing_directory"])
print("held", held, len(list(held.glob("sm_segment.*"))), flush=True)
world.Barrier()
if world.rank:
    os.kill(os.getpid(), signal.SIGKILL)
world.Barrier()
"""


def test_a_killed_rank_leaves_no_shared_memory(tmp_path: Path) -> None:
    """What Open MPI's ranks share lies in a folder of the job, which goes with it."""
    program = tmp_path / "shared.py"
    program.write_text(SHARED)
    ranks = ("--emulate", "--system", "n300", "--split", "1x2", "--log-dir", tmp_path / "logs")
    ran = tt_run(*ranks, sys.executable, program, env={"TMPDIR": ""})
    assert ran.code == 128 + signal.SIGKILL, ran.err
    folders = set(ran.field("held"))
    assert len(folders) == 1 and all(number == "2" for number in ran.field(*folders)), ran.out
    assert not Path(*folders).exists()


@pytest.mark.parametrize(
    "program",
    [pytest.param(SLEEP, id="sleep", marks=pytest.mark.wide), pytest.param(STUBBORN, id="stubborn")],
)
def test_nothing_outlives_a_killed_launcher(jobs: Jobs, program: tuple[str, ...]) -> None:
    job = jobs.start(*program).wait_started()
    job.process.kill()
    told = job.end(GONE_WITHIN).err  # its keeper holds standard error until it has said so
    # Where the kernel has ended another process of this machine for its memory meanwhile, it says that this may be why.
    reasons = "by SIGKILL or a crash, for it wrote no end", "out of memory, as it seems"
    assert any(f"tt-run: tt-run itself was killed: {reason}" in told for reason in reasons), told
    assert "; all ranks were ended" in told
    assert f"logs: {job.folder.path}" in told


def test_grandchildren_do_not_outlive_a_killed_launcher(jobs: Jobs) -> None:
    job = jobs.start(
        "sh", "-c", "sh -c 'trap \"\" TERM; echo up; while :; do sleep 0.2; done'; true"
    ).wait_for_line("up")
    job.process.kill()
    job.process.wait()
    job.check_gone()


def test_a_killed_mpirun_is_told_and_nobody_is_left(jobs: Jobs) -> None:
    job = jobs.start(*SLEEP).wait_started()
    os.kill(mpirun_of(job), signal.SIGKILL)
    ran = job.end(GONE_WITHIN)
    assert ran.code == 128 + signal.SIGKILL
    assert "mpirun was killed by SIGKILL" in ran.err


@pytest.mark.parametrize(
    "number", sweep([signal.SIGABRT, signal.SIGUSR2], quick=[signal.SIGABRT]), ids=lambda number: number.name
)
def test_what_mpirun_passes_on_is_not_laid_on_a_rank(jobs: Jobs, number: signal.Signals) -> None:
    job = jobs.start(*SLEEP).wait_started()
    os.kill(mpirun_of(job), number)
    ran = job.end(GONE_WITHIN)
    assert ran.code == 128 + number
    assert f"mpirun was sent {number.name} from outside of the run" in ran.err


@pytest.mark.parametrize(
    "number", sweep([signal.SIGUSR1, signal.SIGUSR2], quick=[signal.SIGUSR1]), ids=lambda number: number.name
)
def test_what_mpirun_would_pass_on_reaches_every_rank(jobs: Jobs, number: signal.Signals) -> None:
    """A scheduler that wants a checkpoint sends it."""
    trap = f"trap 'echo saved; exit 0' {number.name.removeprefix('SIG')}"
    job = jobs.start("sh", "-c", f"{trap}; echo up; while :; do sleep 0.05; done").wait_for_line("up")
    ran = job.send(number).end()
    assert ran.code == 0 and ran.out.count("saved") == 2
    assert f"{number.name}: passed on to every rank" in ran.err


@pytest.mark.parametrize(
    "number",
    sweep([*CODES, signal.SIGUSR2], quick=[signal.SIGTERM, signal.SIGUSR2]),
    ids=lambda number: number.name,
)
def test_a_signal_to_the_keeper_alone_means_tt_run(jobs: Jobs, number: signal.Signals) -> None:
    """One that would not end tt-run ends nothing."""
    job = jobs.start("sh", "-c", "echo up; until [ -e go ]; do sleep 0.05; done").wait_for_line("up")
    [keeper] = children(job.process.pid)
    os.kill(keeper, number)
    if number not in CODES:
        (jobs.root / "go").touch()
    ran = job.end(GONE_WITHIN)
    assert ran.code == CODES.get(number, 0)
    assert (number.name in ran.err) == (number in CODES)


def test_a_signal_to_tt_run_and_its_keeper_is_one(jobs: Jobs) -> None:
    """As `pkill tt-run` sends it: a second one would be an end at once."""
    job = jobs.start(*STUBBORN).wait_for_line("up")
    [keeper] = children(job.process.pid)
    os.kill(keeper, signal.SIGTERM)
    ran = job.send(signal.SIGTERM).end(GONE_WITHIN)
    assert ran.code == Exit.TERMINATED
    assert ran.err.count("SIGTERM: ending all ranks") == 1 and "again: ending" not in ran.err


def mpirun_of(job: Job) -> int:
    """The process id of a job's mpirun, which stands below the keeper."""
    [keeper] = children(job.process.pid)
    [mpirun] = children(keeper)
    return mpirun


def children(pid: int) -> list[int]:
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout
    return [int(word) for word in listed.split()]


def test_a_killed_keeper_ends_the_run_and_is_told(jobs: Jobs) -> None:
    """The process that would clean up after tt-run is gone, so tt-run does it."""
    job = jobs.start("sh", "-c", "setsid sleep 600 & echo up; sleep 600").wait_for_line("up")
    [keeper] = children(job.process.pid)
    os.kill(keeper, signal.SIGKILL)
    ran = job.end(GONE_WITHIN)
    assert ran.code != 0
    assert not marked(job)


@pytest.mark.parametrize("killed", sweep([False, True], quick=[True]), ids=["ends", "launcher killed"])
def test_a_stopped_keeper_goes_on_when_it_is_needed(jobs: Jobs, killed: bool) -> None:
    job = jobs.start("sh", "-c", "echo up; until [ -e go ]; do sleep 0.05; done").wait_for_line("up")
    [keeper] = children(job.process.pid)
    os.kill(keeper, signal.SIGSTOP)
    if killed:
        job.send(signal.SIGKILL)
        job.process.wait()
        job.check_gone()
    else:
        (jobs.root / "go").touch()
        assert job.end(2 * GONE_WITHIN).code == 0
    until(lambda: not marked(job), GONE_WITHIN, "the end of the keeper")


@pytest.mark.parametrize(
    ("number", "way"),
    sweep(
        [
            pytest.param(number, way, id=f"{number.name}-{way}")
            for number in (*CODES, signal.SIGKILL)
            for way in ("setsid", "setsid -f env -i")
        ],
        quick=["SIGINT-setsid", "SIGKILL-setsid -f env -i"],
    ),
)
def test_children_in_sessions_of_their_own_end_too(
    jobs: Jobs, tmp_path: Path, number: signal.Signals, way: str
) -> None:
    program = tmp_path / "a_child_of_its_own"
    program.symlink_to("/bin/sleep")
    job = jobs.start("sh", "-c", f"{way} {program} 600 & echo up; sleep 600").wait_for_line("up")
    until(lambda: len(mentioning(f"{program} 600")) >= 2)
    job.send(number)
    job.process.wait(GONE_WITHIN)
    until(lambda: not mentioning(f"{program} 600"), GONE_WITHIN, "the end of the children")


def marked(job: Job) -> list[str]:
    """Processes that have the job's run folder in their environment."""
    mark = f"{contract.RUN_DIR}={job.folder.path}"
    found = subprocess.run(
        f"grep -lszxF {mark} /proc/[0-9]*/environ", shell=True, capture_output=True, text=True
    )
    return found.stdout.split()


class TestKilledAtAnyMoment:
    """The launcher is ended at a random moment, by a signal that may be SIGKILL: nobody is left, and no scratch folder."""

    @pytest.mark.parametrize("times", [4, pytest.param(10, marks=pytest.mark.wide)])
    def test_a_few_times_in_its_first_second(self, tmp_path: Path, times: int) -> None:
        kill_at_random(tmp_path, times, 0.6)

    @pytest.mark.slow
    @pytest.mark.timeout(1800)
    def test_five_hundred_times(self, tmp_path: Path) -> None:
        kill_at_random(tmp_path, 500, 1.5)


LOOP = """
import os, subprocess, sys
here = os.path.dirname(__file__)
subprocess.Popen(["setsid", "env", "-i", f"{here}/a_rank_of_mine", "600"])
from mpi4py import MPI
while True:
    MPI.COMM_WORLD.Barrier()
"""


def kill_at_random(folder: Path, times: int, latest: float) -> None:
    chance = random.Random(20261122)
    temporary = folder / "tmp"
    temporary.mkdir()
    program = folder / "a_rank_of_mine"
    program.symlink_to("/bin/sleep")
    (folder / "loop.py").write_text(LOOP)
    programs = (
        ("sh", "-c", f"setsid -f {program} 600; exec {program} 600"),
        (
            "sh",
            "-c",
            f"trap '' TERM HUP INT; setsid -f env -i {program} 600; while :; do {program} 0.1; done",
        ),
        (sys.executable, str(folder / "loop.py")),
    )
    signals = (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP)
    for count in range(times):
        words = [
            "tt-run",
            "--emulate",
            "--system",
            "t3000",
            "--split",
            "1x2",
            "--log-dir",
            f"{folder}/run{count}",
        ]
        words += chance.choice(([], ["--warm", "json"]))
        process = subprocess.Popen(
            [*words, *chance.choice(programs)],
            cwd=folder,
            env=environment({"TMPDIR": str(temporary)}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        moment, number = chance.uniform(0.0, latest), chance.choice(signals)
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        if number == signal.SIGINT:
            until(partial(keeps_interrupts, process.pid), GONE_WITHIN, "the start of Python")
        process.send_signal(number)
        try:
            process.wait(2 * GONE_WITHIN)
        finally:
            process.kill()  # which its keeper tidies up after
        # The folder is the test's own: it stands in the words of tt-run, of its wrappers and of the ranks' programs.
        until(
            lambda: not mentioning(str(folder)) and not list(temporary.iterdir()),
            GONE_WITHIN,
            f"the end of everything in {folder}/run{count}, ended by {number.name} after {moment:.3f} s",
        )


def keeps_interrupts(pid: int) -> bool:
    """Whether Python is not just about to start tt-run: it catches SIGINT by itself then, and may lose it in a callback."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    caught = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt")), 0)
    return not caught >> (signal.SIGINT - 1) & 1 or bool(caught >> (signal.SIGTERM - 1) & 1)


def mentioning(words: str) -> list[str]:
    """Living processes with these words on their command lines."""
    listed = subprocess.run(
        ["ps", "-wweo", "stat=,args="], capture_output=True, text=True
    ).stdout.splitlines()
    return [line for line in listed if words in line and not line.startswith("Z")]


def test_a_signal_that_is_ignored_stays_ignored(jobs: Jobs) -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        job = jobs.start("sh", "-c", "echo up; while [ ! -e go ]; do sleep 0.05; done")
    finally:
        signal.signal(signal.SIGHUP, before)
    job.wait_for_line("up").send(signal.SIGHUP)
    (jobs.root / "go").touch()
    assert job.end().code == 0


def test_ctrl_c_on_a_terminal_reaches_the_ranks_once(jobs: Jobs) -> None:
    """The terminal signals the whole foreground group; the ranks are not in it."""
    job = jobs.start(
        "sh", "-c", "trap 'echo interrupted' INT; echo up; while :; do sleep 0.1; done"
    ).wait_for_line("up")
    os.killpg(job.process.pid, signal.SIGINT)
    ran = job.end(GONE_WITHIN)
    assert "interrupted" not in ran.out


def test_stacks_on_demand_do_not_disturb_the_run(jobs: Jobs) -> None:
    program = jobs.python("print('up', flush=True)\nwhile not os.path.exists('go'):\n    time.sleep(0.05)\n")
    job = jobs.start(*program).wait_for_line("up").send(signal.SIGQUIT)
    until(lambda: all(job.folder.stacks(rank).read_text().count("most recent call") for rank in (0, 1)))
    (jobs.root / "go").touch()
    ran = job.end()
    assert ran.code == 0
    places = [line for line in ran.err.splitlines() if f"{program[1]}:" in line]
    assert places and all(line.startswith("tt-run: rank") for line in places)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_goes_away_does_not_end_the_run(jobs: Jobs, stream: str) -> None:
    job = jobs.start(
        "sh",
        "-c",
        "until [ -e go ]; do sleep 0.05; done; echo x; echo y >&2; touch done$OMPI_COMM_WORLD_RANK",
    )
    job.wait_started()
    reader = getattr(job.process, stream)
    reader.close()
    (jobs.root / "go").touch()
    until(lambda: job.process.poll() is not None, what="the end of tt-run")
    assert job.process.returncode == 0
    assert (jobs.root / "done0").exists() and (jobs.root / "done1").exists()
