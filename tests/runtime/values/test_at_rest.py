"""Buffers beyond the memory for dense numbers: packed from the one that was not used for longest, and the same bits when they are read."""

from __future__ import annotations

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
        ("2 kb", None),
    ],
)
def test_the_limit_is_read(monkeypatch: pytest.MonkeyPatch, text: str, wanted: int | None):
    at_rest.limit.cache_clear()
    monkeypatch.setenv(DENSE_MEMORY, text)
    try:
        if wanted is None:
            with pytest.raises(RuntimeError, match="must be a number of bytes, got '2 kb'"):
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
