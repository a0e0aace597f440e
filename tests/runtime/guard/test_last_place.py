"""Where a rank was last seen: when it is written down, and that a kill leaves one line or the other."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run import contract
from tt_run.runtime.guard.last_place import LastPlace


def world(size: int, here: int) -> Any:
    return SimpleNamespace(rank=3, size=size, neighbours=SimpleNamespace(size=here))


@pytest.mark.parametrize(
    ("folder", "here", "due", "has_line"),
    [(True, 2, range(12), True), (True, 4, (0, 5, 10), False), (False, 2, (), True), (False, 4, (), False)],
)
def test_several_hosts_look_more_often(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: bool, here: int, due: Any, has_line: bool
) -> None:
    if folder:
        monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    else:
        monkeypatch.delenv(contract.RUN_DIR, raising=False)
    last = LastPlace(world(4, here))
    assert [look for look in range(12) if last.is_due(look)] == list(due)
    assert last.has_line is has_line


def test_one_write_replaces_what_was_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    path, last, writes = tmp_path / contract.PLACE_FILE.format(rank=3), LastPlace(world(4, 2)), []
    pwrite = os.pwrite

    def noted(file: int, data: bytes, at: int) -> int:
        writes.append((len(data), at))
        return pwrite(file, data, at)

    monkeypatch.setattr(os, "pwrite", noted)
    last.note("p.py:3 in main", "all_gather(dim 3)", 7)
    assert path.read_text().rstrip(" ") == "p.py:3 in main\nall_gather(dim 3)\n7\n"
    assert path.stat().st_mode & 0o777 == 0o600
    last.note("p.py:3 in main", "all_gather(dim 3)", 7)
    assert writes == [(1024, 0)], "nothing has changed"
    last.note("p.py:4 in main", "x" * 2000, 8)
    assert path.read_text().rstrip(" ") == f"p.py:4 in main\n{'x' * 512}\n8\n"
    last.note("y" * 2000, "", 8)
    assert writes == [(1024, 0)] * 3 and path.read_text() == "y" * 1023 + " "
    last.note("\udcff", "z", 9)
    assert path.read_text().startswith("?\nz\n9\n")


def test_a_folder_that_cannot_be_written_is_let_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path / "gone"))
    last = LastPlace(world(4, 2))
    last.note("p.py:3 in main", "", 1)
    (tmp_path / "gone").mkdir()
    last.note("p.py:4 in main", "", 1)
    assert (tmp_path / "gone" / contract.PLACE_FILE.format(rank=3)).read_text().startswith("p.py:4 in main")
