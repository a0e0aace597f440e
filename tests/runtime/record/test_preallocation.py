"""Room that a growing record takes ahead: nobody sees it in the file's bytes, and it is given back."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tt_run.runtime.record import frames, preallocation
from tt_run.runtime.record.frames import FrameWriter
from tt_run.runtime.record.recording import Recording

BODY = os.urandom(300_000)


def written(path: Path, limit: int = 1 << 30) -> FrameWriter:
    made = FrameWriter(path, limit)
    for _ in range(4):
        made.write(frames.INPUT, b"", [BODY])
    return made


def bodies(path: Path) -> list[bytes]:
    return [bytes(frame.body) for frame in frames.read_frames(path) if frame.kind == frames.INPUT]


def test_it_is_no_part_of_the_bytes_and_given_back_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.record"
    book = Recording(written(path))
    assert path.stat().st_size == book.file.size
    assert bodies(path) == 4 * [BODY]
    taken = path.stat().st_blocks
    book.leave({})
    assert path.stat().st_size == book.file.size
    assert path.stat().st_blocks <= taken
    assert path.stat().st_blocks * 512 < book.file.size + 16_384
    book.file.write(frames.INPUT, b"", [BODY])  # a thread that goes on
    assert bodies(path) == 5 * [BODY]


def test_it_keeps_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.record"
    made = written(path, 1_000_000)
    assert "limit" in made.stopped
    assert bodies(path) == 3 * [BODY]
    assert path.stat().st_blocks * 512 < 1_000_000 + 16_384


def test_what_is_long_written_is_not_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a size on, the oldest part is begun and then let go, up to a distance behind the end; the bytes are all there."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(preallocation, "_KEPT", 1_000_000)
    monkeypatch.setattr(preallocation, "_AT_ONCE", 500_000)
    monkeypatch.setattr(
        preallocation.os, "posix_fadvise", lambda _, at, length, __: asked.append((at, at + length))
    )
    path = tmp_path / "a.record"
    made = FrameWriter(path, 1 << 30)
    for _ in range(20):
        made.write(frames.INPUT, b"", [BODY])
    assert bodies(path) == 20 * [BODY]
    begun = list(asked[1::2])
    assert begun[0][0] == 0 and [end for _, end in begun[:-1]] == [start for start, _ in begun[1:]]
    assert all(500_000 <= end - start <= 800_000 for start, end in begun)
    assert made.size - 1_000_000 - 800_000 < begun[-1][1] <= made.size - 1_000_000
    assert all(end <= place[0] for (_, end), place in zip(asked[::2], begun, strict=True))


@pytest.mark.parametrize("call", [None, lambda *_: -1])
def test_a_file_system_without_it(tmp_path: Path, call: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preallocation, "_system_call", lambda: call)
    path = tmp_path / "a.record"
    written(path).close()
    assert bodies(path) == 4 * [BODY]


def test_a_killed_writer_leaves_whole_frames(tmp_path: Path) -> None:
    path = tmp_path / "a.record"
    child = os.fork()
    if not child:
        written(path)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert bodies(path) == 4 * [BODY]
