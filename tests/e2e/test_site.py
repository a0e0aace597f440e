"""What the site's own script does to a search, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docs/scripts/search.js"


@pytest.mark.wide
@pytest.mark.parametrize(
    ("typed", "sought"),
    [
        ("--split", "split"),
        ("debug --hang-timeout", "debug hang-timeout"),
        ("-m", "m"),
        ("all-gather", "all-gather"),
    ],
)
def test_an_option_is_sought_by_its_name(chromium: Any, typed: str, sought: str) -> None:
    page = chromium.new_page()
    page.set_content('<input class="md-search__input"><input id="other">')
    page.add_script_tag(content=SCRIPT.read_text(encoding="utf-8"))
    for field, value in ((".md-search__input", sought), ("#other", typed)):
        page.locator(field).press_sequentially(typed)
        assert page.locator(field).input_value() == value
    page.close()
