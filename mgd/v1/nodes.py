"""What the reader of MGD 1.0 asks of YAML nodes, and how it keeps what it finds."""

from __future__ import annotations

from typing import TypeGuard

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from mgd.documents import DocumentError, Mapping, Node, Scalar, Sequence, read
from mgd.errors import ParseError
from mgd.lean import dataclass
from mgd.rules import severity_of
from mgd.text.source import Source

DEEPEST = 30
"""Levels of nesting; the format has five."""
LARGEST = 2 << 20
"""Characters; nodes take many times the memory of their text."""
MOST = 100
"""Errors, and as many warnings, that are kept."""


@dataclass(slots=True)
class YamlSource(Source):
    """The text of a YAML file; fields have no positions of their own in it."""

    def locate(self, at: int, name: str = "", index: int = 0) -> Position:
        return self.position(at) if at >= 0 else Position(self.file)


@dataclass(slots=True)
class Findings:
    """What the reader finds, by offset."""

    source: YamlSource
    all: list[Diagnostic]

    def add(self, code: str, at: int, message: str, *also: tuple[int, str], help: str = "") -> None:
        severity = severity_of(code)
        if self._count(severity) >= MOST:
            return
        labels = [Label(self.source.locate(at))]
        labels += [Label(self.source.locate(place), text) for place, text in also]
        self.all.append(Diagnostic(code, message, tuple(labels), help, severity))

    @property
    def is_full(self) -> bool:
        """True when so many errors have been found that more need not be looked for."""
        return len(self.all) >= MOST and self._count(Severity.ERROR) >= MOST

    @property
    def has_errors(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.all)

    def _count(self, severity: Severity) -> int:
        return sum(each.severity is severity for each in self.all)


def compose(source: YamlSource) -> Node | None:
    """The root node of the text, None when it is empty. Raises ParseError for what YAML does not accept."""
    try:
        return read(source.text, file=source.file, deepest=DEEPEST, largest=LARGEST).root
    except DocumentError as error:
        where = Label(source.position(error.offset))
        help = error.help or "write MGD 1.0, or convert to .textproto"
        raise ParseError([Diagnostic("MGD200", f"not YAML: {error.reason}", (where,), help)]) from None


def offset(node: Node) -> int:
    """Where a node begins."""
    return node.offset


def is_list(node: Node | None) -> TypeGuard[Sequence]:
    return isinstance(node, Sequence)


def is_map(node: Node | None) -> TypeGuard[Mapping]:
    return isinstance(node, Mapping)


def text_of(node: Node | None) -> str | None:
    """The text of a scalar, None for anything else."""
    return node.text if isinstance(node, Scalar) else None


def entries(node: Node | None) -> dict[str, Node]:
    """The values of a map by key; of a key given twice the first counts."""
    found: dict[str, Node] = {}
    for key, value in node.pairs if isinstance(node, Mapping) else ():
        if isinstance(key, Scalar):
            found.setdefault(key.text, value)
    return found


def integer(node: Node | None) -> int | None:
    """The value of a plain decimal integer, None for anything else."""
    text = text_of(node) or ""
    digits = text[1:] if text[:1] in "+-" else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 12:
        return None
    return int(text) if isinstance(node, Scalar) and node.plain else None
