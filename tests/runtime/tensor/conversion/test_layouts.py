"""Other layouts, element types and places of tensors that exist: what comes out, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.tensor.made import ar, made
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.conversion.layouts import to_dtype, to_layout, to_memory_config, typecast
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, Tile
from tt_run.runtime.tensor.tensor import Tensor

TILE, ROW = Layout.TILE, Layout.ROW_MAJOR
F32, BF16, BFP8, BFP4 = DataType.FLOAT32, DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.BFLOAT4_B
NAMELESS = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)


def there(
    one: MeshDevice, *shape: int, dtype: DataType = F32, layout: Layout = ROW, **options: Any
) -> Tensor:
    return made(ar(*shape), dtype=dtype, layout=layout, device=one, **options)


def values(tensor: Tensor) -> list[Any]:
    return list(tensor.cpu().to_numpy().tolist())


def test_a_tensor_that_has_the_layout_stays_what_it_is(one: MeshDevice) -> None:
    tensor = there(one, 2, 3)
    same = to_layout(tensor, ROW, BF16, L1_MEMORY_CONFIG)
    assert (same.dtype, same.memory_config()) == (F32, DRAM_MEMORY_CONFIG)
    assert same.buffer_address() == tensor.buffer_address()
    tiled = to_layout(tensor, TILE, BF16, L1_MEMORY_CONFIG)
    assert (tiled.layout, tiled.dtype, tiled.memory_config()) == (TILE, BF16, L1_MEMORY_CONFIG)
    assert values(tiled) == values(tensor)


def test_the_host_keeps_the_element_type(one: MeshDevice) -> None:
    assert to_layout(made(ar(2, 3)), TILE, BF16).dtype is F32
    blocks = made(ar(32, 32), dtype=BFP8, layout=TILE)
    stays = to_layout(blocks, ROW)
    assert (stays.dtype, stays.layout) == (BFP8, TILE) and stays.storage is blocks.storage
    rows = to_layout(there(one, 32, 32, dtype=BFP8, layout=TILE), ROW)
    assert (rows.dtype, rows.layout) == (BF16, ROW)


def rows(one: MeshDevice) -> Tensor:
    return there(one, 32, 64)


def tiles(one: MeshDevice) -> Tensor:
    return there(one, 32, 64, layout=TILE)


REFUSED: dict[str, tuple[Callable[[MeshDevice], object], type[Exception], str]] = {
    "no layout": (lambda one: to_layout(rows(one), 1), TypeError, "layout must be a ttnn.Layout, got 1"),
    "no cores": (lambda one: to_layout(rows(one), TILE, None, NAMELESS), RuntimeError, "bad optional access"),
    "another type of rows": (
        lambda one: to_layout(tiles(one), ROW, BF16),
        RuntimeError,
        "dtype cannot be different from tensor dtype when converting to ROW_MAJOR_LAYOUT",
    ),
    "rows of block floats": (
        lambda one: to_layout(there(one, 32, 32, dtype=BFP8, layout=TILE), ROW, BFP8),
        RuntimeError,
        "Layout must be Layout::TILE for bfloat8_b or bfloat4_b!",
    ),
    "rows of the smallest": (
        lambda one: to_layout(there(one, 32, 32, dtype=BFP4, layout=TILE), ROW),
        RuntimeError,
        "Only TILE layout is supported for BFLOAT8_B dtype!",
    ),
    "filled up bytes": (
        lambda one: to_layout(there(one, 3, 32, dtype=DataType.UINT8), TILE),
        RuntimeError,
        "Can only tilize bfloat16/float32 or int32/uint32/uint16 or fp8_e4m3 tensors",
    ),
    "host into L1": (
        lambda one: to_memory_config(made(ar(2)), L1_MEMORY_CONFIG),
        RuntimeError,
        "Device Operations expect device tensors as inputs",
    ),
    "nameless": (lambda one: to_memory_config(rows(one), NAMELESS), RuntimeError, "bad optional access"),
    "blocks of rows": (
        lambda one: to_memory_config(rows(one), L1_MEMORY_CONFIG, BFP8),
        RuntimeError,
        "Only TILE layout is supported for BFLOAT8_B dtype!",
    ),
    "type of rows": (
        lambda one: to_memory_config(rows(one), L1_MEMORY_CONFIG, BF16),
        RuntimeError,
        "Only tile layout supports dtype conversion",
    ),
    "lies elsewhere": (
        lambda one: to_memory_config(rows(one), L1_MEMORY_CONFIG, output_tensor=there(one, 32, 64)),
        RuntimeError,
        "Mismatched output memory config",
    ),
    "other elements": (
        lambda one: to_memory_config(
            rows(one), DRAM_MEMORY_CONFIG, output_tensor=there(one, 32, 64, dtype=BF16)
        ),
        RuntimeError,
        "Mismatched output dtype",
    ),
    "other tiles": (
        lambda one: to_memory_config(there(one, 32, 32, layout=TILE, tile=Tile((16, 32))), L1_MEMORY_CONFIG),
        RuntimeError,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    "type on a device": (
        lambda one: to_dtype(rows(one), BF16),
        RuntimeError,
        "to_dtype: Tensor must be on host",
    ),
    "tiles that would be padded": (
        lambda one: to_dtype(made(ar(2, 32)), BFP8),
        RuntimeError,
        "implicitly changed physical shape from (2, 32) to (32, 32)",
    ),
    "not its type": (
        lambda one: typecast(rows(one), BF16, F32),
        RuntimeError,
        "input_dtype DataType.BFLOAT16 does not match the tensor's DataType.FLOAT32",
    ),
    "cast to blocks of rows": (
        lambda one: typecast(rows(one), BFP8),
        RuntimeError,
        "Layout must be Layout::TILE",
    ),
    "into another type": (
        lambda one: typecast(rows(one), BF16, output_tensor=there(one, 32, 64)),
        RuntimeError,
        "If both output dtype and output tensor provided dtype should match",
    ),
    "into another layout": (
        lambda one: typecast(rows(one), BF16, output_tensor=there(one, 32, 64, dtype=BF16, layout=TILE)),
        RuntimeError,
        "requires input and output layouts to match",
    ),
    "into another shape": (
        lambda one: typecast(rows(one), BF16, output_tensor=there(one, 64, 32, dtype=BF16)),
        RuntimeError,
        "Preallocated output shape: Shape([64, 32])",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(one: MeshDevice, case: str) -> None:
    call, kind, words = REFUSED[case]
    with pytest.raises(kind) as refused:
        call(one)
    assert words in str(refused.value)


def test_whole_bytes_are_tiled(one: MeshDevice) -> None:
    tiles = to_layout(there(one, 32, 64, dtype=DataType.UINT8), TILE)
    assert tiles.layout is TILE and to_layout(tiles, ROW).layout is ROW
    assert to_layout(made(ar(3, 5), dtype=DataType.UINT8), TILE).padded_shape == [32, 32]  # the host fills up


def test_into_a_tensor_that_is_there(one: MeshDevice) -> None:
    rows = made(ar(2, 3) * np.float32(1.01), device=one)
    for output in (there(one, 2, 3, dtype=BF16), there(one, 2, 3, dtype=DataType.INT32)):
        assert typecast(rows, output.dtype, output_tensor=output) is output
        assert values(output) == values(typecast(rows, rows.dtype, output.dtype))
    near = there(one, 2, 3, memory_config=L1_MEMORY_CONFIG)
    assert to_memory_config(rows, L1_MEMORY_CONFIG, output_tensor=near) is near and values(near) == values(
        rows
    )
    same = to_memory_config(rows, DRAM_MEMORY_CONFIG, BF16)
    assert same.dtype is F32 and same.buffer_address() == rows.buffer_address()


def test_a_copy_on_a_device_has_the_usual_tiles(one: MeshDevice) -> None:
    small = there(one, 32, 32, layout=TILE, tile=Tile((16, 32)))
    assert typecast(small, BF16).tile == DEFAULT_TILE
    assert to_layout(small, ROW).tile == DEFAULT_TILE
    on_host = made(ar(32, 32), layout=TILE, tile=Tile((16, 32)))
    assert typecast(on_host, BF16).tile == Tile((16, 32))


def test_host_tensors_in_another_type() -> None:
    rows = made(ar(32, 32) * np.float32(1.01))
    blocks = to_dtype(rows, BFP8)
    assert (blocks.dtype, blocks.layout) == (BFP8, TILE)
    assert to_dtype(rows, F32).storage is rows.storage
    assert to_dtype(rows, DataType.UINT8).to_numpy()[0, :4].tolist() == [0, 1, 2, 3]
    assert to_dtype(made(np.array([300.0], np.float32)), DataType.UINT8).to_list() == [255]  # kept in range


@pytest.mark.parametrize("pad_value", [0.0, 100.0])
def test_what_fills_up_tiles_counts_in_shared_exponents(one: MeshDevice, pad_value: float) -> None:
    rows = made(np.full((32, 18), 1.4, np.float32), device=one)
    found = to_layout(rows, TILE, BFP8, pad_value=pad_value).cpu().to_numpy()
    assert (found[:, :16] == np.float32(1.40625)).all()
    assert (found[:, 16:] == (1.0 if pad_value else np.float32(1.40625))).all()


def test_several_matrices_do_not_leave_their_padding_in_pieces_of_columns(one: MeshDevice) -> None:
    def place(kind: TensorMemoryLayout, across: int, piece: list[int]) -> MemoryConfig:
        cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(across - 1, 0))])
        return MemoryConfig(kind, BufferType.L1, ShardSpec(cores, piece, ShardOrientation.ROW_MAJOR))

    blocks = place(TensorMemoryLayout.BLOCK_SHARDED, 2, [64, 32])
    columns = place(TensorMemoryLayout.WIDTH_SHARDED, 2, [64, 32])
    for memory, asked, words in (
        (blocks, None, "Can only write unbatched output for BLOCK_SHARDED -> BLOCK_SHARDED"),
        (blocks, DRAM_MEMORY_CONFIG, "Can only write unbatched output interleaved"),
        (columns, DRAM_MEMORY_CONFIG, "Can only write unbatched output interleaved"),
        (columns, None, ""),
    ):
        tensor = to_memory_config(there(one, 2, 31, 64, layout=TILE), memory)
        if words:
            with pytest.raises(RuntimeError, match=words):
                to_layout(tensor, ROW, memory_config=asked)
        else:
            assert to_layout(tensor, ROW, memory_config=asked).is_sharded()
        whole = to_memory_config(there(one, 2, 32, 64, layout=TILE), memory)
        assert values(to_layout(whole, ROW, memory_config=asked)) == ar(2, 32, 64).tolist()
        single = to_memory_config(there(one, 1, 63, 64, layout=TILE), memory)
        assert values(to_layout(single, ROW, memory_config=asked)) == ar(1, 63, 64).tolist()


def test_pieces_of_columns_asked_for_lose_the_padding_of_tiles_that_lay_in_no_pieces(one: MeshDevice) -> None:
    def columns(rows: int) -> MemoryConfig:
        cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
        spec = ShardSpec(cores, [rows, 32], ShardOrientation.ROW_MAJOR)
        return MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, spec)

    tensor = there(one, 2, 31, 64, layout=TILE)
    found = to_layout(tensor, ROW, memory_config=columns(64))
    assert found.memory_config() == columns(62) and values(found) == ar(2, 31, 64).tolist()
    assert to_layout(tensor, ROW, memory_config=columns(62)).memory_config() == columns(62)
    line = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 0))])
    any_rank = MemoryConfig(BufferType.L1, NdShardSpec([1, 32, 32], line))
    pieces = to_memory_config(tensor, any_rank)
    assert pieces.memory_config().shard_spec is None  # no pieces of a matrix
    with pytest.raises(RuntimeError, match="Shard height 64 must match physical height 62"):
        to_layout(pieces, ROW, memory_config=columns(64))
