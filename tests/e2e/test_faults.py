"""Each way in which a rank can fail: the right rank named, an exit code of its class, in bounded time, and nobody left.

The reference launcher hangs for ever on three of these, and names another rank than it returns on a fourth.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.e2e.jobs import Jobs
from tests.e2e.launch import tt_run
from tests.sweep import sweep
from tt_run.contract import Exit
from tt_run.report.page import render
from tt_run.supervise.looking.runs import read_run

IN_MPI = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\ncomm.Barrier()\n"


def named(err: str) -> str:
    """The sentence with which the report begins."""
    lines = [line for line in err.splitlines() if line.startswith("tt-run: ") and ": --report: " not in line]
    return lines[-1].removeprefix("tt-run: ")


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    sweep(
        [
            ("os._exit(3)", 3, "exited with 3"),
            ("os.kill(os.getpid(), signal.SIGKILL)", 137, "was killed by SIGKILL"),
            ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "was killed by SIGSEGV"),
            ("os.abort()", 134, "was killed by SIGABRT"),
            ("raise RuntimeError('boom')", 1, "exited with 1"),
            ("sys.exit(5)", 5, "exited with 5"),
            ("comm.Abort(9)", 9, "exited with 9"),
            ("os._exit(0)", 1, "ended with 0 but without MPI_Finalize"),
        ],
        quick=["raise RuntimeError('boom')", "os._exit(0)"],
    ),
)
def test_a_rank_that_ends_in_the_middle_of_mpi(jobs: Jobs, fault: str, code: int, says: str) -> None:
    program = jobs.python(f"{IN_MPI}if rank == 1:\n    {fault}\ncomm.Barrier()\ntime.sleep(600)\n")
    ran = jobs.run(*program)
    assert ran.code == code, ran.err
    assert named(ran.err).startswith("rank 1 on "), ran.err
    assert says in named(ran.err)
    assert "ended because of it: rank 0" in ran.err


@pytest.mark.parametrize(
    "fault",
    sweep(["os.killpg(os.getpgid(0), 9)", "os.kill(os.getppid(), 9)"], quick=["os.killpg(os.getpgid(0), 9)"]),
)
@pytest.mark.parametrize(
    "start", [IN_MPI, pytest.param("", marks=pytest.mark.wide)], ids=["in MPI", "without MPI"]
)
def test_a_rank_that_is_killed_with_its_wrapper(jobs: Jobs, fault: str, start: str) -> None:
    """As the memory killer of a control group does: nobody is left to record the end."""
    program = jobs.python(f"{start}if rank == 1:\n    {fault}\ntime.sleep(600)\n")
    ran = jobs.run(*program, ranks=4)
    assert ran.code == 137, ran.err
    assert named(ran.err).startswith("rank 1 on "), ran.err
    assert "was killed by SIGKILL, its wrapper with it" in named(ran.err)


EMULATED = """
import ttnn
device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
def call():
    return ttnn.all_gather(ttnn.ones((32, 32), device=device, layout=ttnn.TILE_LAYOUT), dim=0)
call()
if rank == 1:
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
while True:
    call()
"""


@pytest.mark.wide
@pytest.mark.parametrize(
    ("number", "code"), sweep([("SIGKILL", 137), ("SIGTERM", 143), ("SIGSEGV", 139)], quick=["SIGKILL"])
)
def test_a_signal_to_an_emulated_rank_is_named(jobs: Jobs, number: str, code: int) -> None:
    """The guard of another rank notices first, and knows only that the process is gone."""
    ran = jobs.run(*jobs.python(EMULATED), number)
    assert ran.code == code, ran.err
    assert named(ran.err).startswith("rank 1 on ") and f"was killed by {number}" in named(ran.err)


CRASHES = """import ctypes, os, ttnn
ttnn.init_distributed_context()
if int(ttnn.distributed_context_get_rank()) == 1:
    ctypes.string_at(0)
