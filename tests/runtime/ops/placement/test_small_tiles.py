"""Where reductions of smaller tiles on cores lie, which are in whole ones, and which do not fit: as in reference library 0.81.1."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import cores
from tests.runtime.ops.placement.test_reduced_pieces import BLOCK, HEIGHT, ND, WIDTH, seen
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, Tile


def _matrix(kind: Any, piece: list[int], last: tuple[int, int]) -> MemoryConfig:
    return MemoryConfig(kind, BufferType.L1, ShardSpec(cores(last), piece, ShardOrientation.ROW_MAJOR))


PLACES = {
    "rows": _matrix(HEIGHT, [32, 128], (3, 0)),
    "low rows": _matrix(HEIGHT, [16, 128], (7, 0)),
    "columns": _matrix(WIDTH, [128, 32], (3, 0)),
    "narrow columns": _matrix(WIDTH, [128, 16], (7, 0)),
    "blocks": _matrix(BLOCK, [64, 64], (1, 1)),
    "small blocks": _matrix(BLOCK, [32, 32], (3, 3)),
    "pieces": MemoryConfig(BufferType.L1, NdShardSpec([1, 32, 32], cores((3, 0)))),
    "narrow pieces": MemoryConfig(BufferType.L1, NdShardSpec([32, 16], cores((3, 0)))),
}
FOUR, THREE = (1, 2, 64, 128), (2, 64, 128)


def lying(one: MeshDevice, tile: tuple[int, int], shape: tuple[int, ...], place: str) -> Any:
    values = np.ones(shape, np.float32)
    return from_torch(
        values,
        DataType.BFLOAT16,
        layout=Layout.TILE,
        device=one,
        memory_config=PLACES[place],
        tile=Tile(tile),
    )


REDUCED: list[tuple[Any, ...]] = [
    ("max", (16, 16), FOUR, "blocks", (-2, -1), False, (BLOCK, [32, 32], [32, 32])),
    ("max", (16, 16), FOUR, "columns", -1, False, (WIDTH, [32, 32], [32, 32])),
    ("max", (16, 16), THREE, "low rows", -2, False, (WIDTH, [32, 128], [32, 128])),
    ("max", (16, 16), FOUR, "pieces", -3, True, (ND, None, [1, 32, 32])),
    ("max", (16, 16), THREE, "blocks", None, True, (BLOCK, [64, 64], [64, 64])),
    ("prod", (16, 16), THREE, "small blocks", 0, False, (BLOCK, [32, 32], [32, 32])),
    ("sum", (16, 16), FOUR, "low rows", (-2, -1), False, (WIDTH, [32, 32], [32, 32])),
    ("sum", (16, 16), THREE, "columns", -1, True, (WIDTH, [128, 32], [128, 32])),
    ("sum", (16, 16), FOUR, "pieces", -2, True, (ND, None, [1, 32, 32])),
    ("sum", (16, 16), FOUR, "blocks", -3, False, (BLOCK, [64, 64], [64, 64])),
    ("sum", (16, 16), FOUR, "small blocks", 0, True, (BLOCK, [32, 32], [32, 32])),
    ("sum", (16, 16), THREE, "rows", None, True, (WIDTH, [32, 32], [32, 32])),
    ("var", (16, 16), FOUR, "pieces", -3, True, (ND, None, [1, 32, 32])),
    ("var", (16, 16), FOUR, "blocks", 0, True, (BLOCK, [64, 64], [64, 64])),
    ("max", (16, 32), THREE, "low rows", (-2, -1), False, (WIDTH, [32, 32], [32, 32])),
    ("max", (16, 32), THREE, "low rows", -1, True, (HEIGHT, [32, 32], [32, 32])),
    ("max", (16, 32), THREE, "small blocks", -2, True, (BLOCK, [32, 32], [32, 32])),
    ("max", (16, 32), FOUR, "pieces", -3, True, (ND, None, [1, 32, 32])),
    ("max", (16, 32), FOUR, "small blocks", None, False, (BLOCK, [32, 32], [32, 32])),
    ("prod", (16, 32), FOUR, "small blocks", 0, False, (BLOCK, [32, 32], [32, 32])),
    ("sum", (16, 32), FOUR, "pieces", (-2, -1), False, (WIDTH, [32, 32], [32, 32])),
    ("sum", (16, 32), THREE, "small blocks", -1, True, (BLOCK, [32, 32], [32, 32])),
    ("sum", (16, 32), THREE, "low rows", -2, False, (WIDTH, [32, 128], [32, 128])),
    ("sum", (16, 32), THREE, "rows", -3, False, (HEIGHT, [32, 128], [32, 128])),
    ("sum", (16, 32), THREE, "small blocks", 0, True, (BLOCK, [32, 32], [32, 32])),
    ("sum", (16, 32), FOUR, "pieces", None, False, (WIDTH, [32, 32], [32, 32])),
    ("var", (16, 32), FOUR, "pieces", -3, False, (ND, None, [1, 32, 32])),
    ("var", (16, 32), FOUR, "rows", 0, False, (HEIGHT, [32, 128], [32, 128])),
    ("max", (32, 16), THREE, "narrow columns", (-2, -1), True, (WIDTH, [64, 32], [64, 32])),
    ("max", (32, 16), THREE, "blocks", -1, True, (BLOCK, [64, 32], [64, 32])),
    ("max", (32, 16), THREE, "rows", -2, True, (HEIGHT, [32, 128], [32, 128])),
    ("max", (32, 16), FOUR, "pieces", -3, True, (ND, None, [1, 32, 32])),
    ("max", (32, 16), FOUR, "small blocks", None, True, (BLOCK, [32, 32], [32, 32])),
    ("prod", (32, 16), FOUR, "small blocks", 0, True, (BLOCK, [32, 32], [32, 32])),
    ("sum", (32, 16), FOUR, "narrow pieces", (-2, -1), False, (WIDTH, [32, 32], [32, 32])),
    ("sum", (32, 16), THREE, "small blocks", -1, True, (BLOCK, [32, 32], [32, 32])),
    ("sum", (32, 16), FOUR, "pieces", -2, True, (ND, None, [1, 32, 32])),
    ("sum", (32, 16), FOUR, "blocks", -3, False, (BLOCK, [64, 64], [64, 64])),
    ("sum", (32, 16), FOUR, "small blocks", 0, False, (BLOCK, [32, 32], [32, 32])),
    ("sum", (32, 16), FOUR, "pieces", None, False, (WIDTH, [32, 32], [32, 32])),
    ("var", (32, 16), FOUR, "pieces", -3, False, (ND, None, [1, 32, 32])),
    ("var", (32, 16), FOUR, "blocks", 0, True, (BLOCK, [64, 64], [64, 64])),
]


@pytest.mark.parametrize(("name", "tile", "shape", "place", "dim", "keepdim", "wanted"), REDUCED)
def test_reduced(
    one: MeshDevice, name: str, tile: Any, shape: Any, place: str, dim: Any, keepdim: bool, wanted: Any
) -> None:
    found = named(name)(lying(one, tile, shape, place), dim, keepdim)
    assert seen(found) == wanted
    assert found.get_tile() == DEFAULT_TILE


REFUSED: list[tuple[Any, ...]] = [
    (
        "max",
        (16, 16),
        THREE,
        "narrow pieces",
        (-2, -1),
        True,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "max",
        (16, 16),
        THREE,
        "narrow pieces",
        -1,
        False,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "max",
        (16, 16),
        THREE,
        "pieces",
        -2,
        False,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "max",
        (16, 16),
        FOUR,
        "low rows",
        -3,
        True,
        "Physical shard shape (16, 128) must be tile {32, 32} sized!",
    ),
    (
        "max",
        (16, 16),
        FOUR,
        "rows",
        0,
        False,
        "Number of shards along height 128 must not exceed number of cores 4",
    ),
    (
        "max",
        (16, 16),
        THREE,
        "blocks",
        None,
        False,
        "Changing the last dimension of a sharded tensor is not supported unless the shard width matches the input last dimension. Input shape: Shape",
    ),
    (
        "prod",
        (16, 16),
        FOUR,
        "narrow pieces",
        0,
        False,
        "Physical shard shape Shape([32, 16]) must be tile {32, 32} sized!",
    ),
    (
        "sum",
        (16, 16),
        THREE,
        "pieces",
        (-2, -1),
        False,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "sum",
        (16, 16),
        THREE,
        "narrow pieces",
        -1,
        True,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "sum",
        (16, 16),
        THREE,
        "pieces",
        -2,
        False,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "sum",
        (16, 16),
        THREE,
        "low rows",
        -3,
        True,
        "Physical shard shape (16, 128) must be tile {32, 32} sized!",
    ),
    (
        "sum",
        (16, 16),
        FOUR,
        "low rows",
        0,
        True,
        "Physical shard shape (16, 128) must be tile {32, 32} sized!",
    ),
    (
        "sum",
        (16, 16),
        THREE,
        "low rows",
        None,
        True,
        "Physical shard shape (16, 128) must be tile {32, 32} sized!",
    ),
    (
        "var",
        (16, 16),
        FOUR,
        "columns",
        -3,
        False,
        "Shard height 128 must match physical height 2048 for width sharded",
    ),
    (
        "var",
        (16, 16),
        THREE,
        "low rows",
        0,
        False,
        "Physical shard shape (16, 128) must be tile {32, 32} sized!",
    ),
    (
        "max",
        (16, 32),
        THREE,
        "pieces",
        (-2, -1),
        True,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "max",
        (16, 32),
        THREE,
        "pieces",
        -1,
        False,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "max",
        (16, 32),
        THREE,
        "pieces",
        -2,
        True,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "max",
        (16, 32),
        FOUR,
        "blocks",
        -3,
        False,
        "Number of shards along height 32 must not exceed number of rows 2 for row major orientation!",
    ),
    (
        "max",
        (16, 32),
        THREE,
        "low rows",
        0,
        False,
        "Physical shard shape (16, 128) must be tile {32, 32} sized!",
    ),
    (
        "max",
        (16, 32),
        FOUR,
        "low rows",
        None,
        False,
        "Physical shard shape (16, 128) must be tile {32, 32} sized!",
    ),
    (
        "prod",
        (16, 32),
        FOUR,
        "rows",
        -1,
        True,
        "Shard width 128 must match physical width 64 for height sharded",
    ),
    (
        "sum",
        (16, 32),
        THREE,
        "pieces",
        (-2, -1),
        False,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "sum",
        (16, 32),
        THREE,
        "pieces",
        -1,
        True,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "sum",
        (16, 32),
        THREE,
        "pieces",
        -2,
        False,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "sum",
        (16, 32),
        THREE,
        "columns",
        -3,
        True,
        "Shard height 128 must match physical height 64 for width sharded",
    ),
    (
        "sum",
        (16, 32),
        FOUR,
        "low rows",
        0,
        False,
        "Physical shard shape (16, 128) must be tile {32, 32} sized!",
    ),
    (
        "sum",
        (16, 32),
        THREE,
        "low rows",
        None,
        True,
        "Physical shard shape (16, 128) must be tile {32, 32} sized!",
    ),
    (
        "var",
        (16, 32),
        FOUR,
        "rows",
        -3,
        False,
        "Number of shards along height 64 must not exceed number of cores 4",
    ),
    (
        "var",
        (16, 32),
        FOUR,
        "low rows",
        0,
        True,
        "Physical shard shape (16, 128) must be tile {32, 32} sized!",
    ),
    (
        "max",
        (32, 16),
        THREE,
        "narrow pieces",
        (-2, -1),
        True,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "max",
        (32, 16),
        THREE,
        "narrow pieces",
        -1,
        False,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "max",
        (32, 16),
        THREE,
        "pieces",
        -2,
        False,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "max",
        (32, 16),
        FOUR,
        "columns",
        -3,
        True,
        "Shard height 128 must match physical height 2048 for width sharded",
    ),
    ("max", (32, 16), FOUR, "narrow pieces", 0, False, "ShapeBase[] index out of range. 2 not in [-4, 2)"),
    (
        "max",
        (32, 16),
        THREE,
        "pieces",
        None,
        True,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "prod",
        (32, 16),
        FOUR,
        "narrow columns",
        -1,
        False,
        "Physical shard shape (128, 16) must be tile {32, 32} sized!",
    ),
    (
        "sum",
        (32, 16),
        THREE,
        "narrow pieces",
        (-2, -1),
        False,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "sum",
        (32, 16),
        THREE,
        "narrow pieces",
        -1,
        True,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "sum",
        (32, 16),
        THREE,
        "narrow pieces",
        -2,
        True,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
    (
        "sum",
        (32, 16),
        FOUR,
        "columns",
        -3,
        True,
        "Shard height 128 must match physical height 64 for width sharded",
    ),
    (
        "sum",
        (32, 16),
        THREE,
        "columns",
        0,
        True,
        "Shard height 128 must match physical height 64 for width sharded",
    ),
    (
        "sum",
        (32, 16),
        FOUR,
        "columns",
        None,
        False,
        "Shard height 128 must match physical height 64 for width sharded",
    ),
    (
        "var",
        (32, 16),
        FOUR,
        "narrow columns",
        -3,
        False,
        "Physical shard shape (128, 16) must be tile {32, 32} sized!",
    ),
    (
        "var",
        (32, 16),
        THREE,
        "pieces",
        0,
        True,
        "Input and output tensors must have the same tile shape when layout is TILE",
    ),
]


@pytest.mark.parametrize(("name", "tile", "shape", "place", "dim", "keepdim", "words"), REFUSED)
def test_refused(
    one: MeshDevice, name: str, tile: Any, shape: Any, place: str, dim: Any, keepdim: bool, words: str
) -> None:
    with pytest.raises(RuntimeError, match=re.escape(words)):
        named(name)(lying(one, tile, shape, place), dim, keepdim)
