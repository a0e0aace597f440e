"""Buffers beyond the memory for dense numbers: packed from the one that was not used for longest, and the same bits when they are read."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pytest

from tt_run.contract import DENSE_MEMORY
from tt_run.runtime.enums import DataType
from tt_run.runtime.values import at_rest, storage
from tt_run.runtime.values.at_rest import Dense
from tt_run.runtime.values.dtypes import convert
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Buffer

BYTES = 1 << 20


@pytest.fixture
def room_for_two(monkeypatch: pytest.MonkeyPatch) -> Dense:
    dense = Dense(lambda: 2 * BYTES)
    monkeypatch.setattr(storage, "dense", dense)
    return dense


def stack(seed: int, dtype: DataType = DataType.BFLOAT8_B) -> np.ndarray:
    return convert(np.random.default_rng(seed).standard_normal((1, 512, 512)).astype(np.float32), dtype)


def is_packed(buffer: Buffer) -> bool:
    return buffer._shards is None and buffer._packed is not None


def test_the_one_not_used_for_longest_is_packed(room_for_two: Dense):
    arrays = [stack(seed) for seed in range(3)]
    first, second = (Buffer(Shards.replicated(a[0], 2)) for a in arrays[:2])
    assert first.shards.index == (0, 0)
    third = Buffer(Shards.replicated(arrays[2][0], 2))
    assert [is_packed(b) for b in (first, second, third)] == [False, True, False]
    assert (second.allocated, room_for_two.nbytes) == (True, 2 * BYTES)
    assert second.shards.data.tobytes() == arrays[1].tobytes()
    assert second.shards.index == (0, 0)
    assert [is_packed(b) for b in (first, second, third)] == [True, False, False]


def test_activations_of_a_small_model_count(room_for_two: Dense):
    """A quarter of a MiB each, as those of 4 x 128 positions of width 128; smaller ones do not."""
    parts = [stack(seed, DataType.BFLOAT16)[:, :128] for seed in range(9)]
    kept = [Buffer(Shards.replicated(part[0].copy(), 1)) for part in parts]
    assert [is_packed(buffer) for buffer in kept] == [True] + [False] * 8
    assert kept[0].shards.data.tobytes() == parts[0].tobytes()
    held = room_for_two.nbytes
    small = Buffer(Shards.replicated(parts[0][0, :127].copy(), 1))
    assert small.allocated and room_for_two.nbytes == held


def test_writing_and_freeing(room_for_two: Dense):
    buffers = [Buffer(Shards.replicated(stack(seed)[0], 1)) for seed in range(3)]
    buffers[0].write(Shards.replicated(stack(7)[0], 1))
    assert buffers[0].shards.data.tobytes() == stack(7).tobytes()
    assert is_packed(buffers[1])
    buffers[1].free()
    assert not buffers[1].allocated
    with pytest.raises(RuntimeError, match="not allocated"):
        _ = buffers[1].shards
    buffers.clear()
    assert room_for_two.nbytes == 0


def test_numbers_that_fit_no_smaller_form_stay(room_for_two: Dense):
    buffers = [Buffer(Shards.replicated(stack(seed, DataType.FLOAT32)[0], 1)) for seed in range(4)]
    assert not any(is_packed(b) for b in buffers)
    assert buffers[0].shards.data.tobytes() == stack(0, DataType.FLOAT32).tobytes()


def test_small_buffers_do_not_count(room_for_two: Dense):
    Buffer(Shards.replicated(np.zeros((8, 8), np.float32), 1))
    assert room_for_two.nbytes == 0


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("4GiB", 4 << 30),
        ("512M", 512 << 20),
        ("64K", 64 << 10),
        ("2t", 2 << 40),
        ("100", 100),
        ("3KB", 3 << 10),
        (" 1 ", 1),
        ("2 kb", None),
        ("many", None),
        ("-1", None),
    ],
)
def test_the_limit_is_read(monkeypatch: pytest.MonkeyPatch, text: str, wanted: int | None):
    at_rest.limit.cache_clear()
    monkeypatch.setenv(DENSE_MEMORY, text)
    try:
        if wanted is None:
            with pytest.raises(RuntimeError, match=f"must be a number of bytes, got '{text}'"):
                at_rest.limit()
        else:
            assert at_rest.limit() == wanted
    finally:
        at_rest.limit.cache_clear()


def test_ranks_of_a_host_share_its_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(DENSE_MEMORY, raising=False)
    found = []
    for ranks in ("1", "4"):
        at_rest.limit.cache_clear()
        monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", ranks)
        found.append(at_rest.limit())
    at_rest.limit.cache_clear()
    assert found[0] // 4 == found[1] > SMALL


SMALL = 1 << 20


def test_a_rank_has_two_fifths_of_what_it_may_count_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(DENSE_MEMORY, raising=False)
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "0")  # of which there is one at least
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    allowed = tmp_path / "memory.max"
    monkeypatch.setattr(at_rest, "Path", lambda _: allowed)
    for text, memory in ((None, whole), ("max\n", whole), ("1000000\n", 1000000), (f"{4 * whole}", whole)):
        if text is not None:
            allowed.write_text(text)
        at_rest.limit.cache_clear()
        assert at_rest.limit() == int(0.4 * memory)
    at_rest.limit.cache_clear()


class Thing:
    """What can be packed."""

    packed = 0

    def pack(self) -> bool:
        self.packed += 1
        return True


def test_bytes_are_those_of_the_last_use() -> None:
    dense = Dense(lambda: 100)
    first, second = Thing(), Thing()
    dense.used(first, 60)
    dense.used(first, 40)
    assert dense.nbytes == 40
    dense.used(second, 60)
    assert (dense.nbytes, first.packed) == (100, 0)  # as many as there may be
    dense.used(second, 61)
    assert (dense.nbytes, first.packed, second.packed) == (61, 1, 0)
    dense.used(second, 500)
    assert (dense.nbytes, second.packed) == (500, 0)  # the one in use stays
    dense.forget(id(second))
    dense.forget(id(second))
    assert dense.nbytes == 0


def test_a_training_step_keeps_little_dense() -> None:
    dense = Dense(lambda: 1 << 40)
    first, second = Thing(), Thing()
    dense.is_tight = True
    dense.used(first, at_rest.TIGHT - 1)
    dense.used(second, 1)
    assert first.packed == 0
    dense.used(second, 2)
    assert first.packed == 1
    small = Dense(lambda: 10)
    small.is_tight = True  # and never more than there is room for
    small.used(first, 6)
    small.used(second, 6)
    assert first.packed == 2


def test_one_that_is_gone_counts_no_more() -> None:
    dense = Dense(lambda: 100)
    gone, kept = Thing(), Thing()
    dense.used(gone, 60)
    dense.used(kept, 40)
    del gone
    gc.collect()
    assert dense.nbytes == 40
