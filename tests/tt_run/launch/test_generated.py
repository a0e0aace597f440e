"""Derived files: whole or not at all, the same text from many launchers at once, edits replaced."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tt_run.launch.generated import write_generated
from tt_run.plan.model import GeneratedFile


def test_edited_and_stale_files_are_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "generated" / "ttrun" / "0123"
    files = [GeneratedFile(folder / "a.yaml", "right\n"), GeneratedFile(folder / "b", "also right\n")]
    write_generated(files)
    (folder / "a.yaml").write_text("edited\n")
    before = (folder / "b").stat().st_ino
    write_generated(files)
    assert (folder / "a.yaml").read_text() == "right\n"
    assert (folder / "b").stat().st_ino == before  # what is right is left alone
    assert sorted(path.name for path in folder.iterdir()) == ["a.yaml", "b"]


def test_readers_never_see_half_a_file(tmp_path: Path) -> None:
    text = "x" * 2_000_000 + "\n"
    program = (
        "import sys\nfrom pathlib import Path\nfrom tt_run.launch.generated import write_generated\n"
        "from tt_run.plan.model import GeneratedFile\n"
        f"path = Path({str(tmp_path / 'f')!r})\n"
        "for n in range(20):\n    write_generated([GeneratedFile(path, sys.argv[1] * 2_000_000 + '\\n')])\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, letter]) for letter in "xy"]
    sizes = set()
    while any(writer.poll() is None for writer in writers):
        if (tmp_path / "f").exists():
            sizes.add(os.path.getsize(tmp_path / "f"))  # noqa: PTH202 - one call, no second stat
    assert [writer.returncode for writer in writers] == [0, 0]
    assert sizes <= {len(text)}
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_without_locks_files_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    write_generated([GeneratedFile(tmp_path / "folder" / "a.yaml", "text\n")])
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["a.yaml"]
