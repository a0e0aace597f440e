"""Collecting what is wrong with the inputs, so that everything is told at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from tt_run.errors import InputError


@dataclass
class Findings:
    """What has been found so far, in two weights.

    `broken`: an input cannot be understood, so no plan exists. `judged`: the inputs are understood and look wrong, which
    the check level (`--check error|warn|off`) decides about; warnings are always in here.
    """

    broken: list[Diagnostic] = field(default_factory=list)
    judged: list[Diagnostic] = field(default_factory=list)

    def fatal(
        self, code: str, message: str, *labels: Label, help: str = "", notes: tuple[str, ...] = ()
    ) -> None:
        """Records that an input cannot be understood."""
        self.broken.append(Diagnostic(code, message, labels, help, Severity.ERROR, notes))

    def error(
        self, code: str, message: str, *labels: Label, help: str = "", notes: tuple[str, ...] = ()
    ) -> None:
        """Records something that the joint check refuses."""
        self.judged.append(Diagnostic(code, message, labels, help, Severity.ERROR, notes))

    def warn(
        self, code: str, message: str, *labels: Label, help: str = "", notes: tuple[str, ...] = ()
    ) -> None:
        """Records something that is probably not meant, but has a meaning."""
        self.judged.append(Diagnostic(code, message, labels, help, Severity.WARNING, notes))

    def note(
        self, code: str, message: str, *labels: Label, help: str = "", notes: tuple[str, ...] = ()
    ) -> None:
        """Records something worth knowing that is no problem here."""
        self.judged.append(Diagnostic(code, message, labels, help, Severity.NOTE, notes))

    def stop_if_broken(self) -> None:
        """Raises InputError with everything found so far if any input could not be understood."""
        if self.broken:
            raise InputError((*self.broken, *self.judged))


def label(position: Position | None, text: str = "") -> tuple[Label, ...]:
    """A label for a position, nothing for None."""
    return (Label(position, text),) if position is not None else ()


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, or None."""
    import difflib

    candidates = list(known)
    folded = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None
