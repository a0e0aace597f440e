"""Tensors that lie on cores written into parts of others: flat, with rows of whole tiles, wider than the part; and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import BF16, F32, ROW, TILE, held, message, put
from tt_run.runtime.cores import CoreCoord, CoreRange
from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    BufferType,
    DataType,
    Layout,
    ShardOrientation,
    TensorMemoryLayout,
)
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
pytest.importorskip("torch")

ONES = [1, 1, 1, 1]


def on_cores(
    tensor: Tensor, kind: TensorMemoryLayout, piece: tuple[int, int], last: tuple[int, int]
) -> Tensor:
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(*last))])
    memory = MemoryConfig(kind, BufferType.L1, ShardSpec(grid, list(piece), ShardOrientation.ROW_MAJOR))
    moved: Tensor = call("to_memory_config", tensor, memory)
    return moved


def flat(device: MeshDevice, array: np.ndarray, dtype: DataType, layout: Layout) -> Tensor:
    return put(device, array.reshape(1, 1, -1, array.shape[-1]), dtype, layout)


@pytest.mark.parametrize(
    ("layout", "rows", "kind", "piece", "last"),
    [
        (ROW, 8, HEIGHT_SHARDED, (16, 64), (3, 0)),
        (ROW, 8, BLOCK_SHARDED, (32, 32), (1, 1)),
        (TILE, 20, HEIGHT_SHARDED, (128, 64), (1, 0)),
        (TILE, 20, WIDTH_SHARDED, (256, 32), (1, 0)),
        (TILE, 20, BLOCK_SHARDED, (128, 32), (1, 1)),
    ],
)
@pytest.mark.parametrize("channels", [64, 60])
def test_rows_of_cores_go_into_a_part(
    one: MeshDevice,
    layout: Layout,
    rows: int,
    kind: TensorMemoryLayout,
    piece: tuple[int, int],
    last: tuple[int, int],
    channels: int,
) -> None:
    held_rows = -(-rows // 32) * 32 if layout is TILE else rows
    new = sample(F32, 2, 4, held_rows, 64)
    before = sample(F32, 2, 9, rows, channels)
    out = put(one, before, F32, layout)
    part = on_cores(flat(one, new, F32, layout), kind, piece, last)
    result = call("experimental.slice_write", part, out, [0, 5, 0, 0], [2, 9, rows, channels], ONES)
    assert result.storage is out.storage
    before[:, 5:] = new[:, :, :rows, :channels]
    assert np.array_equal(held(out), before)


def test_rows_behind_the_last_are_left_out(one: MeshDevice) -> None:
    new = sample(F32, 72, 32)
    out = put(one, np.zeros((2, 4, 8, 32), np.float32), F32, ROW)
    part = on_cores(flat(one, new, F32, ROW), HEIGHT_SHARDED, (16, 32), (4, 0))
    call("experimental.slice_write", part, out, [0, 0, 0, 0], [2, 4, 8, 32], ONES)
    assert np.array_equal(held(out), new[:64].reshape(2, 4, 8, 32))


def test_nothing_is_written_into_an_empty_part(one: MeshDevice) -> None:
    before = sample(F32, 1, 2, 8, 32)
    out = put(one, before, F32, ROW)
    source = put(one, sample(F32, 1, 2, 8, 32), F32, ROW)
    result = call("experimental.slice_write", source, out, [0, 1, 0, 0], [1, 1, 8, 32], ONES)
    assert result.storage is out.storage
    assert np.array_equal(held(out), before)


H = (HEIGHT_SHARDED, (16, 32), (7, 0))


@pytest.mark.parametrize(
    ("layout", "kind", "start", "end", "step", "words"),
    [
        (
            ROW,
            H,
            [0, 0, 0, 0],
            [2, 16, 8, 32],
            [1, 2, 1, 1],
            "Step is not supported for sharded slice_write operation",
        ),
        (
            ROW,
            H,
            [0, 0, 0, 16],
            [2, 8, 8, 32],
            ONES,
            "expects output start for the last dimension to be 0. Got 16",
        ),
        (ROW, H, [0, 0, 0], [16, 8, 32], ONES[1:], "slice start and slice end should be equal. Got 4 4 3 3"),
        (
            ROW,
            (WIDTH_SHARDED, (128, 16), (1, 0)),
            [0, 0, 0, 0],
            [2, 8, 8, 32],
            ONES,
            "height or block sharded",
        ),
        (
            TILE,
            (HEIGHT_SHARDED, (32, 32), (3, 0)),
            [0, 0, 4, 0],
            [2, 8, 8, 32],
            ONES,
            "a multiple of tile height",
        ),
        (
            TILE,
            (HEIGHT_SHARDED, (32, 32), (3, 0)),
            [0, 0, 0, 0],
            [2, 8, 8, 32],
            ONES,
            r"does not fit a part of \[2, 8, 8, 32\]",
        ),
        (
            ROW,
            None,
            [0, 0, 0, 0],
            [2, 8, 8, 32],
            ONES,
            "being written 2 should match the size of the input tensor 1 at dim 0",
        ),
        (ROW, None, [0, 9, 0, 0], [2, 8, 8, 32], ONES, "End 8 must be greater than or equal to start 9"),
    ],
)
def test_what_does_not_fit_is_refused(
    one: MeshDevice,
    layout: Layout,
    kind: tuple[TensorMemoryLayout, tuple[int, int], tuple[int, int]] | None,
    start: list[int],
    end: list[int],
    step: list[int],
    words: str,
) -> None:
    source = put(one, np.zeros((1, 1, 128, 32), np.float32), F32, layout)
    out = put(one, np.zeros((2, 16, 8, 32), np.float32), F32, layout)
    with pytest.raises(RuntimeError, match=words):
        call("experimental.slice_write", on_cores(source, *kind) if kind else source, out, start, end, step)


def test_a_part_beyond_the_target_is_refused(one: MeshDevice) -> None:
    source, out = (put(one, np.zeros((2, n, 8, 32), np.float32), F32, ROW) for n in (8, 16))
    with pytest.raises(
        RuntimeError, match="Ends 17 must be less than or equal to the shape of the tensor 16"
    ):
        call("experimental.slice_write", source, out, [0, 9, 0, 0], [2, 17, 8, 32], ONES)


def test_types_layouts_and_targets_on_cores_are_refused(one: MeshDevice) -> None:
    zeros = np.zeros((1, 1, 128, 32), np.float32)
    bounds = ([0, 0, 0, 0], [1, 1, 128, 32], ONES)
    rows, tiles = (
        on_cores(put(one, zeros, F32, layout), HEIGHT_SHARDED, (32, 32), (3, 0)) for layout in (ROW, TILE)
    )
    for source, target, words in (
        (put(one, zeros, F32, ROW), rows, "Slice Write currently doesn't support sharded output tensors."),
        (rows, put(one, zeros, BF16, ROW), "Input & output should have the same data format"),
        (tiles, put(one, zeros, BF16, TILE), "Input & output should have the same dtype"),
        (
            tiles,
            put(one, zeros, F32, ROW),
            "expects output tensor to be in TILE layout, got Layout::ROW_MAJOR",
        ),
        (put(one, zeros, F32, ROW), put(one, zeros, BF16, ROW), "should have the same element size"),
    ):
        with pytest.raises(RuntimeError) as refusal:
            call("experimental.slice_write", source, target, *bounds)
        assert words in message(refusal.value)


def test_padded_slices_are_cut_of_what_lies_on_no_cores(one: MeshDevice) -> None:
    values = sample(F32, 2, 4, 8, 32)
    tensor = put(one, values, F32, ROW)
    bounds = ([0, 1, 0, 0], [2, 3, 8, 32], ONES)
    lying = on_cores(tensor, HEIGHT_SHARDED, (16, 32), (3, 0))
    memory = MemoryConfig(
        HEIGHT_SHARDED,
        BufferType.L1,
        ShardSpec(lying.memory_config().shard_spec.grid, [8, 32], ShardOrientation.ROW_MAJOR),
    )
    found = call("experimental.padded_slice", tensor, *bounds, memory_config=memory)
    assert np.array_equal(held(found), values[:, 1:3].reshape(1, 1, 32, 32))
    other = call("experimental.padded_slice", tensor, [0, 0, 0, 0], [2, 2, 8, 32], ONES, memory_config=memory)
    again = call("experimental.padded_slice", tensor, *bounds, memory_config=memory, output_tensor=other)
    assert again.storage is other.storage and np.array_equal(held(other), held(found))
    with pytest.raises(RuntimeError, match="padded_slice does not support sharded inputs"):
        call("experimental.padded_slice", lying, *bounds, memory_config=memory)
