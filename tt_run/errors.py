"""Errors of the launcher, one tree:

    TtRunError                 everything a user can meet; carries findings and an exit code
    ├── UsageError             the command line                               exit 2
    ├── InputError             a file is missing, unreadable, not well-formed exit 66
    ├── RefusedError           the joint check                                exit 65
    └── LauncherError          no usable mpirun                               exit 69

The codes of the findings (TTR…) and their help pages are in `tt_run/rules/`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mgd.diagnostics import Diagnostic
from tt_run.contract import Exit


class TtRunError(Exception):
    """Something the user must act on: all findings at once, and the exit code that follows from their class."""

    exit_code: Exit = Exit.FAILED
    is_told = False  # on the terminal, in the form that was asked for

    def __init__(self, diagnostics: Sequence[Diagnostic] | Diagnostic) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = (
            (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        )
        super().__init__("; ".join(f"{d.code}: {d.message}" for d in self.diagnostics))


class UsageError(TtRunError):
    """The command line is wrong."""

    exit_code = Exit.USAGE


class InputError(TtRunError):
    """An input file is missing, unreadable or not well-formed."""

    exit_code = Exit.UNREADABLE


class RefusedError(TtRunError):
    """The inputs are readable but do not fit together."""

    exit_code = Exit.REFUSED


class LauncherError(TtRunError):
    """There is no usable launcher."""

    exit_code = Exit.NO_LAUNCHER
