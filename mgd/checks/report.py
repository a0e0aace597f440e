"""Where checks put what they find."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mgd.descriptor import Descriptor
from mgd.diagnostics import Diagnostic, Label, Severity
from mgd.rules import severity_of


@dataclass(slots=True)
class Report:
    """Findings about one descriptor; `profile` decides how much the runtime's own rules weigh."""

    descriptor: Descriptor
    profile: str = "full"
    findings: list[Diagnostic] = field(default_factory=list)

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
