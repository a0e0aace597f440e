"""What `tt-run chaos` says of its runs, and when it is content with them."""

from __future__ import annotations

import pytest

from tests.e2e.launch import tt_run
from tt_run.cli.commands.chaos import Trial, _show, patience_for


@pytest.mark.parametrize(
    ("trial", "well", "shown"),
    [
        (Trial("kill=rank:1", 1, 137, True, 1, 0.5, "killed"), True, "  kill=rank:1  exit 137, names rank 1  0.50 s"),
        (Trial("kill=rank:1", 1, 1, True, 0, 0.5, "failed"), False, "! kill=rank:1  exit 1, names rank 0  0.50 s"),
        (Trial("slow=rank:0", 0, 0, True, None, 0.0, "ended"), True, "  slow=rank:0  survived  0.00 s"),
        (Trial("exit=rank:0", 0, 0, False, None, 0.0, "ended"), True, "  exit=rank:0  did not come to it  0.00 s"),
        (
            Trial("exit=rank:0", 0, 4, False, 0, 0.0, "rank 0 exited with 4"),
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
        (("--", "python", "x.py"), "tt-run chaos: only emulated ranks have faults"),
        (("--", "--emulate", "--system", "n300", "python", "nowhere.py"), "the script nowhere.py is not in"),
    ],
)
def test_one_mistake_is_told_once(words: tuple[str, ...], told: str) -> None:
    ran = tt_run("chaos", *words)
    assert told in ran.err and ran.err.count("error[") == 1 and ran.code not in (0, 70)
