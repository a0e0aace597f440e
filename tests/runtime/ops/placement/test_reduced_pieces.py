"""Where tensors of three to five dimensions in pieces of any rank lie once they are reduced, step by step through four, as in reference
library 0.81.1."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import cores
from tests.runtime.ops.tensors import BF16, ROW, TILE, put
from tt_run.runtime.enums import BufferType, Layout, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec

HEIGHT, WIDTH, BLOCK, ND = (
    TensorMemoryLayout.HEIGHT_SHARDED,
    TensorMemoryLayout.WIDTH_SHARDED,
    TensorMemoryLayout.BLOCK_SHARDED,
    TensorMemoryLayout.ND_SHARDED,
)
LINE, SQUARE = (3, 0), (1, 1)
THREE, FOUR, FIVE = (4, 64, 96), (2, 3, 64, 64), (2, 2, 2, 32, 64)


def lying(
    one: MeshDevice, shape: tuple[int, ...], piece: list[int], last: tuple[int, int], layout: Layout
) -> Any:
    place = MemoryConfig(BufferType.L1, NdShardSpec(piece, cores(last)))
    return ops.to_memory_config(put(one, np.ones(shape), BF16, layout), place)


def seen(tensor: Any) -> tuple[TensorMemoryLayout, list[int] | None, list[int]]:
    place = tensor.memory_config()
    spec = place.shard_spec
    return place.memory_layout, spec and list(spec.shape), list(place.nd_shard_spec.shard_shape)


REDUCED: list[tuple[Any, ...]] = [
    ("mean", THREE, [64, 64], LINE, TILE, (0, 1), True, (WIDTH, [32, 64], [1, 32, 64])),
    ("max", THREE, [1, 64, 64], LINE, TILE, 0, False, (WIDTH, [64, 64], [64, 64])),
    ("max", THREE, [64, 32], LINE, TILE, None, False, (HEIGHT, [64, 32], [64, 32])),
    ("sum", THREE, [1, 32, 64], SQUARE, ROW, (0, 1), False, (BLOCK, [32, 64], [32, 64])),
    ("sum", THREE, [1, 32, 64], LINE, ROW, 0, True, (ND, None, [1, 32, 64])),
    ("sum", THREE, [1, 32, 32], LINE, TILE, None, True, (WIDTH, [32, 32], [32, 32])),
    ("std", THREE, [2, 32, 32], LINE, TILE, (0, 1), True, (WIDTH, [32, 96], [1, 32, 96])),
    ("std", THREE, [1, 64, 64], LINE, TILE, 0, False, (WIDTH, [64, 64], [64, 64])),
    ("std", THREE, [32, 64], LINE, TILE, None, True, (WIDTH, [32, 32], [32, 32])),
    ("var", THREE, [1, 64, 64], SQUARE, TILE, (0, 1), True, (WIDTH, [32, 96], [1, 32, 96])),
    ("var", THREE, [32, 32], LINE, TILE, 0, True, (ND, None, [1, 32, 32])),
    ("var", THREE, [2, 32, 32], SQUARE, TILE, None, True, (HEIGHT, [64, 32], [2, 32, 32])),
    ("sum", FOUR, [1, 32, 32], LINE, TILE, None, False, (WIDTH, [32, 32], [32, 32])),
    ("min", FIVE, [32, 64], LINE, ROW, 4, False, (HEIGHT, [32, 32], [1, 1, 32, 32])),
    ("max", FIVE, [32, 32], SQUARE, TILE, 3, True, (ND, None, [2, 1, 1, 32, 32])),
    ("sum", FIVE, [32, 64], SQUARE, ROW, (0, 1), False, (HEIGHT, [32, 64], [32, 64])),
    ("sum", FIVE, [32, 64], SQUARE, ROW, 4, False, (HEIGHT, [32, 32], [1, 1, 32, 32])),
    ("sum", FIVE, [32, 64], SQUARE, TILE, 3, True, (ND, None, [2, 1, 1, 32, 64])),
    ("sum", FIVE, [32, 32], SQUARE, TILE, 2, True, (ND, None, [32, 32])),
    ("sum", FIVE, [32, 32], SQUARE, ROW, 1, False, (ND, None, [1, 1, 32, 32])),
    ("sum", FIVE, [32, 32], SQUARE, TILE, 0, True, (ND, None, [32, 32])),
    ("sum", FIVE, [32, 64], SQUARE, TILE, None, True, (WIDTH, [32, 32], [32, 32])),
    ("std", FIVE, [32, 32], LINE, TILE, 4, True, (ND, None, [32, 32])),
    ("std", FIVE, [32, 32], LINE, ROW, 3, True, (ND, None, [32, 32])),
    ("std", FIVE, [32, 32], SQUARE, TILE, None, False, (WIDTH, [32, 32], [32, 32])),
    ("var", FIVE, [32, 32], LINE, TILE, 4, False, (HEIGHT, [32, 32], [1, 1, 32, 32])),
    ("var", FIVE, [32, 64], LINE, TILE, 3, False, (HEIGHT, [32, 64], [1, 1, 32, 64])),
    ("var", FIVE, [32, 32], LINE, TILE, None, True, (WIDTH, [32, 32], [32, 32])),
    ("min", FIVE, [1, 32, 64], LINE, ROW, 4, True, (ND, None, [2, 1, 1, 32, 32])),
    ("mean", FIVE, [2, 32, 32], SQUARE, TILE, 3, True, (ND, None, [2, 1, 2, 32, 32])),
    ("sum", FIVE, [2, 32, 32], SQUARE, ROW, (0, 1), False, (WIDTH, [64, 32], [64, 32])),
    ("sum", FIVE, [1, 32, 64], SQUARE, TILE, 4, True, (ND, None, [2, 1, 1, 32, 32])),
    ("sum", FIVE, [2, 32, 32], SQUARE, ROW, 3, True, (ND, None, [2, 1, 2, 32, 32])),
    ("sum", FIVE, [1, 32, 64], SQUARE, TILE, 2, False, (HEIGHT, [32, 64], [32, 64])),
    ("sum", FIVE, [1, 32, 64], SQUARE, TILE, 1, True, (HEIGHT, [32, 64], [1, 32, 64])),
    ("sum", FIVE, [2, 32, 32], SQUARE, ROW, 0, False, (BLOCK, [64, 32], [64, 32])),
    ("sum", FIVE, [2, 32, 32], LINE, ROW, None, True, (HEIGHT, [64, 32], [64, 32])),
    ("std", FIVE, [1, 32, 64], SQUARE, ROW, 4, True, (ND, None, [1, 32, 32])),
    ("std", FIVE, [1, 32, 32], SQUARE, TILE, 3, True, (ND, None, [1, 32, 32])),
    ("std", FIVE, [1, 32, 64], LINE, ROW, None, False, (WIDTH, [32, 32], [32, 32])),
    ("var", FIVE, [1, 32, 32], LINE, ROW, 4, False, (HEIGHT, [32, 32], [1, 1, 32, 32])),
    ("var", FIVE, [1, 32, 32], LINE, TILE, 3, False, (ND, None, [1, 1, 32, 32])),
    ("var", FIVE, [1, 32, 32], SQUARE, TILE, None, True, (WIDTH, [32, 32], [1, 32, 32])),
    ("max", FIVE, [2, 1, 32, 32], SQUARE, TILE, 4, False, (HEIGHT, [32, 32], [1, 1, 32, 32])),
    ("max", FIVE, [1, 2, 32, 64], LINE, TILE, 3, False, (HEIGHT, [32, 64], [32, 64])),
    ("sum", FIVE, [2, 1, 32, 32], SQUARE, TILE, (0, 1), False, (WIDTH, [64, 32], [2, 32, 32])),
    ("sum", FIVE, [1, 2, 32, 64], SQUARE, TILE, 4, False, (HEIGHT, [32, 32], [32, 32])),
    ("sum", FIVE, [2, 1, 32, 32], SQUARE, TILE, 3, True, (ND, None, [2, 1, 1, 32, 32])),
    ("sum", FIVE, [1, 2, 32, 64], LINE, TILE, 2, False, (HEIGHT, [64, 64], [64, 64])),
    ("sum", FIVE, [1, 2, 32, 64], SQUARE, TILE, 1, False, (HEIGHT, [64, 64], [64, 64])),
    ("sum", FIVE, [2, 1, 32, 32], LINE, TILE, 0, True, (ND, None, [2, 1, 32, 32])),
    ("sum", FIVE, [1, 2, 32, 64], SQUARE, TILE, None, True, (WIDTH, [32, 32], [32, 32])),
    ("std", FIVE, [2, 1, 32, 32], LINE, ROW, 4, True, (ND, None, [2, 1, 32, 32])),
    ("std", FIVE, [1, 2, 32, 64], LINE, ROW, 3, False, (HEIGHT, [32, 64], [32, 64])),
    ("std", FIVE, [2, 1, 32, 32], LINE, TILE, None, False, (HEIGHT, [64, 32], [64, 32])),
    ("var", FIVE, [2, 1, 32, 32], LINE, ROW, 4, True, (ND, None, [2, 1, 32, 32])),
    ("var", FIVE, [1, 2, 32, 64], SQUARE, TILE, 3, False, (HEIGHT, [32, 64], [32, 64])),
    ("var", FIVE, [2, 1, 32, 32], LINE, ROW, None, True, (HEIGHT, [64, 32], [2, 1, 32, 32])),
    ("sum", FIVE, [1, 1, 1, 32, 32], LINE, TILE, (0, 1), True, (ND, None, [1, 1, 1, 32, 32])),
    ("sum", FIVE, [1, 1, 1, 32, 32], LINE, TILE, 2, True, (ND, None, [1, 1, 1, 32, 32])),
    ("sum", FIVE, [1, 1, 1, 32, 32], SQUARE, TILE, 1, True, (ND, None, [1, 1, 1, 32, 32])),
    ("sum", FIVE, [1, 1, 1, 32, 32], LINE, TILE, 0, True, (ND, None, [1, 1, 1, 32, 32])),
    ("sum", FIVE, [1, 1, 1, 32, 32], SQUARE, TILE, None, False, (WIDTH, [32, 32], [32, 32])),
    ("std", FIVE, [1, 1, 1, 32, 32], SQUARE, TILE, 4, True, (ND, None, [1, 1, 1, 32, 32])),
    ("std", FIVE, [1, 1, 1, 32, 32], SQUARE, TILE, 3, False, (ND, None, [1, 1, 32, 32])),
    ("std", FIVE, [1, 1, 1, 32, 32], SQUARE, TILE, None, False, (WIDTH, [32, 32], [32, 32])),
    ("var", FIVE, [1, 1, 1, 32, 32], LINE, TILE, 4, True, (ND, None, [1, 1, 1, 32, 32])),
    ("var", FIVE, [1, 1, 1, 32, 32], SQUARE, TILE, 3, True, (ND, None, [1, 1, 1, 32, 32])),
    ("var", FIVE, [1, 1, 1, 32, 32], LINE, TILE, None, True, (WIDTH, [32, 32], [1, 1, 1, 32, 32])),
    ("max", THREE, [32, 64], LINE, TILE, (0, 1), False, (WIDTH, [32, 64], [32, 64])),
    ("min", THREE, [1, 64, 64], LINE, TILE, 0, True, (WIDTH, [64, 64], [64, 64])),
    ("max", THREE, [32, 32], LINE, ROW, None, True, (WIDTH, [32, 32], [32, 32])),
    ("sum", THREE, [64, 64], LINE, TILE, (0, 1), False, (WIDTH, [32, 32], [32, 32])),
    ("sum", THREE, [64, 64], SQUARE, TILE, 0, True, (WIDTH, [64, 64], [64, 64])),
    ("sum", THREE, [64, 32], SQUARE, TILE, None, True, (WIDTH, [32, 32], [32, 32])),
    ("std", THREE, [1, 64, 64], SQUARE, TILE, (0, 1), False, (WIDTH, [32, 96], [32, 96])),
    ("std", THREE, [64, 32], SQUARE, TILE, 0, True, (WIDTH, [64, 32], [64, 32])),
    ("std", THREE, [64, 32], LINE, ROW, None, False, (WIDTH, [32, 32], [32, 32])),
    ("var", THREE, [2, 32, 32], SQUARE, TILE, (0, 1), True, (WIDTH, [32, 96], [1, 32, 96])),
    ("var", THREE, [32, 32], LINE, ROW, 0, True, (ND, None, [1, 32, 32])),
    ("var", THREE, [1, 32, 64], LINE, ROW, None, False, (WIDTH, [32, 32], [32, 32])),
    ("sum", FOUR, [1, 32, 64], LINE, TILE, None, True, (WIDTH, [32, 32], [32, 32])),
]


@pytest.mark.parametrize(("name", "shape", "piece", "last", "layout", "dim", "keepdim", "wanted"), REDUCED)
def test_reduced(
    one: MeshDevice,
    name: str,
    shape: Any,
    piece: Any,
    last: Any,
    layout: Layout,
    dim: Any,
    keepdim: bool,
    wanted: Any,
) -> None:
    assert seen(named(name)(lying(one, shape, piece, last, layout), dim, keepdim)) == wanted


REFUSED: list[tuple[Any, ...]] = [
    (
        "mean",
        FIVE,
        [32, 32],
        SQUARE,
        TILE,
        None,
        True,
        "Physical shard shape Shape([2, 1, 32, 1, 32]) must be tile {32, 32} sized!",
    ),
    (
        "max",
        FIVE,
        [1, 32, 64],
        SQUARE,
        TILE,
        None,
        True,
        "Physical shard shape Shape([2, 1, 32, 1, 32]) must be tile {32, 32} sized!",
    ),
    (
        "min",
        FIVE,
        [1, 1, 32, 32],
        SQUARE,
        TILE,
        None,
        True,
        "Physical shard shape Shape([2, 1, 32, 1, 32]) must be tile {32, 32} sized!",
    ),
    (
        "mean",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        4,
        False,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "min",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        3,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "max",
        FIVE,
        [1, 1, 1, 32, 32],
        SQUARE,
        ROW,
        None,
        False,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "sum",
        FIVE,
        [1, 1, 1, 32, 32],
        SQUARE,
        ROW,
        (0, 1),
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "sum",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        4,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "sum",
        FIVE,
        [1, 1, 1, 32, 32],
        SQUARE,
        TILE,
        3,
        False,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "sum",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        2,
        False,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "sum",
        FIVE,
        [1, 1, 1, 32, 32],
        SQUARE,
        ROW,
        1,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "sum",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        0,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "sum",
        FIVE,
        [1, 1, 1, 32, 32],
        SQUARE,
        ROW,
        None,
        False,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "std",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        (0, 1),
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "std",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        4,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "std",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        3,
        False,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "std",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        2,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "std",
        FIVE,
        [1, 1, 1, 32, 32],
        SQUARE,
        ROW,
        1,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "std",
        FIVE,
        [1, 1, 1, 32, 32],
        SQUARE,
        ROW,
        0,
        False,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "std",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        None,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "var",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        (0, 1),
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "var",
        FIVE,
        [1, 1, 1, 32, 32],
        SQUARE,
        ROW,
        4,
        False,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "var",
        FIVE,
        [1, 1, 1, 32, 32],
        SQUARE,
        ROW,
        3,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "var",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        2,
        False,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "var",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        1,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "var",
        FIVE,
        [1, 1, 1, 32, 32],
        SQUARE,
        ROW,
        0,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
    (
        "var",
        FIVE,
        [1, 1, 1, 32, 32],
        LINE,
        ROW,
        None,
        True,
        "Tensor shape rank (4) can't be less than shard shape rank (5)!",
    ),
]


@pytest.mark.parametrize(("name", "shape", "piece", "last", "layout", "dim", "keepdim", "words"), REFUSED)
def test_refused(
    one: MeshDevice,
    name: str,
    shape: Any,
    piece: Any,
    last: Any,
    layout: Layout,
    dim: Any,
    keepdim: bool,
    words: str,
) -> None:
    with pytest.raises(RuntimeError, match=re.escape(words)):
        named(name)(lying(one, shape, piece, last, layout), dim, keepdim)


# A tensor, another that is to lie where it does, the pieces of the first, and where the second lies.
OTHERS: list[tuple[Any, ...]] = [
    ((1, 3, 96, 96), (1, 1, 32, 96), [96, 96], (HEIGHT, [96, 96], [96, 96])),
    ((4, 1, 32, 32), (1, 1, 32, 32), [64, 32], (HEIGHT, [64, 32], [64, 32])),
    ((1, 96, 64), (2, 1, 64, 64), [1, 32, 64], (HEIGHT, [32, 64], [1, 32, 64])),
    ((1, 32, 32), (2, 96, 32), [2, 32, 32], (HEIGHT, [64, 32], [2, 32, 32])),
    ((2, 32, 96), (1, 1, 32, 96), [32, 96], (WIDTH, [32, 96], [32, 96])),
    ((1, 96, 96), (2, 32, 96), [64, 96], (WIDTH, [64, 96], [64, 96])),
    ((32, 96), (64, 96), [64, 96], (WIDTH, [64, 96], [64, 96])),
    ((96, 96), (32, 96), [32, 96], (WIDTH, [32, 96], [32, 96])),
    ((2, 4, 1, 96, 32), (2, 1, 1, 96, 32), [96, 32], (HEIGHT, [96, 32], [96, 32])),
    ((4, 4, 32, 64), (1, 4, 32, 64), [32, 64], (HEIGHT, [32, 64], [32, 64])),
    ((1, 96, 64), (1, 96, 32), [1, 32, 32], (HEIGHT, [32, 32], [1, 32, 32])),
    ((1, 1, 64, 96), (1, 1, 32, 96), [1, 2, 32, 96], (HEIGHT, [64, 96], [1, 2, 32, 96])),
    ((2, 1, 3, 64, 64), (2, 1, 3, 64, 32), [2, 2, 64, 64], (ND, None, [2, 2, 64, 64])),
    ((2, 4, 96, 64), (4, 2, 96, 64), [96, 32], (ND, None, [96, 32])),
    ((4, 3, 96, 32), (1, 1, 96, 32), [4, 3, 32, 32], (ND, None, [4, 3, 32, 32])),
    ((3, 3, 1, 32, 64), (1, 4, 1, 96, 32), [3, 1, 1, 64, 64], (ND, None, [3, 1, 1, 64, 64])),
    ((2, 1, 64, 32), (2, 1, 32, 32), [64, 64], (WIDTH, [64, 64], [64, 64])),
    ((2, 3, 64, 96), (2, 1, 32, 32), [64, 32], (WIDTH, [64, 32], [64, 32])),
    ((1, 64, 64), (2, 32, 64), [64, 64], (WIDTH, [64, 64], [64, 64])),
    ((1, 96, 64), (1, 96, 32), [96, 64], (WIDTH, [96, 64], [96, 64])),
    ((32, 96), (32, 32), [32, 64], (WIDTH, [32, 64], [32, 64])),
    ((64, 32), (64, 64), [64, 32], (WIDTH, [64, 32], [64, 32])),
]


@pytest.mark.parametrize(("shape", "other", "piece", "wanted"), OTHERS)
def test_the_place_of_another_tensor(
    one: MeshDevice, shape: Any, other: Any, piece: Any, wanted: Any
) -> None:
    place = lying(one, shape, piece, LINE, TILE).memory_config()
    assert seen(ops.zeros(other, dtype=BF16, layout=TILE, device=one, memory_config=place)) == wanted


NO_OTHERS: list[tuple[Any, ...]] = [
    (
        (1, 4, 32, 64),
        (3, 3, 64, 64),
        [32, 64],
        "Number of shards along height 18 must not exceed number of cores 4",
    ),
    (
        (3, 1, 64, 32),
        (2, 2, 96, 32),
        [1, 64, 32],
        "Number of shards along height 6 must not exceed number of cores 4",
    ),
    (
        (3, 2, 2, 96, 32),
        (1, 1, 2, 96, 32),
        [3, 2, 2, 96, 32],
        "Shard height 1152 must match physical height 192 for width sharded",
    ),
    (
        (2, 64, 32),
        (2, 4, 64, 64),
        [2, 64, 32],
        "Shard height 128 must match physical height 512 for width sharded",
    ),
    (
        (1, 2, 64, 32),
        (32, 96),
        [1, 2, 64, 32],
        "Shard height 128 must match physical height 32 for width sharded",
    ),
    (
        (3, 1, 64, 32),
        (1, 1, 32, 32),
        [3, 1, 64, 32],
        "Shard height 192 must match physical height 32 for width sharded",
    ),
    (
        (2, 96, 96),
        (1, 96, 96),
        [2, 96, 96],
        "Shard height 192 must match physical height 96 for width sharded",
    ),
    (
        (4, 64, 32),
        (2, 64, 64),
        [4, 64, 32],
        "Shard height 256 must match physical height 128 for width sharded",
    ),
    (
        (2, 1, 2, 64, 32),
        (3, 3, 1, 32, 64),
        [2, 2, 64, 32],
        "Shard height 256 must match physical height 288 for width sharded",
    ),
    (
        (3, 96, 32),
        (1, 96, 32),
        [3, 96, 32],
        "Shard height 288 must match physical height 96 for width sharded",
    ),
    (
        (1, 1, 32, 96),
        (2, 2, 64, 96),
        [32, 32],
        "Shard height 32 must match physical height 256 for width sharded",
    ),
    ((32, 32), (96, 32), [32, 32], "Shard height 32 must match physical height 96 for width sharded"),
    (
        (4, 1, 1, 96, 64),
        (3, 1, 3, 64, 32),
        [4, 1, 1, 96, 64],
        "Shard height 384 must match physical height 576 for width sharded",
    ),
    (
        (4, 3, 32, 64),
        (3, 1, 64, 64),
        [4, 3, 32, 32],
        "Shard height 384 must match physical height 192 for width sharded",
    ),
    ((2, 32, 96), (1, 32, 32), [64, 32], "Shard height 64 must match physical height 32 for width sharded"),
    ((1, 64, 96), (1, 32, 32), [64, 64], "Shard height 64 must match physical height 32 for width sharded"),
    ((96, 96), (32, 32), [96, 96], "Shard height 96 must match physical height 32 for width sharded"),
    ((96, 32), (32, 96), [96, 64], "Shard height 96 must match physical height 32 for width sharded"),
    (
        (1, 2, 2, 96, 32),
        (2, 1, 96, 64),
        [96, 32],
        "Shard width 32 must match physical width 64 for height sharded",
    ),
    ((1, 32, 32), (2, 96, 96), [2, 32, 32], "Shard width 32 must match physical width 96 for height sharded"),
    (
        (2, 2, 1, 32, 64),
        (4, 4, 4, 96, 96),
        [1, 32, 64],
        "Shard width 64 must match physical width 96 for height sharded",
    ),
    (
        (2, 1, 32, 64),
        (4, 1, 64, 96),
        [32, 64],
        "Shard width 64 must match physical width 96 for height sharded",
    ),
    ((96, 96), (32, 32), [64, 96], "Shard width 96 must match physical width 32 for height sharded"),
    ((1, 96, 96), (1, 96, 32), [1, 32, 96], "Shard width 96 must match physical width 32 for height sharded"),
    ((3, 64, 64), (32, 64), [3, 32, 64], "Tensor shape rank (2) can't be less than shard shape rank (3)!"),
    (
        (3, 2, 1, 32, 96),
        (64, 96),
        [1, 1, 32, 32],
        "Tensor shape rank (2) can't be less than shard shape rank (4)!",
    ),
]


@pytest.mark.parametrize(("shape", "other", "piece", "words"), NO_OTHERS)
def test_the_place_of_another_tensor_does_not_fit(
    one: MeshDevice, shape: Any, other: Any, piece: Any, words: str
) -> None:
    place = lying(one, shape, piece, LINE, TILE).memory_config()
    with pytest.raises(RuntimeError, match=re.escape(words)):
        ops.zeros(other, dtype=BF16, layout=TILE, device=one, memory_config=place)


@pytest.mark.parametrize("layout", [TILE, ROW])
def test_reshaped_to_a_number(one: MeshDevice, layout: Layout) -> None:
    piece, found = ([2, 3, 32, 32], [32, 32]) if layout is TILE else ([2, 3, 2, 16], [1, 1])
    number = ops.reshape(lying(one, (1, 1, 1, 1), piece, LINE, layout), ())
    place = number.memory_config()
    assert place.memory_layout is WIDTH
    assert place.shard_spec is not None
    assert list(place.shard_spec.shape) == found
