"""Collecting what is wrong with the inputs, so that everything is told at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from mgd.lean import dataclass, field, replace
from tt_run.errors import InputError


@dataclass()
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

    def errors_are_final(self) -> None:
        """What the check would refuse stops the plan at every check level."""
        self.broken.extend(finding for finding in self.judged if finding.is_error)
        self.judged[:] = [finding for finding in self.judged if not finding.is_error]

    def stop_if_broken(self) -> None:
        """Raises InputError with everything found so far if any input could not be understood."""
        if self.broken:
            raise InputError(folded((*self.broken, *self.judged)))


def label(position: Position | None, text: str = "") -> tuple[Label, ...]:
    """A label for a position, nothing for None."""
    return (Label(position, text),) if position is not None else ()


def list_numbers(numbers: Sequence[int]) -> str:
    """`0 and 1`, `0, 1, 2`, `0..7` for a longer run, and no more than eight numbers of any other list."""
    if len(numbers) == 2:
        return f"{numbers[0]} and {numbers[1]}"
    if len(numbers) > 3 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}..{numbers[-1]}"
    return ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")


def all_ranks(number: int) -> str:
    """`rank 0 alone`, `ranks 0 to 7`."""
    return "rank 0 alone" if number == 1 else f"ranks 0 to {number - 1}"


def counted(number: int, noun: str) -> str:
    """`1 rank`, `2 ranks`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def folded(found: Iterable[Diagnostic], most: int = 20) -> tuple[Diagnostic, ...]:
    """The findings, of each code the first `most`; the last of these tells how many more there are. That a value was taken for another is
    a note of the error about that value.

    One slip in a file of thousands of ranks must not bury everything else.
    """
    kept: list[Diagnostic] = []
    counts: dict[str, int] = {}
    last: dict[str, int] = {}
    for finding in _with_conversions(list(found)):
        counts[finding.code] = counts.get(finding.code, 0) + 1
        if counts[finding.code] <= most:
            last[finding.code] = len(kept)
            kept.append(finding)
    for code, count in counts.items():
        if count > most:
            final = kept[last[code]]
            kept[last[code]] = replace(
                final, notes=(*final.notes, f"and {count - most:,} more findings {code}")
            )
    return tuple(kept)


def _with_conversions(found: list[Diagnostic]) -> list[Diagnostic]:
    converted = {finding.position: finding.labels[0].text for finding in found if finding.code == "TTR108"}
    wrong = {finding.position for finding in found if finding.is_error and finding.position in converted}
    return [
        replace(finding, notes=(*finding.notes, converted[finding.position]))
        if finding.is_error and finding.position in wrong
        else finding
        for finding in found
        if finding.is_error or finding.code != "TTR108" or finding.position not in wrong
    ]


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known word that was probably meant, or None."""
    import difflib

    candidates = list(known)
    folded = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=likeness)
    return folded[close[0]] if close else None
