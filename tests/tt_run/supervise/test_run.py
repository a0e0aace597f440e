"""A run from start to verdict without MPI: the same wrapper, the same watch, processes of this machine."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.sweep import thinned
from tests.tt_run.launch.conftest import plan_of
from tests.tt_run.supervise.local import LocalBackend
from tt_run.contract import Exit
from tt_run.errors import LauncherError, UsageError
from tt_run.launch.backend import Job, Start
from tt_run.launch.keeper import Order
from tt_run.launch.machine import Machine
from tt_run.launch.mpirun import Launcher
from tt_run.launch.options import LaunchOptions
from tt_run.launch.started_job import KeptJob
from tt_run.supervise.attempt import Attempt
from tt_run.supervise.folder import lock_folder, make_folder, predicted_folder
from tt_run.supervise.looking.stacks import Frame, RankStack
from tt_run.supervise.observation import EndedBy
from tt_run.supervise.options import RunOptions, Tee
from tt_run.supervise.output.report import MOST_LINES, annotation, failure_report, report_json
from tt_run.supervise.processes import living
from tt_run.supervise.run import run_plan

QUIET = RunOptions(tee=Tee("none"))
NO_FOLDER = "PMIx detected a call to mkdir was unable to create the desired directory:"


def test_runs_of_two_containers_in_one_second_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each of them tt-run may have the same number."""
    monkeypatch.setattr(time, "strftime", lambda form: "20261122-120000")
    first = predicted_folder(None, tmp_path)
    make_folder(first)
    again = [predicted_folder(None, tmp_path) for _ in range(2)]
    assert len({first, *again}) == 3


def test_a_folder_that_another_container_makes_meanwhile_is_not_taken(tmp_path: Path) -> None:
    predicted = predicted_folder(None, tmp_path)
    held = [lock_folder(make_folder(predicted)) for _ in range(3)]
    try:
        assert len([*predicted.parent.glob("*-*")]) == 3
    finally:
        for descriptor in held:
            os.close(descriptor)


class Local:
    """Runs programs as ranks of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said: list[str] = []

    def run(self, *argvs: Sequence[str], options: RunOptions = QUIET, mpirun: str = "local") -> Attempt:
        plan = plan_of(*argvs, cwd=self.path)
        machine = Machine(dict(os.environ), cores=8)
        launcher = Launcher(mpirun, "test")
        backend = LocalBackend() if mpirun == "local" else None
        attempt = run_plan(
            plan,
            launcher,
            machine,
            LaunchOptions(),
            options,
            self.path / "run",
            self.said.append,
            backend=backend,
        )
        groups = {s.rank: s.pgid for s in attempt.board.all() if s.pgid is not None}
        assert not living(groups), "a process of a rank is left"
        return attempt


@pytest.fixture
def local(tmp_path: Path) -> Local:
    return Local(tmp_path)


def sh(script: str, ranks: int = 2) -> list[tuple[str, ...]]:
    return [("sh", "-c", script)] * ranks


def test_success(local: Local) -> None:
    attempt = local.run(*sh("echo $TT_RUN_WORLD_SIZE"))
    assert attempt.verdict.exit_code == Exit.OK
    assert attempt.folder.out(0).read_text() == "2\n"
    assert attempt.folder.launcher_log.read_text() == ""


class Hindered(LocalBackend):
    """Its first start, or every one, ends as mpirun's does when a daemon on h2 ends with 213 before any rank has started."""

    def __init__(self, always: bool) -> None:
        self.always = always
        self.starts = 0

    def start(self, start: Start) -> Job:
        self.starts += 1
        if self.starts > 1 and not self.always:
            return super().start(start)
        said = "A daemon failed to report back\\n Remote host: h2\\n Daemon exit status: 213\\n"
        words = ("/bin/sh", "-c", f"printf '{said}'; exit 213")
        return KeptJob(Order(words, start.cwd, start.environ, log=start.log))


@pytest.mark.parametrize("always", [False, True])
def test_what_a_killed_daemon_left_costs_one_more_start(tmp_path: Path, always: bool) -> None:
    said: list[str] = []
    backend = Hindered(always)
    plan = plan_of(*sh("exit 0"), cwd=tmp_path)
    machine, launcher = Machine(dict(os.environ), cores=8), Launcher("local", "test")
    folder = tmp_path / "run"
    attempt = run_plan(plan, launcher, machine, LaunchOptions(), QUIET, folder, said.append, backend=backend)
    assert backend.starts == 2
    assert attempt.verdict.exit_code == (Exit.HOST_LOST if always else Exit.OK)
    assert "ended at once on h2" in said[0] and len(said) == 1
    assert attempt.folder.path == tmp_path / "run.2"


