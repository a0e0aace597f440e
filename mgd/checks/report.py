"""Where checks put what they find."""

from __future__ import annotations

from mgd.descriptor import Descriptor
from mgd.diagnostics import Diagnostic, Label, Severity
from mgd.lean import dataclass
from mgd.rules import severity_of

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

MOST = 200
"""Findings that are kept of one rule: a large file with one mistake in every line stays readable, and quick to check."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A message of the descriptor, or a value of one of its fields, and what is to be seen there."""

    message: Any
    name: str
    nth: int
    text: str


class Report:
    """Findings about one descriptor; `profile` decides how much the runtime's own rules weigh."""

    def __init__(self, descriptor: Descriptor, profile: str = "full") -> None:
        self.descriptor, self.profile = descriptor, profile
        self.findings: list[Diagnostic] = []
        self._flagged: set[int] = set()
        self._counts: dict[str, int] = {}

    def is_full(self, code: str) -> bool:
        """True when a rule has been broken so often that more of it need not be looked for."""
        return self._counts.get(code, 0) >= MOST

    def flag(self, message: Any) -> None:
        """Note that a message is refused already, so that what follows from it is not told again."""
        self._flagged.add(id(message))

    def is_flagged(self, message: Any) -> bool:
        return id(message) in self._flagged

    def add(
        self, code: str, message: str, *places: Spot | Label, help: str = "", notes: tuple[str, ...] = ()
    ) -> None:
        """Report a violation of a rule; its first place is the culprit. Of one rule the first MOST are kept."""
        if self.is_full(code):
            return
        self._counts[code] = self._counts.get(code, 0) + 1
        labels = tuple(each if isinstance(each, Label) else self._label(each) for each in places)
        found = Diagnostic(code, message, labels, help, severity_of(code, self.profile), notes)
        self.findings.append(found)

    def at(self, message: Any = None, name: str = "", index: int = 0, text: str = "") -> Spot:
        """A place in the descriptor: a message, or the value of one of its fields. Its position is looked up when it is needed."""
        return Spot(message, name, index, text)

    def _label(self, spot: Spot) -> Label:
        return Label(self.descriptor.where(spot.message, spot.name, spot.nth), spot.text)

    @property
    def has_errors(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.findings)
