"""What `tt-run chaos` says of its runs, and when it is content with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.launch import tt_run
from tt_run.cli.commands.chaos import _is_well, _show
from tt_run.cli.commands.chaos_trials import Trial, Undisturbed, patience_for, random_fault
from tt_run.contract import Exit
from tt_run.faults import read_fault


@pytest.mark.parametrize(
    ("trial", "well", "shown"),
    [
        (Trial("kill=rank:1", 1, 137, (1,), 1, 0.5, "killed"), True, "  kill=rank:1  exit 137, names rank 1  0.50 s"),
        (Trial("kill=rank:1", 1, 1, (1,), 0, 0.5, "failed"), False, "! kill=rank:1  exit 1, names rank 0  0.50 s"),
        (Trial("cut=rank:1", 1, 1, (0, 1), 0, 0.5, "failed"), True, "  cut=rank:1  exit 1, names rank 0  0.50 s"),
        (Trial("slow=rank:0", 0, 0, (0,), None, 0.0, "ended"), True, "  slow=rank:0  survived  0.00 s"),
        (Trial("kill=rank:0", 0, 0, (0,), None, 0.0, "", 2, True), True, "  kill=rank:0  survived at start 2  0.00 s"),
        (Trial("exit=rank:0", 0, 0, (), None, 0.0, "ended"), True, "  exit=rank:0  did not come to it  0.00 s"),
        (
            Trial("exit=rank:0", 0, 4, (), 0, 0.0, "rank 0 exited with 4"),
            False,
            "! exit=rank:0  did not come to it: exit 4, rank 0 exited with 4  0.00 s",
        ),
    ],
)  # fmt: skip
def test_a_run(trial: Trial, well: bool, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that fails without its fault is no success, also where it names the rank."""
    assert trial.well is well
    _show([trial], "table")
    assert capsys.readouterr().out.splitlines()[0] == shown


def test_what_survives_with_another_last_line_is_no_success_where_it_must_be_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    spoiled = Trial("nan=rank:1", 1, 0, (1,), None, 0.0, same_end=False)
    same = Trial("slow=rank:1", 1, 0, (1,), None, 0.0, same_end=True)
    assert [_is_well(spoiled), _is_well(spoiled, True), _is_well(same, True)] == [True, False, True]
    _show([spoiled, same], "table")
    out = capsys.readouterr().out
    assert "survived, with another last line" in out
    assert "2 survived (1 with the same last line)" in out


def test_faults_belong_to_their_name_and_come_at_times_where_nobody_counts_calls() -> None:
    found = Undisturbed((30, 40), 2.0)
    named = [random_fault(f"1/{number}", ("kill", "exit", "slow"), found, True) for number in range(50)]
    assert named == [
        random_fault(f"1/{number}", ("kill", "exit", "slow"), found, True) for number in range(50)
    ]
    assert {read_fault(text).ranks for text, _ in named} == {(0,), (1,)}
    assert max(read_fault(text).nth for text, _ in named) > 30
    timed = [read_fault(random_fault(f"1/{n}", ("kill", "exit"), Undisturbed((0, 0), 2.0), False)[0]) for n in range(50)]  # fmt: skip
    assert all(fault.by_time and 0 <= fault.after <= 2 and not fault.needs_emulation for fault in timed)


@pytest.mark.parametrize(
    ("lasted", "timeout", "seconds"),
    [(0.5, 300.0, 5.0), (4.0, 300.0, 12.0), (100.0, 300.0, 60.0), (20.0, 30.0, 15.0)],
)
def test_ranks_wait_less_than_a_run_is_given(lasted: float, timeout: float, seconds: float) -> None:
    """A rank that hangs is named by those that wait for it, before the run's time is over."""
    assert patience_for(lasted, timeout) == seconds


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--emulate", "python", "x.py"), "tt-run chaos: options of tt-run stand behind --"),
        (("--runs", "2", "--"), "tt-run chaos: there is no program"),
        (("--faults", "kill,nan", "--", "python", "x.py"), "tt-run chaos: only emulated ranks have nan"),
        (
            ("--faults", "kil", "--", "--emulate", "x"),
            "tt-run chaos: --faults kil: there is no fault kil here\n  help: write --faults kill; there are",
        ),
        (("--", "--emulate", "--system", "n300", "python", "nowhere.py"), "the script nowhere.py is not in"),
    ],
)
def test_one_mistake_is_told_once(words: tuple[str, ...], told: str) -> None:
    ran = tt_run("chaos", *words)
    assert told in ran.err and ran.err.count("error[") == 1 and ran.code not in (0, 70)


def test_its_own_options_behind_the_program_are_told(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("# It runs for long.\n")
    ran = tt_run(
        *["chaos", "--", "tt-run", "--rank-binding", "r.yaml", "python", "x.py", "--runs", "2"], cwd=tmp_path
    )
    told = "--runs 2 stands after the program, so it goes to python and not to tt-run chaos"
    assert f"warning[TTR027]: {told}" in ran.err and "tt-run chaos --runs 2 … python x.py" in ran.err


def test_the_last_line_is_compared_of_programs_that_print_one(tmp_path: Path) -> None:
    words = (
        "chaos",
        "--runs",
        "1",
        "--seed",
        "1",
        "--same-end",
        "--",
        "--emulate",
        "--system",
        "n150",
        "python",
    )
    silent = tt_run(*words, "-c", "import ttnn", cwd=tmp_path)
    assert silent.code == Exit.USAGE and "the program prints nothing" in silent.err
    assert "1 of 1" in tt_run(*words, "-c", "import ttnn; print(1)", cwd=tmp_path).err
