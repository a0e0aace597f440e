"""What a run amounts to: from its records and its folder."""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path
from typing import cast

import pytest

from tests.tt_run.launch.conftest import plan_of
from tests.tt_run.supervise.conftest import Records
from tt_run.contract import Exit
from tt_run.launch.line import LaunchLine
from tt_run.supervise.attempt import conclude
from tt_run.supervise.observation import EndedBy, Observation
from tt_run.supervise.output.advice import advice_on, launcher_advice
from tt_run.supervise.verdict import limits

HERE = os.uname().nodename


def test_an_end_that_took_too_long_is_told_as_such(records: Records) -> None:
    """The emulation sets an alarm before MPI shuts down, since no Python runs any more that could say so."""
    records.status(0, host=HERE, end=9.0, exit=0)
    records.status(1, host=HERE, end=9.0, signal=int(signal.SIGALRM))
    seen = Observation(EndedBy.ITSELF, 142, 0.0, 10.0)
    plan, line = plan_of(("true",)), cast(LaunchLine, None)
    assert conclude(plan, line, records.board, seen, 1, {}).verdict.sentence.endswith("killed by SIGALRM")
    records.ending(1, "open")
    found = conclude(plan, line, records.board, seen, 1, {}).verdict
    assert found.exit_code == 142
    assert "its program was over, but shutting MPI down took longer" in found.sentence


def test_a_rank_in_which_mpi_could_not_start_is_the_culprit(records: Records) -> None:
    """Not one that mpirun ended for it, as where /dev/shm is full."""
    records.status(0, host=HERE, end=9.0, told="TERM", signal=15)
    records.status(1, host=HERE, end=8.9, exit=14)
    seen = Observation(EndedBy.ITSELF, 14, 0.0, 10.0)
    plan, line = plan_of(("true",)), cast(LaunchLine, None)
    for said, rank in (
        ("the group of rank 0 was sent a signal", 0),
        ("*** An error occurred in MPI_Init_thread", 1),
    ):
        records.board.folder.launcher_log.write_text(said)
        found = conclude(plan, line, records.board, seen, 1, {}).verdict
        assert found.culprit is not None and found.culprit.rank == rank
    assert (found.exit_code, found.sentence) == (14, f"MPI could not start in rank 1 on {HERE}")


@pytest.mark.parametrize(("most", "code"), [(32 << 10, Exit.NO_LAUNCHER), (1 << 40, 137), (None, 137)])
def test_small_files_are_named_where_mpirun_has_killed_the_rank_that_would_have_said_so(
    records: Records, monkeypatch: pytest.MonkeyPatch, most: int | None, code: int
) -> None:
    """Which process comes to the limit first is chance."""
    infinite = resource.RLIM_INFINITY
    monkeypatch.setattr(limits, "limit_of", lambda _: (infinite if most is None else most, infinite))
    records.status(0)
    records.status(1)
    records.folder.err(1).write_text("PMIX ERROR: PMIX_ERR_OUT_OF_RESOURCE in file /x/pmix_client.c\n")
    seen = Observation(EndedBy.ITSELF, 137, 0.0, 10.0, gone={0: 8.0, 1: 8.1})
    found = conclude(plan_of(("true",)), cast(LaunchLine, None), records.board, seen, 1, {}).verdict
    assert found.exit_code == code
    assert ("larger than files may be (ulimit -f), which is 32 KiB" in found.sentence) is (code == 69)


@pytest.mark.parametrize(
    ("why", "code", "sentence", "help"),
    [
        ("PMIX ERROR: PMIX_ERR_OUT_OF_RESOURCE in file /x/pmix_client.c", 14, "on vm", "TMPDIR=DIR"),
        (
            "  pmix_progress_thread_start failed",
            69,
            "it no more processes and threads (ulimit -u)",
            "ulimit -u",
        ),
    ],
)
def test_why_mpi_could_not_start_stands_in_the_log_of_that_rank(
    records: Records, why: str, code: int, sentence: str, help: str
) -> None:
    """Which failed first: mpirun ended the other for it a quarter of a second later."""
    records.status(0, end=9.0, told="TERM", signal=15)
    records.status(1, end=8.7, exit=14)
    records.folder.err(1).write_text(f"{why}\n*** An error occurred in MPI_Init_thread\n")
    seen = Observation(EndedBy.ITSELF, 14, 0.0, 10.0)
    plan, line = plan_of(("true",)), cast(LaunchLine, None)
    found = conclude(plan, line, records.board, seen, 1, {}).verdict
    assert found.culprit is not None and found.culprit.rank == 1 and found.exit_code == code
    assert sentence in found.sentence
    assert [said for said in launcher_advice(records.folder, found, seen.launcher_code) if help in said]


