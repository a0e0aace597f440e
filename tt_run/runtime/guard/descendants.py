"""Processes that a rank has started: they are no ranks. What a rank shares with the others, memory and MPI, would be used twice."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from tt_run import contract
from tt_run.runtime.errors import fatal


def _refuse(how: str, hint: str) -> NoReturn:
    raise fatal(
        f"This process was {how}, which works together with the other ranks: a rank is one process. "
        "What ranks do together (collectives, sockets, barriers, MPI) is done by the rank itself.",
        hint=hint,
    )


class ForkedGuard:
    """In the place of the guard in a process that a rank has forked: whoever asks for anything is refused."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def __getattr__(self, name: str) -> Any:
        _refuse(
            f"forked off a rank (process {self._pid})",
            "compute in children what needs no other rank, and hand it back to the rank",
        )


def is_rank() -> None:
    """This process is about to meet the other ranks: its children do not, and are told so. Raises RuntimeError in a child of a rank that has."""
    rank = os.environ.get(contract.RANK_PROCESS)
    if rank and rank != str(os.getpid()):
        _refuse(
            f"started by a rank (process {rank})",
            "in a program that starts children by spawn, its own lines stand below if __name__ == '__main__':",
        )
    os.putenv(contract.RANK_PROCESS, str(os.getpid()))  # for children alone
