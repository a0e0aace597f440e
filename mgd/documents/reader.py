"""From the bytes of a YAML file to its nodes, in one pass over the parser's events and without recursion.

What makes a small file large is bounded while it is read: nesting by levels, aliases and merge keys by the size of what they stand for.
"""

from __future__ import annotations

import re

from mgd.diagnostics import Position
from mgd.documents.nodes import Mapping, Node, Scalar, Sequence, is_merge, merge_sources
from mgd.documents.scalars import kind_of_tagged
from mgd.lean import dataclass

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

LARGEST = 16 << 20
"""Characters of a file."""
DEEPEST = 200
"""Levels of nesting; the files read here have five."""
LONGEST = 4000
"""Digits of a number; Python converts 4,300."""
ROOM = 100_000
"""Nodes that aliases may add to any file, and for each node written TIMES more: 4,096 ranks share an environment of 50 variables."""
TIMES = 20
# What libyaml 0.2.6 (PyYAML 6.0.4) says at 1,000 levels, where its scanner may be before the event of the level that is one too many here.
_LIBRARY_BOUND = "exceeded maximum nesting depth"

# All but what YAML 1.1 lets stand in a text (its production c-printable); the other way round it takes ten times as long to compile.
_FORBIDDEN = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"


class DocumentError(Exception):
    """A text that is no YAML document. `reason` is a clause, `position` where, `help` what can be done ("" when nothing is known).

    `subject` says what is wrong: "bytes" (not UTF-8), "characters", "syntax", "tag", "bound" (too deep, too large, expanded without measure).
    """

    def __init__(self, subject: str, reason: str, position: Position, offset: int, help: str = "") -> None:
        super().__init__(f"{position}: {reason}")
        self.subject = subject
        self.reason = reason
        self.position = position
        self.offset = offset
        self.help = help


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML file: its name, text and root node, None when there is nothing in it."""

    file: str
    text: str
    root: Node | None

    def position(self, node: Node | None) -> Position:
        """Where a node starts; the file as a whole for None."""
        return Position(self.file) if node is None else Position(self.file, node.line, node.column)

    def find(self, *path: str | int) -> Node | None:
        """The node below these keys and indices, None when there is none."""
        node = self.root
        for step in path:
            if isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
                node = node.items[step]
            elif isinstance(node, Mapping):
                field = _field(node, step)
                node = None if field is None else field[1]
            else:
                return None
        return node

    def place(self, *path: str | int) -> Position:
        """Where these keys and indices lead: the key of a field, the item of a list, or the nearest of those above that is there."""
        for length in range(len(path), 0, -1):
            *above, last = path[:length]
            holder = self.find(*above)
            if isinstance(holder, Mapping) and (field := _field(holder, last)) is not None:
                return self.position(field[0])
            if isinstance(holder, Sequence) and isinstance(last, int) and last < len(holder.items):
                return self.position(holder.items[last])
        return self.position(self.root)

    def value(self) -> Any:
        """The whole file as plain Python, as yaml.safe_load gives it; None when empty."""
        return None if self.root is None else self.root.value()


def _field(holder: Mapping, key: str | int) -> tuple[Scalar, Node] | None:
    """A field by its key as written; by a number or `true` also where that is written in another way, such as 0x1."""
    found = holder.fields.get(str(key))
    if found is None and isinstance(key, int):
        meant = ("bool" if isinstance(key, bool) else "int", key)
        same = (each for each in holder.fields.values() if (each[0].kind, each[0].value()) == meant)
        found = next(same, None)
    return found


def read(source: str | bytes, *, file: str = "", deepest: int = DEEPEST, largest: int = LARGEST) -> Document:
    """The document of a text, or of a file's bytes; `file` is the name that positions show. Raises DocumentError."""
    text = source if isinstance(source, str) else _decoded(source, file)
    if len(text) > largest:
        raise _error("bound", f"it is larger than {largest >> 20} MiB", text, 0, file)
    # Nearly all texts are printable but for their line ends, and the expression takes longer to compile than one of them to read.
    is_plain = text.replace("\n", "").isprintable()
    if not is_plain and (forbidden := re.search(_FORBIDDEN, text)) is not None:
        told = f"the character U+{ord(forbidden[0]):04X} may not stand in YAML"
        help = f'write it as an escape in double quotes: "\\x{ord(forbidden[0]):02x}"'
        raise _error(
            "characters", told, text, forbidden.start(), file, help if ord(forbidden[0]) < 256 else ""
        )
    return Document(file, text, _Composer(text, file, deepest).compose())


