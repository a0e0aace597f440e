"""Which sets of tests `scripts/test` runs, and that what is left out is told with the words that run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SLOW_SECONDS, pytest_collection_modifyitems
from tests.sweep import sweep, thinned

ROOT = Path(__file__).resolve().parent.parent
QUICK, WIDE, ALL = ["-m", "not slow and not wide"], ["-m", "not slow"], []


def asked_of_pytest(tmp_path: Path, *words: str) -> list[str]:
    """What scripts/test would call: an environment whose Python prints its words."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\ncase "$*" in "-m pytest"*) shift 2; printf "%s\\n" "$@";; esac\n')
    python.chmod(0o755)
    environ = {**os.environ, "TT_RUN_VENV": str(tmp_path), "TT_RUN_PYTHON": sys.executable}
    command = [str(ROOT / "scripts" / "test"), *words]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "selection", "several"),
    thinned(
        [
            ((), QUICK, True),
            (("--durations=25",), QUICK, True),
            (("-k", "mesh"), QUICK, True),
            (("--wide", "--durations=25"), WIDE, True),
            (("--all",), ALL, True),
            (("--all", "--wide"), ALL, True),
            (("--lf",), QUICK, False),
            (("tests/e2e",), WIDE, False),
            (("--all", "tests/e2e/test_diff.py::test_words_that_name_no_records"), ALL, False),
            (("tests/e2e", "--all"), ALL, False),
        ],
        3,
    ),
)
def test_what_is_run(tmp_path: Path, words: tuple[str, ...], selection: list[str], several: bool) -> None:
    asked = asked_of_pytest(tmp_path, *words)
    assert ("loadfile" in asked) == several
    passed = [word for word in words if word not in ("--wide", "--all")]
    end = len(asked) - len(passed)
    assert asked[end:] == passed
    found = asked[asked.index("-m") : end] if "-m" in asked else []
    assert found == selection


def test_ci_runs_the_wide_tests() -> None:
    assert "scripts/test --wide" in (ROOT / ".ci" / "run").read_text()


def test_what_is_left_out_is_told() -> None:
    file = "tests/e2e/test_training.py"
    command = [sys.executable, "-m", "pytest", "--co", "-q", "-p", "no:cacheprovider", *QUICK, file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert "left out: 9 wide (scripts/test --wide, as CI does), 1 slow (scripts/test --all)" in done.stdout


def test_a_slow_test_has_time_unless_it_says_how_much(request: pytest.FixtureRequest) -> None:
    def item(*marks: pytest.MarkDecorator) -> pytest.Item:
        made = pytest.Function.from_parent(request.node.parent, name="test_made", callobj=lambda: None)
        for mark in marks:
            made.add_marker(mark)
        return made

    items = [item(pytest.mark.slow), item(pytest.mark.slow, pytest.mark.timeout(5)), item(pytest.mark.wide)]
    pytest_collection_modifyitems(request.config, items)
    given = [mark.args if (mark := each.get_closest_marker("timeout")) else None for each in items]
    assert given == [(SLOW_SECONDS,), (5,), None]


def test_a_sweep_is_wide_but_for_what_it_names() -> None:
    found = sweep([("a", 1), pytest.param("b", 2, id="second", marks=pytest.mark.slow), "c"], quick=["a"])
    assert [row.values for row in found] == [("a", 1), ("b", 2), ("c",)]
    assert [[mark.name for mark in row.marks] for row in found] == [[], ["slow", "wide"], ["wide"]]
    assert sweep([pytest.param("b", id="second")], quick=["second"])[0].marks == ()
    with pytest.raises(ValueError, match=r"\['d'\] in none of the rows"):
        sweep(["a"], quick=["d"])


def test_a_thinned_sweep_is_quick_at_each_step() -> None:
    found = thinned([("a", 1), pytest.param("b", 2, marks=pytest.mark.slow), ("c", 3)], 2)
    assert [row.values for row in found] == [("a", 1), ("b", 2), ("c", 3)]
    assert [[mark.name for mark in row.marks] for row in found] == [[], ["slow", "wide"], []]
    assert [row.values for row in thinned([(1, 2)], 3, together=True)] == [((1, 2),)]
