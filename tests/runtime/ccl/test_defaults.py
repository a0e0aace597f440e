"""What an argument left out means is what editors show."""

from __future__ import annotations

from tests.runtime.published import wrong_defaults


def test_defaults_are_those_that_editors_show() -> None:
    assert wrong_defaults("tt_run.runtime.ccl.") == []
