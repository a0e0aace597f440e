"""The structure of a text, one field or block end at a time: all that the format allows, and every mistake explained."""

from __future__ import annotations

from mgd.diagnostics import Diagnostic
from mgd.text import problems as codes
from mgd.text.frames import Frame
from mgd.text.grammar import MESSAGE, UNKNOWN, Grammar, Slot
from mgd.text.lexer import integer
from mgd.text.problems import Problems, nearest, quote_text
from mgd.text.renamed import renamed
from mgd.text.scalars import ScalarReader
from mgd.text.source import Source
from mgd.text.tokens import Stop


class CompleteReader(ScalarReader):
    """Reads one field, or the end of a block, at a time; those that the parser's quick loop knows never come here."""

    MOST_LEVELS = 200  # of nesting; protobuf's own binary decoders stop at 100

    def __init__(self, source: Source, problems: Problems) -> None:
        super().__init__(source, problems)
        self.stack: list[Frame] = []
        # Fields of a block around the one that holds them: that, place, name, warning.
        self._misplaced: list[tuple[Frame, int, str, Diagnostic]] = []

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
        except Stop:
            return -1
        return self.start

    def _text_end(self) -> None:
        if self.stack and not self._lost:
            # What belongs outside of the block tells where it should have been closed, and is no mistake of its own.
            behind = [each for each in self._misplaced if each[0] is self.frame]
            for *_, warning in behind:
                self.problems.warnings.remove(warning)
            help = f"add {self.frame.closer}"
            if behind:
                _, at, name, _ = behind[0]
                help += f" before {quote_text(name)} in line {self.source.position(at).line}"
            self.problems.error(codes.NOT_CLOSED, max(self.frame.at, 0), "a block is never closed", help=help)

    def _eof(self, wanted: str) -> None:
        if self.stack:
            self._text_end()
        else:
            super()._eof(wanted)

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

    def _open(self, grammar: Grammar, slot: Slot | None, at: int, listing: int = 0) -> None:
        """Open a block at the current brace."""
        if len(self.stack) >= self.MOST_LEVELS:
            self.problems.error(
                codes.TOO_DEEP,
                self.start,
                f"blocks are nested deeper than {self.MOST_LEVELS}",
                help="nest less",
            )
            raise Stop
        self.stack.append(self.frame)
        self.frame = Frame(grammar, "}" if self.word == "{" else ">", at, slot, listing)
        self._next()

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
            return self._unexpected(f'":" and {slot.wanted} after {slot.name}', self._with_colon(name))
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

    def _with_colon(self, name: str) -> str:
        """What to write for a value that follows its name without a colon."""
        if self.kind in ("name", "number", "string") or self.word in ("[", "-"):
            return f"write {quote_text(name)}: {quote_text(self.word)}"
        return ""

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
        return self._unexpected(
            f'"{{" after {slot.name}', f"write {slot.name} {{ … }}" if self.word == "-" else ""
        )

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
                    return self._unexpected('"," or "]" in a list', 'write "," between the items of a list')
            if self.kind == "open" and (slot is None or slot.kind == MESSAGE):
                grammar = UNKNOWN if slot is None or slot.message is None else slot.message
                return self._open(grammar, slot, self.start, depth)
            if slot is None and self._accept("["):
                depth, fresh = depth + 1, True
                continue
            if self.word in ("]", ",") and self.kind == "mark":
                return self._unexpected(
                    "a list item", "remove the comma before it" if self.word == "]" else "remove it"
                )
            if slot is None:
                self._unknown_scalar()
            elif slot.kind == MESSAGE:
                return self._wrong(slot)
            else:
                self._scalar(slot)
            if self._lost and self.kind in ("end", "close"):
                return None
            fresh = False

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
                codes.UNEXPECTED, at, f"{quote_text(name)} names a type outside an Any", help="remove it"
            )
        return self._unknown(name, at)

    def _unknown(self, name: str, at: int) -> None:
        colon = self._accept(":")
        if not colon and self.kind != "open":
            return self._unexpected(f'":" or "{{" after {quote_text(name)}', self._with_colon(name))
        if self.frame.grammar is not UNKNOWN:
            self._warn_unknown(name, at)
        if self.kind == "open":
            return self._open(UNKNOWN, None, at)
        if self.word == "[" and self.kind == "mark":
            self._next()
            return self._list(None, 1)
        self._unknown_scalar()
        return self._separator()

    def _warn_unknown(self, name: str, at: int) -> None:
        if len(self.problems.warnings) >= codes.MOST:
            return
        grammar = self.frame.grammar
        told = f"{grammar.name} has no field {quote_text(name)}; it is skipped"
        if advice := renamed(grammar.name, name):
            self.problems.warning(codes.OLD_FIELD, at, told, label="a name of an older schema", help=advice)
            return
        outer = next((frame.grammar for frame in reversed(self.stack) if name in frame.grammar.slots), None)
        near = nearest(name, grammar.slots)
        if outer is not None:  # a closing brace is missing before it
            help = f"it is a field of {outer.name}: close {grammar.name} before it with {self.frame.closer}"
        else:
            help = f"did you mean {near}?" if near else f"its fields are {', '.join(grammar.slots)}"
        self.problems.warning(codes.UNKNOWN_FIELD, at, told, help=help)
        if outer is not None:
            self._misplaced.append((self.frame, at, name, self.problems.warnings[-1]))
