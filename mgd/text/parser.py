"""Text format to descriptor: a loop over one regular expression for what is ordinary, the token reader for all else.

One match of `_ITEM` is a whole `name: value`, `name {` or `}` with the blanks and comments behind it. Whatever it does not
match (lists, signs, escapes, joined strings, angle brackets, unknown fields, mistakes) goes to `mgd.text.complete`, which reads one field
token by token and hands back. What the loop pays, with equal results and findings on all 371 texts of the tests and recordings: 358
against 1,087 ms for 4.9 MB, 1.1 against 3.6 ms for the 13 KB of the largest shipped descriptor (CPython 3.11). To compile the expression
takes 0.8 ms, in which the token reader reads a small text to its end. Blocks are kept on a stack, not in Python's: nesting costs no recursion.
"""

from __future__ import annotations

import re

from mgd.descriptor import Descriptor
from mgd.text.complete import CompleteReader
from mgd.text.frames import Frame
from mgd.text.grammar import BOOL, BOOLS, ENUM, INT, MESSAGE, STRING
from mgd.text.lexer import BLANK, IDENTIFIER, SKIP, after_blanks
from mgd.text.problems import Problems
from mgd.text.source import Source

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_INTEGER, _QUOTED, _OPEN, _COLON_OPEN, _CLOSE, _OTHER = 2, 4, 5, 6, 7, 8  # numbers of the groups below
_DONE = SKIP + r"[,;]?" + SKIP
# Whatever follows a SKIP that can fail begins with a character that no SKIP contains: failing costs one pass, not a square.
_ITEM = (
    rf"({IDENTIFIER}){SKIP}(?:"
    rf":{SKIP}(?:((?:-(?=[1-9]))?(?:0|[1-9][0-9]{{0,9}}))(?=[\s,;}}#]){_DONE}"
    rf"|({IDENTIFIER})(?=[\s,;}}#]){_DONE}"
    rf"|\"([^\"\\\n\0]*)\"(?!{BLANK}[\"'#]){_DONE}"
    rf"|(\{{){SKIP})"
    rf"|(\{{){SKIP})"
    rf"|(\}}){_DONE}"
    r"|()"
)
SMALL = 4000
"""Characters of a text for which the expression is not worth compiling."""


def parse(source: Source) -> tuple[Descriptor | None, Problems]:
    """The descriptor of a text (None when its syntax is wrong) and every problem found."""
    problems = Problems(source)
    reader = CompleteReader(source, problems)
    position = after_blanks(source.text, 0)
    if len(source.text) < SMALL:
        while position >= 0:
            position = reader.read(position)
    else:
        find_items = re.compile(_ITEM, re.ASCII).finditer
        while position >= 0:
            position = _ordinary(source.text, position, reader, find_items)
    if problems.errors:
        return None, problems
    frame = reader.frame
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in zip(frame.grammar.slots, frame.values, strict=True)
    }
    return Descriptor(**values, source=source, notices=tuple(problems.warnings)), problems


def _ordinary(  # noqa: C901, PLR0912, PLR0915 - one loop without calls is what makes it fast
    text: str,
    position: int,
    reader: CompleteReader,
    find_items: Callable[[str, int], Iterator[re.Match[str]]],
) -> int:
    """Read items as long as they are ordinary, then one that is not; returns where to go on, -1 at the end."""
    stack, frame = reader.stack, reader.frame
    slots, values = frame.grammar.slots, frame.values
    interned: dict[str, str] = reader.interned
    most = reader.MOST_LEVELS
    start = position
    for item in find_items(text, position):
        group = item.lastindex
        start = item.start()
        if group == _CLOSE:
            if frame.closer != "}" or frame.listing:
                break
            made = frame.value()
            slot = frame.slot
            frame = stack.pop()
            slots, values = frame.grammar.slots, frame.values
            if slot is not None:
                _put(values, slot.index, slot.repeated, made)
            continue
        if group == _OTHER:
            break
        slot = slots.get(item[1])
        if slot is None or slot.bit & frame.seen:
            break
        kind = slot.kind
        value: Any
        if group in (_OPEN, _COLON_OPEN):
            if kind != MESSAGE or len(stack) >= most:
                break
            frame.seen |= slot.bit
            stack.append(frame)
            frame = Frame(slot.message, "}", start, slot)  # type: ignore[arg-type]
            slots, values = frame.grammar.slots, frame.values
            continue
        if group == _INTEGER:
            if kind != INT:
                break
            value = int(item[2])
            if not slot.low <= value <= slot.high:
                break
        elif group == _QUOTED:
            if kind != STRING:
                break
            value = item[4]
            value = interned.setdefault(value, value)
        elif kind == ENUM:
            value = slot.names.get(item[3])
            if value is None:
                break
        elif kind == BOOL:
            value = BOOLS.get(item[3])
            if value is None:
                break
        else:
            break
        frame.seen |= slot.bit
        if not slot.repeated:
            values[slot.index] = value
        elif values[slot.index]:
            values[slot.index].append(value)
        else:
            values[slot.index] = [value]
    reader.frame = frame
    return reader.read(start)


def _put(values: list[Any], index: int, repeated: bool, made: Any) -> None:
    if not repeated:
        values[index] = made
    elif values[index]:
        values[index].append(made)
    else:
        values[index] = [made]