def test_a_limit_of_file_sizes_that_mpirun_meets_is_told(records: Records) -> None:
    """It kills the ranks with their wrappers then."""
    records.status(0)
    records.status(1)
    said = "prterun noticed that process rank 1 with PID 7018 on node vm exited on\nsignal 25 (File size limit exceeded)."
    records.folder.launcher_log.write_text(said)
    seen = Observation(EndedBy.ITSELF, 153, 0.0, 10.0, gone={0: 8.0, 1: 8.0})
    plan, line = plan_of(("true",)), cast(LaunchLine, None)
    found = conclude(plan, line, records.board, seen, 1, {}).verdict
    assert (found.exit_code, found.culprit) == (Exit.NO_LAUNCHER, None)
    assert "files that it needs would be larger than files may be (ulimit -f)" in found.sentence
    assert [
        word
        for word in launcher_advice(records.folder, found, seen.launcher_code)
        if "ulimit -f unlimited" in word
    ]


@pytest.mark.parametrize(("code", "help"), [(-11, "leave --mpmd out"), (11, "tt-run --doctor")])
def test_a_crash_of_mpirun_is_told_by_its_signal(records: Records, code: int, help: str) -> None:
    seen = Observation(EndedBy.ITSELF, code, 0.0, 10.0)
    found = conclude(plan_of(("true",)), cast(LaunchLine, None), records.board, seen, 1, {}).verdict
    assert found.exit_code == Exit.NO_LAUNCHER and found.sentence.startswith("mpirun started no rank")
    (said,) = launcher_advice(records.folder, found, code)
    assert help in said


def test_a_rank_without_room_for_its_first_record_is_told(records: Records) -> None:
    records.folder.launcher_log.write_text(
        f"tt-run: {records.folder.path}/rank-0001.status cannot be written on vm (is its disk full?)\n"
        f"{records.folder.path}/launch/rank.sh: 126: cannot create rank-0001.status: No space left on device\n"
    )
    seen = Observation(EndedBy.ITSELF, 69, 0.0, 10.0)
    plan, line = plan_of(("true",)), cast(LaunchLine, None)
    found = conclude(plan, line, records.board, seen, 1, {}).verdict
    assert found.exit_code == Exit.NO_LAUNCHER
    assert found.sentence.startswith("rank 1 did not start: ") and "is its disk full?" in found.sentence


def test_memory_that_mpi_may_not_have_is_told_with_the_limit(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda number: (200_000 << 10, resource.RLIM_INFINITY))
    said = (
        "[vm:1] PMIX ERROR: PMIX_ERR_NOMEM in file /x/bfrop_base_unpack.c at line 722\n"
        "*** An error occurred in MPI_Init_thread\n"
    )
    records.folder.err(0).write_text(said)
    records.status(0, host=HERE, end=9.0, exit=14)
    seen = Observation(EndedBy.ITSELF, 14, 0.0, 10.0)
    plan, line = plan_of(("true",)), cast(LaunchLine, None)
    found = conclude(plan, line, records.board, seen, 1, {}).verdict
    assert found.culprit is not None and found.culprit.rank == 0
    said = launcher_advice(records.folder, found, seen.launcher_code)
    assert "may have 200000 KiB of memory here (ulimit -v)" in "".join(said)


NO_PIPES = "[vm:1] PMIX ERROR: PMIX_ERR_SYS_LIMITS_PIPES in file /x/iof_base_setup.c at line 119"
NO_FORK = "[vm:1] PRTE ERROR: Unknown error in file /x/odls/default/odls_default_module.c at line 579"


@pytest.mark.parametrize(
    ("mpirun", "shell", "what"),
    [
        (NO_PIPES, "", "open files"),
        (f"{NO_PIPES}\n{NO_FORK}", "", "open files"),
        (NO_FORK, "", "processes and threads"),
        ("", "rank.sh: 112: Cannot fork", "processes and threads"),
        ("", "sh: fork: retry: Resource temporarily unavailable", "processes and threads"),
    ],
)
def test_ranks_that_got_no_start_are_not_blamed_on_another(
    records: Records, mpirun: str, shell: str, what: str
) -> None:
    """mpirun ends those that have started."""
    records.status(0, host=HERE, end=9.0, told="TERM", signal=15)
    seen = Observation(EndedBy.ITSELF, 143, 0.0, 10.0)
    plan, line = plan_of(("true",)), cast(LaunchLine, None)
    records.board.folder.launcher_log.write_text(mpirun)
    notes = records.folder.path / "launch" / "rank-0001.shell"
    notes.parent.mkdir()
    notes.write_text(shell)
    attempt = conclude(plan, line, records.board, seen, 1, {})
    found = attempt.verdict
    assert (found.exit_code, found.culprit) == (Exit.NO_LAUNCHER, None)
    assert f"could not start all of 2 ranks: this machine gave it no more {what} (ulimit" in found.sentence
    assert [
        word for word in launcher_advice(records.folder, found, seen.launcher_code) if what.split()[0] in word
    ]
    records.status(1, host=HERE, end=8.0, exit=3)  # a rank that failed by itself is still the first cause
    found = conclude(plan, line, records.board, seen, 1, {}).verdict
    assert found.culprit is not None and found.culprit.rank == 1


