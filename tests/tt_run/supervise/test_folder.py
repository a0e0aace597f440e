"""The files of a run folder."""

from __future__ import annotations

from pathlib import Path

from tt_run import contract
from tt_run.supervise.folder import files_of_ranks


def test_files_of_ranks_are_found_by_their_name(tmp_path: Path) -> None:
    for name in ("rank-0010.wait", "rank-0002.wait", "rank-0002.out", "rank-0003.wait.x", "wait"):
        (tmp_path / name).touch()
    found = files_of_ranks(tmp_path, contract.WAIT_FILE)
    assert [path.name for path in found] == ["rank-0002.wait", "rank-0010.wait"]
    assert files_of_ranks(tmp_path / "gone", contract.WAIT_FILE) == []
