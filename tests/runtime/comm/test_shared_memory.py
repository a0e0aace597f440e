"""Shared memory between processes."""

from __future__ import annotations

import errno
import multiprocessing
import os
import tempfile
from pathlib import Path

import pytest

from tests.runtime.comm.block_names import recorded
from tt_run.runtime.comm import shared_memory
from tt_run.runtime.comm.shared_memory import SharedBlock


def _write(path: str, nbytes: int) -> None:
    SharedBlock.open(path, nbytes).memory[7] = 42


def test_what_one_process_writes_another_reads() -> None:
    block = SharedBlock.create(64)
    child = multiprocessing.get_context("spawn").Process(target=_write, args=(block.path, 64))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert block.memory[7] == 42
    assert block.memory[8] == 0
    assert not Path(block.unlinked().path).exists()


def test_memory_stays_after_the_name_is_gone() -> None:
    block = SharedBlock.create(16).unlinked()
    block.memory[0] = 1
    assert block.memory[0] == 1


def test_a_full_folder_is_passed_over_and_no_room_at_all_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    names = recorded(monkeypatch)
    with pytest.raises(OSError, match="no room for"):
        SharedBlock.create(1 << 60)
    assert names[-1].parent == Path(tempfile.gettempdir()) and not any(name.exists() for name in names)
    names.clear()
    with pytest.raises(OSError, match="no room for"):
        SharedBlock.create(1 << 60, in_memory=True)
    assert {name.parent for name in names} <= {Path("/dev/shm")}


def test_blocks_lie_in_the_folder_of_the_job_where_that_is_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for place, expected in (
            (folder, folder),
            (f"{folder}/gone", "/dev/shm"),
            (str(tmp_path), "/dev/shm"),
        ):
            monkeypatch.setenv(shared_memory._OF_THE_JOB, place)
            assert Path(SharedBlock.create(64).unlinked().path).parent == Path(expected)


def test_a_name_that_is_there_is_never_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "urandom", lambda count: bytes(count))
    descriptor, path = shared_memory._new_file(str(tmp_path))
    os.close(descriptor)
    assert Path(path).stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        shared_memory._new_file(str(tmp_path))


@pytest.mark.parametrize("refusal", [errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL])
def test_where_nothing_can_be_reserved_it_is_written(monkeypatch: pytest.MonkeyPatch, refusal: int) -> None:
    def refuse(descriptor: int, begin: int, count: int) -> None:
        raise OSError(refusal, os.strerror(refusal))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    block = SharedBlock.create((1 << 20) + 5)
    try:
        assert Path(block.path).stat().st_blocks * 512 >= 1 << 20
    finally:
        block.unlinked()
    assert block.memory[-1] == 0
