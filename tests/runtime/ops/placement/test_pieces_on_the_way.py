"""Where results lie of tensors in pieces of any rank once reduced, reordered, reshaped or repeated, and which say so in such pieces: as those of
reference library 0.81.1 do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, cores
from tests.runtime.ops.tensors import BF16, ROW, TILE, U32, put
from tt_run.runtime.enums import BufferType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.reduction.losses import LossReductionMode
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)

ND = TensorMemoryLayout.ND_SHARDED
SHAPE = (1, 2, 64, 128)


def nd(piece: list[int], last: tuple[int, int] = (3, 0)) -> MemoryConfig:
    return MemoryConfig(BufferType.L1, NdShardSpec(piece, cores(last)))


def matrix(kind: TensorMemoryLayout, piece: tuple[int, int], last: tuple[int, int] = (3, 0)) -> MemoryConfig:
    return MemoryConfig(kind, BufferType.L1, ShardSpec(cores(last), piece, ShardOrientation.ROW_MAJOR))


THREE, FOUR, TWO = nd([1, 32, 64]), nd([1, 1, 32, 128]), nd([32, 64], (3, 1))
WHOLE, ROWS, TALL = nd([1, 2, 32, 32]), matrix(HEIGHT, (32, 128)), matrix(HEIGHT, (64, 128), (1, 0))


def lying(
    one: MeshDevice,
    place: MemoryConfig | None,
    shape: tuple[int, ...] = SHAPE,
    layout: Layout = TILE,
) -> Any:
    flat = put(one, np.ones(shape), BF16, layout)
    return flat if place is None else ops.to_memory_config(flat, place)


def seen(tensor: Any) -> tuple[TensorMemoryLayout, list[int], bool]:
    place = tensor.memory_config()
    return place.memory_layout, list(place.nd_shard_spec.shard_shape), place.created_with_nd_shard_spec


@pytest.mark.parametrize(
    ("name", "place", "dim", "keepdim", "asked", "wanted"),
    [
        ("sum", THREE, -1, True, None, (HEIGHT, [1, 32, 32], True)),
        ("sum", THREE, (-2, -1), True, None, (ND, [1, 32, 64], True)),
        ("sum", ROWS, -1, False, None, (WIDTH, [32, 64], True)),
        ("sum", None, 1, True, TALL, (HEIGHT, [64, 128], False)),
        ("mean", ROWS, -1, True, None, (HEIGHT, [32, 32], True)),
        ("mean", ROWS, (-2, -1), False, None, (WIDTH, [32, 32], False)),
        ("mean", THREE, 1, True, None, (ND, [1, 32, 64], True)),
        ("std", THREE, 0, True, None, (ND, [1, 32, 64], True)),
        ("max", None, -1, True, THREE, (HEIGHT, [1, 32, 32], True)),
    ],
)
def test_reduced(
    one: MeshDevice, name: str, place: Any, dim: Any, keepdim: bool, asked: Any, wanted: Any
) -> None:
    assert seen(named(name)(lying(one, place), dim, keepdim, memory_config=asked)) == wanted


@pytest.mark.parametrize(
    ("name", "place", "dim", "words"),
    [
        ("mean", THREE, 0, r"ShapeBase\[\] index out of range. 3 not in \[-4, 3\)"),
        ("std", ROWS, [0, 1], "Shard width 128 must match physical width 32 for height sharded"),
        ("max", FOUR, 1, "Number of shards along height 64 must not exceed number of cores 4"),
    ],
)
def test_pieces_that_do_not_fit_on_the_way(
    one: MeshDevice, name: str, place: Any, dim: Any, words: str
) -> None:
    with pytest.raises(RuntimeError, match=words):
        named(name)(lying(one, place), dim)


def test_rows_that_leave_their_cores_before_they_are_reduced(one: MeshDevice) -> None:
    held = lying(one, ROWS, layout=ROW)
    assert ops.mean(held, 0, memory_config=DRAM_MEMORY_CONFIG).layout is ROW
    assert ops.mean(held, -1, memory_config=DRAM_MEMORY_CONFIG).layout is TILE


@pytest.mark.parametrize(
    ("place", "order", "asked", "layout", "wanted"),
    [
        (THREE, (0, 1, 3, 2), None, TILE, (ND, [1, 64, 32], True)),
        (THREE, (0, 2, 1, 3), None, TILE, (BLOCK, [256, 32], True)),
        (THREE, (0, 2, 1, 3), None, ROW, (ND, [32, 1, 64], True)),
        (FOUR, (1, 0, 3, 2), None, TILE, (ND, [1, 1, 128, 32], True)),
        (FOUR, (1, 0, 3, 2), nd([1, 1, 32, 32], (1, 0)), TILE, (ND, [1, 1, 128, 32], True)),
        (FOUR, (0, 2, 1, 3), TWO, ROW, (HEIGHT, [32, 64], True)),
        (TWO, (0, 1, 3, 2), None, TILE, (ND, [64, 32], True)),
    ],
)
def test_reordered(one: MeshDevice, place: Any, order: Any, asked: Any, layout: Layout, wanted: Any) -> None:
    found = seen(ops.permute(lying(one, place, layout=layout), order, memory_config=asked))
    assert found[1:] == wanted[1:]
    assert found[0] is wanted[0] or asked is not None


def test_first_two_exchanged(one: MeshDevice) -> None:
    assert seen(ops.transpose(lying(one, FOUR), 0, 1)) == (HEIGHT, [1, 1, 32, 128], True)
    assert seen(ops.transpose(lying(one, THREE), 0, 1)) == (BLOCK, [32, 32], True)
    assert seen(ops.transpose(lying(one, WHOLE), 0, 1)) == (ND, [2, 1, 32, 32], True)
    with pytest.raises(RuntimeError, match=r"3 not in \[-4, 3\)"):
        ops.permute(lying(one, THREE), (1, 0, 3, 2))


@pytest.mark.parametrize(
    ("before", "place", "after", "wanted"),
    [
        ((1, 2, 1, 128), ROWS, (1, 2, 128), (WIDTH, [32, 128], True)),
        ((1, 2, 1, 1), matrix(HEIGHT, (32, 32)), (1, 2), (WIDTH, [32, 32], False)),
        (SHAPE, matrix(BLOCK, (64, 64), (1, 1)), (1, 128, 128), (BLOCK, [64, 64], False)),
        ((1, 2, 64, 1), matrix(BLOCK, (64, 64), (1, 1)), (1, 2, 64), (BLOCK, [32, 32], True)),
        ((1, 2, 1, 1), THREE, (1, 2), (WIDTH, [32, 32], True)),
        ((1, 1, 64, 128), THREE, (64, 128), (ND, [32, 64], True)),
        (SHAPE, TWO, (1, 128, 128), (ND, [1, 64, 64], True)),
    ],
)
def test_reshaped(one: MeshDevice, before: Any, place: Any, after: Any, wanted: Any) -> None:
    assert seen(ops.reshape(lying(one, place, before), after)) == wanted


def test_repeated_pieces_leave_their_cores(one: MeshDevice) -> None:
    assert ops.repeat(lying(one, THREE), (1, 1, 1, 2)).memory_config().interleaved
    asked = MemoryConfig(ND, BufferType.L1)
    assert ops.repeat(lying(one, ROWS), (1, 1, 1, 2), memory_config=asked).memory_config().interleaved


def test_total_of_distances(one: MeshDevice) -> None:
    held, other = lying(one, ROWS), lying(one, None)
    total = ops.l1_loss(held, other, reduction=LossReductionMode.SUM)
    assert seen(total) == (WIDTH, [32, 32], False)
    with pytest.raises(RuntimeError, match="Shard height 128 must match physical height 64"):
        ops.l1_loss(lying(one, matrix(WIDTH, (128, 32))), other, reduction=LossReductionMode.SUM)


def test_the_first_of_two_says_where_what_comes_after_lies(one: MeshDevice) -> None:
    held, flat = lying(one, ROWS), ops.to_memory_config(lying(one, None), L1_MEMORY_CONFIG)
    assert ops.nextafter(flat, held).memory_config() == L1_MEMORY_CONFIG
    assert ops.nextafter(lying(one, None), held).is_sharded()


@pytest.mark.parametrize("layout", [TILE, ROW])
@pytest.mark.parametrize(
    ("shape", "place", "asked", "wanted"),
    [
        ((2, 2, 64, 64), nd([1, 1, 64, 32]), None, (ND, [32, 32], False)),
        ((2, 2, 64, 64), None, nd([1, 2, 64, 64]), (ND, [32, 32], False)),
        ((2, 2, 64, 64), nd([1, 2, 64, 64]), None, (HEIGHT, [1, 2, 64, 64], True)),
        ((64, 96), nd([64, 32]), None, (WIDTH, [64, 32], False)),
    ],
)
def test_gathered(one: MeshDevice, shape: Any, place: Any, asked: Any, layout: Layout, wanted: Any) -> None:
    x = lying(one, place, shape, layout)
    index = put(one, np.zeros(shape), U32, layout)
    found = ops.gather(x, -1, index, memory_config=asked)
    assert seen(found) == wanted
    assert found.memory_config().shard_spec is not None


def test_what_is_gathered_from_along_its_first_dimension_stays_tiles(one: MeshDevice) -> None:
    x = lying(one, nd([1, 1, 32, 32], (7, 7)), (64, 2, 64, 64))
    with pytest.raises(RuntimeError, match=r"Physical shard shape Shape\(\[32, 1, 32, 1\]\) must be tile"):
        ops.gather(x, 0, put(one, np.zeros((64, 2, 64, 64)), U32))
    x = lying(one, nd([64, 32]), (64, 96))
    with pytest.raises(RuntimeError, match="Shard height 64 must match physical height 96 for width sharded"):
        ops.gather(x, 0, put(one, np.zeros((64, 96)), U32))


@pytest.mark.parametrize("name", ["to_layout", "tilize_with_zero_padding"])
def test_rows_in_pieces_of_any_rank_that_are_no_tiles(one: MeshDevice, name: str) -> None:
    rows = lying(one, nd([1, 20, 16], (7, 7)), (2, 40, 48), ROW)
    with pytest.raises(RuntimeError, match=r"Physical shard shape Shape\(\[1, 20, 16\]\) must be tile"):
        ops.to_layout(rows, TILE) if name == "to_layout" else named(name)(rows)


def test_rows_with_padding_are_no_view_of_themselves(one: MeshDevice) -> None:
    rows = lying(one, matrix(WIDTH, (5, 16), (2, 0)), (1, 1, 5, 40), ROW)
    with pytest.raises(
        RuntimeError, match=r"Input shape: Shape\(\[1, 1, 5, 48\]\), New shape: Shape\(\[1, 1, 5, 40\]\)"
    ):
        ops.reshape(rows, (1, 1, 5, 40))
    whole = lying(one, matrix(WIDTH, (5, 16), (2, 0)), (1, 1, 5, 48), ROW)
    assert ops.reshape(whole, (1, 1, 5, 48)).memory_config() == whole.memory_config()