ttnn.distributed_context_barrier()
"""


def test_a_crash_of_an_emulated_rank_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(CRASHES)
    ran = tt_run("--emulate", "--system", "n300", "--split", "1x2", "python", "program.py", cwd=tmp_path)
    assert ran.code == 139 and "was killed by SIGSEGV" in named(ran.err), ran.err
    assert 'program.py", line 4 in <module>' in ran.err and "libpython" not in ran.err


CAUGHT = """import sys, traceback, ttnn
ttnn.init_distributed_context()
is_odd = int(ttnn.distributed_context_get_rank()) == 1
try:
    ttnn.distributed_context_allgather_int(3) if is_odd else ttnn.distributed_context_barrier()
except RuntimeError:
    traceback.print_exc()
    sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("code", [3, pytest.param(0, marks=pytest.mark.wide)])
def test_what_a_program_has_caught_of_the_guard_is_shown(tmp_path: Path, code: int) -> None:
    """Else the report alone has it."""
    (tmp_path / "program.py").write_text(CAUGHT)
    words = ("--emulate", "--system", "n300", "--split", "1x2", "python", "program.py", str(code))
    ran = tt_run(*words, cwd=tmp_path)
    assert ran.code == code and "GuardError: error[TTG001]: ranks 0 and 1 disagree" in ran.err, ran.err


STREAMS = """import io, os, sys
stream = {"none": None, "closed": io.StringIO(), "odd": type("Odd", (), {"write": lambda *words: 0})()}[sys.argv[1]]
getattr(stream, "close", int)() if sys.argv[1] == "closed" else None
sys.stdout = sys.stderr = stream
import ttnn
device = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
if os.environ["OMPI_COMM_WORLD_RANK"] == "1":
    raise ValueError("hidden")
ttnn.all_gather(ttnn.ones((32, 32), device=device, layout=ttnn.TILE_LAYOUT), dim=0)
"""


@pytest.mark.wide
@pytest.mark.parametrize("stream", sweep(["none", "closed", "odd"], quick=["none"]))
def test_a_program_without_streams_fails_as_others_do(tmp_path: Path, stream: str) -> None:
    (tmp_path / "program.py").write_text(STREAMS)
    ran = tt_run(
        "--emulate", "--system", "n300", "--split", "1x2", "python", "program.py", stream, cwd=tmp_path
    )
    assert ran.code == 1 and "rank 1 on " in named(ran.err), ran.err
    assert "program.py:8" in ran.err and "sys.excepthook" not in ran.err


BROKEN_HOOK = """import os, sys
sys.excepthook = lambda *found: undefined
import ttnn
device = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
if os.environ["OMPI_COMM_WORLD_RANK"] == "1":
    raise ValueError("shown all the same")
ttnn.all_gather(ttnn.ones((32, 32), device=device, layout=ttnn.TILE_LAYOUT), dim=0)
"""


@pytest.mark.wide
@pytest.mark.parametrize(
    "start", sweep(["import ttnn", "from mpi4py import MPI\nimport ttnn"], quick=["import ttnn"])
)
def test_a_rank_that_closes_every_descriptor_is_told_at_its_end(tmp_path: Path, start: str) -> None:
    """MPI waits for ever for the end of a rank that its launcher no longer hears of."""
    (tmp_path / "program.py").write_text(
        f"import os\n{start}\nttnn.init_distributed_context()\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))\n"
        "if int(ttnn.distributed_context_get_rank()) == 1:\n    os.closerange(0, 65536)\nttnn.close_mesh_device(mesh)\n"
    )
    ran = tt_run(
        *("--emulate", "--system", "t3000", "--split", "1x2", "python", "program.py"),
        cwd=tmp_path,
        timeout=40,
    )
    assert ran.code == 1 and "tt-run: rank 1 on" in ran.err, ran.err
    assert "RuntimeError: the program has closed every socket that MPI had opened" in ran.err


