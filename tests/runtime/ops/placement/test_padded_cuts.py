"""Tiles with padding, and several matrices, that are cut over cores: where their parts lie, as recorded from reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, cores
from tests.runtime.ops.tensors import BF16, BFP8, ROW, TILE, U32, held, put
from tt_run.runtime.enums import BufferType, Layout, ShardOrientation
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import DataType

Found = tuple[str, Sequence[int]] | str
"""Cut and piece, `dram`, or the words of a refusal."""
_KINDS = {"H": HEIGHT, "W": WIDTH, "B": BLOCK}


def _tensor(
    one: MeshDevice, shape: Sequence[int], place: str, dtype: DataType = BF16, layout: Layout = TILE
) -> tuple[Any, Tensor]:
    """Values and a tensor of them that is cut by rows, columns or blocks (H, W, B) over so many cores in a row, blocks over two rows of them."""
    values = (np.arange(math.prod(shape)) % 97).reshape(shape).astype(np.float32)
    high, wide = (-(-n // 32) * 32 if layout is TILE else n for n in shape[-2:])
    rows, kind, many = math.prod(shape[:-2]) * high, place[0], int(place[1])
    piece = {"H": (rows // many, wide), "W": (rows, wide // many), "B": (rows // 2, wide // many)}[kind]
    spec = ShardSpec(cores((many - 1, int(kind == "B"))), piece, ShardOrientation.ROW_MAJOR)
    on = put(one, values, dtype, layout)
    return values, ops.to_memory_config(on, MemoryConfig(_KINDS[kind], BufferType.L1, spec))


def _check(call: Callable[[], Tensor], values: Any, found: Found) -> None:
    if isinstance(found, str) and found != "dram":
        with pytest.raises(RuntimeError) as caught:
            call()
        assert found in str(caught.value)
        return
    made = call()
    memory = made.memory_config()
    if found == "dram":
        assert memory == DRAM_MEMORY_CONFIG
    else:
        assert memory.shard_spec is not None
        assert memory.memory_layout is _KINDS[found[0]]
        assert list(memory.shard_spec.shape) == list(found[1])
    assert np.array_equal(held(made), values)


@pytest.mark.parametrize(
    ("shape", "place", "dim", "size", "found"),
    [
        ((2, 3, 50, 70), "H2", 0, 1, ("H", [96, 96])),
        ((2, 3, 50, 70), "W3", 0, 1, ("W", [192, 32])),
        ((2, 3, 50, 70), "H4", 0, 1, "dram"),
        ((4, 50, 64), "H2", 1, 25, ("H", [64, 64])),
        ((1, 1, 100, 64), "B2", 2, 50, ("B", [32, 32])),
        ((1, 1, 50, 40), "H2", 3, 20, ("H", [32, 32])),
        ((2, 48, 96), "W3", 1, 16, "dram"),
        ((1, 1, 96, 96), "H1", 2, [32, 64], "dram"),
        ((2, 64, 128), "H2", 2, 96, "dram"),
        ((2, 3, 50, 70), "H2", 2, 25, "page size 140 must equal buffer size 28800"),
        ((1, 1, 50, 64), "W2", 2, 25, "Shard height 32 must match physical height 25 for width sharded"),
        ((2, 48, 96), "W3", 1, 12, "Shard height 32 must match physical height 64 for width sharded"),
        ((2, 2, 32, 64), "H2", 2, 16, "Number of shards along height 4 must not exceed number of cores 2"),
        ((4, 50, 64), "B2", 1, 25, "Can only write unbatched output for BLOCK_SHARDED -> BLOCK_SHARDED"),
        ((4, 50, 64), "B2", 1, 37, "Can only write unbatched output interleaved"),
        ((1, 100, 60), "B2", 1, 50, "New shape: Shape([1, 50, 60]), Shard width: 32"),
    ],
)
def test_split(
    one: MeshDevice, shape: Sequence[int], place: str, dim: int, size: int | list[int], found: Found
) -> None:
    values, tensor = _tensor(one, shape, place)
    _check(
        lambda: ops.split(tensor, size, dim)[0],
        values.take(range(size if isinstance(size, int) else size[0]), dim),
        found,
    )


@pytest.mark.parametrize(
    ("shape", "place", "dim", "found"),
    [
        ((1, 1, 50, 70), "H1", 2, ("H", [32, 96])),
        ((2, 3, 50, 70), "B3", 1, ("B", [96, 32])),
        ((2, 64, 96), "H1", 0, ("H", [256, 96])),
    ],
)
def test_repeat(one: MeshDevice, shape: Sequence[int], place: str, dim: int, found: Found) -> None:
    values, tensor = _tensor(one, shape, place)
    times = [2 if d == dim else 1 for d in range(len(shape))]
    _check(lambda: ops.repeat(tensor, times), np.tile(values, times), found)


@pytest.mark.parametrize(
    ("shape", "any_rank"), [((1, 96, 64), True), ((1, 1, 96, 64), False), ((96, 64), False)]
)
def test_tiles_of_three_dimensions_name_pieces_of_any_rank(
    one: MeshDevice, shape: Sequence[int], any_rank: bool
) -> None:
    values, tensor = _tensor(one, (1, 1, 64, 96), "H2")
    made = ops.reshape(tensor, shape)
    assert made.memory_config().created_with_nd_shard_spec is any_rank
    assert np.array_equal(held(made), values.reshape(shape))


_SEVERAL = "N_slices > 1 not yet supported"


@pytest.mark.parametrize(
    ("shape", "place", "dim", "cut", "found"),
    [
        ((4, 50, 64), "H2", -1, "input", ("H", [128, 64])),
        ((4, 50, 64), "H2", -1, "index", _SEVERAL),
        ((2, 2, 32, 40), "H2", -1, "input", _SEVERAL),
        ((4, 50, 64), "H2", -2, "input", _SEVERAL),
        ((1, 1, 50, 64), "H2", -2, "input", "dram"),
        ((1, 1, 50, 64), "H2", -2, "index", ("H", [32, 64])),
        ((64, 96), "H2", 0, "input", "Shard width 96 must match physical width 64 for height sharded"),
        ((64, 96), "W3", 0, "index", "Shard height 64 must match physical height 96 for width sharded"),
        ((4, 64, 64), "B2", 0, "input", "Number of shards along height 32 must not exceed number of rows 2"),
    ],
)
def test_gather(one: MeshDevice, shape: Sequence[int], place: str, dim: int, cut: str, found: Found) -> None:
    values, tensor = _tensor(one, shape, place)
    at = np.zeros(shape, np.int64)
    if cut == "input":
        index = put(one, at, U32)
    else:
        index = ops.to_memory_config(put(one, at, U32), tensor.memory_config())
        tensor = put(one, values, BF16)
    _check(lambda: ops.gather(tensor, dim, index), np.take_along_axis(values, at, dim), found)


def test_sums_are_not_scattered_on_cores(one: MeshDevice) -> None:
    _, tensor = _tensor(one, (1, 1, 64, 64), "H2")
    index, source = (put(one, np.zeros((1, 1, 64, 64)), dtype) for dtype in (DataType.INT32, BF16))
    with pytest.raises(RuntimeError, match="Sharded tensors are not supported - input_tensor is sharded"):
        ops.scatter_add(tensor, -1, index, source)


def test_blocks_with_padding_are_rolled_as_rows(one: MeshDevice) -> None:
    _, tensor = _tensor(one, (1, 1, 50, 64), "H2", BFP8)
    assert ops.roll(tensor, 1, 2).dtype is BF16
    with pytest.raises(RuntimeError, match="All Tensors should have same dtypes"):
        ops.roll(tensor, 1, 3)


@pytest.mark.parametrize("layout", [TILE, ROW])
def test_several_matrices_by_columns_are_joined_on_their_cores(one: MeshDevice, layout: Layout) -> None:
    values, tensor = _tensor(one, (2, 3, 32, 64), "W2", layout=layout)
    joined = ops.concat([tensor, tensor], -2)
    assert joined.memory_config() == DRAM_MEMORY_CONFIG
    assert np.array_equal(held(joined), np.concatenate([values, values], -2))


@pytest.mark.parametrize(
    ("shape", "place", "dim", "found"),
    [
        ((2, 32, 48), "W2", -1, "dram"),
        ((1, 1, 40, 80), "B3", -1, "dram"),
        ((2, 3, 50, 70), "H2", -1, "dram"),
        ((4, 50, 64), "B2", -1, "dram"),
        ((4, 50, 64), "B2", -2, "Can only write unbatched output for BLOCK_SHARDED -> BLOCK_SHARDED"),
        ((2, 32, 48), "B2", -1, "Can only write unbatched output for BLOCK_SHARDED -> BLOCK_SHARDED"),
        ((1, 1, 64, 70), "B3", -1, "Width concat: input 1 starts at column 70 (140 bytes)"),
        ((1, 1, 64, 70), "W3", -1, "Current concat implementation requires aligned last dim"),
        ((2, 2, 32, 40), "H2", -1, "DFB 's2s_rm_input_0' (entry_size 96 * num_entries 64 = 6144 bytes)"),
    ],
)
def test_tiles_joined_as_rows(
    one: MeshDevice, shape: Sequence[int], place: str, dim: int, found: Found
) -> None:
    values, tensor = _tensor(one, shape, place)
    _check(lambda: ops.concat([tensor, tensor], dim), np.concatenate([values, values], dim), found)