_BEGUN = {
    ("while scanning a quoted scalar", "found unexpected end of stream"): (
        "a quoted text is never closed",
        "close it with the quote that it begins with",
    ),
    ("while scanning a simple key", "could not find expected ':'"): (
        "a key without a colon",
        "write key: value, with a colon and a blank",
    ),
}
"""What libyaml says of text that was begun, in words about that text, and what to do."""


_OPEN = {
    "while parsing a flow sequence": ("list", "]"),
    "while parsing a flow mapping": ("mapping", "}"),
}
"""What libyaml was in when the text was over, and how that is closed."""


class _Composer:
    """Builds nodes from events; an own stack in place of recursion."""

    def __init__(self, text: str, file: str, deepest: int) -> None:
        self.text = text
        self.file = file
        self.deepest = deepest
        self.anchors: dict[str, Node | None] = {}
        self.written = 0  # nodes that stand in the file
        self.aliased = 0  # nodes that aliases stand for

    def compose(self) -> Node | None:
        import yaml

        parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(self.text)
        try:
            return self._build(parser, yaml)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            if error.problem == _LIBRARY_BOUND:
                raise self._broken("bound", self._too_deep(), mark) from None
            reason = " ".join(part for part in (error.context, error.problem) if part)
            begun = _BEGUN.get((error.context or "", error.problem or ""))
            if begun is not None:  # where it began tells more than where the reader noticed
                raise self._broken("syntax", begun[0], error.context_mark or mark, begun[1]) from None
            if mark and error.context_mark and error.context in _OPEN and not self.text[mark.index :].strip():
                what, close = _OPEN[error.context]
                raise self._broken(
                    "syntax", f"this {what} is never closed", error.context_mark, f"close it with {close}"
                ) from None
            raise self._broken("syntax", reason, mark) from None
        except yaml.YAMLError as error:
            raise _error("syntax", " ".join(str(error).split()), self.text, 0, self.file) from None
        finally:
            parser.dispose()

    def _build(self, parser: Any, yaml: Any) -> Node | None:
        root: Node | None = None
        documents = 0
        open_nodes: list[tuple[Sequence | Mapping, list[Node], str | None]] = []
        next_event = parser.get_event
        while True:
            event = next_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                node: Node = self._scalar(event)
            elif kind is yaml.AliasEvent:
                node = self._alias(event)
            elif kind is yaml.SequenceStartEvent or kind is yaml.MappingStartEvent:
                self._check_tag(event, "seq" if kind is yaml.SequenceStartEvent else "map")
                if len(open_nodes) >= self.deepest:
                    raise self._broken("bound", self._too_deep(), event.start_mark)
                made: Sequence | Mapping = (
                    Sequence(event.start_mark)
                    if kind is yaml.SequenceStartEvent
                    else Mapping(event.start_mark)
                )
                if event.anchor is not None:
                    self.anchors[event.anchor] = (
                        None  # an alias inside of itself finds that it is not complete
                    )
                open_nodes.append((made, [], event.anchor))
                continue
            elif kind is yaml.SequenceEndEvent or kind is yaml.MappingEndEvent:
                node = self._close(*open_nodes.pop())
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    said, help = "a second document begins; one is read", "keep it in a file of its own"
                    raise self._broken("syntax", said, event.start_mark, help)
                continue
            elif kind is yaml.StreamEndEvent:
                return root
            else:
                continue
            if open_nodes:
                open_nodes[-1][1].append(node)
            else:
                root = node

    def _scalar(self, event: Any) -> Scalar:
        self.written += 1
        node = Scalar(event.value, event.implicit[0] and not event.style, event.tag, event.start_mark)
        if event.tag is not None and kind_of_tagged(event.tag, event.value) is None:
            self._refuse_tag(event, f"{node.shown()} is no {_short(event.tag)}")
        elif len(event.value) > LONGEST and node.plain and node.kind == "int":
            raise self._broken("bound", f"a number of {len(event.value):,} digits", event.start_mark)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any) -> Node:
        if event.anchor not in self.anchors:
            raise self._broken(
                "syntax",
                f"no anchor &{event.anchor} stands before *{event.anchor}",
                event.start_mark,
                f'write &{event.anchor} before the value that it stands for, or "*{event.anchor}" for a text',
            )
        node = self.anchors[event.anchor]
        if node is None:
            raise self._broken(
                "syntax",
                f"*{event.anchor} stands inside of what it stands for",
                event.start_mark,
                f"write out what is meant in the place of *{event.anchor}",
            )
        if node.height >= self.deepest:
            raise self._broken("bound", f"aliases nest deeper than {self.deepest} levels", event.start_mark)
        self.aliased += node.size
        most = ROOM + TIMES * self.written
        if self.aliased > most:
            raise self._broken(
                "bound",
                f"aliases and merge keys make the file more than {most:,} values large; up to here it has {self.written:,}",
                event.start_mark,
                "write out what is meant, or merge less",
            )
        return node

    def _close(self, node: Sequence | Mapping, parts: list[Node], anchor: str | None) -> Node:
        self.written += 1
        node.size += sum([part.size for part in parts])
        node.height += max([part.height for part in parts], default=0)
        if isinstance(node, Sequence):
            node.items = parts
        else:
            node.pairs = list(zip(parts[::2], parts[1::2], strict=True))
            for key, value in node.pairs:
                if is_merge(key):
                    self._check_merge(value)
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def _check_merge(self, value: Node) -> None:
        wanted = len(value.items) if isinstance(value, Sequence) else 1
        if len(list(merge_sources(value))) != wanted:
            raise _error(
                "syntax",
                "<< merges a mapping, or a list of them",
                self.text,
                value.offset,
                self.file,
                "write <<: *name",
            )

    def _too_deep(self) -> str:
        return f"nested deeper than {self.deepest} levels"

    def _check_tag(self, event: Any, own: str) -> None:
        if event.tag not in (None, "!", f"tag:yaml.org,2002:{own}"):
            self._refuse_tag(event, f"the tag {_short(event.tag)} is not known here")

    def _refuse_tag(self, event: Any, reason: str) -> None:
        raise self._broken("tag", reason, event.start_mark, f"leave {_short(event.tag)} out")

    def _without_colon(self, at: int) -> str:
        """What to write where a key of the line before has no colon, so that its value is a text over two lines, or where a text has a colon
        of its own; empty where it is not so."""
        end = self.text.find("\n", at)
        line = self.text[self.text.rfind("\n", 0, at) + 1 : end if end >= 0 else None].partition(" #")[0]
        inside = re.fullmatch(r"[\s-]*[\w.-]+:\s+([^\s\"'\[{&*!|>][^\"]*:(?:\s.*)?)", line)
        if inside:
            return f'write "{inside[1].rstrip()}" in quotes'
        before = self.text[: self.text.rfind("\n", 0, at) + 1].rstrip().rpartition("\n")[2]
        found = re.fullmatch(r"[\s-]*([A-Za-z_]\w*)\s+(\S+)", before.partition(" #")[0].rstrip())
        return f"write {found[1]}: {found[2]} in the line before" if found else ""

    def _broken(self, subject: str, reason: str, mark: Any, help: str = "") -> DocumentError:
        at = 0 if mark is None else min(mark.index, len(self.text))
        if subject == "syntax" and self.text[at : at + 1] == "\t":
            reason, help = "a tab, which YAML does not take for indentation", "indent with spaces"
        elif reason.startswith("mapping values are not allowed") and not help:
            help = self._without_colon(at)
        place = Position(self.file, mark.line + 1, mark.column + 1) if mark else Position(self.file)
        return DocumentError(subject, reason, place, at, help)


def _decoded(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        told = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        raise _error("bytes", told, before, len(before), file, "save the file as UTF-8") from None


def _error(subject: str, reason: str, text: str, at: int, file: str, help: str = "") -> DocumentError:
    """The error at an offset."""
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return DocumentError(subject, reason, Position(file, line, column), at, help)


def _short(tag: str) -> str:
    """A tag as it is written."""
    return "!!" + tag[18:] if tag.startswith("tag:yaml.org,2002:") else tag
