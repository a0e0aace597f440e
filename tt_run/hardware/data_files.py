"""Data files of the hardware as nodes with positions: what they may hold is checked here, and every refusal names file, line and column."""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from mgd.diagnostics import Position
    from mgd.documents import Document, Node, Scalar

MOST = 8
"""Findings that one message lists."""


class HardwareError(ValueError):
    """A data file that cannot be used, or a number that it does not give: the message names file, line and key.

    `found` are the places of a file and what is wrong there, where there are such; `near` is the number that a wrong key is nearest to.
    """

    def __init__(
        self, text: str, found: tuple[tuple[Position, str], ...] = (), near: str | None = None
    ) -> None:
        super().__init__(text)
        self.found = found
        self.near = near


class DataFile:
    """A YAML file whose root is a map, and what has been found wrong with it so far; `settle` raises that."""

    def __init__(self, path: Path) -> None:
        """Reads the file. Raises HardwareError with the position for a file that is no YAML."""
        from mgd.documents import DocumentError, read

        self.path = path
        self._found: list[tuple[Position, str]] = []
        try:
            self.document: Document = read(path.read_bytes(), file=str(path))
        except OSError as error:
            raise HardwareError(f"{path}: {error.strerror}") from None
        except DocumentError as error:
            hint = f"; help: {error.help}" if error.help else ""
            told = f"not YAML: {error.reason}{hint}"
            raise HardwareError(f"{error.position}: {told}", ((error.position, told),)) from None

    def refuse(self, node: Node | None, reason: str) -> None:
        """Note a finding at a node; on the first line for None."""
        from mgd.diagnostics import Position

        place = Position(self.document.file, 1, 1) if node is None else self.document.position(node)
        self._found.append((place, reason))

    def settle(self) -> None:
        """Raises HardwareError with what has been noted, if anything has."""
        if self._found:
            more = len(self._found) - MOST
            rest = [f"and {more} more"] if more > 0 else []
            told = [f"{position}: {reason}" for position, reason in self._found[:MOST]]
            raise HardwareError("\n".join([*told, *rest]), tuple(self._found))

    def fields(
        self, node: Node | None, told: str, known: Collection[str] | None = None
    ) -> dict[str, tuple[Scalar, Node]]:
        """Key and value of each field of a map (`told` in messages); none for an empty node. Notes keys that are not `known`, and repeated ones."""
        from mgd.documents import Mapping, Scalar

        if node is None or (isinstance(node, Scalar) and node.kind == "null"):
            return {}
        if not isinstance(node, Mapping):
            self.refuse(node, f"{told} is a map of keys, not {node.shown()}")
            return {}
        seen: dict[str, int] = {}
        for key, _ in node.pairs:
            if not isinstance(key, Scalar):
                self.refuse(key, f"{told}: a key is a word, not {key.shown()}")
            elif key.text in seen and key.text != "<<":
                self.refuse(key, f"{told}: {key.text} stands there twice, first in line {seen[key.text]}")
            else:
                seen[key.text] = key.line
        if known is not None:
            for name, (key, _) in node.fields.items():
                if name not in known:
                    self.refuse(key, f"{told}: unknown key {name!r}; {nearest_known(name, known)}")
        return node.fields

    def number(self, node: Node | None, told: str, *, above: float = -math.inf) -> float:
        """A finite number above a bound; notes anything else, and gives 1."""
        value = None if node is None else node.value()
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            shown = "nothing" if node is None else node.shown()
            self.refuse(node, f"{told}: {shown!r} is not a number{_exponent(value)}")
        elif not math.isfinite(value) or value <= above:
            bound = "" if above == -math.inf else f" above {above:g}"
            self.refuse(node, f"{told}: {value} is not a finite number{bound}")
        else:
            return float(value)
        return 1.0

    def positive_integer(self, node: Node, told: str) -> int:
        """A whole number of at least 1; notes anything else, and gives 1."""
        value = node.value()
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.refuse(node, f"{told}: {node.shown()} is not a whole number above 0")
            return 1
        return value


def nearest_known(word: str, known: Collection[str]) -> str:
    """`did you mean X?`, or what is known where nothing resembles the word."""
    from difflib import get_close_matches

    if not known:
        return "there are none"
    found = get_close_matches(word[:80], known, 1)
    if found:
        return f"did you mean {found[0]}?"
    return f"known: {', '.join(known)}" if len(known) <= MOST else "nothing here resembles it"


def _exponent(value: object) -> str:
    """What to write where YAML 1.1 takes a number such as `1e-05` for a text."""
    try:
        number = float(value) if isinstance(value, str) and "e" in value.lower() else None
    except ValueError:
        return ""
    if number is None or not math.isfinite(number):
        return ""
    mantissa, _, power = str(value).lower().partition("e")
    sign = "" if power[:1] in "+-" else "+"
    return f"; write {mantissa}{'' if '.' in mantissa else '.0'}e{sign}{power}, with a point and a sign"
