"""Texts as they were when a person last read them: kept in a file beside the tests, compared whole."""

from __future__ import annotations

import os
from difflib import unified_diff
from pathlib import Path


def same_as_read(text: str, expected: Path) -> None:
    """Fails where a text is not the one in the file; TT_RUN_WRITE_EXPECTED=1 writes the file, whose difference is for reading."""
    if os.environ.get("TT_RUN_WRITE_EXPECTED"):
        expected.write_text(text, encoding="utf-8")
    assert expected.exists(), "run this once with TT_RUN_WRITE_EXPECTED=1 and read what it writes"
    read = expected.read_text(encoding="utf-8")
    difference = "\n".join(
        unified_diff(read.splitlines(), text.splitlines(), "read", "now", lineterm="", n=1)
    )
    assert text == read, (
        f"{expected.name} has other words; if these are meant, TT_RUN_WRITE_EXPECTED=1 writes them:\n{difference}"
    )
