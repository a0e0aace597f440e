"""The user's choices about watching a run, as values."""

from __future__ import annotations

import re

from mgd.diagnostics import Diagnostic
from mgd.lean import dataclass, field
from tt_run.errors import UsageError
from tt_run.inputs.findings import all_ranks

STRANDED_SECONDS = (
    30.0  # how long ranks wait for one that has ended before the automatic rule calls it a hang
)


_MOST_MEANT = 64  # ranks of a proposal that one may still read


def _as_ranks(text: str) -> str:
    """The value of --tee that `0-3`, `rank0` or `0 3` may have meant; empty where it says no ranks."""
    ranks: list[int] = []
    for part in re.split(r"[,;\s]+", text.strip()):
        found = re.fullmatch(r"(?:ranks?[:=]?)?(\d{1,5})(?:(?:-|\.\.)(\d{1,5}))?", part)
        if found is None:
            return ""
        ranks += range(int(found[1]), int(found[2] or found[1]) + 1)
    return ",".join(map(str, ranks)) if len(ranks) <= _MOST_MEANT else ""


def hang_seconds(text: str) -> float | None:
    """Seconds without progress, from the value of --hang-timeout; None for one of its words. Raises UsageError."""
    if text in ("auto", "off"):
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if seconds > 0:
        return seconds
    message = f"--hang-timeout {text}: not seconds, auto or off"
    raise UsageError(Diagnostic("TTR034", message, help="write --hang-timeout auto"))


@dataclass(frozen=True, slots=True)
class Tee:
    """Which streams reach the console: `all`, `first` (rank 0's output and everybody's errors), `errors`, `none`, or rank numbers."""

    text: str = "all"
    ranks: frozenset[int] | None = None

    @classmethod
    def parse(cls, text: str) -> Tee:
        """From the value of --tee. Raises UsageError."""
        if text in ("all", "first", "errors", "none"):
            return cls(text)
        try:
            return cls("ranks", frozenset(int(part) for part in text.split(",")))
        except ValueError:
            meant = _as_ranks(text)
            hint = f"write --tee {meant}" if meant else "write all, first, errors, none, or ranks such as 0,3"
            raise UsageError(Diagnostic("TTR033", f"--tee {text!r} is not understood", help=hint)) from None

    def unfit(self, size: int) -> tuple[Diagnostic, ...]:
        """A finding for ranks that a job of so many does not have."""
        beyond = sorted(rank for rank in self.ranks or () if not 0 <= rank < size)
        if not beyond:
            return ()
        there = all_ranks(size)
        message = f"--tee {','.join(map(str, beyond))}: the job has {there}"
        return (Diagnostic("TTR033", message, help=f"write --tee {size - 1}, or all"),)

    def shows(self, rank: int, error: bool) -> bool:
        """Whether a rank's standard output, or standard error, is shown."""
        if self.ranks is not None:
            return rank in self.ranks
        return (
            self.text == "all"
            or (self.text in ("first", "errors") and error)
            or (self.text == "first" and rank == 0)
        )


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Deadlines in seconds (None: none), restarts, and what the console shows.

    `debugged`: a rank may be stopped in a debugger, in which time no deadline passes; `editors` are ranks that an editor debugs, whose
    adapter outlives them and is ended without a word. `faults` are those of ranks without emulation, as
    `--inject` writes them. `automatic_hang` is the rule that needs no option: ranks that wait for one that has ended, for `stranded_seconds`.
    """

    timeout: float | None = None
    start_timeout: float | None = None
    hang_timeout: float | None = None
    automatic_hang: bool = True
    stranded_seconds: float = STRANDED_SECONDS
    max_restarts: int = 0
    tee: Tee = field(default_factory=Tee)
    prefixes: bool = True
    colour: bool = False
    progress: bool = False
    debugged: bool = False
    editors: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
