"""Rules of MGD 1.0, the YAML form."""

from __future__ import annotations

from mgd.rules.model import Rule

RULES: tuple[Rule, ...] = ()
