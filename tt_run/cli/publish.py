"""Findings of a launch for programs: GitHub annotations and JSON, besides what people read on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mgd.diagnostics import Diagnostic, Severity
from tt_run.cli.reading.command_line import CommandLine
from tt_run.inputs.github import workflow_command

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def publish(findings: Sequence[Diagnostic], given: CommandLine, ranks: int | None = None) -> bool:
    """Writes the findings in the forms that were asked for; `ranks` is how many a sound plan has, None where there is no plan. True where a person
    at a terminal has read them by that.

    `--annotations github`: a workflow command for each, which marks its first position in the pull request. `--format json` of a look: one
    object on standard output with every position, in place of the plan where there is none.
    """
    if given.annotations == "github":
        for finding in findings:
            print(annotation(finding))
    if given.format == "json" and (ranks is None or given.check_only):
        import json

        from tt_run.plan.render import diagnostic_json

        view = {"ranks": ranks, "findings": [diagnostic_json(finding) for finding in findings]}
        print(json.dumps(view, ensure_ascii=False))
        return sys.stdout.isatty() and sys.stderr.isatty()
    return False


def annotation(finding: Diagnostic) -> str:
    """The workflow command of a finding; further positions, help and notes are part of its text."""
    lines = [finding.message, *(f"{label.position}: {label.text}" for label in finding.labels if label.text)]
    lines += [*finding.notes, *([f"help: {finding.help}"] if finding.help else [])]
    return workflow_command(_LEVELS[finding.severity], finding.code, "\n".join(lines), finding.position)
