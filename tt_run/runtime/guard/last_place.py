"""Where a rank was last seen: what `tt-run status` says of one that computes, and what is left of one that is killed on a host of its own."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tt_run import contract
from tt_run.runtime import launched
from tt_run.runtime.comm.world import World

_WIDTH = 1024  # of the whole text: one write replaces it, so that a kill leaves the former or the new one


_ALONE_EVERY = 5  # looks: where all ranks are on one host, only people read the file


class LastPlace:
    """The file of one rank. Its line is for jobs on several hosts: on one, the others read the board of a rank that is gone."""

    def __init__(self, world: World) -> None:
        folder = launched.variables.get(contract.RUN_DIR)
        self.has_line = world.neighbours.size < world.size
        self._is_there = bool(folder)
        self._path = Path(folder or "", contract.PLACE_FILE.format(rank=world.rank))
        self._file: int | None = None
        self._noted = ""

    def is_due(self, look: int) -> bool:
        """Whether this look of the rank at itself, counted from 0, is to be noted."""
        return self._is_there and (self.has_line or look % _ALONE_EVERY == 0)

    def note(self, place: str, call: str, calls: int) -> None:
        """Write a line of the program, the last call and how many there were down, if they have changed. A folder that cannot be written is let be."""
        text = f"{place}\n{call[: _WIDTH // 2]}\n{calls}\n"
        if text == self._noted:
            return
        self._noted = text
        with suppress(OSError):
            if self._file is None:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.pwrite(self._file, text.encode(errors="replace")[: _WIDTH - 1].ljust(_WIDTH), 0)
