"""The shape of a rule."""

from __future__ import annotations

import re

from mgd.diagnostics import Severity
from mgd.lean import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: permanent code, title (the thing that is wrong), what is asked for, why it matters, a bad and a good example, the way out.

    `severity` is the weight that the finding usually has. `profile` is "runtime" for what only the reference's runtime refuses of a
    descriptor. `fixable` rules are repaired by `mgd fix`. `source` names where the rule comes from, "" for these tools' own.
    """

    code: str
    title: str
    purpose: str = ""
    why: str = ""
    bad: str = ""
    good: str = ""
    severity: Severity = Severity.ERROR
    help: str = ""
    profile: str = "full"
    fixable: bool = False
    source: str = ""

    @property
    def name(self) -> str:
        """The title as one word, `uneven-host-split`, by which the rule is found too."""
        return "-".join(re.findall(r"[a-z0-9.]+", self.title.lower().replace("'", "")))

    @property
    def weight(self) -> str:
        """The severity in words."""
        return (
            "error in the runtime profile, warning otherwise"
            if self.profile == "runtime"
            else self.severity.value
        )
