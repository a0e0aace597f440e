"""Every word that is said of the fixtures of all rules, as it was when a person last read it.

`TT_RUN_WRITE_EXPECTED=1 pytest tests/mgd/rules/test_messages.py` writes the file anew; its difference is for reading.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mgd.diagnostics import Diagnostic
from tests.mgd.fixtures import RULE_FOLDERS, findings

EXPECTED = Path(__file__).with_name("messages.txt")


def told(found: Diagnostic) -> Iterator[str]:
    """A finding with its places, without the folder of the checkout."""
    place = found.position
    yield f"  {place.line if place else 0}:{place.column if place else 0} {found.severity.value} {found.code}: {found.message}"
    for label in found.labels:
        if label.text:
            yield f"    {label.position.line}:{label.position.column} {label.text}"
    if found.help:
        yield f"    help: {found.help}"
    yield from (f"    note: {note}" for note in found.notes)


def test_the_words_of_every_finding() -> None:
    lines = []
    for path in sorted(RULE_FOLDERS.glob("*/bad*")):
        name = f"{path.parent.name}/{path.name}"
        lines.append(name)
        for found in findings(path):
            lines += [line.replace(f"{RULE_FOLDERS}/", "") for line in told(found)]
    text = "\n".join(lines) + "\n"
    if os.environ.get("TT_RUN_WRITE_EXPECTED"):
        EXPECTED.write_text(text, encoding="utf-8")
    assert text == EXPECTED.read_text(encoding="utf-8")
