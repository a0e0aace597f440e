"""Run folders with records written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tt_run.supervise.folder import RunFolder
from tt_run.supervise.status import StatusBoard


class Records:
    """Writes what wrappers and ranks leave in a run folder."""

    def __init__(self, path: Path, size: int = 2) -> None:
        path.mkdir(exist_ok=True)
        self.folder = RunFolder(path)
        self.size = size

    def status(self, rank: int, *, host: str = "vm", start: float | None = 1.0, **ending: object) -> None:
        """A record; `ending` may hold end, exit, signal, error, pid and pgid."""
        lines = [f"rank={rank}", f"host={host}"]
        lines += [f"start={start}"] if start is not None else []
        lines += [f"{name}={value}" for name, value in ending.items()]
        self.folder.status(rank).write_text("\n".join(lines) + "\n")

    def failure(self, rank: int, **record: Any) -> None:
        self.folder.failure(rank).write_text(json.dumps(record))

    def ending(self, rank: int, mpi: str) -> None:
        self.folder.ending(rank).write_text(f"pid=1 mpi={mpi}\n")

    @property
    def board(self) -> StatusBoard:
        board = StatusBoard(self.folder, self.size)
        board.refresh()
        return board


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(tmp_path / "run")