@pytest.mark.parametrize(
    ("said", "helps"),
    [
        ("'ascii' codec can't encode character '\\u2603' in position 0: ordinal not in range(128)", True),
        ("'utf-8' codec can't encode character '\\udcff' in position 0: surrogates not allowed", False),
    ],
)
def test_a_locale_of_ascii_has_its_advice(said: str, helps: bool) -> None:
    assert ("PYTHONUTF8=1" in (advice_on("UnicodeEncodeError", said) or "")) is helps


@pytest.mark.parametrize(
    ("exception", "message", "word"),
    [
        ("RuntimeError", "can't start new thread", "ulimit -u"),
        ("RuntimeError", "unable to start watchdog thread", "ulimit -u"),
        ("BlockingIOError", "[Errno 11] Resource temporarily unavailable", "ulimit -u"),
        ("OSError", "[Errno 24] Too many open files: 'x'", "ulimit -n"),
        ("OSError", "[Errno 12] Cannot allocate memory", "ulimit -v"),
        ("OSError", "[Errno 27] File too large", "ulimit -f"),
        ("OSError", "no room for 9 bytes of shared memory in /dev/shm, /tmp: File too large", "ulimit -f"),
    ],
)
def test_what_a_rank_got_no_more_of_has_its_advice(exception: str, message: str, word: str) -> None:
    assert word in (advice_on(exception, message) or "")
    assert advice_on("ValueError", message) is None


@pytest.mark.parametrize(
    ("activated", "told"),
    [
        ("", "/tools/tt-run/bin/python -m pip install torch"),
        ("/tools/tt-run", "/tools/tt-run/bin/python -m pip install torch"),
        ("/home/me/env/", "/tools/tt-run/bin/python -m pip install torch; /home/me/env, which is activated, is another: install tt-run there to use that"),
    ],
)  # fmt: skip
def test_a_package_is_wanted_in_the_python_that_ran(
    activated: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tt-run as a tool of its own, beside the environment of the program."""
    monkeypatch.setenv("VIRTUAL_ENV", activated)
    python = "/tools/tt-run/bin/python"
    assert advice_on("ModuleNotFoundError", "No module named 'torch'", python) == told
    assert advice_on("ModuleNotFoundError", "No module named 'numpy'", python) == (
        f"start {sys.executable}, which has it, or {python} -m pip install numpy"
    )
    assert (
        advice_on("ModuleNotFoundError", "No module named 'numpyy'", python) == "did you mean import numpy?"
    )
    mine = advice_on("ModuleNotFoundError", "No module named 'mine'", python) or ""
    assert mine.startswith("is it yours? PYTHONPATH=/folder/of/mine") and mine.endswith(
        told.replace("torch", "it")
    )


@pytest.mark.parametrize(
    ("crash", "reached", "code", "sentence"),
    [
        (
            signal.SIGSEGV,
            "h2",
            Exit.HOST_LOST,
            "host h3 was lost; rank 1 ran there; mpirun crashed with it (SIGSEGV)",
        ),
        (signal.SIGSEGV, "h2|h3", 139, "mpirun was killed by SIGSEGV"),
        (signal.SIGKILL, "h2", 137, "mpirun was killed by SIGKILL"),
    ],
)
def test_a_crash_of_mpirun_over_a_host_that_went(
    records: Records, tmp_path: Path, crash: int, reached: str, code: int, sentence: str
) -> None:
    """Open MPI 4.1 may crash when a daemon goes, and then tells of no host."""
    shell = tmp_path / "shell"
    shell.write_text(f'#!/bin/sh\ncase "$1" in {reached}) exit 0;; *) exit 255;; esac\n')
    shell.chmod(0o755)
    for rank, host in enumerate(("h2", "h3")):
        records.status(rank, host=host)
    seen = Observation(EndedBy.ITSELF, -int(crash), 0.0, 10.0)
    plan, line = plan_of(("true",)), cast(LaunchLine, None)
    found = conclude(
        plan, line, records.board, seen, 1, {"OMPI_MCA_plm_rsh_agent": str(shell), "PATH": os.environ["PATH"]}
    )
    assert (found.verdict.exit_code, found.verdict.sentence) == (code, sentence)
