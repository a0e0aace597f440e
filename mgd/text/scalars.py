"""Scalar values, token by token: numbers, names, strings, and what else stands where one is wanted."""

from __future__ import annotations

import re

from mgd.text import problems as codes
from mgd.text.frames import Frame
from mgd.text.grammar import BOOL, BOOLS, ENUM, INT, STRING, Slot, root_grammar
from mgd.text.lexer import BadEscape, integer, is_number, string_bytes, text_of
from mgd.text.problems import Problems, nearest, quote_text
from mgd.text.source import Source
from mgd.text.tokens import TokenReader

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

CURLY = frozenset("“”„‟‘’‚«»")
"""Typographic quotes, which word processors and web pages put in the place of straight ones."""


class ScalarReader(TokenReader):
    """Reads one scalar into the block that is open (`frame`)."""

    def __init__(self, source: Source, problems: Problems) -> None:
        super().__init__(source, problems)
        self.frame = Frame(root_grammar(), "", -1, None)
        self.interned: dict[str, str] = {}

    def _store(self, slot: Slot, value: Any) -> None:
        values = self.frame.values
        if not slot.repeated:
            values[slot.index] = value
        elif values[slot.index]:
            values[slot.index].append(value)
        else:
            values[slot.index] = [value]

    def _scalar(self, slot: Slot) -> None:
        """Read one scalar into its slot."""
        if slot.kind == STRING and self.kind == "string":
            return self._store(slot, self._string())
        if (
            slot.kind == STRING
            or self.kind not in ("name", "number", "mark")
            or (self.kind == "mark" and self.word != "-")
        ):
            return self._wrong(slot)
        start, negative = self.start, self.word == "-"
        if negative:
            self._next()
        if self.kind == "number":
            value = integer(self.word)
            if value is None:
                return self._wrong(slot, start)
            return self._number(slot, -value if negative else value, start, negative)
        if self.kind != "name" or negative or slot.kind == INT:
            return self._wrong(slot, start)
        if slot.kind == BOOL:
            if self.word not in BOOLS:
                return self._wrong(slot)
            value = BOOLS[self.word]
        else:
            if self.word not in slot.names:
                return self._unknown_enum(slot)
            value = slot.names[self.word]
        self._next()
        return self._store(slot, value)

    def _number(self, slot: Slot, value: int, start: int, negative: bool) -> None:
        """Store an integer of an int, enum or bool field; `-0` is not a uint32 in the reference either."""
        low, high = {INT: (slot.low, slot.high), ENUM: (-(1 << 31), (1 << 31) - 1)}.get(slot.kind, (0, 1))
        if not low <= value <= high or (negative and low == 0):
            literal = quote_text(self.text[start : self.end])
            told = f"{slot.name} is {literal}; it lies between {low} and {high}"
            help = f"write {slot.wanted}" if slot.kind == BOOL else f"write a number from {low} to {high}"
            self.problems.error(codes.OUT_OF_RANGE, start, told, help=help)
            return self._next()
        self._next()
        if slot.kind == BOOL:
            return self._store(slot, bool(value))
        if slot.kind == ENUM:
            by_number = {member.value: member for member in slot.names.values()}
            return self._store(slot, by_number.get(value, value))
        return self._store(slot, value)

    def _string(self) -> str:
        parts = []
        while self.kind == "string":
            try:
                parts.append(string_bytes(self.word))
            except BadEscape as bad:
                self.problems.error(
                    codes.BAD_STRING, self.start + bad.offset, f"{quote_text(bad.sequence)} is not an escape sequence",
                    help=r"write \\ for a backslash",
                )  # fmt: skip
            self._next()
        value = text_of(b"".join(parts))
        return self.interned.setdefault(value, value)

    def _unknown_enum(self, slot: Slot) -> None:
        near = nearest(self.word, slot.names)
        listed = ", ".join(name for name, member in slot.names.items() if member)  # 0 stands for none of them
        self.problems.error(
            codes.UNKNOWN_ENUM, self.start, f"{slot.name} has no value {quote_text(self.word)}; it is one of {listed}",
            help=f"write {near}" if near else f"write one of {listed}",
        )  # fmt: skip
        self._next()

    def _wrong(self, slot: Slot, start: int | None = None) -> None:
        """The current token is not what the field holds."""
        found = {"open": "a block", "end": "the end of the file"}.get(self.kind) or quote_text(self.word)
        help = f"write {slot.wanted}"
        if slot.name == "graph_topology" and self.kind == "name":
            help = f"write graph_topology {{ layout_type: {quote_text(self.word)} channels {{ count: 1 }} }}"
        elif slot.kind == ENUM and self.kind == "string" and self.word[1:-1] in slot.names:
            help = f"write {self.word[1:-1]} without quotes"
        elif slot.kind == STRING and self.kind == "name":
            help = f'write "{quote_text(self.word)}" in quotes'
        elif slot.kind == STRING and self.word in CURLY:
            inside = re.split(r"[“”„‟‘’‚«»\"'\n]", self.text[self.start + 1 :], maxsplit=1)[0]
            help = f'write "{inside}" with straight quotes'
        elif slot.kind == INT and slot.repeated and (sizes := self._sizes()):
            help = f"write [{', '.join(sizes)}]"
        self.problems.error(
            codes.WRONG_TYPE,
            self.start if start is None else start,
            f"{slot.name} wants {slot.wanted}, found {found}",
            help=help,
        )
        if self.kind in ("open",) or self.word == "[":
            self._skip_balanced()
        elif self.word in CURLY:
            self._skip_curly()
        elif self.kind == "string":
            while self.kind == "string":
                self._next()
        elif self.kind in ("name", "number"):
            self._next()
            self._separator()
        else:
            self._resume()

    def _sizes(self) -> list[str]:
        """The numbers of a shape in another form: `2x4`, "2x4", "2, 4" or (2, 4); none where it is none."""
        inside = re.match(r"\(([^()\n]*)\)", self.text[self.start :]) if self.word == "(" else None
        shape = inside[1] if inside else self.word.strip("\"'")
        parts = re.split(r"\s*[x,]\s*", shape.strip())
        return parts if len(parts) > 1 and all(re.fullmatch(r"[0-9]{1,6}", each) for each in parts) else []

    def _skip_curly(self) -> None:
        """Skip a text in typographic quotes, up to the second of them in its line."""
        line_end = self.text.find("\n", self.start)
        self._next()
        while self.kind != "end" and (line_end < 0 or self.start < line_end):
            closes = self.word in CURLY
            self._next()
            if closes:
                break
        self._separator()

    def _unknown_scalar(self) -> None:
        if self.kind == "string":
            self._string()
            return None
        negative = self._accept("-")
        allowed = self.kind == "number" and is_number(self.word)
        if self.kind == "name":
            allowed = not negative or self.word.lower() in ("inf", "infinity", "nan")
        if not allowed:
            return self._unexpected("a value")
        return self._next()