@pytest.mark.wide
@pytest.mark.parametrize("does", sweep(["print('logged', found[1])", "undefined"], quick=["undefined"]))
def test_an_exception_that_the_programs_own_hook_keeps_is_told_as_one(tmp_path: Path, does: str) -> None:
    """A hook in our place, which tells nobody: not that the rank ended, but that it raised, is what the others must hear."""
    (tmp_path / "program.py").write_text(
        "import sys\nimport ttnn\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))\n"
        "x = ttnn.ones((32, 32), device=mesh, layout=ttnn.TILE_LAYOUT)\nttnn.all_reduce(x)\n"
        f"sys.excepthook = lambda *found: {does}\n"
        "if int(ttnn.distributed_context_get_rank()) == 1:\n    raise ValueError('no such shard')\nttnn.all_reduce(x)\n"
    )
    ran = tt_run("--emulate", "--system", "t3000", "--split", "1x2", "python", "program.py", cwd=tmp_path)
    assert ran.code == 1, ran.err
    assert "tt-run: rank 1 on" in ran.err and "error[TTG003]: rank 1 raised an exception" in ran.err, ran.err
    assert "program.py:8" in named(ran.err) or "program.py:8" in ran.err.partition(named(ran.err))[2], ran.err


@pytest.mark.wide
def test_a_rank_of_mpi_that_closes_every_descriptor_is_told_at_its_end(jobs: Jobs) -> None:
    """Open MPI would write warnings without end, which look like progress, and wait for its launcher for ever."""
    ran = jobs.run(*jobs.python(f"{IN_MPI}if rank == 1:\n    os.closerange(3, 65536)\ncomm.Barrier()\n"))
    assert ran.code == 1 and named(ran.err).startswith("rank 1 on "), ran.err
    assert "RuntimeError: the program has closed every socket, those of MPI too" in ran.err
    assert "help: start a process with close_fds=True" in ran.err


UNWRITABLE = {
    "files that may not grow": "import resource\n    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n    print('y' * 4000, flush=True)",
    "no descriptor": "os.closerange(0, 65536)\n    print('y', flush=True)",
}


@pytest.mark.parametrize("what", sweep(UNWRITABLE, quick=["no descriptor"]))
def test_an_exception_that_nothing_can_write_down_is_told_by_the_others(tmp_path: Path, what: str) -> None:
    """In a rank that cannot print either, and whose MPI may have lost its launcher."""
    (tmp_path / "program.py").write_text(
        "import os\nimport ttnn\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))\n"
        "x = ttnn.ones((32, 32), device=mesh, layout=ttnn.TILE_LAYOUT)\nttnn.all_reduce(x)\n"
        f"if int(ttnn.distributed_context_get_rank()) == 1:\n    {UNWRITABLE[what]}\nttnn.all_reduce(x)\n"
    )
    ran = tt_run(
        *("--emulate", "--system", "t3000", "--split", "1x2", "python", "program.py"),
        cwd=tmp_path,
        timeout=40,
    )
    line = 9 if "import" in UNWRITABLE[what] else 8
    assert ran.code == 1 and "tt-run: rank 1 on" in ran.err, ran.err
    assert "error[TTG003]: rank 1 raised an exception" in ran.err, ran.err
    assert "OSError: [Errno " in ran.err and f"program.py:{line}" in ran.err, ran.err


@pytest.mark.wide
def test_a_hook_for_exceptions_that_raises_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(BROKEN_HOOK)
    ran = tt_run("--emulate", "--system", "n300", "--split", "1x2", "python", "program.py", cwd=tmp_path)
    assert ran.code == 1 and "rank 1 on " in named(ran.err), ran.err
    assert "NameError: name 'undefined'" in ran.err and "ValueError: shown all the same" in ran.err


TIMED = """import faulthandler, time
faulthandler.dump_traceback_later(float(%r), exit=True)
import ttnn
ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
time.sleep(30)
"""


@pytest.mark.wide
@pytest.mark.parametrize("seconds", sweep(["3", "0.001"], quick=["3"]))
def test_the_timer_of_faulthandler_is_the_programs(tmp_path: Path, seconds: str) -> None:
    """The emulation sets it while MPI starts."""
    (tmp_path / "program.py").write_text(TIMED % seconds)
    for _ in range(3):
        ran = tt_run("--emulate", "--system", "n300", "--split", "1x2", "python", "program.py", cwd=tmp_path)
        # Python reads the frames of a thread that runs meanwhile, and may crash over them.
        if not (ran.code == 139 and "Timeout (0:00:0" in ran.err):
            break
    assert ran.code == 1 and "Timeout (0:00:0" in ran.err, ran.err


