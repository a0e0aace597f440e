"""The rules of descriptors as data: what each one refuses, why that hurts, and how it is written right.

Codes are permanent: MGD001 to MGD029 are the rules of the format in the order in which the reference checks them, MGD030 to MGD036 their
parts, MGD050 on what only the runtime refuses, MGD060 on advice, MGD090 limits, MGD100 on the text itself, MGD200 on MGD 1.0 YAML, MGD300 on the command line.
"""

from __future__ import annotations

from functools import cache

from mgd.catalogue import Family, Rule
from mgd.diagnostics import Severity

__all__ = ["FAMILY", "Rule", "all_rules", "find_rule", "severity_of"]


@cache
def _load() -> tuple[Rule, ...]:
    from mgd.rules import advice, command_line, files, first_format, graphs, meshes, runtime

    return tuple(
        rule
        for part in (meshes, graphs, runtime, advice, files, first_format, command_line)
        for rule in part.RULES
    )


FAMILY = Family(
    "MGD",
    "Findings on descriptors",
    "What `mgd check` and tt-run say about mesh graph descriptors.",
    "mgd explain",
    "docs/reference/findings-descriptors.md",
    (
        ("MGD001", "The format"),
        ("MGD050", "The runtime"),
        ("MGD060", "Advice"),
        ("MGD090", "Limits"),
        ("MGD100", "The text"),
        ("MGD200", "MGD 1.0 (YAML)"),
        ("MGD300", "The command line of mgd"),
    ),
    _load,
)


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by code, in the order of codes."""
    return FAMILY.rules()


def find_rule(word: str) -> Rule | None:
    """The rule of a code (any case, `12` for MGD012) or a name; None when there is none."""
    return FAMILY.find(word)


def severity_of(code: str, profile: str = "full") -> Severity:
    """How much a violation weighs: what only the runtime refuses is an error in its profile and a warning in the full one."""
    rule = all_rules()[code]
    if rule.profile == "runtime":
        return Severity.ERROR if profile == "runtime" else Severity.WARNING
    return rule.severity
