"""What `bcast` and the statistics of whole matrices take of operands on cores, and where their results lie, as reference library 0.81.1 has it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH
from tests.runtime.ops.placement.test_reordered_shards import BM, FINE, HM, MANY, SQUARE, TALL, WIDE, lying
from tests.runtime.ops.tensors import ROW, TILE, held, put
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.elementwise.bcast import BcastOpDim, BcastOpMath, bcast
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG as L1
from tt_run.runtime.tensor.tensor import Tensor

STATISTICS = pytest.mark.parametrize("name", ["var_hw", "std_hw", "normalize_hw"])


@STATISTICS
@pytest.mark.parametrize("cut", [WIDE, SQUARE])
def test_statistics_take_rows_on_cores(one: MeshDevice, name: str, cut):
    with pytest.raises(RuntimeError, match="HW bcast in0 supports Height Sharding or Interleaving"):
        named(name)(lying(one, *cut))
    assert named(name)(named("sharded_to_interleaved")(lying(one, *cut))).shape[0] == 1


@STATISTICS
def test_statistics_take_four_dimensions_and_cuts_that_fit(one: MeshDevice, name: str):
    with pytest.raises(RuntimeError, match="Unsupported dim 2 at index 0"):
        named(name)(put(one, np.ones((64, 64))))
    with pytest.raises(RuntimeError, match="Unsupported dim 3 at index 1"):
        named(name)(put(one, np.ones((2, 64, 64))))
    with pytest.raises(RuntimeError, match=r"shape \(25, 64\) must be tile"):
        named(name)(lying(one, *FINE))
    with pytest.raises(RuntimeError, match="along height 4 must not exceed number of rows 1"):
        named(name)(lying(one, *TALL), memory_config=BM)


def test_statistics_lie_on_their_operands_cores(one: MeshDevice):
    assert where(named("var_hw")(lying(one, *TALL))) == (WIDTH, (3, 0), (32, 32))
    assert where(named("std_hw")(lying(one, *MANY))) == (HEIGHT, (3, 2), (32, 32))
    assert where(named("normalize_hw")(lying(one, *TALL))) == (HEIGHT, (3, 0), (32, 64))


def spread(one: MeshDevice, cut, dim: BcastOpDim, **words) -> Tensor:
    """The first operand on cores, or a shape of one that is not, plus ones repeated along `dim`."""
    first = lying(one, *cut) if isinstance(cut[0], tuple) else put(one, np.ones(cut))
    lengths = {BcastOpDim.H: (1, first.shape[-1]), BcastOpDim.W: (first.shape[-2], 1), BcastOpDim.HW: (1, 1)}
    return bcast(first, put(one, np.ones((1, 1, *lengths[dim]))), BcastOpMath.ADD, dim, **words)


@pytest.mark.parametrize(
    ("cut", "dim", "asked", "words"),
    [
        (TALL, BcastOpDim.H, None, "Unsupported memory layout"),
        (TALL, BcastOpDim.H, L1, "Input and output mem layouts must be the same for bcast H op!"),
        (TALL, BcastOpDim.W, None, "Bcast does not currently support input0 sharding, except if dim is W"),
        (WIDE, BcastOpDim.HW, None, "HW bcast in0 supports Height Sharding or Interleaving"),
        (TALL, BcastOpDim.HW, L1, "Input and output mem layouts must be the same for bcast HW op!"),
        (WIDE, BcastOpDim.H, HM, "Shard width 32 must match physical width 128 for height sharded"),
        (FINE, BcastOpDim.HW, None, r"shape \(25, 64\) must be tile"),
        ((1, 1, 64, 64), BcastOpDim.H, HM, r"greater than 0 in each sharded dim, got \[0, 0\]"),
    ],
)
def test_bcast_refuses_cuts(one: MeshDevice, cut, dim, asked, words):
    with pytest.raises(RuntimeError, match=words):
        spread(one, cut, dim, memory_config=asked)


def test_bcast_keeps_the_pieces_of_its_first_operand(one: MeshDevice):
    assert where(spread(one, TALL, BcastOpDim.HW)) == (HEIGHT, (3, 0), (32, 64))
    assert where(spread(one, WIDE, BcastOpDim.H, memory_config=BM)) == (BLOCK, (3, 0), (64, 32))
    assert where(spread(one, SQUARE, BcastOpDim.H)) == (BLOCK, (3, 1), (64, 32))


@pytest.mark.parametrize(
    ("shape", "dim", "words"),
    [
        ((1, 1, 1, 96), BcastOpDim.H, r"A width \(64\) must equal input tensor B width \(96\) for height"),
        ((1, 1, 32, 1), BcastOpDim.W, r"A height \(128\) must equal input tensor B height \(32\) for width"),
        ((1, 1, 40, 64), BcastOpDim.H, r"B height \(64\) must equal TILE_HEIGHT \(32\) for tile layout"),
        ((1, 2, 1, 64), BcastOpDim.H, "Broadcast with batch is currently only supported when bN"),
    ],
)
def test_bcast_takes_one_tile_as_long_as_the_first_operand(one: MeshDevice, shape, dim, words):
    first = put(one, np.ones((2, 2, 128, 64) if shape[1] == 2 else (1, 1, 128, 64)))
    with pytest.raises(RuntimeError, match=words):
        bcast(first, put(one, np.ones(shape)), BcastOpMath.ADD, dim)
    whole = bcast(first, put(one, np.ones((1, 1, 1, 64))), BcastOpMath.ADD, BcastOpDim.H)
    assert (held(whole) == 2).all()


def test_bcast_takes_one_row_or_column_that_is_not_in_tiles(one: MeshDevice):
    first = put(one, np.ones((1, 2, 33, 40)), layout=ROW)
    for shape, dim in (
        ((1, 2, 1, 40), BcastOpDim.H),
        ((1, 2, 33, 1), BcastOpDim.W),
        ((1, 1, 1, 1), BcastOpDim.HW),
    ):
        found = bcast(first, put(one, np.full(shape, 2.0), layout=ROW), BcastOpMath.MUL, dim)
        assert (held(found) == 2).all() and found.layout is TILE
    with pytest.raises(
        RuntimeError, match=r"B height \(5\) must be 1 or TILE_HEIGHT \(32\) for row major layout"
    ):
        bcast(first, put(one, np.ones((1, 2, 5, 40)), layout=ROW), BcastOpMath.ADD, BcastOpDim.H)
