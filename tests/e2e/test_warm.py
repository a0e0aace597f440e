"""Ranks that are forked from one process are what they are when each is started by itself."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.jobs import GONE_WITHIN, Jobs, until
from tests.e2e.test_faults import named
from tests.e2e.test_signals import children
from tests.sweep import sweep

WARM = ("--warm", "json,numpy")
FACTS = """
import json, multiprocessing, resource, stat, threading
def stream(number):
    found = os.fstat(number)
    return stat.S_IFMT(found.st_mode), os.path.basename(os.readlink(f"/proc/self/fd/{number}"))
def opened():  # some builds of libffi keep themselves open
    for number in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink(f"/proc/self/fd/{number}").rstrip("0123456789.")
        except FileNotFoundError:
            pass  # the folder itself
print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "name": __name__, "file": __file__, "spec": str(__spec__),
    "main": sorted(vars(sys.modules["__main__"])), "loader": type(__loader__).__name__,
    "env": {k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "OMPI_", "PRTE_", "TT_RUN_DIR", "OPAL"))
            and k not in ("_", "HFI_RANDOM", "TMPDIR", "LS_COLORS")},
    "rank": os.environ["OMPI_COMM_WORLD_RANK"], "cwd": os.getcwd(), "umask": os.umask(0o22),
    "limits": [resource.getrlimit(n) for n in range(10)], "cpus": sorted(os.sched_getaffinity(0)), "nice": os.nice(0),
    "handlers": [str(signal.getsignal(n)) for n in (1, 2, 3, 13, 15, 10)], "streams": [stream(n) for n in (0, 1, 2)],
    "flags": str(sys.flags), "buffering": sys.stdout.line_buffering, "threads": threading.active_count(),
    "process": multiprocessing.current_process().name, "group": os.getpgid(0) != os.getpid(), "open": sum(not name.endswith(".so") for name in opened()),
    "folder": os.path.isdir(os.environ["TT_RUN_DIR"]), "hook": sys.excepthook.__name__, "words": open("/proc/self/cmdline").read(),
}))
"""


def facts(jobs: Jobs, *options: str) -> list[dict[str, object]]:
    job = jobs.start(*jobs.python(FACTS), "one", "two words", options=options)
    assert job.end().check()
    return [json.loads(job.folder.out(rank).read_text()) for rank in (0, 1)]


def test_a_rank_sees_what_it_sees_without(jobs: Jobs) -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})  # which is not what the machine has
    try:
        assert facts(jobs, *WARM) == facts(jobs, "--no-warm")
    finally:
        os.sched_setaffinity(0, allowed)


def test_ranks_share_what_was_imported(jobs: Jobs) -> None:
    """The module counts its imports in a file."""
    (jobs.root / "counted.py").write_text("with open('imports', 'a') as stream: stream.write('x')\n")
    program = jobs.python("import counted, numpy\nprint(numpy.random.rand(), os.getpid())\n")
    job = jobs.start(*program, options=("--warm", "counted"), env={"PYTHONPATH": str(jobs.root)}, ranks=2)
    lines = [line.split()[1:] for line in job.end().check().out.splitlines()]
    assert (jobs.root / "imports").read_text() == "x"
    assert len({chance for chance, _ in lines}) == 2
    assert {int(pid) for _, pid in lines} == {job.status(rank).pid for rank in range(2)}


@pytest.mark.parametrize(
    ("end", "code", "says"),
    sweep(
        [
            ("raise ValueError('boom')", 1, "exited with 1"),
            ("sys.exit(5)", 5, "exited with 5"),
            ("os._exit(3)", 3, "exited with 3"),
            ("os.kill(os.getpid(), 9)", 137, "was killed by SIGKILL"),
            ("os.kill(os.getpid(), 15)", 143, "was killed by SIGTERM"),
            ("os.kill(os.getppid(), 9)", 137, "was killed by SIGKILL"),
            ("os.killpg(0, 9)", 137, "was killed by SIGKILL, its wrapper with it"),
        ],
        quick=["os.killpg(0, 9)"],
    ),
)
def test_ends(jobs: Jobs, end: str, code: int, says: str) -> None:
    program = jobs.python(
        f"import numpy\nfrom mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\nif rank == 1:\n    {end}\nMPI.COMM_WORLD.Barrier()\n"
    )
    ran = jobs.run(*program, options=WARM)
    assert ran.code == code, ran.err
    assert named(ran.err).startswith("rank 1 on ") and says in named(ran.err)


@pytest.mark.wide
def test_multiprocessing(jobs: Jobs) -> None:
    program = jobs.python(
        "import multiprocessing\ndef child(queue): queue.put(os.getpid())\n"
        "if __name__ == '__main__':\n    for way in ('fork', 'spawn', 'forkserver'):\n"
        "        made = multiprocessing.get_context(way); queue = made.Queue()\n"
        "        process = made.Process(target=child, args=(queue,)); process.start()\n"
        "        assert queue.get() == process.pid; process.join()\n"
    )
    jobs.run(*program, options=WARM).check()


@pytest.mark.parametrize(
    "number", sweep([signal.SIGTERM, signal.SIGKILL], quick=[signal.SIGKILL]), ids=lambda number: number.name
)
def test_nothing_outlives_the_launcher(jobs: Jobs, number: signal.Signals) -> None:
    program = jobs.python(
        "import signal\nsignal.signal(15, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(600)\n"
    )
    job = jobs.start(*program, options=WARM).wait_for_line("up")
    job.send(number)
    job.process.wait(GONE_WITHIN)
    job.check_gone()


def test_a_rank_dies_with_its_stand_in(jobs: Jobs) -> None:
    """As it dies with its wrapper without."""
    job = jobs.start(*jobs.python("print('up', flush=True)\ntime.sleep(600)\n"), options=WARM).wait_for_line(
        "up"
    )
    until(lambda: job.status(1).pid != job.status(0).pid)
    group = job.status(1).pgid
    assert group is not None
    os.kill(group, signal.SIGKILL)  # the wrapper
    ran = job.end(GONE_WITHIN)
    assert ran.code == 137 and named(ran.err).startswith("rank 1 on ")


@pytest.mark.parametrize(
    ("number", "receiver"),
    sweep(
        [
            pytest.param(number, receiver, id=f"{number.name}-{receiver}")
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2)
            for receiver in ("stand-in", "minder")
        ],
        quick=["SIGTERM-minder"],
    ),
)
def test_a_signal_to_a_process_beside_a_rank_is_the_ranks(
    jobs: Jobs, number: signal.Signals, receiver: str
) -> None:
    """Their words are the program's, so that somebody may take them for it."""
    job = jobs.start(*jobs.python("print('up', flush=True)\ntime.sleep(600)\n"), options=WARM).wait_for_line(
        "up"
    )
    rank, wrapper = job.status(1).pid, job.status(1).pgid
    assert rank is not None and wrapper is not None
    minder = int(Path(f"/proc/{rank}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(minder if receiver == "minder" else children(wrapper)[0], number)
    ran = job.end(GONE_WITHIN)
    assert ran.code == 128 + number
    assert named(ran.err) == f"rank 1 on {os.uname().nodename} was killed by {number.name}"


def test_ranks_hear_once_of_the_end_of_a_run(jobs: Jobs) -> None:
    program = jobs.python(
        "heard = []\nsignal.signal(15, lambda *_: heard.append(15))\nprint('up', flush=True)\n"
        "while not heard: time.sleep(0.01)\ntime.sleep(0.1)\nprint('heard', len(heard), flush=True)\n"
    )
    ran = jobs.start(*program, options=WARM).wait_for_line("up").send(signal.SIGTERM).end(GONE_WITHIN)
    assert ran.out.count("heard 1\n") == 2


@pytest.mark.wide
def test_stacks_on_demand(jobs: Jobs) -> None:
    program = jobs.python("print('up', flush=True)\nwhile True:\n    time.sleep(0.05)\n")
    job = jobs.start(*program, options=WARM).wait_for_line("up").send(signal.SIGQUIT)
    until(lambda: all(job.folder.stacks(rank).read_text().count("most recent call") for rank in (0, 1)))
    assert f"{program[1]}:" in job.send(signal.SIGTERM).end().err


@pytest.mark.parametrize(
    "unfit",
    sweep(
        [
            "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
            "raise SystemExit(4)",
            "raise ImportError('not here')",
            "from mpi4py import MPI",
        ],
        quick=["raise SystemExit(4)"],
    ),
)
def test_where_it_cannot_be_right_every_rank_is_started_by_itself(jobs: Jobs, unfit: str) -> None:
    (jobs.root / "unfit.py").write_text(
        f"import os\nif 'OMPI_COMM_WORLD_RANK' not in os.environ:\n    {unfit}\n"
    )
    program = jobs.python("print(rank, 'went on')\n")
    job = jobs.start(*program, options=("--warm", "unfit"), env={"PYTHONPATH": str(jobs.root)})
    assert job.end().check().out.count("went on") == 2


def test_a_warm_process_that_fails_never_runs_the_program(jobs: Jobs) -> None:
    """It was started with the program's words, but it is no rank."""
    (jobs.root / "broken.py").write_text(
        "import os\nos.close(int(max(os.listdir('/proc/self/fd'), key=int)))\nfor n in range(3, 64):\n    try: os.close(n)\n    except OSError: pass\n"
    )
    program = jobs.python("print('rank' if 'OMPI_COMM_WORLD_RANK' in os.environ else 'stray')\n")
    job = jobs.start(*program, options=("--warm", "broken"), env={"PYTHONPATH": str(jobs.root)})
    out = job.end().check().out
    assert out.count("rank") == 2 and "stray" not in out
