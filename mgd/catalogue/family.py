"""The rules of one prefix, and how one of them is found by what a person types."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mgd.catalogue.rule import Rule
from mgd.lean import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """The rules of a prefix: what they are about, the command that explains one, and their chapters by first code.

    `load` imports and returns the rules; it is called when a rule is asked for, not before. `page` is the path of the generated page.
    """

    prefix: str
    title: str
    about: str
    command: str
    page: str
    chapters: tuple[tuple[str, str], ...]
    load: Callable[[], Iterable[Rule]]

    def rules(self) -> dict[str, Rule]:
        """Every rule by code, in the order of codes."""
        return {rule.code: rule for rule in sorted(self.load(), key=lambda each: each.code)}

    def find(self, word: str) -> Rule | None:
        """The rule of a code (any case, `mgd12` too), of its number alone (`12` for MGD012) or of a name; None when there is none."""
        key = word.strip()
        bare = key.upper().removeprefix(self.prefix)
        number = bare.isascii() and bare.isdigit() and len(bare) < 4
        code = f"{self.prefix}{int(bare):03d}" if number else key.upper()
        rules = self.rules()
        return rules.get(code) or next((rule for rule in rules.values() if rule.name == key.lower()), None)


def find(word: str, families: Iterable[Family]) -> Rule | None:
    """The rule of a code or name in the first family that has it; only families whose prefix fits are loaded for a code."""
    key = word.strip().upper()
    several = list(families)
    likely = [family for family in several if key.startswith(family.prefix)] or several
    return next((rule for rule in (family.find(word) for family in likely) if rule is not None), None)


def nearest(word: str, families: Iterable[Family], most: int = 2) -> list[str]:
    """The codes, or else the names, that were probably meant."""
    from difflib import get_close_matches

    rules = [rule for family in families for rule in family.rules().values()]
    codes = get_close_matches(word.strip().upper(), [rule.code for rule in rules], n=most)
    return codes or get_close_matches(word.strip().lower(), [rule.name for rule in rules], n=most)
