"""The shape of a rule."""

from __future__ import annotations

from mgd.diagnostics import Severity
from mgd.lean import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: permanent code, name (after what is wrong), what it says, why that hurts, a bad and a good piece of a file.

    `profile` is "runtime" for what only the runtime refuses. `fixable` rules are repaired by `mgd fix`. `source` names the part of the
    MGD specification that it comes from, "" for this tool's own.
    """

    code: str
    name: str
    purpose: str
    why: str
    bad: str
    good: str
    severity: Severity = Severity.ERROR
    profile: str = "full"
    fixable: bool = False
    source: str = ""
