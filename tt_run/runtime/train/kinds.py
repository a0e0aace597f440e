"""Kinds of settings: numbers in ranges, flags, texts, names of which one is taken, lists, maps and sections; what each takes and refuses."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from typing import Any

from tt_run.runtime.train.settings import ConfigurationProblems, Kind, Section, value_words


class _Number:
    """A number; text counts where it reads as one, for YAML 1.1 takes 3e-4 and 1e3 for words."""

    def __init__(self, low: float, below: float, high: float, is_whole: bool) -> None:
        self.low, self.below, self.high, self.is_whole = low, below, high, is_whole

    @property
    def in_words(self) -> str:
        """What it takes, in words."""
        limits = (("at least", self.low), ("below", self.below), ("at most", self.high))
        bounds = [f"{word} {limit:g}" for word, limit in limits if math.isfinite(limit)]
        return ", ".join(["a whole number" if self.is_whole else "a number", *bounds])

    def read(self, value: Any, report: ConfigurationProblems) -> float | int | None:
        found = self._number(value)
        if found is None:
            why = f": {value_words(value)} is not a number"
        elif self.is_whole and found != int(found):
            why = f": {value_words(value)} is not a whole number"
        elif found < self.low:
            why = f" must be at least {self.low:g}, not {value_words(value)}"
        elif found >= self.below:
            why = f" must be below {self.below:g}, not {value_words(value)}"
        elif found > self.high:
            why = f" must be at most {self.high:g}, not {value_words(value)}"
        else:
            return int(found) if self.is_whole else float(found)
        report.wrong(why, self._example())
        return None

    def _example(self) -> str:
        """A number that fits."""
        usual = (
            (1, 8) if self.is_whole else (0.001, 1.0) if math.isinf(min(self.below, self.high)) else (0.5,)
        )
        fitting = [n for n in usual if self.low <= n < self.below and n <= self.high]
        return f"{fitting[0] if fitting else self.low if math.isfinite(self.low) else self.high:g}"

    def _number(self, value: Any) -> float | int | None:
        if isinstance(value, (bool, bytes, bytearray, memoryview)):
            return None
        if self.is_whole and isinstance(value, int):
            return value
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
        return found if math.isfinite(found) else None


def number(low: float = -math.inf, *, below: float = math.inf, high: float = math.inf) -> Kind:
    """A finite number of at least `low`, below `below` and at most `high`."""
    return _Number(low, below, high, False)


class _NumberOrInfinity(_Number):
    """A number, or `.inf` for one without a limit."""

    @property
    def in_words(self) -> str:
        return f"{super().in_words}, or .inf"

    def read(self, value: Any, report: ConfigurationProblems) -> float | int | None:
        is_infinite = isinstance(value, (str, float)) and str(value).lstrip("+.").lower() in (
            "inf",
            "infinity",
        )
        return math.inf if is_infinite else super().read(value, report)


def number_or_infinity(low: float) -> Kind:
    """A number of at least `low`, or infinity."""
    return _NumberOrInfinity(low, math.inf, math.inf, False)


def whole_number(low: float = -math.inf, *, high: float = math.inf) -> Kind:
    """A whole number of at least `low` and at most `high`."""
    return _Number(low, math.inf, high, True)


class _Flag:
    in_words = "true or false"

    def read(self, value: Any, report: ConfigurationProblems) -> bool | None:
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        report.wrong(f": {value_words(value)} is not one of true, false", "true")
        return None


class _Text:
    in_words = "a text"

    def read(self, value: Any, report: ConfigurationProblems) -> str | None:
        if isinstance(value, str):
            return str(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value_words(value)
        report.wrong(f": {value_words(value)} is not a text")
        return None


flag: Kind = _Flag()
"""true or false, also in quotes, of which Python would take every one for true."""
text: Kind = _Text()
"""A name or a path."""


class _Choice:
    def __init__(self, names: tuple[str, ...], spelled: Mapping[str, str]) -> None:
        self.names, self.spelled = names, spelled

    @property
    def in_words(self) -> str:
        """What it takes, in words."""
        return " or ".join(self.names)

    def read(self, value: Any, report: ConfigurationProblems) -> str | None:
        word = (value if isinstance(value, str) else value_words(value)).strip().lower()
        word = self.spelled.get(word, word)
        for name in self.names:
            if name.lower() == word:
                return name
        near = difflib.get_close_matches(word, [name.lower() for name in self.names], n=1)
        nearest = next((name for name in self.names if near and name.lower() == near[0]), "")
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        report.wrong(f": {value_words(value)} is not {self.listed}{hint}", "" if nearest else self.names[0])
        return None

    @property
    def listed(self) -> str:
        """The names as a refusal gives them."""
        return f"one of {', '.join(self.names)}"


class _Either(_Choice):
    @property
    def listed(self) -> str:
        *first, last = map(repr, self.names)
        return f"{', '.join(first)} or {last}"


def one_name_of(*names: str, **spelled: str) -> Kind:
    """One of a few names, which a refusal quotes; whatever their case, `spelled` gives other spellings."""
    return _Either(names, spelled)


def choice(*names: str, **spelled: str) -> Kind:
    """One of some names, whatever their case; `spelled` gives other spellings."""
    return _Choice(names, spelled)


class _Shape:
    in_words = "[rows, columns]"

    def read(self, value: Any, report: ConfigurationProblems) -> list[int] | None:
        if isinstance(value, (list, tuple)) and len(value) == 2:
            sides = [_Number(1, math.inf, math.inf, True)._number(side) for side in value]
            if all(isinstance(side, int) and side >= 1 for side in sides):
                return [int(side) for side in sides if side is not None]
        report.wrong(
            f": {value_words(value)} is not a list of 2 positive integers: [rows, columns]; help: [1, 2]"
        )
        return None


shape: Kind = _Shape()
"""[rows, columns] of a mesh."""


class _Several:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    @property
    def in_words(self) -> str:
        """What it takes, in words."""
        return f"a list: each {self.kind.in_words}"

    def read(self, value: Any, report: ConfigurationProblems) -> list[Any] | None:
        if not isinstance(value, (list, tuple)):
            report.wrong(f": {value_words(value)} is not a list")
            return None
        return [self.kind.read(item, report.below(str(number))) for number, item in enumerate(value)]


class _Patterns:
    in_words = "a list of regular expressions"

    def read(self, value: Any, report: ConfigurationProblems) -> list[str] | None:
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            report.wrong(f" must be a list of regex patterns, not {value_words(value)}")
            return None
        for item in value:
            try:
                re.compile(item)
            except (re.error, OverflowError) as error:
                report.wrong(f": {value_words(item)} is an invalid pattern: {error}")
            except RecursionError:
                report.wrong(f": {value_words(item)} is an invalid pattern: nested too deeply")
        return list(value)


patterns: Kind = _Patterns()
"""Regular expressions that names are searched for."""


def list_of(kind: Kind) -> Kind:
    """A list of values of one kind."""
    return _Several(kind)


class _Nested:
    def __init__(self, section: type[Section]) -> None:
        self.section = section

    @property
    def in_words(self) -> str:
        """What it takes, in words."""
        return f"a map, see [{self.section.section}](#{self.section.section})"

    def read(self, value: Any, report: ConfigurationProblems) -> Section:
        made = self.section()
        made.fill(value, report)
        return made


def nested(section: type[Section]) -> Kind:
    """A map of settings of its own."""
    return _Nested(section)


class _CountByRank:
    in_words = "numbers of blocks by rank"

    def read(self, value: Any, report: ConfigurationProblems) -> dict[int, int] | None:
        if not isinstance(value, Mapping):
            report.wrong(f" is a map of ranks and numbers of blocks, not {value_words(value)}")
            return None
        found = {}
        for rank, count in value.items():
            here = report.below(str(rank))
            key, blocks = whole_number(0).read(rank, here), whole_number(0).read(count, here)
            if key is not None and blocks is not None:
                found[key] = blocks
        return found


count_by_rank: Kind = _CountByRank()
"""How many blocks each rank has; ranks may be written as text."""


class _OneOf:
    """A map with one of a few names, and a whole number of at least 1."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    @property
    def in_words(self) -> str:
        """What it takes, in words."""
        return " or ".join(f"{{{name}: N}}" for name in self.names)

    def read(self, value: Any, report: ConfigurationProblems) -> dict[str, int] | None:
        given = value if isinstance(value, Mapping) else {}
        if len(given) != 1 or not set(given) <= set(self.names):
            report.wrong(
                f" takes exactly one of {' and '.join(self.names)}, not {value_words(value)}",
                f"{{{self.names[0]}: 1}}",
            )
            return None
        name, found = next(iter(given.items()))
        count = whole_number(1).read(found, report.below(str(name)))
        return None if count is None else {name: int(count)}


def one_of(*names: str) -> Kind:
    """A map of one of some names to how many of them."""
    return _OneOf(names)