def test_a_stopped_rank_is_called_stopped(jobs: Jobs) -> None:
    ran = jobs.run(*jobs.python(EMULATED), "SIGSTOP", options=("--hang-timeout", "1"))
    assert ran.code == Exit.HANG, ran.err
    assert named(ran.err).startswith("rank 1 on ") and "was stopped by a signal" in named(ran.err)


ENDINGS = {
    "raise SystemExit('out of data')": (1, "SystemExit: out of data", "program.py:7"),
    "raise SystemExit(5)": (5, "SystemExit: 5", "program.py:7"),
    "sys.exit('no\\nluck')": (1, "SystemExit: no", "program.py:7"),
    "exit(6)": (6, "SystemExit: 6", "program.py:7"),
    "exit(256)": (1, "SystemExit: 256 (the system keeps its lowest 8 bits, which are 0", "program.py:7"),
    "try:\n        1 / 0\n    except ZeroDivisionError:\n        raise SystemExit(7)": (
        7,
        "SystemExit: 7",
        "program.py:10",
    ),
    "class E(Exception):\n        def __str__(self): raise ValueError\n    raise E": (
        1,
        "E: (its __str__ raised ValueError)",
        ":9",
    ),
    "raise KeyboardInterrupt": (130, "KeyboardInterrupt", "program.py:7"),
}


@pytest.mark.parametrize(
    ("ending", "emulated"),
    sweep(
        [
            pytest.param(ending, emulated, id=f"{ending}-{'emulated' if emulated else 'in MPI'}")
            for ending in ENDINGS
            for emulated in (False, True)
        ],
        quick=["raise SystemExit('out of data')-emulated", "exit(6)-in MPI"],
    ),
)
def test_every_way_to_leave_is_told_with_code_text_and_line(jobs: Jobs, ending: str, emulated: bool) -> None:
    code, says, line = ENDINGS[ending]
    start = IN_MPI
    if emulated:
        start = "import ttnn\nttnn.init_distributed_context()\nttnn.distributed_context_barrier()\n"
    wait = "ttnn.distributed_context_barrier()" if emulated else "comm.Barrier()"
    ran = jobs.run(*jobs.python(f"{start}if rank == 1:\n    {ending}\n{wait}\ntime.sleep(600)\n"))
    assert ran.code == code, ran.err
    assert named(ran.err).startswith("rank 1 on "), ran.err
    assert (says in ran.err or says.removeprefix("SystemExit: ") in ran.err) and line in ran.err


def test_an_exception_in_an_exit_handler_is_told_though_the_code_is_0(jobs: Jobs) -> None:
    handler = "import atexit\n@atexit.register\ndef bye():\n    if rank == 1:\n        raise ValueError('no farewell')\n"
    ran = jobs.run(*jobs.python(handler))
    assert ran.code == 0, ran.err
    assert "tt-run: warning: rank 1 raised ValueError: no farewell in an exit handler at " in ran.err, ran.err
    assert "rank 0 raised" not in ran.err
    folder = jobs.started[0].folder.path
    (told,) = json.loads((folder / "plan.json").read_text())["exit_handlers"]
    assert (told["rank"], told["exception"], told["message"]) == (1, "ValueError", "no farewell")
    page = render(read_run(folder)).decode()
    assert "rank 1 raised ValueError: no farewell in an exit handler at " in page


@pytest.mark.parametrize(
    "folder",
    sweep(["rm -rf $TT_RUN_DIR; exit 3", "rm -rf $TT_RUN_DIR; exit 0"], quick=["rm -rf $TT_RUN_DIR; exit 0"]),
)
def test_a_run_folder_that_the_program_removes(jobs: Jobs, folder: str) -> None:
    ran = jobs.run("sh", "-c", f"sleep 0.3; {folder}")
    assert ran.code in (1, 3), ran.err
    assert "was removed during the run" in ran.err


