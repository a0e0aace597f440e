"""Where a rank was last seen: what is left of one that is killed on a host of its own, where no other rank sees its board."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tt_run import contract
from tt_run.runtime import launched
from tt_run.runtime.comm.world import World

_WIDTH = 1024  # of the whole text: one write replaces it, so that a kill leaves the former or the new one


class LastPlace:
    """The file of one rank. Only in jobs on several hosts: on one, the others read the board of a rank that is gone."""

    def __init__(self, world: World) -> None:
        folder = launched.variables.get(contract.RUN_DIR)
        self.is_needed = bool(folder) and world.neighbours.size < world.size
        self._path = Path(folder or "", contract.PLACE_FILE.format(rank=world.rank))
        self._file: int | None = None
        self._noted = ""

    def note(self, place: str, call: str) -> None:
        """Write a line of the program and the last call down, if they have changed. A folder that cannot be written is let be."""
        text = f"{place}\n{call}\n"
        if text == self._noted:
            return
        self._noted = text
        with suppress(OSError):
            if self._file is None:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.pwrite(self._file, text.encode(errors="replace")[: _WIDTH - 1].ljust(_WIDTH), 0)
