"""The token reader: everything of the text format, one field at a time, and every mistake explained."""

from __future__ import annotations

from typing import Any

from mgd.text import problems as codes
from mgd.text.grammar import BOOL, BOOLS, ENUM, INT, MESSAGE, STRING, UNKNOWN, Grammar, Slot, root_grammar
from mgd.text.lexer import BadEscape, after_blanks, integer, is_number, match_token, string_bytes, text_of
from mgd.text.problems import Problems, nearest, quoted, shown
from mgd.text.renamed import renamed
from mgd.text.source import Source


class Frame:
    """One open block: what it is made of, how it closes, and the slot of the block around it that it fills.

    `listing` counts the square brackets around it: 0 outside a list.
    """

    __slots__ = ("at", "closer", "grammar", "listing", "seen", "slot", "values")

    def __init__(self, grammar: Grammar, closer: str, at: int, slot: Slot | None, listing: int = 0) -> None:
        self.grammar = grammar
        self.values = grammar.defaults.copy()
        self.seen = 0
        self.closer, self.at, self.slot, self.listing = closer, at, slot, listing

    def value(self) -> Any:
        """The finished message."""
        values = self.values
        for index in self.grammar.lists:
            if values[index]:
                values[index] = tuple(values[index])
        return self.grammar.build(*values, self.at)


class _Stop(Exception):
    """Reading on would only repeat what has been said."""


