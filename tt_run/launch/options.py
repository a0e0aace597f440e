"""How a plan is to be turned into a launcher's command line: what the user chose, as one value."""

from __future__ import annotations

from mgd.lean import dataclass

RANKFILE_SYNTAXES = ("auto", "rankfile", "map-by", "mca")


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """The choices of `tt-run` that concern the launcher's line alone (reference launcher 0.81.1).

    `bare`: no word of our own, apart from placement. `mpmd`: one application context per rank, as the reference does.
    `unchecked`: forms that the launcher is known to ignore are passed on. `stdin`: rank 0 reads this process's standard input; otherwise no rank has anything to read.
    """

    bare: bool = False
    mpmd: bool = False
    stdin: bool = False
    tcp_interface: str | None = None
    rankfile_syntax: str = "auto"
    unchecked: bool = False