def test_a_message_with_a_lone_surrogate(jobs: Jobs) -> None:
    ran = jobs.run(*jobs.python("raise ValueError('\\ud800')\n"), options=("--annotations", "github"))
    assert ran.code == 1
    assert "ValueError: \\ud800" in ran.err


KEEPERS = {
    "child": "import multiprocessing\n    multiprocessing.get_context('fork').Process(target=time.sleep, args=(600,)).start()",
    "exit handler": "import atexit\n    atexit.register(time.sleep, 600)",
}


@pytest.mark.parametrize("keeper", sweep(KEEPERS, quick=["child"]))
def test_an_exception_of_a_rank_that_something_keeps_from_ending(jobs: Jobs, keeper: str) -> None:
    """The others wait for it; the run used to wait for ever."""
    program = jobs.python(
        f"{IN_MPI}if rank == 1:\n    {KEEPERS[keeper]}\n    raise ValueError('boom')\ncomm.Barrier()\n"
    )
    ran = jobs.start(*program, env={"TT_RUN_EXIT_TIMEOUT": "0.5"}).end()
    assert ran.code == 1, ran.err
    assert named(ran.err).startswith("rank 1 on ") and "ValueError: boom" in ran.err


@pytest.mark.wide
@pytest.mark.parametrize("keeper", KEEPERS)
def test_a_hang_after_an_exception_is_told_as_the_exception(jobs: Jobs, keeper: str) -> None:
    program = jobs.python(
        f"{IN_MPI}if rank == 1:\n    {KEEPERS[keeper]}\n    raise ValueError('boom')\ncomm.Barrier()\n"
    )
    ran = jobs.run(*program, options=("--hang-timeout", "1"))
    assert ran.code == 1, ran.err
    assert named(ran.err).startswith("rank 1 on ") and "raised ValueError and did not end" in named(ran.err)


CGROUPS = Path("/sys/fs/cgroup/memory")


@pytest.mark.skipif(not os.access(CGROUPS / "cgroup.procs", os.W_OK), reason="needs a writable memory cgroup")
def test_an_out_of_memory_kill_is_called_so(jobs: Jobs, tmp_path: Path) -> None:
    group = CGROUPS / f"tt-run-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(24 << 20))
        program = jobs.python(
            f"if rank == 1:\n    open('{group}/cgroup.procs', 'w').write(str(os.getpid()))\n"
            "    kept = bytearray(400 << 20)\ntime.sleep(600)\n"
        )
        ran = jobs.run(*program)
        assert ran.code == 137
        assert "rank 1 on" in named(ran.err) and "was killed by SIGKILL: out of memory" in named(ran.err)
    finally:
        group.rmdir()


@pytest.mark.parametrize(
    ("fault", "code"),
    sweep(
        [("exit 3", 3), ("kill -KILL $$", 137), ("kill -SEGV $$", 139), ("kill -TERM $$", 143)],
        quick=["kill -TERM $$"],
    ),
)
def test_a_program_without_mpi(jobs: Jobs, fault: str, code: int) -> None:
    script = f"ulimit -c 0; [ $OMPI_COMM_WORLD_RANK = 1 ] || exec sleep 600; {fault}"
    ran = jobs.run("sh", "-c", script)
    assert ran.code == code
    assert named(ran.err).startswith("rank 1 on ")


def test_the_report_holds_what_a_reader_needs(jobs: Jobs) -> None:
    program = jobs.python(f"{IN_MPI}if rank == 3:\n    raise ValueError('no good')\ncomm.Barrier()\n")
    ran = jobs.run(*program, ranks=4)
    report = ran.err[ran.err.index("tt-run: rank 3") :]
    assert len(report.splitlines()) <= 30
    assert ran.err.count("ValueError: no good") == 1  # right above, in the traceback
    for needed in (
        f"{program[1]}:7",
        "ended because of it: ranks 0-2",
        "rank-0003.err",
    ):
        assert needed in report, report
    assert (
        f"run again: tt-run --emulate --system t3000 --split 2x2 --log-dir {jobs.started[0].folder.path}"
        in report
    )
    assert report.splitlines()[0].endswith(f" exited with {int(Exit.FAILED)}")


