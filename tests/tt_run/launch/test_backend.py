"""Where mpirun keeps its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tt_run.launch import backend
from tt_run.launch.backend import scratch_folder


def parent(environ: dict[str, str], memory: Path, *, here: bool = True) -> str:
    return str(scratch_folder(environ, here=here, memory=str(memory)).parent)


def test_in_memory_unless_the_user_names_a_place(tmp_path: Path) -> None:
    assert parent({}, tmp_path) == parent({"TMPDIR": ""}, tmp_path) == str(tmp_path)
    assert parent({"TMPDIR": "/mine", "TMP": "/other"}, tmp_path) == "/mine"
    assert parent({"TMP": "/other"}, tmp_path) == "/other"
    assert scratch_folder({}, here=True).name.startswith("tt-run-")


@pytest.mark.parametrize("room", ["ROOM", "FILES"])
def test_on_disk_where_memory_has_no_room(room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, room, 1 << 80)
    assert parent({}, tmp_path) == "/tmp"


def test_on_disk_where_there_is_none(tmp_path: Path) -> None:
    assert parent({}, tmp_path / "absent") == "/tmp"


def test_on_disk_for_ranks_of_other_hosts(tmp_path: Path) -> None:
    assert parent({}, tmp_path, here=False) == "/tmp"
