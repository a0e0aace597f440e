"""The patterns of pinnings: lists and ranges of numbers, or a regular expression over whole decimal numbers.

Source: reference library 0.81.1. Expressions are ECMAScript's as the reference reads it; the part of it that Python writes
differently or that could take for ever is refused with a reason.
"""

from __future__ import annotations

import re
import warnings

from mgd.lean import dataclass

LONGEST = 200
MOST_QUANTIFIERS = 8
_LIST = r"[0-9,\- \t]+"
_POSIX = {
    "[:digit:]": "0-9",
    "[:d:]": "0-9",
    "[:alnum:]": "0-9A-Za-z",
    "[:xdigit:]": "0-9A-Fa-f",
    "[:alpha:]": "A-Za-z",
}
_ATOM = r"\\(?P<escape>.)|(?P<set>\[\^?(?:\[:[a-z]+:\]|\\.|[^\]\\])*\])|(?P<group>\(\?.?|\()|(?P<count>\{[^}]*\}?)|(?P<many>[*+?])|(?P<plain>.)"
_COUNT = r"\{([0-9]{1,4})(?:,([0-9]{0,4}))?\}"


class PatternError(ValueError):
    """The pattern means nothing; the text says why."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that has been read: either ranges of numbers (inclusive) or an expression."""

    text: str
    ranges: tuple[tuple[int, int], ...] = ()
    expression: re.Pattern[str] | None = None
    quantifiers: int = 0

    def cost(self, count: int) -> int:
        """A bound, in rough steps, on selecting among `count` numbers."""
        return count << self.quantifiers if self.expression else len(self.ranges) + count

    def select(self, numbers: range | tuple[int, ...]) -> tuple[int, ...]:
        """The numbers that match, in their own order."""
        if self.expression is not None:
            matches = self.expression.fullmatch
            return tuple(n for n in numbers if matches(str(n)))
        if isinstance(numbers, range) and numbers.start == 0 and numbers.step == 1:
            top = numbers.stop - 1
            chosen: set[int] = set()
            for low, high in self.ranges:
                if low <= top:
                    chosen.update(range(low, min(high, top) + 1))
            return tuple(sorted(chosen))
        return tuple(n for n in numbers if any(low <= n <= high for low, high in self.ranges))


def read_pattern(text: str) -> Pattern:
    """Read a pattern. Raises PatternError."""
    trimmed = text.strip(" \t\r\n\v\f")
    if not trimmed:
        raise PatternError("the pattern is blank")
    if re.fullmatch(_LIST, trimmed):
        return Pattern(text, ranges=_ranges(trimmed))
    return _expression(text, trimmed)


def _ranges(trimmed: str) -> tuple[tuple[int, int], ...]:
    tokens = trimmed.split(",")
    if len(tokens) > 1 and not tokens[-1].strip():
        tokens.pop()
    return tuple(sorted({_range(token.strip()) for token in tokens}))


def _range(token: str) -> tuple[int, int]:
    """`3` or `3-7`; of more dashes only the first two numbers count, as in the reference."""
    if not token:
        raise PatternError("the list has an empty entry")
    ends = [end.strip() for end in token.split("-")][:2]
    for end in ends:
        if not end.isdigit() or len(end) > 19:
            raise PatternError(f"malformed range {token[:30]!r}")
    low, high = int(ends[0]), int(ends[-1])
    if low > high:
        raise PatternError(f"the range {token[:30]!r} runs backwards")
    return (low, high)


def _expression(text: str, trimmed: str) -> Pattern:
    if len(trimmed) > LONGEST:
        raise PatternError(f"the expression is longer than {LONGEST} characters")
    parts, quantifiers = [], 0
    before, found = "start", None
    for found in re.finditer(_ATOM, trimmed, re.S):
        kind = found.lastgroup or "plain"
        word = found[0]
        if kind == "group":
            _check_group(word, trimmed, found.start())
        elif kind == "set":
            for name, members in _POSIX.items():
                word = word.replace(name, members)
        elif kind == "escape" and ((word[1].isdigit() and word[1] != "0") or word[1] in "AZkpPuxNU"):
            raise PatternError(f"{word} is not supported")
        elif kind in ("many", "count"):
            if kind == "count":
                _check_count(word)
            if before in ("many", "count") and word != "?":
                raise PatternError(f"nothing to repeat before {word}")
            if before == "lazy" or before == "start":
                raise PatternError(f"nothing to repeat before {word}")
            lazy = before in ("many", "count")
            quantifiers += not lazy
            kind = "lazy" if lazy else kind
        parts.append(word)
        before = kind
    if quantifiers > MOST_QUANTIFIERS:
        raise PatternError(f"the expression has more than {MOST_QUANTIFIERS} quantifiers")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile("".join(parts), re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(f"not a regular expression: {error}") from None
    return Pattern(text, expression=compiled, quantifiers=quantifiers)


def _check_group(word: str, trimmed: str, start: int) -> None:
    if word.startswith("(?") and word not in ("(?:", "(?=", "(?!"):
        raise PatternError(f"{trimmed[start : start + 4]!r} is not an ECMAScript group")


def _check_count(word: str) -> None:
    found = re.fullmatch(_COUNT, word)
    if not found or (found[2] and int(found[1]) > int(found[2])):
        raise PatternError(f"malformed repetition {word[:20]!r}")
    if max(int(found[1]), int(found[2] or 0)) > 1000:
        raise PatternError(f"the repetition {word} is larger than 1000")
