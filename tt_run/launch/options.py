"""How a plan is to be turned into a launcher's command line: what the user chose, as one value."""

from __future__ import annotations

from mgd.lean import dataclass

WARM_FROM = 8  # ranks on one host, from which they are forked from one process without being asked to be


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """The choices of `tt-run` that concern the launcher's line alone (reference launcher 0.81.1).

    `bare`: no word of our own, apart from placement. `mpmd`: one application context per rank, as the reference does.
    `unchecked`: forms that the launcher is known to ignore are passed on. `stdin`: rank 0 reads this process's standard input; otherwise no rank has anything to read.
    `warm`: modules, with commas, that one process of each host imports before its ranks are forked from it; found from the program when None, on
    hosts with many ranks. `no_warm`: every rank is started by itself.
    `debug_rank`: the rank that has this terminal while it is stopped in a debugger; `debugpy`: RANK:PORT of those that wait for an editor.
    """

    bare: bool = False
    mpmd: bool = False
    stdin: bool = False
    tcp_interface: str | None = None
    rankfile_syntax: str = "auto"
    unchecked: bool = False
    warm: str | None = None
    no_warm: bool = False
    debug_rank: int | None = None
    debugpy: tuple[str, ...] = ()

    def may_warm(self, ranks: int) -> bool:
        """Whether it is worth looking whether the ranks of a job can be forked from a process that has imported what they import."""
        return not self.no_warm and (self.warm is not None or ranks >= WARM_FROM)
