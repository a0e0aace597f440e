"""What became of a test over ranks: each rank writes its outcome, the launching process makes one of them."""

from __future__ import annotations

import builtins
import json
import os
import re
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

REFUSED = "Nothing was launched."  # the end of what tt-run says of words that it refuses
PASSED, FAILED, SKIPPED, XFAILED, UNEXPECTED = "passed", "failed", "skipped", "xfailed", "unexpected"
_ADDRESS = re.compile(r"\b0x[0-9a-f]+")
_OF_GUARD = "GuardError: "
_OTHERS_SECONDS = 5.0  # for ranks that are still on their way to what failed on one
_SHOWN = 60  # last lines of the launcher that a failure shows when no rank says why


class RanksFailed(Exception):
    """What a test over ranks shows when it fails; pytest prints it as it is."""


class RanksSkipped(pytest.skip.Exception):  # type: ignore[name-defined, misc]  # mypy takes `skip` for a function alone
    """All ranks have skipped; `place` is where the test did so, as pytest names places: a path and the line's number."""

    def __init__(self, reason: str, place: tuple[str, int] | None) -> None:
        super().__init__(reason)
        self.place = place


def report_outcome(count: int, folder: Path, code: int, output: str) -> None:
    """Pass, skip or fail by what the ranks wrote: failures by rank, else what the launcher said.

    A rank's unexpected pass is the test's: whether that is a failure is for the mark, which the test has here, too.
    """
    found = {rank: _read(folder / f"rank-{rank}.json") for rank in range(count)}
    failed = {rank: result for rank, result in found.items() if result and result["outcome"] == FAILED}
    if failed:
        raise RanksFailed("\n".join([_headline(failed), *_by_rank(failed)]))
    outcomes = {str(result["outcome"]) if result else "" for result in found.values()}
    if code == 0 and outcomes <= {SKIPPED, XFAILED}:
        stopped = {str(result["outcome"]): result for result in found.values() if result}
        if XFAILED in stopped:
            pytest.xfail(str(stopped[XFAILED]["text"]))
        place = stopped[SKIPPED]["place"]
        raise RanksSkipped(str(stopped[SKIPPED]["text"]), (place[0], place[1]) if place else None)
    missing = [rank for rank, result in found.items() if result is None]
    if missing or (code and UNEXPECTED not in outcomes):
        silent = f"no word from rank {', '.join(map(str, missing))}; " if missing else ""
        lines = output.splitlines()
        if lines and lines[-1].endswith(REFUSED):
            first = next((number for number, line in enumerate(lines) if line.startswith("error[")), 0)
            raise RanksFailed("\n".join(lines[first:]))
        said = next((line for line in lines if line.startswith("error[")), None)
        said = said or _verdict(lines) or f"the launch ended with {code}"
        tail = "\n".join(lines[-_SHOWN:])
        raise RanksFailed(f"{said}\n{silent}the launch ended with {code}:\n{tail}")


def _verdict(lines: list[str]) -> str | None:
    """The launcher's sentence about a run that failed, which stands above the line of its logs."""
    logs = max((number for number, line in enumerate(lines) if line.startswith("  logs: ")), default=0)
    told = [line for line in lines[:logs] if line.startswith("tt-run: ")]
    return told[-1].removeprefix("tt-run: ") if told else None


def repeat_warnings(count: int, folder: Path) -> None:
    """Warn here of what ranks were warned of, once for all ranks, for pytest's own summary."""
    told = {
        tuple(each): None
        for rank in range(count)
        for each in (_read(folder / f"rank-{rank}.json") or {}).get("warnings", ())
    }
    for category, message, path, line in told:
        kind = getattr(builtins, str(category), UserWarning)
        warnings.warn_explicit(str(message), kind, str(path), int(line))


def _headline(failed: dict[int, dict[str, Any]]) -> str:
    """The line of pytest's short summary: the first rank that failed by itself, else the first at all, and how."""
    rank, result = next(iter(_own_first(failed).items()))
    return f"rank {rank}: {result['short'] or 'failed'}"


def _own_first(failed: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The ranks in order, first those that failed by themselves: others meet the close of the mesh that such a failure leads to, and the
    guard tells them that they are in another call."""
    return dict(sorted(failed.items(), key=lambda each: _OF_GUARD in str(each[1]["short"])))


def _by_rank(failed: dict[int, dict[str, Any]]) -> list[str]:
    """The texts of failures, each said once with the ranks that share it; where objects lie in memory is no difference."""
    texts: dict[str, tuple[str, list[int]]] = {}
    for rank, result in _own_first(failed).items():
        text = str(result["text"])
        texts.setdefault(_ADDRESS.sub("", text), (text, []))[1].append(rank)
    return [
        f"--- rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))} ---\n{text}"
        for text, ranks in texts.values()
    ]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _as_shown(text: str, failure: pytest.TestReport | None) -> str:
    """A report's text as pytest shows it: with the indent that it takes off the first line, and for a failure what the test printed."""
    if text.startswith(("@", "def ", "async def ")):
        text = f"    {text}"
    printed = failure.sections if failure is not None else []
    return "\n".join([text, *(f"{f' {name} ':-^80}\n{content.rstrip()}" for name, content in printed)])


class Recorder:
    """On a rank: keeps what became of its test, and writes it for the launching process."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / f"rank-{os.environ.get('OMPI_COMM_WORLD_RANK', '0')}.json"
        self._outcome: str | None = None
        self._text = self._short = self._phase = ""
        self._place: tuple[str, int] | None = None
        self._warnings: list[tuple[str, str, str, int]] = []

    def note(self, report: pytest.TestReport) -> None:
        """Take a report of a phase: the first that fails or skips decides."""
        reason, expected = report.longrepr, getattr(report, "wasxfail", None)
        if report.failed and isinstance(reason, str) and reason.startswith("[XPASS(strict)]"):
            self._outcome = UNEXPECTED
        elif report.passed:
            self._outcome = self._outcome or PASSED
        elif self._outcome in (None, PASSED):
            self._outcome = XFAILED if expected is not None else report.outcome
            self._phase = report.when or ""
            text = report.longreprtext if expected is None else expected
            if isinstance(reason, tuple):
                path, line, text = reason
                self._place = str(path), int(line)
            self._text = _as_shown(str(text).removeprefix("Skipped: "), report if report.failed else None)
            crash = getattr(reason, "reprcrash", None)
            # What pytest itself finds, such as a fixture that is none, has a sentence and no crash.
            self._short = str(crash.message if crash is not None else getattr(reason, "errorstring", ""))
            self._short = self._short.strip().partition("\n")[0]

    def warned(self, found: warnings.WarningMessage) -> None:
        """Take a warning, of which pytest on a rank tells nobody."""
        told = found.category.__name__, str(found.message), found.filename, found.lineno
        self._warnings.append(told)

    def write(self) -> None:
        """Write the outcome whole or not at all."""
        part = self._path.with_suffix(".part")
        found = {
            "outcome": self._outcome,
            "text": self._text,
            "short": self._short,
            "place": self._place,
            "warnings": self._warnings,
        }
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(self._path)
        if self._outcome == FAILED and self._phase == "setup":
            self._await_others()

    def _await_others(self) -> None:
        """Let the other ranks say that they failed, too: what fails before a test begins fails on all, and the first to end ends them."""
        count = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
        others = [self._path.with_name(f"rank-{rank}.json") for rank in range(count)]
        end = time.monotonic() + _OTHERS_SECONDS
        while time.monotonic() < end and not all(path.exists() for path in others):
            time.sleep(0.01)