def test_the_first_failure_ends_the_others(local: Local) -> None:
    attempt = local.run(("sleep", "600"), ("sh", "-c", "exit 4"))
    assert attempt.verdict.exit_code == 4
    assert attempt.verdict.culprit is not None and attempt.verdict.culprit.rank == 1
    assert [status.rank for status in attempt.verdict.victims] == [0]


def test_a_rank_that_ignores_its_end_is_ended(local: Local) -> None:
    stubborn = ("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    attempt = local.run(stubborn, ("sh", "-c", "sleep 0.2; exit 4"))
    assert attempt.verdict.exit_code == 4


def test_timeout(local: Local) -> None:
    attempt = local.run(*sh("sleep 600"), options=RunOptions(tee=Tee("none"), timeout=0.3))
    assert attempt.verdict.exit_code == Exit.TIMEOUT
    assert attempt.observation.ended_by is EndedBy.TIMEOUT


def test_children_left_behind_are_ended_and_told(local: Local) -> None:
    attempt = local.run(*sh("(trap '' HUP TERM; exec sleep 600) & true"))
    assert attempt.verdict.exit_code == Exit.OK
    assert attempt.observation.swept == (0, 1)


def test_restarts(local: Local) -> None:
    options = RunOptions(tee=Tee("none"), max_restarts=3)
    attempt = local.run(*sh("mkdir once$OMPI_COMM_WORLD_RANK 2>/dev/null && exit 3; exit 0"), options=options)
    assert attempt.verdict.succeeded
    assert 2 <= attempt.number <= 3
    assert attempt.folder.path.name == f"run.{attempt.number}"
    assert "restart 1 of 3" in local.said[0]


def test_a_folder_with_another_runs_records_is_refused(local: Local) -> None:
    local.run(*sh("true"))
    with pytest.raises(UsageError) as caught:
        local.run(*sh("true"))
    assert caught.value.diagnostics[0].code == "TTR032"


def test_a_folder_of_runs_is_no_run_folder(local: Local) -> None:
    """What looks at runs would then see one run alone."""
    (local.path / "run" / "20261130-031932-14080").mkdir(parents=True)
    (local.path / "run" / "20261130-031932-14080" / "launcher.log").touch()
    with pytest.raises(UsageError, match="holds the folders of runs, as 20261130-031932-14080") as caught:
        local.run(*sh("true"))
    assert caught.value.diagnostics[0].help.endswith("/run/NAME")


def test_a_folder_that_another_launch_uses_is_refused(local: Local) -> None:
    """Before any rank of that has started, so that no record shows it."""
    held = lock_folder(make_folder(local.path / "run"))
    with pytest.raises(UsageError, match="another run is just using") as caught:
        local.run(*sh("true"))
    os.close(held)
    assert caught.value.diagnostics[0].code == "TTR032"
    assert local.run(*sh("true")).verdict.succeeded


def test_a_folder_that_cannot_be_made_is_refused(local: Local) -> None:
    (local.path / "run").write_text("a file")
    with pytest.raises(UsageError) as caught:
        local.run(*sh("true"))
    assert caught.value.diagnostics[0].code == "TTR031"


def test_a_launcher_that_cannot_be_executed(local: Local, tmp_path: Path) -> None:
    with pytest.raises(LauncherError) as caught:
        local.run(*sh("true"), mpirun=str(tmp_path / "absent"))
    assert caught.value.diagnostics[0].code == "TTR504"


class TestReport:
    @pytest.fixture
    def failed(self, local: Local) -> Attempt:
        lines = "; ".join(f"echo line {n} >&2" for n in range(40))
        return local.run(("sleep", "600"), ("sh", "-c", f"{lines}; exit 7"), *sh("sleep 600", 3))

    def test_it_is_short_and_complete(self, failed: Attempt) -> None:
        lines = failure_report(failed, ["tt-run", "a b"])
        assert len(lines) <= MOST_LINES
        text = "\n".join(lines)
        assert text.startswith("tt-run: rank 1 on ")
        assert "line 39" in text and "line 3\n" not in text
        assert "ended because of it: ranks 0, 2-4" in text
        assert "run again: tt-run 'a b'" in text
        assert str(failed.folder.path) in text

    @pytest.mark.parametrize(
        ("blocks", "files", "says"), [(0, 9, "disk"), (9, 0, "room for files"), (9, 9, "")]
    )
    def test_a_full_disk_is_named(
        self, failed: Attempt, monkeypatch: pytest.MonkeyPatch, blocks: int, files: int, says: str
    ) -> None:
        """Where records are missing nothing else would."""
        disk = os.statvfs_result((1, 1, 9, 9, blocks, 9, 9, files, 0, 255))
        monkeypatch.setattr(os, "statvfs", lambda _: disk)
        told = failure_report(failed, ["x"])[1]
        assert told.startswith(f"  the {says} of the run folder is full") == bool(says)

    def test_what_the_console_has_shown_is_not_said_again(self, failed: Attempt) -> None:
        told = failure_report(failed, ["x"], lambda rank: True)
        assert not any("last lines" in line or "line 39" in line for line in told)
        assert told[-2].endswith(", rank-0001.err")
        record = {"rank": 1, "exception": "GuardError", "message": "a\n  b\n  help: c", "guard": True}
        by_guard = dataclasses.replace(failed, failures={1: record})
        assert "  b" in failure_report(by_guard, ["x"], lambda rank: rank == 0)
        assert "  b" not in failure_report(by_guard, ["x"], lambda rank: True)
        held = dataclasses.replace(failed.observation, unsaid=(1,))
        told = failure_report(dataclasses.replace(by_guard, observation=held), ["x"], lambda rank: True)
        assert told[1:3] == ["  b", "  help: c"]
        places = ["in a at x.py:1 since 0.1 s", "in b at x.py:2  <-", *["in a at x.py:1 since 0.2 s"] * 2]
        said = "\n".join(["a", *(f"  rank {n}: {place}" for n, place in enumerate(places)), "  help: c"])
        alike = dataclasses.replace(failed, failures={1: {**record, "message": said}})
        told = failure_report(alike, ["x"])
        assert told[1:4] == [
            "  ranks 0, 2-3: in a at x.py:1 since 0.1 s",
            "  rank 1: in b at x.py:2  <-",
            "  help: c",
        ]
        raised = {1: {**record, "exception": "ValueError", "message": "no", "guard": None}}
        raised[0] = {"rank": 0, "message": "a\n  rank 0: in b\n  rank 1: raised\n  help: c", "guard": True}
        held = dataclasses.replace(failed.observation, unsaid=(0,))
        told = failure_report(dataclasses.replace(failed, failures=raised, observation=held), ["x"])
        assert "  rank 0: in b" in told and not any("rank 1: raised" in line for line in told)
        said = "\n".join(
            ["a", *(f"  rank {number}{'  <-' * (number == 39)}" for number in range(40)), "  help: c"]
        )
        many = dataclasses.replace(failed, failures={1: {**record, "message": said}})
        told = failure_report(many, ["x"])
        assert told[14:17] == ["  rank 39  <-", "  and 26 lines more in the log", "  help: c"]

    @pytest.mark.parametrize(
        "says", ["was stopped by a signal", "is at fault: error[TTG005]: rank 1 is late"]
    )
    def test_what_the_guard_found_is_said_once(self, failed: Attempt, says: str) -> None:
        """The console has held it back for the report, whatever the verdict puts first."""
        said = "error[TTG005]: rank 1 is late\n  rank 1: in a\n  help: c"
        record = {"rank": 1, "exception": "GuardError", "message": said, "guard": {"code": "TTG005"}}
        verdict = dataclasses.replace(failed.verdict, sentence=f"rank 1 {says}")
        told = failure_report(dataclasses.replace(failed, failures={1: record}, verdict=verdict), ["x"])
        assert "\n".join(told[:3]).count("error[TTG005]: rank 1 is late") == 1 and "  rank 1: in a" in told

    def test_the_place_of_a_call_with_long_arguments_is_told(self, failed: Attempt) -> None:
        said = f"a\n  rank 1: in call 5 add({'x' * 900}) at /u/p.py:16, waiting for rank 0  <-\n  help: c"
        record = {"rank": 1, "exception": "GuardError", "message": said, "guard": True}
        line = failure_report(dataclasses.replace(failed, failures={1: record}), ["x"])[1]
        assert line.startswith("  rank 1: in call 5 add(x") and len(line) == 400
        assert line.endswith("x… at /u/p.py:16, waiting for rank 0  <-")

    def test_a_native_check_is_told_by_its_message(self, failed: Attempt) -> None:
        text = "TT_FATAL @ a.cpp:9: x == y\ninfo:\nthe shapes differ\nbacktrace:\n --- main"
        record = {"rank": 1, "exception": "RuntimeError", "message": text, "file": "a.py", "line": 3}
        told = failure_report(dataclasses.replace(failed, failures={1: record}), ["x"])
        assert "  RuntimeError: the shapes differ" in told

    def test_words_that_stand_right_above_are_not_said_again(self, failed: Attempt) -> None:
        text = "TT_FATAL @ a.py:9: x == y\nhelp: transpose_b=True\ninfo:\nthe shapes differ"
        record = {"rank": 1, "exception": "RuntimeError", "message": text, "file": "a.py", "line": 3}
        failed = dataclasses.replace(failed, failures={1: record})
        log = failed.folder.err(1)
        for shown, count, printed in ((1, 0, text), (0, 1, text), (None, 1, text), (1, 1, "RuntimeError")):
            log.write_text(printed)
            seen = dataclasses.replace(failed.observation, last_shown=shown)
            told = failure_report(dataclasses.replace(failed, observation=seen), ["x"], lambda rank: True)
            assert told.count("  RuntimeError: the shapes differ") == count
            assert told.count("    help: transpose_b=True") == count
            assert "    at a.py:3" in told
        assert not any("exit code" in line for line in told)  # its number stands in the first line

    def test_arguments_that_fit_no_signature_are_told_by_what_is_wrong(self, failed: Attempt) -> None:
        text = (
            "ttnn.add(): incompatible function arguments.\nCalled with:\n    add(int)\nAvailable signatures:\n    add(Tensor)\n"
            "got an unexpected keyword argument 'axis'\nhelp: 'axis': did you mean 'axes'?"
        )
        record = {"rank": 1, "exception": "TypeError", "message": text}
        told = failure_report(dataclasses.replace(failed, failures={1: record}), ["x"])
        line = "  TypeError: ttnn.add(): incompatible function arguments: got an unexpected keyword argument 'axis'"
        assert told[1:3] == [line, "    help: 'axis': did you mean 'axes'?"] or line in told

    @pytest.mark.parametrize(
        ("message", "line"), [("", "  KeyboardInterrupt"), ("a\nb", "  KeyboardInterrupt: a")]
    )
    def test_of_another_exception_the_first_line(self, failed: Attempt, message: str, line: str) -> None:
        record = {"rank": 1, "exception": "KeyboardInterrupt", "message": message}
        assert line in failure_report(dataclasses.replace(failed, failures={1: record}), ["x"])

    def test_ranks_with_the_same_mistake_are_told_together(self, failed: Attempt) -> None:
        record = {"exception": "ValueError", "message": "no", "file": "a.py", "line": 3}
        records = {rank: {**record, "rank": rank} for rank in (0, 1, 2)} | {
            3: {**record, "rank": 3, "line": 4}
        }
        after = tuple(status for status in failed.board.all() if status.rank in (0, 2, 3))
        verdict = dataclasses.replace(failed.verdict, followers=after)
        told = failure_report(dataclasses.replace(failed, failures=records, verdict=verdict), ["x"])
        assert "  ranks 0, 2 failed in the same way, at the same line" in told
        assert [line for line in told if line.endswith(" as well, after it")] == [
            f"  rank 3 {after[2].outcome()} as well, after it"
        ]

    @pytest.mark.parametrize(
        ("missing", "advice"),
        thinned(
            [
                ("ttnn", "add --emulate"),
                ("ttml.ops", "add --emulate"),
                ("tt_run", sys.executable),
                ("torch.nn", "pip install torch"),
                ("tt_lib.tensor", "import ttnn"),
                ("torc", "did you mean import torch?"),
                ("my_layers", "PYTHONPATH=/folder/of/my_layers tt-run …"),
            ],
            4,
        ),
    )
    def test_a_package_that_the_ranks_lack(self, failed: Attempt, missing: str, advice: str) -> None:
        message = f"No module named '{missing}'"
        record = {"rank": 1, "exception": "ModuleNotFoundError", "message": message}
        told = "\n".join(failure_report(dataclasses.replace(failed, failures={1: record}), ["x"]))
        assert "    help: " in told and advice in told

    @pytest.mark.parametrize("has_torch", [True, False])
    def test_an_array_of_numpy_where_a_tensor_of_torch_is_meant(
        self, failed: Attempt, has_torch: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: has_torch or None)
        message = "'numpy.ndarray' object has no attribute 'float'. Did you mean: 'flat'?"
        record = {"rank": 1, "exception": "AttributeError", "message": message}
        told = "\n".join(failure_report(dataclasses.replace(failed, failures={1: record}), ["x"]))
        assert ("pip install torch" in told) is not has_torch

    def test_a_module_to_run_that_the_ranks_lack(self, failed: Attempt) -> None:
        message = "/usr/bin/python3: No module named torc"
        record = {"rank": 1, "exception": "SystemExit", "message": message}
        told = failure_report(dataclasses.replace(failed, failures={1: record}), ["x"])
        assert "    help: did you mean import torch?" in told

    def test_a_crash_is_told_with_the_programs_line(self, failed: Attempt) -> None:
        failed.folder.err(1).write_text(
            "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
            '  File "/usr/lib/python3.11/ctypes/__init__.py", line 9 in string_at\n  File "x.py", line 4 in <module>\n'
        )
        assert "    at x.py:4" in failure_report(dataclasses.replace(failed, failures={}), ["x"])

    @pytest.mark.parametrize(
        ("exception", "message", "is_told"),
        [
            ("EOFError", "EOF when reading a line", True),
            ("EOFError", "Ran out of input", False),
            ("ValueError", "reading a line failed", False),
        ],
    )
    def test_an_input_that_nobody_gives(
        self, failed: Attempt, exception: str, message: str, is_told: bool
    ) -> None:
        record = {"rank": 1, "exception": exception, "message": message}
        told = failure_report(dataclasses.replace(failed, failures={1: record}), ["x"])
        advice = [line for line in told if line.startswith("    help: ") and "tt-run --stdin" in line]
        assert bool(advice) == is_told

    def test_ranks_that_failed_later_are_counted(self, failed: Attempt) -> None:
        after = tuple(dataclasses.replace(failed.board.all()[0], rank=number) for number in range(10, 17))
        verdict = dataclasses.replace(failed.verdict, followers=after)
        told = failure_report(dataclasses.replace(failed, verdict=verdict), ["x"])
        assert sum(line.endswith(" as well, after it") for line in told) == 4
        assert "  and 3 further ranks after it" in told

    def test_without_a_culprit_nobody_ended_because_of_it(self, failed: Attempt) -> None:
        verdict = dataclasses.replace(failed.verdict, culprit=None)
        told = failure_report(dataclasses.replace(failed, verdict=verdict), ["x"])
        assert verdict.victims and not any("ended because of it" in line for line in told)

    def test_where_the_ranks_were_is_told(self, failed: Attempt) -> None:
        stacks = tuple(RankStack(rank, (Frame("x.py", 3 + rank, "f"),)) for rank in range(5))
        seen = dataclasses.replace(failed.observation, stacks=stacks)
        told = failure_report(dataclasses.replace(failed, observation=seen), ["x"])
        at = told.index("  where the ranks were:")
        assert told[at + 1] == "    rank 0: x.py:3 in f  <- the odd one out"

    @pytest.mark.parametrize("has_told", [True, False])
    def test_what_a_victim_said_of_the_culprit_is_not_said_again(
        self, failed: Attempt, has_told: bool
    ) -> None:
        record = {"rank": 1, "exception": "ValueError", "message": "no such batch", "file": "x.py", "line": 3}
        failed.folder.err(1).write_text("ValueError: no such batch\n")
        failed.folder.err(0).write_text("rank 1: raised ValueError: no such batch\n" * has_told)
        seen = dataclasses.replace(failed.observation, last_shown=0)
        told = failure_report(dataclasses.replace(failed, failures={1: record}, observation=seen), ["x"])
        assert ("  ValueError: no such batch" in told) is not has_told
        assert "    at x.py:3" in told

    @pytest.mark.parametrize(
        ("said", "advice"),
        thinned(
            [
                ("not enough space for /dev/shm/sm_segment", "--shm-size"),
                ("PMIX_ERR_FILE_WRITE_FAILURE", "TMPDIR"),
                (
                    f"{NO_FOLDER}\n  Directory: /no/ompi.159\n  Error:     Read-only file system\n",
                    "mpirun may not write in /no (Read-only file system): set TMPDIR to",
                ),
                (
                    f"{NO_FOLDER}\n  Directory: /no/tt-run-5-18e/ompi.159/0/0\n  Error:     Permission denied\n",
                    "mpirun may not write in /no (Permission denied): set TMPDIR to",
                ),
                (
                    f"{NO_FOLDER}\n  Directory: /tmp/ompi.159\n  Error:     Read-only file system\n",
                    "as in TMPDIR=$PWD",
                ),
                (
                    f"{NO_FOLDER}\n  Directory: /no/ompi.159\n  Error:     No space left on device\n",
                    "mpirun cannot write its temporary files: make room",
                ),
                (
                    "but no available\n    interfaces were found",
                    "127.0.0.1/8 dev lo",
                ),  # that of this machine is up
                ("No network interfaces were found for out-of-band communications", "127.0.0.1/8 dev lo"),
                ("A daemon failed to report back after", "--doctor --hosts A,B"),
                ("A daemon failed to report back\n  Remote host: node2\n", "--doctor --hosts node2 "),
            ],
            4,
        ),
    )
    def test_what_kept_mpi_from_starting(self, failed: Attempt, said: str, advice: str) -> None:
        failed.folder.launcher_log.write_text(said)
        assert advice in "\n".join(failure_report(failed, ["x"]))

    @pytest.mark.parametrize(
        "said",
        [
            "No components were able to be opened in the pml framework.",
            "Please revise the conflict and try again.",
        ],
    )
    def test_settings_of_the_surroundings_are_named(
        self, failed: Attempt, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / ".prte").mkdir()
        (tmp_path / ".prte" / "mca-params.conf").write_text("rmaps_default_mapping_policy = ppr:1:node\n")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("OMPI_MCA_pml", "cm")
        failed.folder.launcher_log.write_text(said)
        [help] = [line for line in failure_report(failed, ["x"]) if "mpirun was told" in line]
        assert "OMPI_MCA_pml=cm" in help and help.endswith(f"{tmp_path}/.prte/mca-params.conf")

    def test_json_has_every_rank(self, failed: Attempt) -> None:
        record = report_json(failed, {"command": ["x"]})
        assert record["command"] == ["x"]
        assert record["verdict"]["culprit"] == 1
        assert [outcome["part"] for outcome in record["outcomes"]] == ["victim", "culprit", *["victim"] * 3]
        assert record["outcomes"][1]["exit"] == 7

    def test_an_annotation_without_a_line(self, failed: Attempt) -> None:
        text = annotation(failed.verdict, {})
        assert text.startswith("::error title=tt-run::rank 1 on ")

    def test_an_annotation_marks_the_failing_line(self, failed: Attempt) -> None:
        record = {"file": "a,b.py", "line": 3, "exception": "ValueError", "message": "50%\nof it"}
        text = annotation(failed.verdict, {1: record})
        assert text.startswith("::error file=a%2Cb.py,line=3,title=tt-run::")
        assert text.endswith("ValueError: 50%25%0Aof it")

    def test_an_annotation_says_a_sentence_once(self, failed: Attempt) -> None:
        record = {
            "file": "a.py",
            "line": 3,
            "exception": "GuardError",
            "message": "error[TTG001]: apart\nhelp: so",
        }
        verdict = dataclasses.replace(failed.verdict, sentence="ranks 0-1 are at fault: error[TTG001]: apart")
        text = annotation(verdict, {1: record})
        assert text.endswith("title=tt-run::ranks 0-1 are at fault: error[TTG001]: apart%0Ahelp: so")


def test_folders_of_the_plan_are_there_when_ranks_start(tmp_path: Path) -> None:
    plan = dataclasses.replace(
        plan_of(("sh", "-c", "ls -d prof/rank0"), cwd=tmp_path), folders=(tmp_path / "prof/rank0",)
    )
    machine, launcher = Machine(dict(os.environ), cores=8), Launcher("local", "test")
    attempt = run_plan(
        plan, launcher, machine, LaunchOptions(), QUIET, tmp_path / "run", print, backend=LocalBackend()
    )
    assert attempt.verdict.succeeded
