"""A misspelt field is one mistake: what is found only because it is skipped is left out, and the slip weighs as much as that."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from mgd.descriptor import Descriptor
from mgd.diagnostics import Diagnostic, Severity
from mgd.lean import replace
from mgd.text.parser import parse
from mgd.text.problems import UNKNOWN_FIELD
from mgd.text.source import Source


def without_consequences(
    descriptor: Descriptor, findings: list[Diagnostic], check: Callable[[Descriptor], Sequence[Diagnostic]]
) -> list[Diagnostic]:
    """The findings, less the errors that `check` does not find where the fields are called as their nearest names."""
    slips = {each: meant for each in findings if (meant := _meant(each))}
    if descriptor.source is None or not slips or not any(each.is_error for each in findings):
        return findings
    corrected, _ = parse(Source(_renamed(descriptor.source.text, slips), descriptor.source.file))
    if corrected is None:
        return findings
    left = {_what(each) for each in check(corrected)}
    kept = [each for each in findings if each in slips or not each.is_error or _what(each) in left]
    if len(kept) == len(findings):
        return findings
    return [replace(each, severity=Severity.ERROR) if each in slips else each for each in kept]


def _what(finding: Diagnostic) -> tuple[str, int]:
    """Code and line, which no other name changes; the words may have it in them."""
    return finding.code, finding.labels[0].position.line if finding.labels else 0


def _meant(finding: Diagnostic) -> str:
    found = re.fullmatch(r"did you mean (\w+)\?", finding.help) if finding.code == UNKNOWN_FIELD else None
    return found[1] if found else ""


def _renamed(text: str, slips: dict[Diagnostic, str]) -> str:
    lines = text.split("\n")
    for finding in sorted(slips, key=lambda each: each.labels[0].position, reverse=True):
        place = finding.labels[0].position
        before, after = lines[place.line - 1][: place.column - 1], lines[place.line - 1][place.column - 1 :]
        lines[place.line - 1] = before + re.sub(r"\A\w+", slips[finding], after)
    return "\n".join(lines)
