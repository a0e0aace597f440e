"""State-space scans, sums and products, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.placement.test_larger_shards import WIDTH, cores
from tests.runtime.ops.placement.test_reordered_shards import BY_ROW
from tests.runtime.ops.tensors import BF16, BFP8, F32, ROW, TILE, held, near, put, rounded
from tt_run.runtime.enums import BufferType, DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.conversions import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
pytest.importorskip("torch")

WIDE = "float64"


def test_state_space(one: MeshDevice) -> None:
    a, bx, h = (sample(F32, 1, 1, 33, 64, seed=s) * 0.5 for s in (1, 2, 3))
    state, rows = h[:, :, :1].astype(WIDE), []
    for i in range(33):
        state = a[:, :, i : i + 1] * state + bx[:, :, i : i + 1]
        rows.append(state)
    cut = (
        MemoryConfig(WIDTH, BufferType.L1, ShardSpec(cores((1, 0)), (high, 32), BY_ROW))
        for high in (64, 64, 1)
    )
    places = [
        to_memory_config(put(one, t, F32, layout), m)
        for t, layout, m in zip((a, bx, h[:, :, :1]), (TILE, TILE, ROW), cut, strict=True)
    ]
    near(call("experimental.prefix_scan", *places), np.concatenate(rows, 2).astype(np.float32), steps=16)
    near(places[2], rows[-1].astype(np.float32), steps=16)  # the next piece of the sequence goes on from it
    again = call("experimental.prefix_scan", *places)
    near(again[:, :, :1], (a[:, :, :1] * rows[-1] + bx[:, :, :1]).astype(np.float32), steps=16)
    for given, words in (
        ((*places[:2], put(one, h[:, :, :1])), "hidden state to be row-major"),
        ((put(one, a), *places[1:]), "tensors to be sharded"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call("experimental.prefix_scan", *given)
    with pytest.raises(RuntimeError, match="Only L1 buffers can have an associated circular buffer"):
        call("experimental.prefix_scan", *places, memory_config=DRAM_MEMORY_CONFIG)
    wide = sample(F32, 1, 1, 32, 2048, seed=6)
    near(call("experimental.hc_sum_reduce", put(one, wide)), wide.reshape(1, 1, 32, 64, 32).sum(-1), steps=16)
    with pytest.raises(RuntimeError, match="Final dim/TILE_SIZE must be a multiple of latent size"):
        call("experimental.hc_sum_reduce", put(one, a))


@pytest.mark.parametrize("wide", [(), ("small",), ("big",)], ids=str)
def test_repeated_times_interleaved(one: MeshDevice, wide: tuple[str, ...]) -> None:
    small, big = sample(F32, 1, 1, 1, 32, seed=4), sample(F32, 1, 1, 1, 5120, seed=5)
    left, right = np.tile(small, (1, 1, 1, 5120)), np.repeat(big, 32, -1)
    a, b = left if "small" in wide else small, right if "big" in wide else big
    near(
        call("experimental.repeat_and_interleave_eltwise_mul", put(one, a), put(one, b)),
        left * right,
        steps=1,
    )


@pytest.mark.parametrize(
    ("a", "b", "words"), [(32, 32, "same size"), (64, 5120, "Input a width"), (32, 64, "Input b width")]
)
def test_widths_that_are_not_multiplied(one: MeshDevice, a: int, b: int, words: str) -> None:
    given = [put(one, sample(F32, 1, 1, 32, width)) for width in (a, b)]
    with pytest.raises(RuntimeError, match=words):
        call("experimental.repeat_and_interleave_eltwise_mul", *given)


def test_types_of_results(one: MeshDevice) -> None:
    wide = sample(BF16, 1, 1, 32, 2048, seed=6)
    small, big = sample(BF16, 1, 1, 1, 32, seed=4), sample(BF16, 1, 1, 1, 5120, seed=5)
    for name, given, wanted in (
        ("hc_sum_reduce", (wide,), wide.astype(WIDE).reshape(1, 1, 32, 64, 32).sum(-1)),
        (
            "repeat_and_interleave_eltwise_mul",
            (small, big),
            np.tile(small.astype(WIDE), 5120) * np.repeat(big, 32, -1),
        ),
    ):
        operands = [put(one, part, BF16) for part in given]
        for dtype in (BF16, BFP8):
            found = call(f"experimental.{name}", *operands, dtype=dtype)
            assert found.dtype is dtype
            assert np.array_equal(held(found), rounded(wanted.astype(np.float32), dtype))
        for dtype in (F32, DataType.BFLOAT4_B):
            with pytest.raises(RuntimeError, match="Unsupported data format for output!"):
                call(f"experimental.{name}", *operands, dtype=dtype)


@pytest.mark.parametrize("dtype", [BF16, F32, BFP8])
def test_a_scan_in_another_type(one: MeshDevice, dtype: DataType) -> None:
    a, bx, h = (sample(BF16, 1, 1, rows, 64, seed=s) * 0.5 for s, rows in ((1, 32), (2, 32), (3, 1)))
    places = [
        to_memory_config(
            put(one, part, BF16, layout),
            MemoryConfig(WIDTH, BufferType.L1, ShardSpec(cores((1, 0)), (high, 32), BY_ROW)),
        )
        for part, layout, high in ((a, TILE, 32), (bx, TILE, 32), (h, ROW, 1))
    ]
    state, rows = h.astype(WIDE), []
    for i in range(32):
        state = a[:, :, i : i + 1] * state + bx[:, :, i : i + 1]
        rows.append(state)
    found = call("experimental.prefix_scan", *places, dtype=dtype)
    assert found.dtype is dtype and places[2].dtype is BF16
    near(found, np.concatenate(rows, 2), steps=1 if dtype is not F32 else 16)
