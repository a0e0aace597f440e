"""The nodes of a small file in the plain form of YAML that bindings are written in, without PyYAML, whose import takes longer than the
rest of a plan.

Keys are names; values are words without blanks, texts in quotes, and lists and mappings of these, by indentation or in brackets on one
line. All else, and all that is wrong, is left to the complete reader: a test holds the two against each other.
"""

from __future__ import annotations

import re

from mgd.documents.nodes import Mapping, Node, Scalar, Sequence

LARGEST = 1 << 15
"""Characters; of a larger file PyYAML takes longer to read than to import."""
DEEPEST = 8
"""Levels of nesting."""
_LONGEST = 500  # characters of a line

# One token and the blanks before it: a key with its colon, a text in either quotes, a word, a sign, a comment.
_TOKEN = re.compile(
    r""" *(?:([A-Za-z_]\w*):(?: |$)|"([^"\\]*)"|'([^']*)'|(-?[A-Za-z0-9_./][\w./+@%=-]*)|([][{},-])|(#.*))""",
    re.ASCII,
)
_END, _KEY, _DOUBLE, _SINGLE, _WORD, _SIGN, _COMMENT = range(7)
_CLOSED_BY = {"[": "]", "{": "}"}


class _Unusual(Exception):
    """The text is not in the plain form."""


class _At:
    """A place, as events of PyYAML have it: all three count from 0."""

    __slots__ = ("column", "index", "line")

    def __init__(self, line: int, column: int, index: int) -> None:
        self.line = line
        self.column = column
        self.index = index


class _Open:
    """A list or mapping by indentation whose end has not been met, and what is in it: keys and values in turn."""

    __slots__ = ("column", "node", "parts")

    def __init__(self, node: Sequence | Mapping, column: int) -> None:
        self.node = node
        self.column = column
        self.parts: list[Node] = []

    @property
    def waits(self) -> bool:
        """Whether the last key has no value yet."""
        return isinstance(self.node, Mapping) and len(self.parts) % 2 == 1


def plain_root(text: str) -> Node | None:
    """The root node of a printable text in the plain form; None where it is not in that form, or larger than is worth it."""
    if len(text) > LARGEST or not text.isascii():
        return None
    try:
        return _Reader().read(text)
    except _Unusual:
        return None


class _Reader:
    def __init__(self) -> None:
        self.root: Node | None = None
        self.open: list[_Open] = []
        self.line = ""
        self.number = 0
        self.begins = 0  # the offset of the line
        self.at = 0  # what has been read of it

    def read(self, text: str) -> Node | None:
        for self.number, self.line in enumerate(text.split("\n")):
            if len(self.line) > _LONGEST:
                raise _Unusual
            self.at = 0
            kind, word, column = self._token()
            if kind not in (_END, _COMMENT):
                self._row(kind, word, column)
            self.begins += len(self.line) + 1
        while self.open:
            self._close()
        return self.root

    def _token(self) -> tuple[int, str, int]:
        """What comes next in the line, its text, and the column where it begins."""
        found = _TOKEN.match(self.line, self.at)
        if found is None:
            if self.line[self.at :].strip(" "):
                raise _Unusual
            return _END, "", 0
        self.at = found.end()
        kind = found.lastindex or _END
        return kind, found[kind], found.start(kind) - (kind in (_DOUBLE, _SINGLE))

    def _row(self, kind: int, word: str, column: int) -> None:
        """Takes in a line that begins with this token."""
        is_item = kind == _SIGN and word == "-"
        self._close_beside(column, is_item)
        if is_item:
            if self.line[self.at : self.at + 1] != " ":
                raise _Unusual
            if not (self.open and self.open[-1].column == column and self._is_list()):
                self._begin(Sequence(self._place(column)), column)
            kind, word, column = self._token()
        if kind == _KEY:
            if is_item or not (self.open and self.open[-1].column == column):
                self._begin(Mapping(self._place(column)), column)
            elif self.open[-1].waits:
                raise _Unusual  # the key before has nothing
            self._add(Scalar(word, True, None, self._place(column)))
            kind, word, column = self._token()
        elif not is_item:
            raise _Unusual
        if kind not in (_END, _COMMENT):
            self._add(self._value(kind, word, column, len(self.open)))
            kind, word, column = self._token()
        elif self._is_list():
            raise _Unusual  # an item of nothing
        if kind != _END and (kind != _COMMENT or self.line[column - 1] != " "):
            raise _Unusual

    def _close_beside(self, column: int, is_item: bool) -> None:
        """Closes what a line that begins in this column is not part of. The items of a list may begin in the column of its key."""
        while self.open and self.open[-1].column >= column:
            if self.open[-1].column == column and (is_item or not self._is_list()):
                return
            self._close()
        if self.open and not self.open[-1].waits:
            raise _Unusual  # the line goes on with the one before it, or is too far in

    def _is_list(self) -> bool:
        return isinstance(self.open[-1].node, Sequence)

    def _place(self, column: int) -> _At:
        return _At(self.number, column, self.begins + column)

    def _begin(self, node: Sequence | Mapping, column: int) -> None:
        """Opens a list or mapping: the root, the value of the key that waits for one, or an item."""
        if self.open:
            if len(self.open) >= DEEPEST or not (self.open[-1].waits or self._is_list()):
                raise _Unusual
        elif self.root is not None:
            raise _Unusual
        else:
            self.root = node
        self.open.append(_Open(node, column))

    def _add(self, node: Node) -> None:
        self.open[-1].parts.append(node)

    def _close(self) -> None:
        closed = self.open.pop()
        if closed.waits:
            raise _Unusual
        _fill(closed.node, closed.parts)
        if self.open:
            self._add(closed.node)

    def _value(self, kind: int, word: str, column: int, depth: int) -> Node:
        """The value that begins with this token."""
        place = self._place(column)
        if kind == _WORD:
            return Scalar(word, True, None, place)
        if kind == _DOUBLE or (kind == _SINGLE and self.line[self.at : self.at + 1] != "'"):
            return Scalar(word, False, None, place)
        if word not in _CLOSED_BY or kind != _SIGN or depth >= DEEPEST:
            raise _Unusual
        node: Sequence | Mapping = Sequence(place) if word == "[" else Mapping(place)
        closed_by = (_SIGN, _CLOSED_BY[word])
        parts: list[Node] = []
        token = self._token()
        while token[:2] != closed_by or parts:
            if isinstance(node, Mapping):
                if token[0] != _KEY:
                    raise _Unusual
                parts.append(Scalar(token[1], True, None, self._place(token[2])))
                token = self._token()
            parts.append(self._value(*token, depth + 1))
            token = self._token()
            if token[:2] == closed_by:
                break
            if token[:2] != (_SIGN, ","):
                raise _Unusual
            token = self._token()
        _fill(node, parts)
        return node


def _fill(node: Sequence | Mapping, parts: list[Node]) -> None:
    node.size += sum([part.size for part in parts])
    node.height += max([part.height for part in parts], default=0)
    if isinstance(node, Sequence):
        node.items = parts
    else:
        node.pairs = list(zip(parts[::2], parts[1::2], strict=True))
