"""Where checks put what they find."""

from __future__ import annotations

from typing import Any

from mgd.descriptor import Descriptor
from mgd.diagnostics import Diagnostic, Label, Severity
from mgd.rules import severity_of


class Report:
    """Findings about one descriptor; `profile` decides how much the runtime's own rules weigh."""

    def __init__(self, descriptor: Descriptor, profile: str = "full") -> None:
        self.descriptor, self.profile = descriptor, profile
        self.findings: list[Diagnostic] = []
        self._flagged: set[int] = set()

    def flag(self, message: Any) -> None:
        """Note that a message is refused already, so that what follows from it is not told again."""
        self._flagged.add(id(message))

    def is_flagged(self, message: Any) -> bool:
        return id(message) in self._flagged

    def add(
        self, code: str, message: str, *labels: Label, help: str = "", notes: tuple[str, ...] = ()
    ) -> None:
        """Report a violation of a rule; its first label is the culprit."""
        found = Diagnostic(code, message, labels, help, severity_of(code, self.profile), notes)
        self.findings.append(found)

    def at(self, message: Any = None, name: str = "", index: int = 0, text: str = "") -> Label:
        """A label on a message of the descriptor, or on the value of one of its fields."""
        return Label(self.descriptor.where(message, name, index), text)

    @property
    def has_errors(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.findings)
