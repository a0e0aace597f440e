"""The doctor's findings: a table for people, JSON for programs, and the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict

from mgd.cli.output import page_width
from mgd.folding import fold
from mgd.lean import dataclass
from tt_run.contract import Exit


@dataclass(frozen=True, slots=True)
class Check:
    """One fact: `ok` is False when a launch would fail, None for a fact that is neither good nor bad; with a hint it is a warning.

    `host` is empty for this machine.
    """

    name: str
    ok: bool | None
    text: str
    hint: str = ""
    host: str = ""


INDENT = " " * 5
_MARKS = {True: "ok  ", False: "FAIL", None: "    "}


def report(checks: Iterable[Check], output_format: str) -> int:
    """Prints every check as soon as it is known (as JSON: all at the end); exit code 0 unless a launch would fail."""
    failed = 0
    done = []
    for check in checks:
        failed += check.ok is False
        done.append(check)
        if output_format != "json":
            print(_row(check), flush=True)
    if output_format == "json":
        print(json.dumps([asdict(check) for check in done], ensure_ascii=False))
    elif failed:
        print(f"{failed} check{'s' * (failed != 1)} failed: a launch would fail")
    return Exit.FAILED if failed else Exit.OK


def _row(check: Check) -> str:
    mark = "warn" if check.ok is None and check.hint else _MARKS[check.ok]
    where = f"{check.host}: " if check.host else ""
    name = f"{mark} {where + check.name:<24} "
    width = page_width(sys.stdout, 0)
    longest = max(map(len, check.text.split()), default=0)
    if width and len(name) + longest > width:  # a path has more room below the name
        name = f"{name.rstrip()}\n{INDENT}"
    taken = len(name.rpartition("\n")[2])
    row = name + fold(check.text, width, " " * taken, taken)
    return f"{row}\n{INDENT}help: {check.hint}" if check.hint and check.ok is not True else row
