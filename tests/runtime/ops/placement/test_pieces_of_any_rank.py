"""Which results of operands in pieces of any rank are said to lie in those, and which in pieces of a matrix, as in reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import cores
from tests.runtime.ops.tensors import BF16, ROW, TILE, U32, put
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)

PIECES = MemoryConfig(BufferType.L1, NdShardSpec([1, 1, 32, 64], cores((1, 0))))
APART = DRAM_MEMORY_CONFIG


def here(one: MeshDevice, place: MemoryConfig) -> Any:
    return ops.to_memory_config(put(one, np.ones((1, 1, 64, 64)), BF16), place)


def kept(found: Any) -> list[bool]:
    results = found if isinstance(found, (list, tuple)) else [found]
    return [result.memory_config().created_with_nd_shard_spec for result in results]


ALONE: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "digamma": (named("digamma"), False),
    "fill": (lambda x: named("fill")(x, 2.0), False),
    "pow": (lambda x: ops.pow(x, 2), True),
    "bitcast": (lambda x: named("bitcast")(x, x.dtype), False),
    "softmax_in_place": (named("softmax_in_place"), True),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", ALONE)
def test_of_one_operand(one: MeshDevice, name: str) -> None:
    function, wanted = ALONE[name]
    found = function(here(one, PIECES))
    assert found.memory_config().is_sharded()
    assert kept(found) == [wanted]


@pytest.mark.parametrize("name", ["add", "div", "eq", "addalpha", "clamped_silu_glu", "l1_loss", "addcmul"])
@pytest.mark.parametrize("places", [(PIECES, PIECES), (PIECES, APART), (APART, PIECES)])
def test_of_pairs(one: MeshDevice, name: str, places: tuple[MemoryConfig, MemoryConfig]) -> None:
    first, second = (here(one, place) for place in places)
    rest: dict[str, tuple[Any, ...]] = {
        "addalpha": (2.0,),
        "clamped_silu_glu": (7.0,),
        "addcmul": (here(one, APART),),
    }
    found = named(name)(first, second, *rest.get(name, ()))
    assert list(found.memory_config().shard_spec.shape) == [32, 64]
    assert kept(found) == [False]


@pytest.mark.torch
def test_results_that_lie_where_the_grid_or_the_gradient_does(one: MeshDevice) -> None:
    image, grid = np.ones((1, 4, 8, 32)), np.zeros((1, 3, 5, 2))
    rows = [put(one, array, BF16, ROW) for array in (image, grid)]
    read = named("grid_sample")(rows[0], ops.to_memory_config(rows[1], L1_MEMORY_CONFIG))
    assert read.memory_config() == L1_MEMORY_CONFIG
    ids, table = put(one, np.zeros((2, 32)), U32, ROW), put(one, np.ones((32, 64)), BF16, ROW)
    gradient = ops.to_memory_config(put(one, np.ones((1, 1, 64, 64)), BF16), L1_MEMORY_CONFIG)
    assert named("embedding_bw")(ids, table, gradient).memory_config() == L1_MEMORY_CONFIG


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "rest", "wanted"),
    [
        ("abs_bw", (), [False]),
        ("erf_bw", (), [False]),
        ("rdiv_bw", (2.0,), [False]),
        ("exp_bw", (), [True]),
        ("mul_bw", (2.0,), [True]),
        ("mul_bw", (PIECES,), [False, False]),
        ("add_bw", (PIECES,), [True, True]),
        ("fmod_bw", (PIECES,), [True, False]),
        ("addcmul_bw", (PIECES, PIECES, 2.0), [True, False, False]),
    ],
)
def test_gradients_go_into_tensors_made_alike_or_not(
    one: MeshDevice, name: str, rest: tuple[Any, ...], wanted: list[bool]
) -> None:
    operands = [
        here(one, value) if isinstance(value, MemoryConfig) else value for value in (PIECES, PIECES, *rest)
    ]
    assert kept(named(name)(*operands)) == wanted


def test_what_is_gathered_along_rows_lies_where_its_index_does(one: MeshDevice) -> None:
    values, places = put(one, np.ones((2, 32, 32)), BF16), put(one, np.zeros((2, 32, 32)), U32)
    found = [
        ops.gather(values, dim, ops.to_memory_config(places, L1_MEMORY_CONFIG), memory_config=asked)
        for dim, asked in ((0, None), (1, DRAM_MEMORY_CONFIG), (2, None), (2, L1_MEMORY_CONFIG))
    ]
    assert [tensor.memory_config() for tensor in found] == [
        L1_MEMORY_CONFIG,
        L1_MEMORY_CONFIG,
        DRAM_MEMORY_CONFIG,
        L1_MEMORY_CONFIG,
    ]


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "topk", "gather"])
def test_padding_of_several_matrices_on_cores_is_not_filled(one: MeshDevice, name: str) -> None:
    pieces = MemoryConfig(BufferType.L1, NdShardSpec([1, 32, 32], cores((1, 0))))
    tensor = ops.to_memory_config(put(one, np.ones((2, 32, 5)), BF16), pieces)
    rest: dict[str, tuple[Any, ...]] = {"topk": (2,), "gather": (-1, put(one, np.zeros((2, 32, 5)), U32))}
    with pytest.raises(RuntimeError, match=r"N_slices > 1 not yet supported \(got 2\)"):
        named(name)(tensor, *rest.get(name, ()))
    named(name)(ops.to_memory_config(tensor, APART), *rest.get(name, ()))


@pytest.mark.parametrize("name", ["add", "eq", "addalpha", "maximum"])
def test_rows_in_pieces_that_are_no_tiles(one: MeshDevice, name: str) -> None:
    pieces = MemoryConfig(BufferType.L1, NdShardSpec([1, 1, 16, 32], cores((3, 0))))
    rows = ops.to_memory_config(put(one, np.ones((1, 1, 32, 64)), BF16, ROW), pieces)
    with pytest.raises(RuntimeError, match=r"Physical shard shape Shape\(\[1, 1, 16, 32\]\) must be tile"):
        named(name)(rows, rows, *((2.0,) if name == "addalpha" else ()))


def _pieces(shape: list[int], x: int, y: int) -> MemoryConfig:
    return MemoryConfig(BufferType.L1, NdShardSpec(shape, cores((x, y))))


# Pieces of no matrix, and some that are those of one as well.
IN_PIECES = {
    "four": ((2, 4, 64, 64), _pieces([1, 1, 32, 64], 2, 1)),
    "three": ((2, 64, 128), _pieces([1, 64, 32], 1, 1)),
    "rows": ((4, 64, 64), _pieces([2, 64, 64], 1, 0)),
    "columns": ((2, 2, 64, 64), _pieces([2, 2, 64, 32], 1, 0)),
}
SPREAD = "spread"


@pytest.mark.parametrize(
    ("held", "layout", "name", "arguments", "wanted"),
    [
        ("four", TILE, "split", (1, 0), SPREAD),
        ("four", ROW, "split", (32, -1), SPREAD),
        ("three", TILE, "split", (32, 1), SPREAD),
        ("four", TILE, "chunk", (2, 1), [1, 1, 32, 64]),
        ("three", TILE, "chunk", (2, 1), [1, 32, 32]),
        ("four", ROW, "chunk", (2, 2), [1, 1, 16, 64]),
        ("rows", TILE, "chunk", (2, 1), [64, 64]),
        ("columns", TILE, "chunk", (2, 2), [128, 32]),
        ("four", TILE, "glu", (), [1, 1, 32, 32]),
        ("four", ROW, "glu", (), [1, 1, 32, 32]),
        ("four", TILE, "repeat_interleave", (2, 0), SPREAD),
        ("four", ROW, "repeat_interleave", (2, 1), [1, 2, 32, 64]),
        ("four", ROW, "repeat_interleave", (2, 3), [1, 1, 32, 128]),
        ("three", ROW, "repeat_interleave", (2, 1), SPREAD),
        ("rows", ROW, "repeat_interleave", (2, 1), SPREAD),
        ("three", TILE, "unsqueeze_to_4D", (), [1, 1, 64, 32]),
        ("rows", TILE, "softmax", (), [128, 64]),
        ("rows", TILE, "pow", (2.0,), [128, 64]),
        ("columns", ROW, "pow", (2.0,), [256, 32]),
        ("rows", TILE, "empty_like", (), [2, 64, 64]),
        ("columns", TILE, "view", ((2, 2, 64, 64),), [2, 2, 64, 32]),
        ("rows", ROW, "experimental.view", ((4, 64, 64),), [2, 64, 64]),
    ],
)
def test_pieces_of_results(
    one: MeshDevice, held: str, layout: Any, name: str, arguments: tuple[Any, ...], wanted: Any
) -> None:
    shape, place = IN_PIECES[held]
    values = np.arange(np.prod(shape)).reshape(shape) % 7
    tensor = ops.to_memory_config(put(one, values, BF16, layout), place)
    found = named(name)(tensor, *arguments)
    for result in found if isinstance(found, list) else [found]:
        memory = result.memory_config()
        pieces = memory.nd_shard_spec
        assert (SPREAD if pieces is None else list(pieces.shard_shape)) == wanted
        assert memory.created_with_nd_shard_spec is (pieces is not None and len(wanted) > 2)


def test_a_row_or_matrix_of_pieces_has_pieces_of_fewer_dimensions(one: MeshDevice) -> None:
    shape, place = IN_PIECES["three"]
    matrix = ops.to_memory_config(put(one, np.ones(shape), BF16), place)[0]
    assert list(matrix.memory_config().nd_shard_spec.shard_shape) == [64, 32]
    assert matrix.memory_config().memory_layout is TensorMemoryLayout.WIDTH_SHARDED


@pytest.mark.parametrize("shape", [(128, 64), (4, 32, 64), (2, 2, 2, 16, 64)])
def test_rows_on_cores_that_are_repeated_apart_leave_them(one: MeshDevice, shape: tuple[int, ...]) -> None:
    cut = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED,
        BufferType.L1,
        ShardSpec(cores((1, 0)), [64, 64], ShardOrientation.ROW_MAJOR),
    )
    rows = ops.to_memory_config(put(one, np.arange(np.prod(shape)).reshape(shape) % 7, BF16, ROW), cut)
    found = ops.repeat_interleave(rows, 2, 0)
    assert found.memory_config() == DRAM_MEMORY_CONFIG
    same = ops.repeat_interleave(ops.reshape(rows, (1, 1, 128, 64)), 2, 2)
    assert same.memory_config().shard_spec.shape == [128, 64]