def test_the_json_report_tells_culprit_and_victims_apart(jobs: Jobs) -> None:
    program = jobs.python(f"{IN_MPI}if rank == 2:\n    raise ValueError('no good')\ncomm.Barrier()\n")
    _, report = jobs.report(*program, ranks=4)
    assert report["verdict"]["culprit"] == 2
    assert report["verdict"]["exit_code"] == 1
    assert [outcome["part"] for outcome in report["outcomes"]] == ["victim", "victim", "culprit", "victim"]
    assert report["outcomes"][2]["failure"]["exception"] == "ValueError"
    assert [rank["rank"] for rank in report["ranks"]] == [0, 1, 2, 3]


def test_two_failures_at_once_give_one_culprit_and_its_own_code(jobs: Jobs) -> None:
    """The reference says "rank 0, code 5" and returns 7."""
    ran, report = jobs.report("sh", "-c", "exit $((5 + 2 * OMPI_COMM_WORLD_RANK))")
    culprit = report["verdict"]["culprit"]
    assert ran.code == report["outcomes"][culprit]["exit"] == 5 + 2 * culprit
    assert named(ran.err).startswith(f"rank {culprit} on ")


def test_a_rank_that_ends_early_and_well_lets_the_others_go_on(jobs: Jobs) -> None:
    ran = jobs.run("sh", "-c", "[ $OMPI_COMM_WORLD_RANK = 0 ] && sleep 1; echo done")
    assert ran.check().out.count("done") == 2


def test_a_failed_rank_lets_the_others_go_on_where_mpirun_was_told_so(jobs: Jobs) -> None:
    options = ("--mpi-args", "--runtime-options error-nonzero-status=false")
    ran = jobs.run("sh", "-c", "[ $OMPI_COMM_WORLD_RANK = 1 ] && exit 3; sleep 4; echo done", options=options)
    assert ran.code == 3 and "done" in ran.out
    assert "tt-run: rank 1 on " in ran.err and "ended because of it" not in ran.err


def test_a_program_that_is_missing_on_the_host(jobs: Jobs) -> None:
    ran = jobs.run("no-such-program", options=("--skip-executable-check",))
    assert ran.code == 127
    assert "did not start: no-such-program: not found on PATH" in named(ran.err)


def test_children_that_a_rank_leaves_behind_are_ended(jobs: Jobs) -> None:
    ran = jobs.run("sh", "-c", "(trap '' TERM HUP; exec sleep 600) & echo up")
    assert ran.code == 0  # nobody is left: Jobs.run has checked it
    assert "ranks 0-1 left processes behind, which were ended" in ran.err


@pytest.mark.parametrize(
    "trap", sweep(["", "trap '' TERM;"], quick=["trap '' TERM;"]), ids=["polite", "stubborn"]
)
def test_a_daemon_that_a_rank_leaves_behind_is_ended(jobs: Jobs, trap: str) -> None:
    """A session of its own keeps it out of the rank's process group."""
    daemon = f"{trap} echo $$ >daemon.$OMPI_COMM_WORLD_RANK; while :; do sleep 0.1; done"
    wait = 'while [ ! -s "daemon.$OMPI_COMM_WORLD_RANK" ]; do sleep 0.01; done'
    ran = jobs.run(
        "sh", "-c", f"[ $OMPI_COMM_WORLD_RANK = 0 ] || {{ setsid sh -c {shlex.quote(daemon)} & {wait}; }}"
    )
    assert ran.code == 0
    assert "rank 1 left processes behind, which were ended" in ran.err
    stat = Path("/proc", (jobs.root / "daemon.1").read_text().strip(), "stat")
    assert (
        not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
    )  # some containers never reap


