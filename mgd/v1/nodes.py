"""YAML as nodes with offsets: what of YAML the reader of MGD 1.0 needs, and nothing that a hostile file can make expensive."""

from __future__ import annotations

from typing import Any

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from mgd.errors import ParseError
from mgd.lean import dataclass
from mgd.rules import severity_of
from mgd.text.source import Source

DEEPEST = 30
"""Levels of nesting; the format has five."""
LARGEST = 2 << 20
"""Characters; YAML nodes take hundreds of times the memory of their text."""
MOST = 100
"""Errors, and as many warnings, that are kept."""
MOST_ALIASED = 1 << 22
"""Events times aliases: what can be met again and again through an alias."""


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
        if sum(each.severity is severity for each in self.all) >= MOST:
            return
        labels = [Label(self.source.locate(at))]
        labels += [Label(self.source.locate(place), text) for place, text in also]
        self.all.append(Diagnostic(code, message, tuple(labels), help, severity))

    @property
    def is_full(self) -> bool:
        """True when so much has been found that more need not be looked for."""
        return len(self.all) >= MOST and self.has_errors

    @property
    def has_errors(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.all)


def compose(source: YamlSource) -> Any:
    """The root node of the text, None when it is empty. Raises ParseError for what YAML does not accept."""
    import yaml

    if len(source.text) > LARGEST:
        raise _broken(source, 0, f"it is larger than {LARGEST >> 20} MiB")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = aliases = 0
        # Events need no recursion: nesting is measured before anything recurses over it.
        for events, event in enumerate(yaml.parse(source.text, Loader=loader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            aliases += isinstance(event, yaml.AliasEvent)
            if events * aliases > MOST_ALIASED:
                raise _broken(source, _mark(event), "it repeats too much through aliases")
            if depth > DEEPEST:
                raise _broken(source, _mark(event), f"it is nested deeper than {DEEPEST} levels")
        return yaml.compose(source.text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        raise _broken(source, mark.index if mark else 0, reason) from None
    except (yaml.YAMLError, ValueError) as error:
        raise _broken(source, 0, str(error).splitlines()[0]) from None


def _mark(event: Any) -> int:
    """The offset of an event."""
    return int(event.start_mark.index)


def _broken(source: YamlSource, at: int, reason: str) -> ParseError:
    where = Label(source.position(min(at, len(source.text))))
    return ParseError(
        [Diagnostic("MGD200", f"not YAML: {reason}", (where,), "write MGD 1.0, or convert to .textproto")]
    )


def offset(node: Any) -> int:
    """Where a node begins."""
    return int(node.start_mark.index)


def is_list(node: Any) -> bool:
    return getattr(node, "id", "") == "sequence"


def is_map(node: Any) -> bool:
    return getattr(node, "id", "") == "mapping"


def text_of(node: Any) -> str | None:
    """The text of a scalar, None for anything else."""
    return str(node.value) if getattr(node, "id", "") == "scalar" else None


def entries(node: Any) -> dict[str, Any]:
    """The values of a map by key; of a key given twice the first counts."""
    found: dict[str, Any] = {}
    for key, value in node.value if is_map(node) else ():
        name = text_of(key)
        if name is not None:
            found.setdefault(name, value)
    return found


def integer(node: Any) -> int | None:
    """The value of a plain decimal integer, None for anything else."""
    text = text_of(node) or ""
    digits = text[1:] if text[:1] in "+-" else text
    if (
        not (digits.isascii() and digits.isdigit())
        or len(digits) > 12
        or getattr(node, "style", None) in ("'", '"')
    ):
        return None
    return int(text)
