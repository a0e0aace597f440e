"""Paged caches as rings of positions, and with blocks that are seen otherwise than they were allocated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import by_user, op, sample
from tests.runtime.ops.tensors import F32, I32, ROW, held, put
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.attention.cache_blocks import Blocks
from tt_run.runtime.ops.data_movement.conversions import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tuning.blocks import PagedCacheGeometryOverride

pytestmark = pytest.mark.usefixtures("float32_too")

TABLE = np.array([[3, 1], [0, 2]], np.int32)


def pages(one: MeshDevice) -> Any:
    return put(one, TABLE, I32, ROW)


def test_a_ring_keeps_the_last_positions(one: MeshDevice):
    """Filled with more than it holds, then one more token: attention is that to the last 64 of 81 positions."""
    update, fill = op("experimental.paged_update_cache"), op("experimental.paged_fill_cache")
    attend, plain = (op(f"transformer.{form}scaled_dot_product_attention_decode") for form in ("paged_", ""))
    kv = sample(F32, 2, 2, 2, 81, 32)
    q = sample(F32, 1, 2, 4, 32, seed=1)
    caches = []
    for name in (0, 1):
        cache = put(one, np.zeros((4, 2, 32, 32)))
        for user in (0, 1):
            whole = put(one, kv[name, user][None, :, :80])
            fill(cache, whole, pages(one), batch_idx=user, cache_position_modulo=64)
        last = by_user(put(one, kv[name, :, :, 80][None]))
        at = put(one, [80, 80], I32, ROW)
        update(cache, last, update_idxs_tensor=at, page_table=pages(one), cache_position_modulo=64)
        caches.append(cache)
    positions = put(one, [80, 80], I32, ROW)
    for words in ({}, {"sliding_window_size": 40}):
        found = attend(
            put(one, q), *caches, pages(one), cur_pos_tensor=positions, cache_position_modulo=64, **words
        )
        recent = (put(one, kv[name][:, :, 17:]) for name in (0, 1))
        wanted = plain(put(one, q), *recent, cur_pos=[63, 63], **words)
        assert np.array_equal(held(found), held(wanted))


def test_several_users_are_filled_at_once(one: MeshDevice):
    fill, new = op("experimental.paged_fill_cache"), sample(F32, 2, 2, 40, 32)
    cache = put(one, np.zeros((4, 2, 32, 32)))
    users = put(one, [1, 0], I32, ROW)
    assert fill(cache, put(one, new), pages(one), batch_idx_tensor=users).storage is cache.storage
    found = held(cache)[TABLE[[1, 0]]].swapaxes(1, 2).reshape(2, 2, 64, 32)
    assert np.array_equal(found[:, :, :40], new)
    assert not found[:, :, 40:].any()


@pytest.mark.parametrize("form", ["paged_update_cache", "paged_fused_update_cache"])
def test_positions_and_pages_may_lie_once_on_each_core(one: MeshDevice, form: str):
    pytest.importorskip("torch")
    first, second = (put(one, sample(F32, 1, 2, 2, 32, seed=seed)) for seed in (1, 2))
    others = CoreRangeSet([CoreRange(CoreCoord(2, 0), CoreCoord(3, 0))])
    spec = ShardSpec(others, (32, 32), ShardOrientation.ROW_MAJOR)
    apart = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)
    tokens = [by_user(first), to_memory_config(second, apart)]
    found = []
    for copies in (1, 16):
        caches = [put(one, np.zeros((4, 2, 32, 32))) for _ in tokens]
        words = {
            "update_idxs_tensor": put(one, np.array([[5, 40]] * copies), I32, ROW),
            "page_table": put(one, np.tile(TABLE, (copies, 1)), I32, ROW),
        }
        if form == "paged_update_cache":
            op(f"experimental.{form}")(caches[0], tokens[0], **words)
        else:
            op(f"experimental.{form}")(caches[0], tokens[0], caches[1], tokens[1], **words)
        found.append([held(cache) for cache in caches])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True)) and found[0][0].any()


def test_blocks_are_seen_by_tiles(one: MeshDevice):
    """What is written with other heads and sizes is read with them, and the tiles lie in the order of a block."""
    cache = sample(F32, 4, 2, 32, 64)
    seen = Blocks(1, 64, 64).seen(cache)
    assert seen.shape == (4, 1, 64, 64)
    assert np.array_equal(seen[:, 0, :32], cache[:, 0]) and np.array_equal(seen[:, 0, 32:], cache[:, 1])
    narrow = Blocks(4, 32, 32).seen(cache)
    assert np.array_equal(narrow[:, 1], cache[:, 0, :, 32:])
    assert np.array_equal(Blocks(2, 32, 64).seen(narrow), cache)
    token, q = sample(F32, 1, 2, 4, 32, seed=1), sample(F32, 1, 2, 4, 32, seed=2)
    allocated, plain = put(one, cache), put(one, narrow)
    words = {"update_idxs_tensor": put(one, [5, 40], I32, ROW), "page_table": pages(one)}
    op("experimental.paged_update_cache")(
        allocated, by_user(put(one, token)), num_kv_heads=4, block_size=32, **words
    )
    op("experimental.paged_update_cache")(plain, by_user(put(one, token)), **words)
    assert np.array_equal(Blocks(4, 32, 32).seen(held(allocated)), held(plain))
    new = put(one, sample(F32, 1, 4, 64, 32, seed=3))
    op("experimental.paged_fill_cache")(allocated, new, pages(one), block_size=32)
    op("experimental.paged_fill_cache")(plain, new, pages(one))
    geometry = PagedCacheGeometryOverride(block_size=32, num_kv_heads=4)
    attend, at = (
        op("transformer.paged_scaled_dot_product_attention_decode"),
        {"cur_pos_tensor": put(one, [9, 41], I32, ROW)},
    )
    found = attend(put(one, q), allocated, allocated, pages(one), paged_cache_geometry=geometry, **at)
    assert np.array_equal(held(found), held(attend(put(one, q), plain, plain, pages(one), **at)))
    chunk, chunked = sample(F32, 2, 4, 32, 32, seed=4), op("transformer.chunked_scaled_dot_product_attention")
    found = chunked(put(one, chunk), allocated, allocated, pages(one), 32, paged_cache_geometry=geometry)
    assert np.array_equal(held(found), held(chunked(put(one, chunk), plain, plain, pages(one), 32)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"cache_position_modulo": 48}, r"\(48\) must be a positive multiple of effective block_size \(32\)"),
        (
            {"cache_position_modulo": 96},
            r"\(96\) must fit in max_num_blocks_per_seq \(2\) \* block_size \(32\)",
        ),
        (
            {"cache_position_modulo": 32, "page_table": None},
            "cache_position_modulo is only supported in paged mode",
        ),
        ({"block_size": 32, "page_table": None}, "block_size_override is only supported in paged mode"),
        ({"num_kv_heads": 2, "page_table": None}, "num_kv_heads_override is only supported in paged mode"),
        ({"block_size": 64}, r"must stay 2048 as in the cache Shape\(\[4, 2, 32, 32\]\), got 2 \* 64 \* 32"),
        ({"block_size": 16, "num_kv_heads": 4}, "need whole tiles of 32"),
    ],
)
def test_blocks_that_do_not_fit(one: MeshDevice, words: dict[str, Any], message: str):
    given = {"update_idxs_tensor": put(one, [1, 1], I32, ROW), "page_table": pages(one)} | words
    with pytest.raises(RuntimeError, match=message):
        op("experimental.paged_update_cache")(
            put(one, np.zeros((4, 2, 32, 32))), by_user(put(one, np.ones((1, 2, 2, 32)))), **given
        )


def test_users_of_a_slice(one: MeshDevice):
    x = sample(F32, 1, 1, 6, 8 * 32)
    heads, words = op("experimental.nlp_create_qkv_heads_decode"), {"num_heads": 4, "num_kv_heads": 2}
    found = heads(put(one, x), batch_offset=put(one, [2], I32, ROW), slice_size=3, **words)
    for tensor, wanted in zip(found, heads(put(one, x[:, :, 2:5]), **words), strict=True):
        assert np.array_equal(held(tensor), held(wanted))
    with pytest.raises(RuntimeError, match="position 4 is outside of what 6 users have for slice_size 3"):
        heads(put(one, x), batch_offset=put(one, [4], I32, ROW), slice_size=3, **words)
    with pytest.raises(RuntimeError, match="go together"):
        heads(put(one, x), slice_size=3, **words)
