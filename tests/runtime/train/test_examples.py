"""The linear regressions that ship: they reach the line that made their data."""

from __future__ import annotations

import pytest

from tests.e2e.launch import ROOT, tt_run

FOLDER = ROOT / "examples" / "linear_regression"


def test_one_device() -> None:
    ran = tt_run("--emulate", "--system", "n150", "python", FOLDER / "linear_regression.py").check()
    assert float(ran.out.split("at (1, 1): ")[1].split(",")[0]) == pytest.approx(1.0, abs=0.02)


@pytest.mark.wide
def test_tensor_and_data_parallel_over_two_ranks() -> None:
    words = ("--emulate", "--system", "t3000", "--split", "2x1", "python")
    ran = tt_run(*words, FOLDER / "linear_regression_tp_dp.py").check()
    first, second = (
        [float(line.rsplit(" ", 1)[1]) for line in ran.out.splitlines() if line.startswith(f"[{rank}] step")]
        for rank in range(2)
    )
    assert first == second
    assert first[-1] < 0.02 * first[0]
