"""Findings as a stream takes them: coloured and folded on a terminal, whole lines for files and programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from mgd.cli.output import page_width, wants_colour
from mgd.diagnostics import Diagnostic, render
from mgd.errors import MgdError, UnreadableError
from mgd.excerpts import Excerpts

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import TextIO


def finding_texts(
    stream: TextIO, more: str = "mgd explain", texts: Mapping[str, str | bytes] | None = None
) -> Callable[[Diagnostic], str]:
    """What makes a finding's text for the stream; `more` is the command that explains its code, `texts` are inputs that are no files."""
    width = page_width(stream, 0) if stream.isatty() else 0
    colour, excerpts = wants_colour(stream), Excerpts(texts, width)
    return lambda finding: render(finding, colour=colour, more=more, excerpt=excerpts.at, width=width)


def tell_error(error: MgdError) -> int:
    """Print what an error found to standard error; the exit code that it stands for."""
    text_of = finding_texts(sys.stderr)
    for diagnostic in error.diagnostics:
        sys.stderr.write(text_of(diagnostic) + "\n")
    if not error.diagnostics:
        sys.stderr.write(f"error: {error}\n")
    return 2 if isinstance(error, UnreadableError) else 1
