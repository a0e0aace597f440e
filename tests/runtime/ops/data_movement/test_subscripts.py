"""`tensor[key]` on a device: values, places and refusals, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.products.test_program_checks import BLOCK, HEIGHT, WIDTH, cut
from tests.runtime.ops.tensors import BF16, BFP8, ROW, TILE, held, put
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG

SHAPE = (1, 1, 256, 128)
X = (np.arange(np.prod(SHAPE), dtype=np.float32) % 97).reshape(SHAPE)
CUTS = {"H": cut(HEIGHT, (3, 0), 64, 128), "W": cut(WIDTH, (1, 0), 256, 64), "B": cut(BLOCK, (1, 1), 128, 64)}
CUTS["D"] = DRAM_MEMORY_CONFIG
ALL = slice(None)
HALF, LAST, ODD = (..., slice(64)), (..., slice(-32, None), ALL), (ALL, ALL, slice(1, 33))
STEPS, BACK = (ALL, ALL, slice(None, None, 2)), (ALL, ALL, slice(None, None, -1))
NO_TILES = "must be tile {32, 32} sized!"


@pytest.mark.parametrize(
    ("key", "dtype", "layout", "place", "found"),
    [
        (HALF, BF16, TILE, "H", [64, 64]),
        (HALF, BF16, TILE, "W", [256, 32]),
        (HALF, BFP8, TILE, "B", [128, 32]),
        (LAST, BF16, TILE, "H", [32, 128]),
        (LAST, BF16, ROW, "H", [8, 128]),
        (LAST, BF16, ROW, "B", [16, 64]),
        (STEPS, BF16, TILE, "B", [64, 64]),
        (ODD, BF16, TILE, "W", [32, 64]),
        ((0, 0, ALL, slice(64)), BF16, TILE, "H", [64, 64]),
        (0, BF16, TILE, "H", [64, 128]),
        ((0, 0, slice(5, 70), 3), BF16, ROW, "D", None),
        ((ALL, ALL, 5), BF16, TILE, "D", None),
        (ODD, BF16, TILE, "H", f"Physical shard shape (8, 128) {NO_TILES}"),
        ((ALL, ALL, 5), BF16, TILE, "H", f"Physical shard shape (1, 128) {NO_TILES}"),
        (STEPS, BFP8, TILE, "H", "Strided slice is not supported for BFLOAT8 tensors"),
        (BACK, BFP8, TILE, "D", "Strided slice is not supported for BFLOAT8 tensors"),
        ((ALL, ALL, slice(10, 5)), BF16, TILE, "D", "End 5 must be greater than or equal to start 10"),
        ((ALL, ALL, slice(1000)), BF16, ROW, "D", "Ends 1000 must be less than or equal to the shape"),
    ],
)
def test_parts(one: MeshDevice, key: Any, dtype: DataType, layout: Layout, place: str, found: Any) -> None:
    tensor = ops.to_memory_config(put(one, X, dtype, layout), CUTS[place])
    whole = held(tensor)
    if isinstance(found, str):
        with pytest.raises(RuntimeError) as caught:
            tensor[key]
        assert found in str(caught.value)
        return
    part = tensor[key]
    spec = part.memory_config().shard_spec
    assert (None if spec is None else list(spec.shape)) == found
    assert np.array_equal(held(part), whole[key])


@pytest.mark.parametrize("filler", [None, 7.0])
@pytest.mark.parametrize(
    ("key", "within", "part"),
    [
        ((ALL, slice(32)), (1, 5, 64), np.s_[:, :32]),
        ((ALL, slice(9)), (1, 5, 64), np.s_[:, :9]),
        ((ALL, slice(32, 40)), (2, 33, 10), np.s_[:, 32:40, :10]),
        ((..., slice(16)), (2, 33, 10), np.s_[:, :33, :16]),
        (slice(4), (3, 10), np.s_[:4, :10]),
    ],
)
def test_a_part_may_reach_into_the_padding_of_the_last_tile(
    one: MeshDevice, key: Any, within: tuple[int, ...], part: Any, filler: float | None
) -> None:
    values = X.ravel()[: np.prod(within)].reshape(within)
    tensor = put(one, values, BF16, TILE)
    if filler is not None:
        tensor = ops.fill_implicit_tile_padding(tensor, filler)
    padded = np.full(tuple(tensor.padded_shape), filler or 0.0)
    padded[tuple(map(slice, within))] = values
    assert held(tensor[key]).tolist() == padded[part].tolist()


@pytest.mark.parametrize(
    ("bounds", "layout", "text"),
    [
        ((33, 34), TILE, r"Slice start.1. .33. must be less than input tensor shape.1. .33."),
        ((1, 64), TILE, "Ends 64 must be less than or equal to the shape of the tensor 33"),
        ((0, 65), TILE, "Ends 96 must be less than or equal to the shape of the tensor 64"),
        ((0, 34), ROW, "Ends 34 must be less than or equal to the shape of the tensor 33"),
        ((-34, 33), ROW, "End 33 must be greater than or equal to start 4294967295"),
        ((-34, None), TILE, "End 33 must be greater than or equal to start 4294967295"),
        ((0, -34), ROW, "Ends 4294967295 must be less than or equal to the shape of the tensor 33"),
        ((2, 1), ROW, "End 1 must be greater than or equal to start 2"),
    ],
)
def test_parts_outside_of_a_tensor(
    one: MeshDevice, bounds: tuple[int, int | None], layout: Layout, text: str
) -> None:
    tensor = put(one, X[0, 0, :66, :10].reshape(2, 33, 10), BF16, layout)
    with pytest.raises(RuntimeError, match=text):
        tensor[:, slice(*bounds)]


def test_a_step_back_takes_nothing(one: MeshDevice) -> None:
    assert list(put(one, X, BF16, TILE)[BACK].shape) == [1, 1, 0, 128]


def test_chunks_that_are_no_whole_tiles_on_their_cores(one: MeshDevice) -> None:
    tensor = ops.to_memory_config(put(one, X[..., :96], BF16, TILE), cut(HEIGHT, (3, 0), 64, 96))
    with pytest.raises(RuntimeError, match=r"Physical shard shape .64, 48. must be tile"):
        ops.chunk(tensor, 2, 3)


def test_what_is_rolled_on_its_cores_keeps_its_type(one: MeshDevice) -> None:
    tensor = put(one, X, BFP8, TILE)
    cored = ops.to_memory_config(tensor, CUTS["H"])
    rolled = ops.roll(cored, 1, 2)
    assert rolled.dtype is BFP8
    assert rolled.memory_config() == CUTS["H"]
    assert [ops.roll(tensor, n).dtype for n in (1, 32)] == [BF16, BFP8]
    with pytest.raises(RuntimeError, match="roll without dims does not support sharded inputs"):
        ops.roll(cored, 1)
