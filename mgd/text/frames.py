"""An open block while it is read."""

from __future__ import annotations

from mgd.text.grammar import Grammar, Slot

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any


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