class TestHangs:
    """Three ordinary failures on which the reference hangs without a word."""

    def test_a_rank_that_ends_before_mpi_starts(self, jobs: Jobs) -> None:
        # mpirun notices the missing rank itself when the other one is in MPI already, so that one waits.
        other = (
            "record = os.environ['TT_RUN_DIR'] + '/rank-0001.status'\n"
            "while 'end=' not in (told := open(record).read()):\n    time.sleep(0.01)\n"
            "wrapper = told.partition('pgid=')[2].split()[0]\n"
            "while os.path.exists(f'/proc/{wrapper}'):\n    time.sleep(0.01)\n"
        )
        program = jobs.python(f"if rank == 1:\n    sys.exit()\n{other}{IN_MPI}")
        ran = jobs.run(*program, options=("--hang-timeout", "2"))
        assert ran.code == Exit.HANG
        assert "rank 1 ended with 0 without ever entering MPI, while rank 0 waits in MPI" in named(ran.err)
        assert "from mpi4py import MPI" in ran.err

    def test_a_rank_that_never_enters_the_barrier(self, jobs: Jobs) -> None:
        program = jobs.python(f"{IN_MPI}if rank == 1:\n    time.sleep(600)\ncomm.Barrier()\n")
        ran = jobs.run(*program, options=("--hang-timeout", "1"))
        assert ran.code == Exit.HANG
        assert f"rank 0: {program[1]}:8" in ran.err
        assert f"rank 1: {program[1]}:7" in ran.err

    @pytest.mark.wide
    def test_the_odd_one_out_comes_first(self, jobs: Jobs) -> None:
        program = jobs.python(f"{IN_MPI}if rank == 2:\n    time.sleep(600)\ncomm.Barrier()\n")
        ran = jobs.run(*program, options=("--hang-timeout", "1"), ranks=4)
        places = ran.err[ran.err.index("where the ranks were") :].splitlines()[1:3]
        assert places[0].lstrip().startswith("rank 2: ") and places[0].endswith("<- the odd one out")
        assert places[1].lstrip().startswith("ranks 0-1, 3: ")

    @pytest.mark.slow
    def test_the_automatic_rule_needs_no_option(self, jobs: Jobs) -> None:
        ran = jobs.run(*jobs.python(f"if rank == 1:\n    sys.exit()\n{IN_MPI}"))
        assert ran.code == Exit.HANG


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_soak(jobs: Jobs) -> None:
    """A hundred runs in which a random rank fails at a random time: the culprit is named each time, and nobody is left."""
    import random

    chance = random.Random(20261120)
    for _ in range(100):
        rank, delay = chance.randrange(4), chance.uniform(0, 0.3)
        fault = chance.choice(
            ["raise RuntimeError('boom')", "os._exit(3)", "os.kill(os.getpid(), 9)", "os.abort()"]
        )
        program = jobs.python(
            f"{IN_MPI}\nif rank == {rank}:\n    time.sleep({delay})\n    {fault}\nwhile True:\n    comm.Barrier()\n"
        )
        ran = jobs.run(*program, ranks=4)
        assert ran.code != 0
        assert named(ran.err).startswith(f"rank {rank} on "), ran.err


@pytest.mark.slow
def test_many_ranks_start_and_end_cleanly(jobs: Jobs) -> None:
    """512 ranks on one machine."""
    entries = "".join(f"  - {{rank: {rank}, mesh_id: 0, mesh_host_rank: {rank}}}\n" for rank in range(512))
    (jobs.root / "mesh.textproto").write_text(
        'mesh_descriptors { name: "M0" arch: WORMHOLE_B0 device_topology { dims: [16, 32] } '
        "host_topology { dims: [16, 32] } channels { count: 1 } }\n"
        'top_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }\n'
    )
    (jobs.root / "rb.yaml").write_text(f"rank_bindings:\n{entries}mesh_graph_desc_path: mesh.textproto\n")
    ran = tt_run(
        *("--rank-binding", "rb.yaml", "--log-dir", "run", "--report", "report.json"),
        *("sh", "-c", "sleep 1; echo $TT_RUN_RANK"),
        cwd=jobs.root,
        timeout=100,
    )
    assert sorted(int(line.rpartition(" ")[2]) for line in ran.check().out.splitlines()) == list(range(512))
    report = json.loads((jobs.root / "report.json").read_text())
    assert {outcome["part"] for outcome in report["outcomes"]} == {"ok"}
