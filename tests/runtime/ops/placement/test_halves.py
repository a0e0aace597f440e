"""What `glu` and its kin refuse to cut in two, and where the halves lie: as the results of reference library 0.81.1 do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH
from tests.runtime.ops.placement.test_reordered_shards import (
    BY_COLUMN,
    PAIR,
    SQUARE,
    TALL,
    TURNED,
    UNEVEN,
    WIDE,
    lying,
)
from tests.runtime.ops.tensors import BF16, F32, ROW, TILE, held, put
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG


def named(name: str) -> Any:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    return operation


GATED = ["glu", "reglu", "swiglu", "geglu"]


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize(
    ("cut", "found"),
    [
        (TALL, (HEIGHT, (3, 0), (32, 32))),
        ((*TALL, ROW), (HEIGHT, (3, 0), (32, 32))),
        (UNEVEN, (HEIGHT, (2, 0), (64, 32))),
        (PAIR, (BLOCK, (1, 3), (32, 32))),
        (((1, 1, 64, 256), WIDTH, (3, 0), (64, 64)), (WIDTH, (3, 0), (64, 32))),
    ],
)
def test_halves_lie_on_the_cores_of_the_whole(one: MeshDevice, name, cut, found):
    assert where(named(name)(lying(one, *cut))) == found


def test_halves_lie_where_the_call_says(one: MeshDevice):
    assert where(named("glu")(lying(one, *TALL), -1, memory_config=DRAM_MEMORY_CONFIG)) == DRAM_MEMORY_CONFIG


@pytest.mark.parametrize(
    ("shape", "dim", "words"),
    [
        ((1, 1, 64, 128), 2, "glu-family ops only support the last dimension, got dim=2"),
        ((1, 1, 64, 128), 4, "glu-family ops only support the last dimension, got dim=4"),
        ((64, 128), 1, "glu-family ops only support the last dimension, got dim=1"),
        ((64, 128), -1, r"ShapeBase\[\] index out of range. 3 not in \[-4, 2\)"),
        ((64,), -1, r"ShapeBase\[\] index out of range. 3 not in \[-4, 2\)"),
        ((1, 1, 1, 64, 128), -1, "Input rank 5 and begins 4 must have the same size"),
        ((1, 1, 1, 32, 64), -1, "Split tensor dimension should be in full tile"),
        ((1, 1, 64, 96), -1, "Split tensor dimension should be in full tile"),
    ],
)
def test_refused(one: MeshDevice, shape, dim, words):
    with pytest.raises(RuntimeError, match=words):
        named("glu")(put(one, np.ones(shape), BF16, TILE), dim)


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        ((*WIDE, ROW), r"Physical shard shape \(64, 16\) must be tile \{32, 32\} sized!"),
        ((*SQUARE, ROW), r"Physical shard shape \(64, 16\) must be tile \{32, 32\} sized!"),
        (
            (*TURNED, TILE, BY_COLUMN),
            "Number of shards along height 4 must not exceed number of columns 2 for column major orientation!",
        ),
    ],
)
def test_halves_that_do_not_fit_the_cores(one: MeshDevice, cut, words):
    with pytest.raises(RuntimeError, match=words):
        named("glu")(lying(one, *cut))


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize("shape", [(2, 1, 5, 64), (1, 1, 40, 50)])
def test_the_padding_of_tiles_is_cut_as_elements_are(
    one: MeshDevice, name: str, shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(3).uniform(-2, 2, shape).astype(np.float32)
    whole = put(one, x, F32, TILE)
    padded = np.zeros(tuple(whole.padded_shape), np.float32)
    padded[tuple(map(slice, shape))] = x
    found = named(name)(whole)
    assert tuple(found.shape) == (*padded.shape[:3], padded.shape[3] // 2)
    assert np.array_equal(held(found), held(named(name)(put(one, padded, F32, TILE))))
    rows = put(one, x, F32, ROW)
    if shape[-1] % 64:
        with pytest.raises(RuntimeError, match="Split tensor dimension should be in full tile"):
            named(name)(rows)
    else:
        assert tuple(named(name)(rows).shape) == (*shape[:3], shape[3] // 2)
