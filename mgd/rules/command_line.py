"""The rule on the words of `mgd`'s command line, which hold no descriptor."""

from __future__ import annotations

from mgd.catalogue import Rule

RULES = (
    Rule(
        "MGD300", "wrong usage",
        "The words after `mgd` are a command, its options and what it takes; `mgd COMMAND --help` lists them.",
        "Nothing was read or written. The exit code is 2.",
        "mgd show --widht 80 t3000",
        "mgd show --width 80 t3000",
    ),
)  # fmt: skip
