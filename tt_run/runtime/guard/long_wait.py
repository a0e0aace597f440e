"""What a rank that waits long says in the run folder, where the launcher and `tt-run status` read it."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tt_run import contract
from tt_run.runtime import launched
from tt_run.runtime.guard.states import Wait

LONG_SECONDS = 1.0
_now = time.perf_counter


def told_by(rank: int) -> dict[str, Any] | None:
    """What a rank says in its file: call, number, site, seconds waited, ranks missing; None where it waits for nobody, or not for long."""
    path = Path(launched.variables.get(contract.RUN_DIR, ""), contract.WAIT_FILE.format(rank=rank))
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told


class LongWait:
    """The file of one rank: there while it waits, gone when it goes on. A folder that cannot be written is let be.

    It says how long the rank has waited, not since when: clocks of hosts differ, and the file's own time is that of the folder.
    """

    def __init__(self, rank: int) -> None:
        folder = launched.variables.get(contract.RUN_DIR)
        self._path = Path(folder) / contract.WAIT_FILE.format(rank=rank) if folder else None
        self._told: tuple[int, tuple[int, ...]] | None = None

    def tell(self, wait: Wait, calls: int) -> None:
        """Write where the rank waits and for whom; again when others have come meanwhile."""
        about = wait.generation, wait.missing
        waited = _now() - wait.since
        if self._path is None or waited < LONG_SECONDS or about == self._told:
            return
        self._told = about
        facts = {
            "call": wait.call.partition("(")[0],
            "number": calls,
            "site": wait.site,
            "waited": waited,
            "missing": list(wait.missing),
        }
        with suppress(OSError):
            new = self._path.with_suffix(".wait-")
            new.write_text(json.dumps(facts), encoding="utf-8")
            new.replace(self._path)

    def over(self) -> None:
        """Take it away."""
        if self._told is not None and self._path is not None:
            self._told = None
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