class RareReader:
    """Reads one field, or the end of a block, at a time; the ordinary ones never come here."""

    MOST_LEVELS = 200  # of nesting; protobuf's own binary decoders stop at 100

    def __init__(self, source: Source, problems: Problems) -> None:
        self.source, self.text, self.problems = source, source.text, problems
        self.stack: list[Frame] = []
        self.frame = Frame(root_grammar(), "", -1, None)
        self.interned: dict[str, str] = {}
        self.kind, self.word, self.start, self.end = "", "", 0, 0
        self._lost = False  # a structural mistake was met: braces may not match from there on
        self._line_end = -1  # of the last one: a second one on its line would only follow from it

    # -- tokens -----------------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        """Make the next token the current one."""
        start = after_blanks(self.text, self.end)
        found = match_token(self.text, start)
        if found is None:
            self.kind, self.word, self.start, self.end = "end", "", start, start
            return
        self.kind, self.word, self.start, self.end = found.lastgroup or "bad", found[0], start, found.end()
        if self.kind == "bad" and self.word in "\"'":
            self._unfinished_string()

    def _unfinished_string(self) -> None:
        line_end = self.text.find("\n", self.start)
        self.end = len(self.text) if line_end < 0 else line_end
        self.problems.error(
            codes.BAD_STRING,
            self.start,
            "a string is not closed on its line",
            help=f"close it with {self.word}",
        )
        self.kind, self.word = "string", '""'

    def _accept(self, mark: str) -> bool:
        if self.word != mark or self.kind == "string":
            return False
        self._next()
        return True

    def read(self, position: int) -> int:
        """Read one field or block end at `position`; returns where the next item begins, -1 when the text is read."""
        self.end = position
        self._next()
        try:
            if self.problems.is_full:
                return -1
            if self.kind == "end":
                self._text_end()
                return -1
            if self.kind == "close":
                self._block_end()
            elif self.kind in ("name", "number"):
                self._field()
            elif self.word == "[":
                self._extension()
            else:
                self._unexpected("a field name")
        except _Stop:
            return -1
        return self.start

    # -- structure --------------------------------------------------------------------------------------------------------

    def _text_end(self) -> None:
        if self.stack and not self._lost:
            self.problems.error(
                codes.NOT_CLOSED,
                max(self.frame.at, 0),
                "a block is never closed",
                help=f"add {self.frame.closer}",
            )

    def _block_end(self) -> None:
        if not self.stack:
            if not self._lost:
                self.problems.error(
                    codes.UNEXPECTED, self.start, f"{self.word} closes nothing", help="remove it"
                )
            self._lost = True
            self._next()
            return
        frame = self.frame
        if self.word != frame.closer:
            self.problems.error(
                codes.UNEXPECTED,
                self.start,
                f"a block closes with {self.word}",
                help=f"close it with {frame.closer}",
            )
        self._next()
        made = frame.value()
        self.frame = self.stack.pop()
        if frame.slot is not None:
            self._store(frame.slot, made)
        if frame.listing:
            self._list(frame.slot, frame.listing, after_item=True)
        else:
            self._separator()

    def _separator(self) -> None:
        if not self._accept(","):
            self._accept(";")

    def _open(self, grammar: Grammar, slot: Slot | None, at: int, listing: int = 0) -> None:
        """Open a block at the current brace."""
        if len(self.stack) >= self.MOST_LEVELS:
            self.problems.error(
                codes.TOO_DEEP,
                self.start,
                f"blocks are nested deeper than {self.MOST_LEVELS}",
                help="nest less",
            )
            raise _Stop
        self.stack.append(self.frame)
        self.frame = Frame(grammar, "}" if self.word == "{" else ">", at, slot, listing)
        self._next()

    def _unexpected(self, wanted: str) -> None:
        """Report the current token and find a place from which reading on makes sense."""
        if self.kind == "end":
            self._text_end() if self.stack else self._eof(wanted)
            self._lost = True
            return
        if self.start > self._line_end:
            help = "comments begin with #" if self.word == "/" else "see the line above it"
            self.problems.error(
                codes.UNEXPECTED, self.start, f"expected {wanted}, found {quoted(self.word)}", help=help
            )
            line_end = self.text.find("\n", self.start)
            self._line_end = line_end if line_end >= 0 else len(self.text)
        self._lost = True
        self._resume()

    def _eof(self, wanted: str) -> None:
        self.problems.error(
            codes.UNEXPECTED, max(len(self.text) - 1, 0), f"expected {wanted}, found the end of the file"
        )

    def _resume(self) -> None:
        """Skip to the next block end, or to the first name on a later line."""
        while self.kind not in ("end", "close"):
            if self.kind == "name" and self.start > self._line_end:
                return
            self._next()

    # -- fields -----------------------------------------------------------------------------------------------------------

    def _field(self) -> None:
        name, at = self.word, self.start
        slot = self.frame.grammar.slots.get(name) if self.kind == "name" else None
        if self.kind == "number" and integer(name) is None:
            return self._unexpected("a field name")
        self._next()
        if slot is None:
            return self._unknown(name, at)
        self._mark(slot, at)
        colon = self._accept(":")
        if slot.kind == MESSAGE:
            return self._message(slot, at)
        if not colon:
            if self.kind == "open":
                return self._wrong(slot)
            return self._unexpected(f'":" and {slot.wanted} after {slot.name}')
        if self.word == "[":
            if slot.repeated:
                self._next()
                return self._list(slot, 1)
            self.problems.error(
                codes.NOT_A_LIST,
                self.start,
                f"{slot.name} holds one value, not a list",
                help="remove the brackets",
            )
            return self._skip_balanced()
        self._scalar(slot)
        self._separator()
        return None

    def _mark(self, slot: Slot, at: int) -> None:
        """Note that a field is given; twice is a mistake, so are two members of a oneof."""
        if self.frame.seen & slot.bit:
            code, message = codes.GIVEN_TWICE, f"{slot.name} is given twice"
            if slot.oneof and self.frame.values[slot.index] is None:
                code, message = (
                    codes.TWO_REFERENCES,
                    f"{slot.name} is given beside another reference; a node is one thing",
                )
            self.problems.error(code, at, message, help="remove one of the two")
        self.frame.seen |= slot.bit

    def _message(self, slot: Slot, at: int) -> None:
        assert slot.message is not None
        if self.word == "[" and self.kind == "mark":
            if slot.repeated:
                self._next()
                return self._list(slot, 1)
            self.problems.error(
                codes.NOT_A_LIST,
                self.start,
                f"{slot.name} holds one message, not a list",
                help="remove the brackets",
            )
            return self._skip_balanced()
        if self.kind == "open":
            return self._open(slot.message, slot, at)
        if self.kind in ("name", "number", "string"):
            return self._wrong(slot)
        return self._unexpected(f'"{{" after {slot.name}')

    def _list(self, slot: Slot | None, depth: int, after_item: bool = False) -> None:
        """Read list items (current token: behind the bracket, or behind an item); returns early when one opens a block."""
        fresh = not after_item
        while True:
            if not fresh or self.word == "]":
                if self._accept("]"):
                    depth -= 1
                    fresh = False
                    if depth:
                        continue
                    return self._separator()
                if not self._accept(","):
                    return self._unexpected('"," or "]" in a list')
            if self.kind == "open" and (slot is None or slot.kind == MESSAGE):
                grammar = UNKNOWN if slot is None or slot.message is None else slot.message
                return self._open(grammar, slot, self.start, depth)
            if slot is None and self._accept("["):
                depth, fresh = depth + 1, True
                continue
            if self.word in ("]", ",") and self.kind == "mark":
                return self._unexpected("a list item")
            if slot is None:
                self._unknown_scalar()
            elif slot.kind == MESSAGE:
                return self._wrong(slot)
            else:
                self._scalar(slot)
            if self._lost and self.kind in ("end", "close"):
                return None
            fresh = False

    def _store(self, slot: Slot, value: Any) -> None:
        values = self.frame.values
        if not slot.repeated:
            values[slot.index] = value
        elif values[slot.index]:
            values[slot.index].append(value)
        else:
            values[slot.index] = [value]

    # -- values -----------------------------------------------------------------------------------------------------------

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
            literal = shown(self.text[start : self.end])
            self.problems.error(
                codes.OUT_OF_RANGE, start, f"{slot.name} is {literal}; it lies between {low} and {high}",
                help=f"write a number from {low} to {high}",
            )  # fmt: skip
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
                    codes.BAD_STRING, self.start + bad.offset, f"{shown(bad.sequence)} is not an escape sequence",
                    help=r"write \\ for a backslash",
                )  # fmt: skip
            self._next()
        value = text_of(b"".join(parts))
        return self.interned.setdefault(value, value)

    def _unknown_enum(self, slot: Slot) -> None:
        near = nearest(self.word, slot.names)
        listed = ", ".join(slot.names)
        self.problems.error(
            codes.UNKNOWN_ENUM, self.start, f"{slot.name} has no value {shown(self.word)}; it is one of {listed}",
            help=f"write {near}" if near else f"write one of {listed}",
        )  # fmt: skip
        self._next()

    def _wrong(self, slot: Slot, start: int | None = None) -> None:
        """The current token is not what the field holds."""
        found = "a block" if self.kind == "open" else shown(self.word)
        help = f"write {slot.wanted}"
        if slot.name == "graph_topology" and self.kind == "name":
            help = f"write graph_topology {{ layout_type: {shown(self.word)} channels {{ count: 1 }} }}"
        elif slot.kind == ENUM and self.kind == "string" and self.word[1:-1] in slot.names:
            help = f"write {self.word[1:-1]} without quotes"
        elif slot.kind == STRING and self.kind == "name":
            help = f'write "{shown(self.word)}" in quotes'
        self.problems.error(
            codes.WRONG_TYPE,
            self.start if start is None else start,
            f"{slot.name} wants {slot.wanted}, found {found}",
            help=help,
        )
        if self.kind in ("open",) or self.word == "[":
            self._skip_balanced()
        elif self.kind == "string":
            while self.kind == "string":
                self._next()
        elif self.kind in ("name", "number"):
            self._next()
            self._separator()
        else:
            self._resume()

    def _skip_balanced(self) -> None:
        """Skip a bracketed value that has already been refused."""
        depth = 0
        while self.kind != "end":
            if self.kind == "open" or self.word == "[":
                depth += 1
            elif self.kind == "close" or self.word == "]":
                depth -= 1
            self._next()
            if depth <= 0:
                break
        self._separator()

    # -- what the schema does not know --------------------------------------------------------------------------------------

    def _extension(self) -> None:
        """`[my.ext]: 3` is skipped; the URL of an Any is refused outside one."""
        at = self.start
        self._next()
        url = False
        while self.kind in ("name", "number") or self.word in (".", "/", "-"):
            url |= self.word == "/"
            self._next()
        if self.word != "]" or self.text[at : self.start].strip("[ \t\r\n") == "":
            return self._unexpected("an extension name in brackets")
        name = self.text[at : self.end]
        self._next()
        if url and self.frame.grammar is not UNKNOWN:
            self.problems.error(
                codes.UNEXPECTED, at, f"{shown(name)} names a type outside an Any", help="remove it"
            )
        return self._unknown(name, at)

    def _unknown(self, name: str, at: int) -> None:
        if self.frame.grammar is not UNKNOWN:
            self._warn_unknown(name, at)
        colon = self._accept(":")
        if self.kind == "open":
            return self._open(UNKNOWN, None, at)
        if not colon:
            return self._unexpected(f'":" or "{{" after {shown(name)}')
        if self.word == "[" and self.kind == "mark":
            self._next()
            return self._list(None, 1)
        self._unknown_scalar()
        return self._separator()

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

    def _warn_unknown(self, name: str, at: int) -> None:
        if len(self.problems.warnings) >= codes.MOST:
            return
        grammar = self.frame.grammar
        told = f"{grammar.name} has no field {shown(name)}; it is skipped"
        if advice := renamed(grammar.name, name):
            self.problems.warning(codes.OLD_FIELD, at, told, label="a name of an older schema", help=advice)
            return
        near = nearest(name, grammar.slots)
        self.problems.warning(
            codes.UNKNOWN_FIELD, at, told,
            help=f"did you mean {near}?" if near else f"its fields are {', '.join(grammar.slots)}",
        )  # fmt: skip
