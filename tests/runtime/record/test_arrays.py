"""Values in a record come back with their bits, their forms and their identities, and equal ones are written once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tt_run.runtime.comm.world import Peer
from tt_run.runtime.guard.report import GuardError
from tt_run.runtime.record import arrays, frames
from tt_run.runtime.record.arrays import Flat, digest, row_digests
from tt_run.runtime.record.facts import Facts
from tt_run.runtime.record.frames import FrameWriter
from tt_run.runtime.record.ranks import BookedWorld
from tt_run.runtime.record.recording import Recording
from tt_run.runtime.record.replaying import Divergence, RecordEnds, Replaying, Story, raised_again
from tt_run.runtime.values.shards import Shards

RANDOM = np.random.default_rng(5)
HALVES = RANDOM.normal(size=(3, 40, 50)).astype(ml_dtypes.bfloat16).astype(np.float32)
SPECIAL = np.array([np.nan, -0.0, np.inf, 1e-40], np.float32)
VALUES = [
    HALVES,
    RANDOM.normal(size=(7, 33)).astype(np.float32),
    np.zeros((64, 64), np.float32),
    SPECIAL,
    np.arange(5000, dtype=np.int64),
    np.empty((0, 32, 32), np.float32),
    np.float32(3.5).reshape(()),
    RANDOM.normal(size=(8, 8)).astype(np.float32)[::2, 1:],
    np.ones((4, 4), ml_dtypes.bfloat16),
    Shards(HALVES, (2, 0, 1, 1)),
    [Shards(HALVES[:1], (0,)), Shards(HALVES[1:], (1, 0))],
    {3: HALVES[0], 1: None},
    (b"bytes", ["text", 1, 2.5, True], None),
    {"any": {"python", "value"}},
    # What mpi4py gives without a status, in pairs that are nearly alike; and bytes of one type that come again as another.
    *(
        (value, None, [])
        for value in (None, HALVES[0], ("int", np.array(3)), ("float", np.array(3.0)), ("float", 3.0))
    ),
    *((None, None, value) for value in ((), [HALVES[1]], None)),
    *((HALVES[2].view(kind), None, []) for kind in (np.uint32, np.int8, np.float32)),
    HALVES.view(np.int32),
]
FACTS = Facts("ranks", "swap", "swap(1 out, 1 in)", "train.py:3", (0, 1))


def recorded(path: Path, *values: Any, limit: int = 1 << 30) -> Recording:
    book = Recording(FrameWriter(path, limit))
    book.file.write_json(frames.HEADER, {"rank": 1, "size": 2})
    book.peers([Peer(0, 0, "a", 1, 0, 0), Peer(1, 0, "a", 2, 0, 1)])
    for value in values:
        book.call(FACTS, b"", lambda value=value: value)  # type: ignore[misc]
    return book


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, Shards):
        return type(a) is type(b) and same((a.data, a.index), (b.data, b.index))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a) if isinstance(a, dict) else bool(a == b)


def test_every_kind_of_value_comes_back(tmp_path: Path) -> None:
    recorded(tmp_path / "a.record", *VALUES)
    replaying = Replaying(Story(tmp_path / "a.record"))
    for value in VALUES:
        assert same(value, replaying.call(FACTS, b"", pytest.fail)), value


def test_what_needs_no_bytes_takes_none(tmp_path: Path) -> None:
    """Halves of bfloat16, zeros, and what was written before."""
    once = recorded(tmp_path / "1.record", HALVES).file.size
    again = recorded(tmp_path / "2.record", HALVES, HALVES.copy(), HALVES.copy()).file.size
    zeros = recorded(tmp_path / "3.record", np.zeros((1000, 1000), np.float32)).file.size
    assert once < HALVES.nbytes / 2 + 1000
    assert again < once + 300
    assert zeros < 10_000


def test_an_array_that_is_held_twice_is_one_array(tmp_path: Path) -> None:
    recorded(tmp_path / "a.record", {0: HALVES, 1: HALVES})
    found = Replaying(Story(tmp_path / "a.record")).call(FACTS, b"", pytest.fail)
    assert found[0] is found[1]


def test_a_digest_sees_every_bit_and_place() -> None:
    data = RANDOM.normal(size=5000).astype(np.float32)
    seen = {digest(data), digest(data[:-1])}
    for at in (0, 1, 2047, 2048, 4096, 4999):
        other = data.copy()
        other.view(np.uint32)[at] ^= 1 << (at % 32)
        seen.add(digest(other))
    other = data.copy()
    other[:2048], other[2048:4096] = data[2048:4096], data[:2048]
    seen.add(digest(other))
    assert len(seen) == 9
    assert digest(data[1:]) == digest(data[1:].copy())  # whatever the alignment


def test_a_record_is_for_its_owner_and_reads_to_where_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "run" / "a.record"
    recorded(path, *VALUES)
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    content = path.read_bytes()
    for length in range(len(content) - 3000, len(content), 37):
        path.write_bytes(content[:length])
        story = Story(path)
        assert 1 <= len(story.begun) <= len(VALUES) and len(story.ended) >= len(story.begun) - 1
        assert story.counted(1) == 0  # no guard has numbered it
    (tmp_path / "other").write_text("text")
    with pytest.raises(ValueError, match="no record"):
        Story(tmp_path / "other")


def test_a_record_stops_at_its_limit_and_says_so(tmp_path: Path) -> None:
    book = recorded(tmp_path / "a.record", *[RANDOM.normal(size=1000) for _ in range(9)], limit=20_000)
    assert book.number == 9 and book.file.size < 21_000
    story = Story(tmp_path / "a.record")
    replaying = Replaying(story)
    with pytest.raises(RecordEnds, match=r"(?s)rank 1 ends .*limit of 20000 bytes"):
        for _ in range(9):
            replaying.call(FACTS, b"", pytest.fail)


def test_a_replay_that_differs_names_the_call_and_both_sides(tmp_path: Path) -> None:
    recorded(tmp_path / "a.record", HALVES, HALVES)
    story = Story(tmp_path / "a.record")
    replaying = Replaying(story)
    replaying.call(FACTS, b"", pytest.fail)
    other = FACTS._replace(words="allgather(4 bytes)", site="train.py:9")
    with pytest.raises(
        Divergence,
        match=r"(?s)call 2: .*swap\(1 out, 1 in\) at train.py:3.*allgather\(4 bytes\) at train.py:9",
    ):
        replaying.call(other, b"", pytest.fail)
    with pytest.raises(Divergence, match="other values"):
        Replaying(story).call(FACTS, b"12345678", pytest.fail)
    said: list[str] = []
    lenient = Replaying(story, strict=False, tell=said.append)
    assert all(same(HALVES, lenient.call(FACTS, b"12345678", pytest.fail)) for _ in range(2))
    assert len(said) == 1 and "warning[TTP001]" in said[0] and lenient.differs == 1
    with pytest.raises(RecordEnds, match="after call 2"):
        lenient.call(FACTS, b"", pytest.fail)


def test_a_rank_that_never_met_the_others(tmp_path: Path) -> None:
    book = Recording(FrameWriter(tmp_path / "a.record", 1 << 30))
    book.file.write_json(frames.HEADER, {"rank": 1, "size": 2})
    with pytest.raises(
        RecordEnds, match="the record of rank 1 ends before the ranks had met\n  the rank was ended there"
    ):
        BookedWorld(1, 2, Replaying(Story(tmp_path / "a.record"))).connect()


def test_an_error_in_a_call_is_raised_again(tmp_path: Path) -> None:
    book = recorded(tmp_path / "a.record")

    def fail() -> None:
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError):
        book.call(FACTS, b"", fail)
    with pytest.raises(ZeroDivisionError, match="no"):
        Replaying(Story(tmp_path / "a.record")).call(FACTS, b"", pytest.fail)


def test_what_python_takes_for_equal_keeps_its_own_form() -> None:
    values = [0, False, 0.0, -0.0, 1, True, 1.0]
    assert len({Flat(value).form for value in values}) == len(values)


@pytest.mark.parametrize(
    "where", [(1, 3), (0, 2), (1, 1023), slice(1, None, 2), slice(0, None, 2), slice(None)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint16])
def test_signs_that_change_in_pairs_change_the_digest(where: Any, dtype: Any) -> None:
    before = np.arange(1, 4097, dtype=dtype).reshape(2, -1)
    after = before.copy()
    part = after[0, list(where)] if isinstance(where, tuple) else after[0, where]
    after[0, list(where) if isinstance(where, tuple) else where] = (
        part ^ 0x8000 if dtype is np.uint16 else -part
    )
    assert digest(before) != digest(after)
    rows = row_digests(before), row_digests(after)
    assert rows[0] == b"".join(digest(row) for row in before)
    assert rows[0][:8] != rows[1][:8] and rows[0][8:] == rows[1][8:]


def test_what_never_pays_is_tried_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, packed, compress = [], [], arrays.zlib.compress

    def counted(data: Any, level: int) -> bytes:
        tried.append(len(packed))
        return compress(data, level)

    monkeypatch.setattr(arrays.zlib, "compress", counted)
    packer, rng = arrays.Packer(), np.random.default_rng(2)
    for _ in range(800):
        array = rng.random(1024)
        packed.append(packer.pack([array], [arrays.digest(array)]))
    assert tried == [0, 32, 96, 224, 480, 736]
    for value in range(300):  # until it is tried again, and from then on
        array = np.full(1024, float(value))
        parts = packer.pack([array], [arrays.digest(array)])
    assert len(parts[1]) < 100


def test_compressing_takes_a_small_share_of_the_time() -> None:
    """Zeros are compressed as long as that has taken a twentieth of the time at most, and again when the rank has gone on."""
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.04  # as long as each compression takes here
        return now

    packer = arrays.Packer(clock)

    def compressed(value: int) -> bool:
        array = np.full(1024, value, np.int64)
        return len(packer.pack([array], [arrays.digest(array)])[1]) < 100

    found = [compressed(value) for value in range(100)]
    assert found[:3] == [True] * 3 and 3 < sum(found) < 10, found
    now += 100
    assert all(compressed(1000 + value) for value in range(20))


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_process_that_is_forked_off_writes_nothing(tmp_path: Path) -> None:
    book = recorded(tmp_path / "a.record", HALVES)
    before = (tmp_path / "a.record").read_bytes()
    child = os.fork()
    if not child:
        book.call(FACTS, b"", lambda: HALVES)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (tmp_path / "a.record").read_bytes() == before
    book.call(FACTS, b"", lambda: HALVES)
    assert len(Story(tmp_path / "a.record").begun) == 2


@pytest.mark.parametrize(
    ("told", "kind", "said"),
    [
        ({"type": "GuardError", "code": "TTR601", "culprits": [1]}, GuardError, "no"),
        ({"type": "OutOfMemory", "code": "TTR700"}, RuntimeError, "OutOfMemory: no"),
        ({"type": "GuardError"}, RuntimeError, "GuardError: no"),
    ],
)
def test_a_recorded_error_is_of_its_kind(told: dict[str, Any], kind: type[Exception], said: str) -> None:
    found = raised_again({"message": "no", **told})
    assert type(found) is kind and said in str(found)


def test_messages_of_another_length_are_other_calls(tmp_path: Path) -> None:
    group = BookedWorld(1, 2, recorded(tmp_path / "a.record")).make_group((0, 1))
    words = [group._facts("ranks", "allgather", detail).words for detail in ("8 bytes", "9 bytes", "")]  # type: ignore[attr-defined]
    assert words == ["allgather(8 bytes)", "allgather(9 bytes)", "allgather"]
