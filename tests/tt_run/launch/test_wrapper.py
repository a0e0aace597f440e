"""The per-rank wrapper: the environment byte for byte, the end on record, and nobody left behind."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.tt_run.launch.conftest import DEADLINE, WrappedRank, plan_of
from tt_run import contract
from tt_run.inputs.environment import EnvVar
from tt_run.launch.wrapper import quoted, rank_environment, wrapper_words, write_wrapper

PRINT_ENVIRONMENT = ("cat", "/proc/self/environ")
HOSTILE = {
    "BLANKS": "  a  b ",
    "QUOTES": """it's "quoted" `x` $HOME ${X} \\n""",
    "LINES": "one\ntwo\n",
    "EMPTY": "",
    "SIGNS": "a=b;c:d,*?#%!~[]{}()<>|&",
    "UTF8": "größe ∞",
    "LONG": "x" * 20_000,
}


def seen(wrapped: WrappedRank, rank: int = 0) -> dict[str, str]:
    entries = wrapped.out(rank).split(b"\0")
    pairs = (entry.decode("utf-8", "surrogateescape").partition("=") for entry in entries if entry)
    return {name: value for name, _, value in pairs}


def test_values_arrive_byte_for_byte(wrapped: WrappedRank) -> None:
    assert wrapped.run(plan_of(PRINT_ENVIRONMENT, env=HOSTILE)).returncode == 0
    environment = seen(wrapped)
    assert {name: environment[name] for name in HOSTILE} == HOSTILE


def test_a_rank_of_an_exact_plan_sees_nothing_else(wrapped: WrappedRank) -> None:
    parent = {
        "SECRET": "s",
        "MANY": "one\nPATH=x\nOMPI_X=y",
        "PMIX_RANK": "0",
        "TAKEN": "parent",
        "PS1": "(venv) ",
        "PS4": "+",
    }
    plan = dataclasses.replace(
        plan_of(PRINT_ENVIRONMENT, env={"TAKEN": "plan", "PATH": os.environ["PATH"]}),
        is_exact=True,
        inherited={"SENT": EnvVar("along", "shell"), "TAKEN": EnvVar("shell", "shell")},
    )
    assert wrapped.run(plan, parent=parent).returncode == 0
    environment = seen(wrapped)
    assert (environment["SENT"], environment["TAKEN"]) == ("along", "plan")
    of_mpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"}
    assert set(environment) - set(rank_environment(plan, plan.ranks[0], wrapped.folder.path)) - {
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    } == of_mpi | {"SENT"}


def test_logs_are_private_and_the_program_keeps_its_mask(wrapped: WrappedRank, tmp_path: Path) -> None:
    made = tmp_path / "made"
    old = os.umask(0o027)
    try:
        assert wrapped.run(plan_of(("sh", "-c", f"umask; touch {made}"))).returncode == 0
    finally:
        os.umask(old)
    assert wrapped.out(0).strip() in (b"0027", b"027")
    assert made.stat().st_mode & 0o777 == 0o640
    for path in wrapped.folder.path.glob("rank-*"):
        assert path.stat().st_mode & 0o077 == 0, path


# NUL cannot be in an environment; everything else can.
@settings(
    max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=60))
def test_any_text_survives_the_quoting(value: str) -> None:
    printed = subprocess.run(
        ["/bin/sh", "-c", f"printf %s {quoted(value)}"], capture_output=True, timeout=DEADLINE
    )
    assert printed.stdout.decode() == value


@pytest.mark.parametrize("name", ["A.B", "UID", "PPID", "IFS", "PWD", "a-b", "1X"])
def test_names_that_a_shell_cannot_set_are_set(wrapped: WrappedRank, name: str) -> None:
    assert wrapped.run(plan_of(PRINT_ENVIRONMENT, env={name: "kept"})).returncode == 0
    assert seen(wrapped)[name] == "kept"


def test_the_parents_blocked_variables_do_not_reach_the_rank(wrapped: WrappedRank) -> None:
    plan = plan_of(
        PRINT_ENVIRONMENT, env={"TT_MESH_ID": "0"}, unset=("TT_MESH_ID", "TT_VISIBLE_DEVICES", "ODD.NAME")
    )
    parent = {"TT_MESH_ID": "7", "TT_VISIBLE_DEVICES": "31", "ODD.NAME": "leak", "FOO": "passes"}
    wrapped.run(plan, parent=parent)
    environment = seen(wrapped)
    assert environment["TT_MESH_ID"] == "0"
    assert "TT_VISIBLE_DEVICES" not in environment
    assert "ODD.NAME" not in environment
    assert environment["FOO"] == "passes"


def test_nothing_of_the_wrapper_itself_reaches_the_rank(wrapped: WrappedRank) -> None:
    wrapped.run(plan_of(PRINT_ENVIRONMENT))
    added = set(seen(wrapped)) - {
        "PATH",
        "PWD",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OLDPWD",
        "_",
        "SHLVL",
    }
    assert added == set(rank_environment(plan_of(("x",)), plan_of(("x",)).ranks[0], Path("/run")))


