"""Every word that is said of the fixtures of a rule, as it was when a person last read it: `words.txt` in the rule's folder.

`TT_RUN_WRITE_EXPECTED=1 pytest tests/mgd/rules/test_messages.py` writes these files anew; their difference is for reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mgd.diagnostics import Diagnostic
from tests.mgd.fixtures import RULE_FOLDERS, findings
from tests.words import same_as_read

FOLDERS = sorted(path for path in RULE_FOLDERS.iterdir() if path.is_dir())


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


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_words_of_every_finding(folder: Path) -> None:
    lines = []
    for path in sorted(folder.glob("bad*")):
        lines.append(path.name)
        for found in findings(path):
            lines += [line.replace(f"{folder}/", "") for line in told(found)]
    same_as_read("\n".join(lines) + "\n", folder / "words.txt")
