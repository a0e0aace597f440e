"""What can be wrong with a text, as diagnostics: the codes MGD100 to MGD114 (their pages are in `mgd.rules`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from mgd.diagnostics import Diagnostic, Label, Severity
from mgd.text.source import Source

UNEXPECTED = "MGD100"
UNREADABLE = "MGD101"
USAGE = "MGD300"
IDLE = "MGD301"
NOT_TEXT = "MGD102"
BAD_UTF8 = "MGD103"
WRONG_TYPE = "MGD104"
OUT_OF_RANGE = "MGD105"
UNKNOWN_ENUM = "MGD106"
GIVEN_TWICE = "MGD107"
NOT_A_LIST = "MGD108"
UNKNOWN_FIELD = "MGD109"
TOO_DEEP = "MGD110"
NOT_CLOSED = "MGD111"
BAD_STRING = "MGD112"
OLD_FIELD = "MGD113"
TWO_REFERENCES = "MGD114"

MOST = 50
"""No more problems than this are told of one file."""


def quote_text(text: str, limit: int = 40) -> str:
    """User's text, quoted, printable and short."""
    safe = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in safe
    )


def quoted(text: str, limit: int = 40) -> str:
    return f'"{quote_text(text, limit)}"'


def nearest(word: str, names: Iterable[str]) -> str:
    """The name that was probably meant, or "" when none is near."""
    import difflib

    known = list(islice(names, 300))  # a search through more would take long for a hint
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower()[:80], folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


class Problems:
    """Collects what the parser finds, in the order of the text, without repeating itself."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    @property
    def is_full(self) -> bool:
        """True when enough errors have been found: reading on would not help anybody."""
        return len(self.errors) >= MOST

    def error(self, code: str, offset: int, message: str, *, label: str = "", help: str = "") -> None:
        self._add(self.errors, Severity.ERROR, code, offset, message, label, help)

    def warning(self, code: str, offset: int, message: str, *, label: str = "", help: str = "") -> None:
        self._add(self.warnings, Severity.WARNING, code, offset, message, label, help)

    def _add(
        self,
        into: list[Diagnostic],
        severity: Severity,
        code: str,
        offset: int,
        message: str,
        label: str,
        help: str,
    ) -> None:
        if len(into) < MOST:
            where = Label(self.source.position(offset), label)
            into.append(Diagnostic(code, message, (where,), help, severity))
