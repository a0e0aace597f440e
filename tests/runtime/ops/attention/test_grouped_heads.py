"""Heads of projections in blocks: values, places and refusals as those of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, cores
from tests.runtime.ops.placement.test_reordered_shards import BM, BY_COLUMN, BY_ROW, HM, WM
from tests.runtime.ops.tensors import BF16, F32, ROW, TILE, held, put
from tt_run.runtime.enums import BufferType, DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.conversions import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor

RNG = np.random.default_rng(5)
ALL, PARTS = "experimental.create_qkv_heads", "experimental.create_qkv_heads_from_separate_tensors"
SQUARE: tuple[Any, ...] = (BLOCK, (3, 1), (64, 192))


def numbers(*shape: int) -> Any:
    return RNG.integers(-9, 9, shape).astype(np.float32)


def cut(
    one: MeshDevice,
    values: Any,
    kind: Any,
    last: tuple[int, int],
    piece: tuple[int, int],
    dtype: DataType = BF16,
    layout: Layout = TILE,
    turned: bool = False,
) -> Tensor:
    spec = ShardSpec(cores(last), piece, BY_COLUMN if turned else BY_ROW)
    return to_memory_config(put(one, values, dtype, layout), MemoryConfig(kind, BufferType.L1, spec))


def by_head(pieces: Any, count: int) -> Any:
    """(users, rows, …, columns) as (users, count, rows, columns)."""
    users, rows = pieces.shape[:2]
    return pieces.reshape(users, rows, count, -1).swapaxes(1, 2)


def padded(heads: Any, rows: int) -> Any:
    return np.pad(heads, ((0, 0), (0, 0), (0, rows - heads.shape[2]), (0, 0)))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("heads", "groups"), [(4, 4), (16, 4), (8, 8)])
@pytest.mark.parametrize("rows", [64, 40])
def test_groups_of_heads_stay_on_their_cores(
    one: MeshDevice, turned: bool, heads: int, groups: int, rows: int
):
    depth, per = 32, heads // groups
    width = (heads + 2 * groups) * depth
    x = numbers(2, 1, rows, width)
    last = (1, 3) if turned else (3, 1)
    tensor = cut(one, x, BLOCK, last, (64, width // 4), turned=turned)
    q, k, v = named(ALL)(tensor, num_heads=heads, num_kv_heads=groups, memory_config=HM)
    pieces = x[:, 0].reshape(2, rows, groups, per + 2, depth)
    wanted = [by_head(pieces[..., :per, :], heads), *(by_head(pieces[..., i, :], groups) for i in (-2, -1))]
    wanted = [padded(heads, 64) for heads in wanted]
    for found, value in zip((q, k, v), (wanted[0], wanted[1].swapaxes(-1, -2), wanted[2]), strict=True):
        assert np.array_equal(held(found), value)
        assert where(found) == (HEIGHT, last, (value[..., 0].size // 8, value.shape[-1]))
        assert found.memory_config().shard_spec.orientation is (BY_COLUMN if turned else BY_ROW)


def test_queries_and_pairs_of_keys_and_values(one: MeshDevice):
    x, kv = numbers(2, 1, 64, 256), numbers(2, 1, 64, 256)
    q, k, v = named(PARTS)(
        *(cut(one, t, BLOCK, (1, 1), (64, 128)) for t in (x, kv)),
        num_heads=4,
        num_kv_heads=2,
        transpose_k_heads=False,
        memory_config=HM,
    )
    pairs = kv[:, 0].reshape(2, 64, 2, 2, 64)
    wanted = by_head(x[:, 0], 4), by_head(pairs[..., 0, :], 2), by_head(pairs[..., 1, :], 2)
    for found, value, rows in zip((q, k, v), wanted, (128, 64, 64), strict=True):
        assert np.array_equal(held(found), value)
        assert where(found) == (HEIGHT, (1, 1), (rows, 64))


WRONG: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((1, SQUARE), {}, "Batch size 1 must be equal to num cores 2"),
    ((4, (BLOCK, (3, 1), (128, 192))), {}, "Batch size 4 must be equal to num cores 2"),
    ((2, SQUARE), {"num_heads": 8, "num_kv_heads": 2}, "number of groups 2 must be a multiple of the number of width cores 4"),
    ((2, SQUARE), {"num_kv_heads": 3}, "Number of q heads 4 must fit evenly into number of kv heads 3"),
    ((2, SQUARE), {"memory_config": L1_MEMORY_CONFIG}, "must be HEIGHT_SHARDED but got TensorMemoryLayout::INTERLEAVED"),
    ((2, SQUARE), {"memory_config": MemoryConfig(HEIGHT, BufferType.DRAM)}, "Only L1 buffers can have an associated circular"),
    ((2, SQUARE), {"memory_config": WM}, "Shard height 64 must match physical height 512 for width sharded"),
    ((2, SQUARE), {"memory_config": BM}, "Number of shards along height 8 must not exceed number of rows 2"),
    ((2, SQUARE), {"memory_config": None}, "Number of shards along height 8 must not exceed number of rows 2"),
    ((2, (HEIGHT, (3, 0), (32, 768))), {}, "must be BLOCK_SHARDED but got TensorMemoryLayout::HEIGHT_SHARDED"),
    ((2, (WIDTH, (3, 0), (128, 192))), {}, "must be BLOCK_SHARDED but got TensorMemoryLayout::WIDTH_SHARDED"),
    ((2, (*SQUARE, BF16, ROW)), {}, "must be TILE but got Layout::ROW_MAJOR"),
    ((2, None), {}, "Unsharded input is invalid for create_qkv_heads"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "words", "message"), WRONG)
def test_projections_are_refused(
    one: MeshDevice, given: tuple[Any, ...], words: dict[str, Any], message: str
):
    users, place = given
    x = numbers(users, 1, 64, 768)
    if users == 1:
        place = (BLOCK, (3, 1), (32, 192))
    tensor = put(one, x, BF16) if place is None else cut(one, x, *place)
    with pytest.raises(RuntimeError, match=message):
        named(ALL)(tensor, **({"num_heads": 4, "memory_config": HM} | words))


SEPARATE = (2, 64, 256, (3, 1), (64, 64)), (2, 64, 512, (3, 1), (64, 128))
APART: list[tuple[Any, Any, dict[str, Any], str]] = [
    (*SEPARATE, {"num_heads": 2}, "Number of q heads 2 must fit evenly into cores 4"),
    (*SEPARATE, {"num_kv_heads": 2}, "Number of kv heads 2 must fit evenly into cores 4"),
    (SEPARATE[0], (2, 64, 256, (3, 1), (64, 64)), {}, "Head dims must be equal in size! Q 256 num_heads 4 KV 256"),
    (SEPARATE[0], (2, 64, 512, (1, 1), (64, 256)), {}, "must lie on the same cores"),
    ((1, 64, 256, (3, 0), (64, 64)), (1, 64, 512, (3, 0), (64, 128)), {}, "0 height shards on Q"),
    ((2, 64, 256, (3, 0), (128, 64)), (2, 64, 512, (3, 0), (128, 128)), {}, "Batch size 2 must be equal to num cores 1"),
    (SEPARATE[0], (2, 64, 512, (3, 1), (64, 128), F32), {}, "Unsupported data format"),
    ((2, 64, 256, (3, 1), (64, 64)), (1, 128, 512, (3, 1), (64, 128)), {}, "Q 2 and KV 1 batch size must match"),
]  # fmt: skip


@pytest.mark.parametrize(("queries", "pairs", "words", "message"), APART)
def test_separate_projections_are_refused(
    one: MeshDevice, queries: Any, pairs: Any, words: dict[str, Any], message: str
):
    given = []
    for users, rows, width, last, piece, *dtype in (queries, pairs):
        given.append(cut(one, numbers(users, 1, rows, width), BLOCK, last, piece, *dtype))
    with pytest.raises(RuntimeError, match=message):
        named(PARTS)(*given, **({"num_heads": 4, "memory_config": HM} | words))
