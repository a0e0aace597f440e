"""Findings as people read them, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mgd.cli.output import wants_colour
from mgd.diagnostics import Diagnostic, Severity, render
from mgd.excerpts import Excerpts


def print_findings(diagnostics: Sequence[Diagnostic], *, notes: bool = True) -> None:
    """Prints the findings, each with its lines and the command that explains it; without `notes` only what is wrong."""
    excerpts = Excerpts()
    for finding in diagnostics:
        if notes or finding.severity is not Severity.NOTE:
            more = "mgd explain" if finding.code.startswith("MGD") else "tt-run --explain"
            print(
                render(finding, colour=wants_colour(sys.stderr), more=more, excerpt=excerpts.at),
                file=sys.stderr,
            )
