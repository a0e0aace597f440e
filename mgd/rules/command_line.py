"""The rules on the words of `mgd`'s command line, which hold no descriptor."""

from __future__ import annotations

from mgd.catalogue import Rule
from mgd.diagnostics import Severity

RULES = (
    Rule(
        "MGD300", "wrong usage",
        "The words after `mgd` are a command, its options and what it takes; `mgd COMMAND --help` lists them.",
        "Nothing was read or written. The exit code is 2.",
        "mgd show --widht 80 t3000",
        "mgd show --width 80 t3000",
    ),
    Rule(
        "MGD301", "option without effect",
        "An option stands where something looks at it.",
        "What it was written for does not happen.",
        "mgd show --width 80 --svg t3000.svg t3000",
        "mgd show --svg t3000.svg t3000",
        severity=Severity.WARNING,
    ),
)  # fmt: skip
