"""What `tt-run chaos` says of its runs, and when it is content with them."""

from __future__ import annotations

import pytest

from tt_run.cli.commands.chaos import Trial, _show


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
