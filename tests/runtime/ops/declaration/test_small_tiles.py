"""Tiles smaller than 32 x 32, as reference library 0.81.1 answered for each operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.tensors import BF16, F32, ROW, held, put
from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tensor.tensor import Tensor

X = np.random.default_rng(3).integers(0, 3, (1, 2, 64, 64)).astype(np.float32)
BY_ROW = (TensorMemoryLayout.HEIGHT_SHARDED, ShardOrientation.ROW_MAJOR)


def small(device: MeshDevice, tile: tuple[int, int] = (16, 32), values: np.ndarray = X) -> Tensor:
    return ops.tilize(put(device, values, BF16, ROW), tile=Tile(tile))


BINARY = "Eltwise binary supports only 32x32 tiles, but input tensor {} has a 16x32 tile"
REFUSED: list[tuple[str, Callable[[MeshDevice], Any]]] = [
    (BINARY.format("A"), lambda d: ops.add(small(d), small(d))),
    (BINARY.format("A"), lambda d: ops.multiply(small(d), 2.0)),
    (BINARY.format("B"), lambda d: ops.subtract(put(d, X, BF16), small(d))),
    ("slice does not currently support tiles other than 32x32, got 16x32", lambda d: small(d)[:, :, :16]),
    ("slice does not currently support tiles other than", lambda d: named("chunk")(small(d), 2, -1)),
    ("slice does not currently support tiles other than 32x32, got 16x32", lambda d: named("glu")(small(d))),
    (BINARY.format("A"), lambda d: ops.where(small(d), small(d), 0.0)),
    (BINARY.format("B"), lambda d: ops.where(put(d, X, BF16), 1.0, small(d))),
    ("Std/Var TILE input requires tile shape 32x32, got: 16x32", lambda d: named("std")(small(d), -1)),
    ("LayerNorm TILE input requires tile shape 32x32, got: 16x32", lambda d: ops.layer_norm(small(d))),
    (
        "interleaved_to_sharded requires standard 32x32 tiles, got 16x32",
        lambda d: ops.interleaved_to_sharded(small(d), CoreCoord(8, 8), [64, 64], *BY_ROW),
    ),
    ("must have the same tile shape when layout is TILE", lambda d: ops.to_memory_config(small(d), L1_MEMORY_CONFIG)),
    ("must have the same tile shape", lambda d: named("assign")(small(d), memory_config=DRAM_MEMORY_CONFIG)),
    (
        r"Matmul inner tile dim must be 32 \(hardware constraint\): got in0 tile width 16, in1 tile height 32",
        lambda d: ops.matmul(small(d, (32, 16)), put(d, X, BF16)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("words", "call"), REFUSED)
def test_they_are_refused(one: MeshDevice, words: str, call: Callable[[MeshDevice], Any]):
    with pytest.raises(RuntimeError, match=words):
        call(one)


MADE: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Any], Any]]] = {
    "abs": (named("abs"), np.abs),
    "sum": (lambda t: ops.sum(t, -1, True), lambda x: x.sum(-1, keepdims=True)),
    "transpose": (lambda t: named("transpose")(t, 1, 2), lambda x: x.swapaxes(1, 2)),
    "typecast": (lambda t: named("typecast")(t, F32), lambda x: x),
    "maximum": (lambda t: named("maximum")(t, 1.0), lambda x: np.maximum(x, 1)),
    "concat": (lambda t: named("concat")([t, t], -1), lambda x: np.concatenate([x, x], -1)),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("tile", [(16, 32), (32, 16), (1, 32)])
def test_results_have_whole_ones(one: MeshDevice, name: str, tile: tuple[int, int]):
    call, wanted = MADE[name]
    found = call(small(one, tile))
    assert found.tile.tile_shape == [32, 32]
    assert np.array_equal(held(found), wanted(X))


@pytest.mark.listening  # what is moved is not there to be moved again in shapes
@pytest.mark.parametrize("tile", [(16, 32), (32, 16)])
def test_views_and_moves_keep_them(one: MeshDevice, tile: tuple[int, int]):
    for call in (
        lambda t: ops.reshape(t, (2, 64, 64)),
        named("move"),
        named("reallocate"),
        lambda t: ops.to_memory_config(t, DRAM_MEMORY_CONFIG),
    ):
        found = call(small(one, tile))
        assert found.tile.edges == tile
        assert np.array_equal(held(found).ravel(), X.ravel())
