"""The table of environment variables against the code."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tt_run import contract

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = re.compile(r"(TT|TTNN)_[A-Z0-9]+(_[A-Z0-9]+)*")
# Words of errors, not variables.
WORDS = {"TT_FATAL", "TT_THROW"}
# They run in every Python of a rank before anything of ours can be imported.
ALONE = {f"tt_run/launch/hook/{name}.py" for name in ("sitecustomize", "tt_run_failures")}
CONSTANTS = {name: value for name, value in vars(contract).items() if NAME.fullmatch(str(value))}
TABLE = contract.VARIABLES


@cache
def named() -> list[tuple[str, str, bool]]:
    """(file, variable, spelt there rather than taken from the contract) of every place that names one."""
    return [
        (str(path.relative_to(ROOT)), *place)
        for package in ("mgd", "tt_run")
        for path in (ROOT / package).rglob("*.py")
        for place in _places(path.read_text(encoding="utf-8"))
    ]


def _places(text: str) -> Iterator[tuple[str, bool]]:
    if "TT" not in text and "contract" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
            yield node.value, True
        elif (
            isinstance(node, ast.Attribute)
            and node.attr in CONSTANTS
            and isinstance(node.value, ast.Name)
            and node.value.id == "contract"
        ):
            yield CONSTANTS[node.attr], False


@cache
def uses() -> dict[str, set[str]]:
    """The variables that the code names, and the files that do; settings of the library are read by their prefix."""
    found: dict[str, set[str]] = defaultdict(set)
    for file, name, _ in named():
        if file != "tt_run/contract.py":
            found[name].add(file)
    return {name: files for name, files in found.items() if name not in WORDS}


def test_every_variable_that_the_code_names_is_in_the_table() -> None:
    missing = {name: sorted(files) for name, files in uses().items() if name not in TABLE}
    assert not missing, f"add a row to VARIABLES in tt_run/contract.py, then run scripts/gen: {missing}"
    assert set(CONSTANTS.values()) <= set(TABLE)


def test_the_table_names_nothing_that_the_code_does_not() -> None:
    assert not set(TABLE) - set(uses()), "strike these rows off VARIABLES in tt_run/contract.py"


def test_our_own_names_are_spelt_once() -> None:
    spelt = defaultdict(list)
    for file, name, is_spelt in named():
        if is_spelt and name.startswith("TT_RUN_"):
            spelt[name].append(file)
    twice = {
        name: files
        for name, files in spelt.items()
        if files.count("tt_run/contract.py") != 1 or set(files) - {"tt_run/contract.py", *ALONE}
    }
    assert not twice, f"take the constant of tt_run.contract: {twice}"


@pytest.mark.parametrize("name", sorted(TABLE))
def test_the_reader_is_who_the_table_says(name: str) -> None:
    setter, reader, meaning = TABLE[name]
    readers = set(reader.split(", "))
    assert readers <= {"launcher", "runtime", "device runtime", "programs"}
    assert setter in ("user", "launcher")
    assert meaning
    in_runtime = any(file.startswith("tt_run/runtime/") for file in uses()[name])
    assert ("runtime" in readers) == in_runtime, f"{name}: {sorted(uses()[name])}"
