"""The nodes of a YAML document. A node that is met through an alias is the same object each time."""

from __future__ import annotations

from collections.abc import Iterator

from mgd.documents.scalars import kind_of, kind_of_tagged, value_of

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

_SHOWN = 60  # characters of a node that a message shows


class Node:
    """A part of a document. `line` and `column` count from 1, `offset` counts characters from 0; `size` counts the nodes in it,
    those of aliases each time, `height` the levels below it and its own."""

    __slots__ = ("column", "height", "line", "offset", "size")

    kind = ""
    line: int
    column: int
    offset: int
    size: int
    height: int

    def value(self) -> Any:
        """The node as plain Python, as yaml.safe_load gives it."""
        raise NotImplementedError

    def shown(self) -> str:
        """The node as it could be written on one line, cut where it is long; never larger than a line, whatever aliases stand for."""
        words: list[str] = []
        length = 0
        for word in _words(self):
            words.append(word)
            length += len(word)
            if length > _SHOWN:
                return "".join(words)[:_SHOWN] + "…"
        return "".join(words)


class Scalar(Node):
    """A single value. `plain` scalars are not quoted; `kind` is text, int, float, bool, null, date or base60."""

    __slots__ = ("_kind", "plain", "tag", "text")

    def __init__(self, text: str, plain: bool, tag: str | None, at: Any) -> None:
        self.text = text
        self.plain = plain
        self.tag = tag
        self.line, self.column, self.offset = at.line + 1, at.column + 1, at.index
        self.size = self.height = 1
        self._kind = "" if plain or tag else "text"

    @property
    def kind(self) -> str:  # type: ignore[override]
        if not self._kind:
            self._kind = (kind_of_tagged(self.tag, self.text) if self.tag else kind_of(self.text)) or "text"
        return self._kind

    def value(self) -> Any:
        """str, int, float, bool or None; a date or a number in base 60 as its text."""
        return value_of(self.kind, self.text)


class Sequence(Node):
    """A list."""

    __slots__ = ("items",)

    kind = "list"

    def __init__(self, at: Any) -> None:
        self.items: list[Node] = []
        self.line, self.column, self.offset = at.line + 1, at.column + 1, at.index
        self.size = self.height = 1

    def value(self) -> list[Any]:
        return [item.value() for item in self.items]


class Mapping(Node):
    """Keys and values as written in `pairs`, merge keys (`<<`) included; `fields` is what they come to."""

    __slots__ = ("_fields", "pairs")

    kind = "mapping"

    def __init__(self, at: Any) -> None:
        self.pairs: list[tuple[Node, Node]] = []
        self.line, self.column, self.offset = at.line + 1, at.column + 1, at.index
        self.size = self.height = 1
        self._fields: dict[str, tuple[Scalar, Node]] | None = None

    @property
    def fields(self) -> dict[str, tuple[Scalar, Node]]:
        """Key and value of each field by the key's text: merged ones first, own ones over them, the last of repeated keys.

        Worked out once; keys that are no scalars are left out, consumers that mind look at `pairs`.
        """
        if self._fields is None:
            merged: dict[str, tuple[Scalar, Node]] = {}
            own: dict[str, tuple[Scalar, Node]] = {}
            for key, value in self.pairs:
                if is_merge(key):
                    for source in merge_sources(value):
                        for name, field in source.fields.items():
                            merged.setdefault(name, field)
                elif isinstance(key, Scalar):
                    own[key.text] = (key, value)
            self._fields = {**merged, **own}
        return self._fields

    def value(self) -> dict[Any, Any]:
        return {key.value(): value.value() for key, value in self.fields.values()}


def is_merge(key: Node) -> bool:
    """True for a plain `<<`."""
    return isinstance(key, Scalar) and key.plain and key.text == "<<"


def merge_sources(value: Node) -> Iterator[Mapping]:
    """The mappings that a merge key brings in; those named first count."""
    for source in value.items if isinstance(value, Sequence) else [value]:
        if isinstance(source, Mapping):
            yield source


def _words(node: Node) -> Iterator[str]:
    if isinstance(node, Scalar):
        yield (node.text if node.plain else f'"{node.text}"')[: _SHOWN + 1].replace("\n", " ")
        return
    pairs = (
        [(None, item) for item in node.items]
        if isinstance(node, Sequence)
        else list(node.pairs)
        if isinstance(node, Mapping)
        else []
    )
    opened, closed = "[]" if isinstance(node, Sequence) else "{}"
    yield opened
    for number, (key, value) in enumerate(pairs):
        yield ", " if number else ""
        if key is not None:
            yield from _words(key)
            yield ": "
        yield from _words(value)
    yield closed
