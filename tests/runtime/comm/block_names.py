"""The names of shared memory that this process makes: other processes of the machine make theirs at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tt_run.runtime.comm import shared_memory


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A list that each new block's path is added to."""
    names: list[Path] = []
    make = shared_memory._new_file

    def noted(folder: str) -> tuple[int, str]:
        descriptor, path = make(folder)
        names.append(Path(path))
        return descriptor, path

    monkeypatch.setattr(shared_memory, "_new_file", noted)
    return names
