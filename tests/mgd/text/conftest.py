"""The texts of these tests are small: they are to meet the quick loop all the same, but for those that say otherwise."""

from __future__ import annotations

import pytest

from mgd.text import parser


@pytest.fixture(autouse=True)
def quick_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "SMALL", 0)
