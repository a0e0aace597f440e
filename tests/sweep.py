"""Rows of a test that repeats one idea: a few of them are quick tests, the others are wide."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def sweep(rows: Iterable[Any], *, quick: Collection[Any] = ()) -> list[ParameterSet]:
    """The rows for `parametrize`: wide, but for those whose first value or id is in `quick`. Raises ValueError where one is in no row."""
    found = [row if isinstance(row, ParameterSet) else _row(row) for row in rows]
    names = [{row.id, row.values[0]} for row in found]
    if missing := [name for name in quick if not any(name in each for each in names)]:
        raise ValueError(f"{missing} in none of the rows")
    return [
        row if each & {*quick} else pytest.param(*row.values, id=row.id, marks=[*row.marks, pytest.mark.wide])
        for row, each in zip(found, names, strict=True)
    ]


def thinned(rows: Iterable[Any], step: int, *, together: bool = False) -> list[ParameterSet]:
    """The rows for `parametrize` of a test that says the same of very many: each `step`-th is quick, the others are wide.

    With `together` a row that is a tuple is the value of one parameter.
    """
    found = [
        row if isinstance(row, ParameterSet) else pytest.param(row) if together else _row(row) for row in rows
    ]
    return [
        row
        if number % step == 0
        else pytest.param(*row.values, id=row.id, marks=[*row.marks, pytest.mark.wide])
        for number, row in enumerate(found)
    ]


def _row(row: Any) -> ParameterSet:
    return pytest.param(*row) if isinstance(row, tuple) else pytest.param(row)
