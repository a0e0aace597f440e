"""Variables of the launching shell that stay behind although the program reads them."""

from __future__ import annotations

from mgd.diagnostics import Label
from tt_run.inputs.findings import Findings
from tt_run.plan.checks.subject import Subject

MOST = 6  # variables that are told one by one
_OF_THE_TERMINAL = frozenset(("COLUMNS", "EDITOR", "LINES", "LS_COLORS", "PAGER", "SHELL", "TERM"))


def check_shell(subject: Subject, findings: Findings) -> None:
    """TTR224, where ranks see the plan alone and nobody has asked for that."""
    if not subject.left or subject.request.clean_env:
        return
    from tt_run.inputs.program_sources import mentioned_names

    known = {name for rank in subject.ranks for name in rank.env} | _OF_THE_TERMINAL
    left = [name for name in subject.left if name not in known]
    found = mentioned_names(subject.request.program, left, subject.site)
    for name, position in list(found.items())[:MOST]:
        findings.warn(
            "TTR224",
            f"{name} is set here and stays behind: the ranks on other hosts have no launching shell, so none sees it",
            Label(position, "the program reads it"),
            help=f"--mpi-args '-x {name}', or --inherit-env for all variables",
            notes=(f"also: {', '.join(list(found)[MOST:])}",)
            if len(found) > MOST and name == list(found)[MOST - 1]
            else (),
        )
