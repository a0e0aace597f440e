"""Checking files one after the other and printing the report; without click, so that it starts at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

from mgd.cli.inputs import expand_words
from mgd.cli.output import own_version, say
from mgd.cli.reports import FileReport, as_concise, as_github, as_json, as_sarif, as_text, inspect

FORMS = ("text", "concise", "json", "github", "sarif")

_LINES: dict[str, Callable[[FileReport], Iterable[str]]] = {
    "concise": as_concise,
    "github": as_github,
    "json": lambda report: [as_json(report)],
}


def check_files(
    words: Sequence[str], form: str = "text", profile: str = "full", *, quiet: bool = False
) -> int:
    """Print the verdict on each input as it is reached; returns the exit code.

    Raises WrongUsage for a folder without descriptors.
    """
    code = 0

    def reports() -> Iterator[FileReport]:
        nonlocal code
        for word in expand_words(words):
            report = inspect(word, profile, facts=form in ("text", "json"))
            code = max(code, 2 if report.unreadable else 0 if report.accepted else 1)
            yield report

    if form == "text":
        for line in as_text(reports(), sys.stdout, quiet=quiet):
            say(line)
    elif form == "sarif":
        say(as_sarif(reports(), own_version()))
    else:
        for report in reports():
            for line in _LINES[form](report):
                say(line)
    return code