def test_arguments_arrive_as_given(wrapped: WrappedRank) -> None:
    words = ["a b", "", "*", "$x", "it's", "--", "line\nbreak", ":"]
    wrapped.run(plan_of(("printf", "%s\\0", *words)))
    assert wrapped.out().split(b"\0")[:-1] == [word.encode() for word in words]


@pytest.mark.parametrize("code", [0, 1, 3, 77, 126, 129, 137, 139, 255])
def test_the_exit_code_is_on_record(wrapped: WrappedRank, code: int) -> None:
    ran = wrapped.run(plan_of(("sh", "-c", f"exit {code}")))
    status = wrapped.status()
    assert (ran.returncode, status.code, status.signal) == (code, code, None)
    assert status.host == os.uname().nodename
    assert status.start is not None and status.end is not None and status.start <= status.end


@pytest.mark.parametrize(
    "number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGABRT, signal.SIGUSR1]
)
def test_a_signal_is_told_from_an_exit_code(wrapped: WrappedRank, number: signal.Signals) -> None:
    ran = wrapped.run(plan_of(("sh", "-c", f"ulimit -c 0; kill -{int(number)} $$")))
    status = wrapped.status()
    assert (ran.returncode, status.code, status.signal) == (128 + number, None, number)


def test_output_goes_to_the_ranks_files(wrapped: WrappedRank) -> None:
    ran = wrapped.run(plan_of(("sh", "-c", "echo out; echo err >&2")))
    assert wrapped.out() == b"out\n"
    assert wrapped.err() == "err\n"
    assert (ran.stdout, ran.stderr) == (b"", b"")


def test_each_rank_runs_its_own_words(wrapped: WrappedRank) -> None:
    plan = plan_of(("echo", "zero"), ("echo", "one"))
    for rank in (0, 1):
        wrapped.run(plan, rank)
    assert (wrapped.out(0), wrapped.out(1)) == (b"zero\n", b"one\n")


@pytest.mark.parametrize(
    ("program", "code", "says"),
    [
        ("no-such-program", 127, "not found on PATH"),
        ("/no/such/file", 127, "no such file"),
        ("/tmp", 126, "a directory"),
        ("/etc/passwd", 126, "not executable"),
    ],
)
def test_a_program_that_cannot_start_says_why(
    wrapped: WrappedRank, program: str, code: int, says: str
) -> None:
    assert wrapped.run(plan_of((program,))).returncode == code
    status = wrapped.status()
    assert status.code == code
    assert status.error is not None and says in status.error


def test_a_launch_folder_that_is_absent_says_so(wrapped: WrappedRank) -> None:
    wrapped.run(plan_of(("true",), cwd=Path("/no/such/folder")))
    assert "cannot enter the launch directory /no/such/folder" in str(wrapped.status().error)


