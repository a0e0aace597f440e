"""The findings of tt-run as data: what each code means, why it is one, an example and the way out.

`tt-run --explain TTR204` prints a rule; the table of the documentation is made from them.
"""

from __future__ import annotations

from tt_run.plan.rules.command_line import COMMAND_LINE
from tt_run.plan.rules.files import FILES
from tt_run.plan.rules.fit import FIT
from tt_run.plan.rules.hosts import HOSTS
from tt_run.plan.rules.launch import LAUNCH
from tt_run.plan.rules.placement import PLACEMENT
from tt_run.plan.rules.rule import Rule

__all__ = ["RULES", "Rule", "explain", "rule", "table"]

RULES: tuple[Rule, ...] = (*COMMAND_LINE, *FILES, *PLACEMENT, *FIT, *HOSTS, *LAUNCH)
"""Every rule, by ascending code."""

_BY_CODE = {each.code: each for each in RULES}


def rule(code: str) -> Rule:
    """The rule of a code; case does not matter. Raises KeyError for an unknown one."""
    return _BY_CODE[code.strip().upper()]


def explain(code: str) -> str:
    """The help page of a code as text. Raises KeyError for an unknown one."""
    found = rule(code)
    lines = [f"{found.code}: {found.title}", "", found.why]
    if found.example:
        lines += ["", "Example:", *(f"    {line}" for line in found.example.splitlines())]
    return "\n".join([*lines, "", f"What to do: {found.hint}"])


def table() -> str:
    """All rules as a table in Markdown, for the documentation."""
    rows = [
        f"| {each.code} | {_cell(each.title)} | {_cell(each.why)} | {_cell(each.hint)} |" for each in RULES
    ]
    return (
        "\n".join(
            ["| code | what is wrong | why it matters | what to do |", "| --- | --- | --- | --- |", *rows]
        )
        + "\n"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
