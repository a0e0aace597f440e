"""Cuts that name no cores, and rows whose pieces do not come out in tiles: refused or placed as reference library 0.81.1 does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, cores
from tests.runtime.ops.placement.test_reordered_shards import (
    BM,
    BY_ROW,
    FINE,
    HM,
    ROUGH,
    SMALL,
    SQUARE,
    TALL,
    UNEVEN,
    WIDE,
    lying,
)
from tests.runtime.ops.tensors import BF16, ROW, TILE, U32, put
from tt_run.runtime.enums import BufferType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.creation import from_shape
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec

TILED = "bad optional access"
BY_ROWS = "MemoryConfig must have Shard Spec specified for sharded memory layout"


def flat(one: MeshDevice, layout: Layout = TILE) -> Any:
    return put(one, np.ones((1, 1, 128, 64)), BF16, layout)


@pytest.mark.parametrize(
    ("name", "layout", "rest", "words"),
    [
        ("assign", TILE, (), TILED),
        ("clone", ROW, (), BY_ROWS),
        ("sort", ROW, (), TILED),
        ("tril", ROW, (), TILED),
        ("scale_mask_softmax", TILE, (), TILED),
        ("repeat_interleave", TILE, (2, 2), TILED),
        ("untilize", TILE, (), BY_ROWS),
        ("layer_norm", TILE, (), TILED),
        ("prod", TILE, (-1,), TILED),
        ("std", ROW, (-1,), TILED),
        (
            "nonzero",
            ROW,
            (),
            "output_memory_config must be INTERLEAVED; variable-length output cannot be sharded",
        ),
        ("upsample", ROW, (2,), "Output memory config is sharded but input memory config is not"),
    ],
)
@pytest.mark.parametrize("asked", [HM, BM])
def test_cores_are_named(one: MeshDevice, name, layout, rest, words, asked):
    with pytest.raises(RuntimeError, match=words):
        named(name)(flat(one, layout), *rest, memory_config=asked)


@pytest.mark.parametrize("layout", [TILE, ROW])
def test_joined_tensors_name_their_cores(one: MeshDevice, layout):
    with pytest.raises(RuntimeError, match=TILED if layout is TILE else BY_ROWS):
        ops.concat([flat(one, layout)] * 2, 2, memory_config=HM)


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (FINE, r"Physical shard shape \(25, 64\) must be tile \{32, 32\} sized!"),
        (ROUGH, r"Physical shard shape \(25, 64\) must be tile \{32, 32\} sized!"),
        (SMALL, "Number of shards along height 8 must not exceed number of cores 4"),
    ],
)
@pytest.mark.parametrize(
    ("name", "rest"), [("add", (1.5,)), ("sum", (-1,)), ("softmax", (-1,)), ("tilize", ()), ("std", (-1,))]
)
def test_rows_go_through_tiles_in_their_pieces(one: MeshDevice, name, rest, cut, words):
    with pytest.raises(RuntimeError, match=words):
        named(name)(lying(one, *cut), *rest)
    assert where(ops.add(lying(one, *TALL, ROW), 1.5)) == (HEIGHT, (3, 0), (32, 64))


@pytest.mark.parametrize(
    ("cut", "step", "words"),
    [
        (TALL, 1, r"\(4, 32\) must be tile"),
        (UNEVEN, 1, r"\(6, 32\) must be tile"),
        (SQUARE, 2, r"\(8, 8\) must be tile"),
    ],
)
def test_parts_cut_out_by_rows_are_whole_tiles(one: MeshDevice, cut, step, words):
    rows = (1, 17) if step == 1 else (0, 32)
    with pytest.raises(RuntimeError, match=words):
        ops.slice(lying(one, *cut), [0, 0, rows[0], 0], [1, 1, rows[1], 32], [1, 1, step, 1])


def test_refused_in_shards(one: MeshDevice):
    tall, wide = lying(one, *TALL), lying(one, *WIDE)
    with pytest.raises(RuntimeError, match="Sharded tensors are not supported - input_tensor is sharded"):
        ops.scatter(tall, -1, put(one, np.zeros((1, 1, 32, 32)), U32), put(one, np.ones((1, 1, 32, 32))))
    with pytest.raises(RuntimeError, match="Shard width 64 must match physical width 32 for height sharded"):
        ops.gather(tall, -1, put(one, np.zeros((1, 1, 32, 32)), U32))
    with pytest.raises(RuntimeError, match="Tile layout requires non-inplace tensors"):
        ops.group_norm(tall, num_groups=2)
    with pytest.raises(
        RuntimeError, match=r"(?s)Unsupported upsample configuration:.*Memory: HEIGHT_SHARDED"
    ):
        named("upsample")(tall, 2)
    with pytest.raises(RuntimeError, match="Shard width 64 must match physical width 128 for height sharded"):
        ops.prod(tall, -1)
    with pytest.raises(
        RuntimeError, match=r"Input A and output memory layouts must match, got input: .*WIDTH"
    ):
        ops.matmul(wide, put(one, np.ones((128, 64))), memory_config=HM)
    with pytest.raises(RuntimeError, match="ROW_MAJOR is only supported for non-sharded tensors"):
        ops.layer_norm(lying(one, *TALL, ROW))


def test_pieces_of_any_rank_become_those_of_the_matrix(one: MeshDevice):
    pieces = NdShardSpec([1, 1, 32, 64], cores((3, 0)), BY_ROW)
    held = ops.to_memory_config(flat(one), MemoryConfig(BufferType.L1, pieces))
    for found in (ops.relu(held), ops.add(held, held), ops.where(held, held, held)):
        assert tuple(found.memory_config().nd_shard_spec.shard_shape) == (32, 64)
        assert where(found) == (HEIGHT, (3, 0), (32, 64))
    with pytest.raises(RuntimeError, match="Operands to SDPA need to be DRAM/L1 interleaved"):
        named("transformer.scaled_dot_product_attention")(held, held, held)


def test_made_like_a_tensor(one: MeshDevice):
    assert where(from_shape.full_like(flat(one), 1.0, memory_config=HM)) == (HEIGHT, (3, 0), (32, 64))
    assert where(from_shape.zeros_like(lying(one, *WIDE), memory_config=BM)) == (BLOCK, (3, 0), (64, 32))
    with pytest.raises(RuntimeError, match=BY_ROWS):
        from_shape.ones_like(flat(one, ROW), memory_config=HM)


def test_padded_rows_are_shared_anew_where_they_grow_wider(one: MeshDevice):
    tall = lying(one, *TALL, ROW)
    padded = ops.pad(tall, [(0, 0), (0, 0), (0, 32), (0, 32)], 0.0)
    assert where(padded) == (HEIGHT, (3, 0), (40, 96))


@pytest.mark.parametrize("name", ["min", "max", "mean"])
@pytest.mark.parametrize(
    ("cut", "dim", "words"),
    [
        (TALL, 0, "Number of shards along height 128 must not exceed number of cores 4"),
        (WIDE, 1, "Shard height 64 must match physical height 2048 for width sharded"),
        (WIDE, [1, 2], "Shard height 64 must match physical height 32 for width sharded"),
        (TALL, None, "Shard width 64 must match physical width 32 for height sharded"),
    ],
)
def test_batch_dimensions_are_reduced_as_rows(one: MeshDevice, name, cut, dim, words):
    with pytest.raises(RuntimeError, match=words):
        named(name)(lying(one, *cut), dim)
    assert where(ops.sum(lying(one, *TALL), 0)) == (HEIGHT, (3, 0), (32, 64))
    assert where(ops.std(lying(one, *TALL), 1)) == (HEIGHT, (3, 0), (32, 64))
    with pytest.raises(RuntimeError, match="along height 128 must not exceed number of cores 4"):
        ops.mean(lying(one, *TALL, ROW), 1, memory_config=HM)
    assert ops.mean(lying(one, *TALL, ROW), memory_config=HM).shape == ()


def test_pieces_of_any_rank_turn_with_their_tensor(one: MeshDevice):
    pieces = NdShardSpec([1, 1, 32, 64], cores((3, 0)), BY_ROW)
    held = ops.to_memory_config(flat(one), MemoryConfig(BufferType.L1, pieces))
    with pytest.raises(RuntimeError, match=r"shape Shape\(\[32, 1, 1, 64\]\) must be tile \{32, 32\} sized"):
        ops.min(held, 0)
