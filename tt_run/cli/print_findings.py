"""Findings as people read them, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mgd.cli.findings import finding_texts
from mgd.diagnostics import Diagnostic, Severity


def print_findings(diagnostics: Sequence[Diagnostic], *, notes: bool = True) -> None:
    """Prints the findings, each with its lines and the command that explains it; without `notes` only what is wrong."""
    of_descriptors, of_launches = finding_texts(sys.stderr), finding_texts(sys.stderr, "tt-run --explain")
    for finding in diagnostics:
        if notes or finding.severity is not Severity.NOTE:
            text_of = of_descriptors if finding.code.startswith("MGD") else of_launches
            print(text_of(finding), file=sys.stderr)
