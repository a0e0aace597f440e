"""The rules as data: what each one refuses, why that hurts, and how it is written right.

Codes are permanent: MGD001 to MGD029 are the rules of the format in the order of the specification (MGD section 4), MGD030 to MGD036 their
parts, MGD050 on what only the runtime refuses, MGD060 on advice, MGD090 limits, MGD100 on the text itself, MGD200 on MGD 1.0 YAML.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mgd.diagnostics import Severity

if TYPE_CHECKING:
    from mgd.rules.model import Rule

__all__ = ["Rule", "all_rules", "find_rule", "severity_of"]


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by code, in the order of codes."""
    from mgd.rules import advice, files, first_format, graphs, meshes, runtime

    found = [rule for part in (meshes, graphs, runtime, advice, files, first_format) for rule in part.RULES]
    return {rule.code: rule for rule in sorted(found, key=lambda each: each.code)}


def find_rule(word: str) -> Rule | None:
    """The rule of a code (any case, `12` for MGD012) or a name; None when there is none."""
    key = word.strip()
    code = f"MGD{int(key):03d}" if key.isascii() and key.isdigit() and len(key) < 4 else key.upper()
    rules = all_rules()
    return rules.get(code) or next((rule for rule in rules.values() if rule.name == key.lower()), None)


def severity_of(code: str, profile: str = "full") -> Severity:
    """How much a violation weighs: what only the runtime refuses is an error in its profile and a warning in the full one."""
    rule = all_rules()[code]
    if rule.profile == "runtime":
        return Severity.ERROR if profile == "runtime" else Severity.WARNING
    return rule.severity