@pytest.mark.parametrize("missing", ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"])
def test_a_process_that_is_no_rank_of_this_job_refuses_to_run(wrapped: WrappedRank, missing: str) -> None:
    plan = plan_of(("true",), ("true",))
    write_wrapper(plan, wrapped.folder.path)
    environment = {k: v for k, v in wrapped.environment(0, 2).items() if k != missing}
    ran = subprocess.run(
        wrapper_words(wrapped.folder.path, 2), env=environment, capture_output=True, timeout=DEADLINE
    )
    assert ran.returncode == 70
    assert b"expected 2 ranks" in ran.stderr
    assert wrapped.folder.wrong_size.exists()
    assert not wrapped.folder.status(0).exists()


def test_the_program_dies_with_the_wrappers_parent(wrapped: WrappedRank, tmp_path: Path) -> None:
    plan = plan_of(("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"))
    write_wrapper(plan, wrapped.folder.path)
    # A shell stands for mpirun: it is killed, and nobody tells the ranks.
    command = [*wrapper_words(wrapped.folder.path, 1)]
    mpirun = subprocess.Popen(["sh", "-c", '"$@"; true', "mpirun", *command], env=wrapped.environment(0, 1))
    try:
        until(lambda: wrapped.folder.out(0).exists() and wrapped.out() == b"up\n")
        pid = wrapped.status().pid
        assert pid is not None and running(pid)
    finally:
        mpirun.kill()
        mpirun.wait(DEADLINE)
    until(lambda: not running(pid))


def test_secrets_are_readable_by_their_owner_only(wrapped: WrappedRank) -> None:
    write_wrapper(plan_of(("true",), env={"TT_SECRET": "x"}), wrapped.folder.path)
    assert (wrapped.folder.path / "launch").stat().st_mode & 0o077 == 0


def test_a_host_without_setpriv_ties_the_rank_by_python(wrapped: WrappedRank) -> None:
    helper = Path(__file__).parents[3] / "tt_run" / "launch" / "die_with_parent.py"
    code = "import ctypes; n = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(n)); print(n.value)"
    ran = subprocess.run(
        [sys.executable, "-S", "-E", helper, sys.executable, "-c", code],
        capture_output=True,
        timeout=DEADLINE,
    )
    assert ran.stdout.strip() == b"9"


def until(condition: object, seconds: float = DEADLINE) -> None:
    """Waits for a condition; fails when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "the condition did not come"
        time.sleep(0.01)


def running(pid: int) -> bool:
    """Whether the process exists and is not just waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("script", ["exit 3", "exit 139", "kill -SEGV $$", "kill -INT $$"])
def test_bash_as_sh_records_the_same(wrapped: WrappedRank, script: str) -> None:
    """On many systems /bin/sh is bash, which words its messages otherwise."""
    plan = plan_of(("sh", "-c", f"ulimit -c 0; {script}"), env=HOSTILE)
    write_wrapper(plan, wrapped.folder.path)
    wrapper = wrapped.folder.path / "launch" / "rank.sh"
    wrapper.write_text(wrapper.read_text().replace("/bin/sh", "/bin/bash --posix"))
    words = ["/bin/bash", "--posix", *wrapper_words(wrapped.folder.path, 1)[1:]]
    subprocess.run(words, env=wrapped.environment(0, 1), stdin=subprocess.DEVNULL, timeout=DEADLINE)
    status = wrapped.status()
    expected = {
        "exit 3": (3, None),
        "exit 139": (139, None),
        "kill -SEGV $$": (None, 11),
        "kill -INT $$": (None, 2),
    }
    assert (status.code, status.signal) == expected[script]


class TestElsewhere:
    """On another host than tt-run's the wrapper itself ends what its program leaves behind."""

    @staticmethod
    def leave(wrapped: WrappedRank, way: str, host: str) -> int:
        """Runs a rank that leaves a process behind, and gives its process id."""
        plan = plan_of(("sh", "-c", f"{way} sh -c 'echo $$; exec sleep 600' & sleep 0.3"))
        plan = dataclasses.replace(
            plan,
            ranks=(
                dataclasses.replace(
                    plan.ranks[0], env={contract.RUN_DIR: EnvVar(str(wrapped.folder.path), "")}
                ),
            ),
        )
        write_wrapper(plan, wrapped.folder.path)
        (wrapped.folder.path / "launch" / "host").write_text(f"{host}\n")
        words = wrapper_words(wrapped.folder.path, 1)
        subprocess.run(words, env=wrapped.environment(0, 1), stdin=subprocess.DEVNULL, timeout=DEADLINE)
        return int(wrapped.out())

    def test_a_session_of_its_own(self, wrapped: WrappedRank) -> None:
        pid = self.leave(wrapped, "setsid", "another")
        assert not running(pid)
        assert wrapped.status().left and wrapped.status().succeeded

    @pytest.mark.skipif(
        not any(os.access(f"/sys/fs/cgroup{root}/cgroup.procs", os.W_OK) for root in ("", "/unified")),
        reason="needs a writable control group of version 2",
    )
    def test_an_empty_environment_where_there_are_control_groups(self, wrapped: WrappedRank) -> None:
        pid = self.leave(wrapped, "setsid -f env -i", "another")
        until(lambda: not running(pid))
        group = wrapped.status().cgroup
        assert wrapped.status().left and group is not None and not Path(group).exists()

    def test_here_it_is_left_to_tt_run(self, wrapped: WrappedRank) -> None:
        pid = self.leave(wrapped, "setsid", os.uname().nodename)
        assert running(pid) and not wrapped.status().left
        os.kill(pid, signal.SIGKILL)


def test_a_rank_that_was_told_to_end_says_so(wrapped: WrappedRank) -> None:
    """The signal goes to the whole group, as mpirun's does; one to the program alone is its own."""
    wrapped.run(
        plan_of(
            ("python3", "-c", "import os; os.killpg(os.getpgid(0), 15)"),
        ),
        detached=True,
    )
    assert (wrapped.status().signal, wrapped.status().told) == (15, True)


def test_a_signal_to_the_program_alone_is_its_own(wrapped: WrappedRank) -> None:
    wrapped.run(plan_of(("sh", "-c", "kill $$")))
    assert (wrapped.status().signal, wrapped.status().told) == (15, False)


def test_a_wrapper_that_is_told_to_end_after_its_program_was_killed_does_not_say_so(
    wrapped: WrappedRank,
) -> None:
    """On another host it looks for what the program has left behind, while mpirun already ends everybody for its peers."""
    plan = plan_of(("sh", "-c", "setsid sleep 60 & kill -KILL $$"))
    write_wrapper(plan, wrapped.folder.path)
    (wrapped.folder.path / "launch/host").write_text("elsewhere\n")
    wrapper = subprocess.Popen(
        wrapper_words(wrapped.folder.path, 1), env=wrapped.environment(0, 1), start_new_session=True
    )
    until(lambda: wrapped.folder.status(0).exists() and "over=" in wrapped.folder.status(0).read_text())
    wrapper.terminate()
    wrapper.wait(DEADLINE)
    status = wrapped.status()
    assert (status.signal, status.told, status.left) == (9, False, True)
