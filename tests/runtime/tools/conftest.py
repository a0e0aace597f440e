"""Tools that listen from the first question to them on, ended behind each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tt_run.runtime.tools import numbering


@pytest.fixture(autouse=True)
def _counts_no_more() -> Iterator[None]:
    """A program that asks for the number of an operation has them counted until it ends; tests in other folders look at who listens."""
    yield
    while numbering._leave:
        numbering._leave.pop()()
