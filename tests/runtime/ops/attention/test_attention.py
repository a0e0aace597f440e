"""Attention, heads, rotary embeddings and caches, against NumPy in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U32, held, near, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice
from tt_run.runtime.ops.attention.head_counts import four_dims
from tt_run.runtime.ops.attention.prefill import sink_of
from tt_run.runtime.ops.placement.sharded_results import on_first_cores
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.blocks import SDPAProgramConfig

pytestmark = pytest.mark.usefixtures("float32_too")


def op(name: str) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None, name
    return found


def sample(dtype: DataType, *shape: int, seed: int = 0) -> np.ndarray:
    return rounded(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), dtype)


def by_user(tensor: Tensor) -> Tensor:
    """Tokens [1, B, H, D] with the heads of each user on a core of its own."""
    _, users, heads, depth = tensor.shape
    piece = (-(-heads // 32) * 32, depth)
    memory = on_first_cores(tensor.device(), users, TensorMemoryLayout.HEIGHT_SHARDED, piece)
    return to_memory_config(tensor, memory)


def reference(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: Any = 0.0, scale: float | None = None
) -> np.ndarray:
    """Attention of (B, H, S, D) with fewer key heads, in float64."""
    q, k, v = (t.astype(float) for t in (q, k, v))
    share = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, share, 1), np.repeat(v, share, 1)
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1])) + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def causal(queries: int, keys: int) -> np.ndarray:
    return np.where(np.arange(keys)[None] <= np.arange(queries)[:, None], 0.0, -np.inf)


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_prefill(one: MeshDevice, dtype: DataType):
    q, k, v = (
        sample(dtype, 2, 6, 33, 32),
        sample(dtype, 2, 3, 33, 32, seed=1),
        sample(dtype, 2, 3, 33, 32, seed=2),
    )
    tq, tk, tv = (put(one, t, dtype) for t in (q, k, v))
    sdpa = op("transformer.scaled_dot_product_attention")
    wanted = reference(q, k, v, causal(33, 33))
    near(sdpa(tq, tk, tv), rounded(wanted.astype(np.float32), dtype), steps=16)
    near(
        sdpa(tq, tk, tv, is_causal=False, scale=0.5),
        rounded(reference(q, k, v, 0, 0.5).astype(np.float32), dtype),
        steps=16,
    )
    mask = np.random.default_rng(5).standard_normal((2, 1, 33, 33)).astype(np.float32)
    found = sdpa(tq, tk, tv, attn_mask=put(one, mask), is_causal=False)
    near(found, rounded(reference(q, k, v, mask).astype(np.float32), dtype), steps=16)
    joined = sdpa(tq, tk, tv, output_concat_heads=True)
    near(
        joined,
        rounded(wanted.transpose(0, 2, 1, 3).reshape(2, 1, 33, 192).astype(np.float32), dtype),
        steps=16,
    )


def test_windows_and_sinks(one: MeshDevice):
    q, k, v = (sample(F32, 1, 2, 12, 32, seed=s) for s in range(3))
    sdpa = op("transformer.scaled_dot_product_attention")
    distance = np.arange(12)[:, None] - np.arange(12)[None]
    window = np.where((distance >= 0) & (distance < 4), 0.0, -np.inf)
    near(
        sdpa(put(one, q), put(one, k), put(one, v), sliding_window_size=4),
        reference(q, k, v, window),
        steps=16,
    )
    sink = np.array([0.3, -1.0])
    scores = q.astype(float) @ k.swapaxes(-1, -2) / math.sqrt(32) + causal(12, 12)
    weights = np.exp(scores)
    weights /= weights.sum(-1, keepdims=True) + np.exp(sink / math.sqrt(32))[None, :, None, None]
    found = sdpa(put(one, q), put(one, k), put(one, v), attention_sink=put(one, sink.reshape(1, 2, 1, 1)))
    near(found, weights @ v, steps=16)


def test_windows_by_their_bounds(one: MeshDevice):
    q, k, v = (sample(F32, 1, 2, 12, 32, seed=s) for s in range(3))
    window = np.digitize(np.arange(12), [5, 9])
    mask = np.where(window[:, None] == window[None], 0.0, -np.inf)
    sdpa = op("transformer.scaled_dot_product_attention")
    bounds = put(one, [0, 5, 9, 12], I32, ROW)
    near(
        sdpa(put(one, q), put(one, k), put(one, v), cu_window_seqlens=bounds),
        reference(q, k, v, mask),
        steps=16,
    )
    late = sdpa(
        put(one, q[:, :, 4:]), put(one, k), put(one, v), cu_window_seqlens=bounds, windowed_q_token_offset=4
    )
    near(late, reference(q[:, :, 4:], k, v, mask[4:]), steps=16)


def test_blocks_of_a_mask_that_hide_all(one: MeshDevice):
    q, k, v = (sample(F32, 2, 4, 64, 32, seed=s) for s in range(3))
    blocks = np.array([[1, 0], [0, 1]])
    mask = np.where(np.kron(blocks, np.ones((32, 32))), 0.0, -np.inf)
    words = {"is_causal": False, "program_config": SDPAProgramConfig(compute_with_storage_grid_size=CoreCoord(8, 8), q_chunk_size=32, k_chunk_size=32)}  # fmt: skip
    sdpa = op("transformer.scaled_dot_product_attention")
    tensors = [put(one, t) for t in (q, k, v)]
    seen, all_ = put(one, blocks[None, None], I32, ROW), put(one, np.zeros((1, 1, 64, 64)))
    # The map alone hides, as its blocks are not computed.
    found = sdpa(*tensors, attn_mask=all_, attn_mask_block_map=seen, **words)
    near(found, reference(q, k, v, mask), steps=16)
    for change, message in (
        ({"attn_mask": None}, "needs attn_mask"),
        ({"program_config": None}, "needs a program_config with the chunk sizes"),
        ({"sliding_window_size": 4}, "sliding_window_size and attn_mask cannot both be present"),
        ({"attn_mask_block_map": put(one, blocks[None], I32, ROW)}, r"must be \[1, 1, 2, 2\]"),
        ({"attn_mask_block_map": put(one, blocks[None, None])}, "ROW_MAJOR int32 or uint32"),
    ):
        with pytest.raises(RuntimeError, match=message):
            sdpa(*tensors, **{"attn_mask": all_, "attn_mask_block_map": seen} | words | change)


def test_decode(one: MeshDevice):
    users, heads, length = 4, 6, 32
    q = sample(F32, 1, users, heads, 16)
    k, v = sample(F32, users, 2, length, 16, seed=1), sample(F32, users, 2, length, 16, seed=2)
    positions = [0, 5, 31, 17]
    wanted = np.concatenate(
        [
            reference(q[:, u, :, None], k[u : u + 1, :, : p + 1], v[u : u + 1, :, : p + 1])[:, :, 0]
            for u, p in enumerate(positions)
        ]
    )[None]
    decode = op("transformer.scaled_dot_product_attention_decode")
    tq, tk, tv = put(one, q), put(one, k), put(one, v)
    near(decode(tq, tk, tv, cur_pos=positions), wanted, steps=16)
    near(decode(tq, tk, tv, cur_pos_tensor=put(one, positions, I32, ROW)), wanted, steps=16)
    absent = held(decode(tq, tk, tv, cur_pos_tensor=put(one, [-1, 5, 31, 17], I32, ROW)))
    with pytest.raises(TypeError, match="-1, which leaves a user out, stands in cur_pos_tensor"):
        decode(tq, tk, tv, cur_pos=[-1, 5, 31, 17])
    assert not absent[0, 0].any()
    mask = sample(BF16, users, 1, heads, length, seed=5)
    free = reference(q[0][:, :, None], k, v, mask.transpose(0, 2, 1, 3))[:, :, 0][None]
    for given in (mask, mask.transpose(1, 0, 2, 3)):
        with pytest.warns(
            RuntimeWarning, match=r"finite elements .* a kernel multiplies them by the scale, too"
        ):
            near(decode(tq, tk, tv, is_causal=False, attn_mask=put(one, given, BF16)), free, steps=16)
    hiding = np.where(mask > 0, 0, -np.inf).astype(np.float32)
    seen = [
        decode(tq, tk, tv, is_causal=False, attn_mask=put(one, m, BF16))
        for m in (hiding, np.maximum(hiding, -1e9))
    ]
    assert np.array_equal(*map(held, seen))  # nothing is told of masks that hide


def test_paged_decode_equals_decode(one: MeshDevice):
    users, length, block = 3, 64, 16
    q, k, v = (
        sample(F32, 1, users, 4, 16),
        sample(F32, users, 2, length, 16, seed=1),
        sample(F32, users, 2, length, 16, seed=2),
    )
    table = np.random.default_rng(3).permutation(users * length // block).reshape(users, -1).astype(np.int32)
    pages = {}
    for name, cache in (("k", k), ("v", v)):
        pages[name] = np.zeros((table.size, 2, block, 16), np.float32)
        for user in range(users):
            for i, page in enumerate(table[user]):
                pages[name][page] = cache[user, :, i * block : (i + 1) * block]
    positions = put(one, [3, 63, 20], I32, ROW)
    plain = op("transformer.scaled_dot_product_attention_decode")(
        put(one, q), put(one, k), put(one, v), cur_pos_tensor=positions
    )
    paged = op("transformer.paged_scaled_dot_product_attention_decode")(
        put(one, q),
        put(one, pages["k"]),
        put(one, pages["v"]),
        put(one, table, I32, ROW),
        cur_pos_tensor=positions,
    )
    assert np.array_equal(held(paged), held(plain))


def test_attention_refusals(one: MeshDevice):
    q, k = put(one, np.ones((1, 4, 8, 32))), put(one, np.ones((1, 3, 8, 32)))
    sdpa = op("transformer.scaled_dot_product_attention")
    with pytest.raises(RuntimeError, match="num_heads must be >= K num_heads and divisible"):
        sdpa(q, k, k)
    with pytest.raises(RuntimeError, match="same sequence length"):
        sdpa(q, put(one, np.ones((1, 4, 9, 32))), put(one, np.ones((1, 4, 9, 32))))
    with pytest.raises(RuntimeError, match="is_causal and attn_mask cannot both be present"):
        sdpa(q, q, q, attn_mask=put(one, np.zeros((1, 1, 8, 8))))
    two, narrow = put(one, np.ones((2, 4, 8, 32))), put(one, np.ones((1, 4, 8, 16)))
    with pytest.raises(RuntimeError, match="K and V batch must match"):
        sdpa(q, two, two)
    with pytest.raises(RuntimeError, match="Padding is not supported on the head_dim"):
        sdpa(narrow, narrow, narrow)
    with pytest.raises(RuntimeError, match="Mask sequence length must match"):
        sdpa(q, q, q, attn_mask=put(one, np.zeros((1, 1, 1, 8))), is_causal=False)
    for shape, message in (((1, 2, 1, 1), "num_heads must match"), ((1, 4, 8, 1), "dimension must be 1")):
        with pytest.raises(RuntimeError, match=message):
            sdpa(q, q, q, attention_sink=put(one, np.zeros(shape)))


ON_A_CORE = MemoryConfig(
    TensorMemoryLayout.HEIGHT_SHARDED,
    BufferType.L1,
    ShardSpec(
        CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))]), (32, 32), ShardOrientation.ROW_MAJOR
    ),
)


@pytest.mark.parametrize(
    ("layout", "length", "heads", "words", "message"),
    [
        (ROW, 32, 1, {"cur_pos": [3]}, "ROW_MAJOR Q is only supported when Q is HEIGHT_SHARDED"),
        (TILE, 32, 1, {}, "needs the users' positions"),
        (TILE, 36, 1, {"cur_pos": [3]}, "maximum calculated k_chunk_size is: 4"),
        (TILE, 32, 2, {"cur_pos": [3], "memory_config": ON_A_CORE}, "Sharded output not supported for GQA"),
    ],
)  # fmt: skip
def test_decoding_refusals(
    one: MeshDevice, layout: Any, length: int, heads: int, words: dict[str, Any], message: str
):
    q, cache = put(one, np.ones((1, 1, 4, 32)), BF16, layout), put(one, np.ones((1, heads, length, 32)), BF16)
    with pytest.raises(RuntimeError, match=message):
        op("transformer.scaled_dot_product_attention_decode")(q, cache, cache, **words)


@pytest.mark.parametrize(
    ("shape", "layout", "words", "message"),
    [
        ((1, 1, 3, 32), TILE, {}, "Expect same number of heads in mask as in Q, got 3 and 4"),
        ((1, 4, 32), TILE, {}, "Expect same number of padded heads in mask as in Q"),
        ((1, 1, 4, 32), ROW, {}, "Expect same number of padded heads in mask as in Q, got 4 and 32"),
        ((1, 1, 4, 64), TILE, {}, "Expect same sequence length in mask as in K, got 64 and 32"),
        ((1, 1, 4, 32), TILE, {"is_causal": True, "cur_pos": [3]}, "Pass is_causal=False"),
    ],
)
def test_masks_that_decoding_does_not_take(
    one: MeshDevice, shape: tuple[int, ...], layout: Any, words: dict[str, Any], message: str
):
    q, cache = put(one, np.ones((1, 1, 4, 32)), BF16), put(one, np.ones((1, 1, 32, 32)), BF16)
    mask = put(one, np.zeros(shape), BF16, layout)
    with pytest.raises(RuntimeError, match=message):
        op("transformer.scaled_dot_product_attention_decode")(
            q, cache, cache, **{"is_causal": False, "attn_mask": mask} | words
        )


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_heads(one: MeshDevice, dtype: DataType):
    x = sample(dtype, 2, 33, 8 * 32)
    q, k, v = np.split(x, [128, 192], axis=-1)

    def heads(part: np.ndarray, count: int) -> np.ndarray:
        return part.reshape(2, 33, count, 32).transpose(0, 2, 1, 3)

    wanted = heads(q, 4), heads(k, 2), heads(v, 2)
    split = op("transformer.split_query_key_value_and_split_heads")
    found = split(put(one, x, dtype), num_heads=4, num_kv_heads=2)
    for tensor, value in zip(found, (wanted[0], wanted[1].swapaxes(-1, -2), wanted[2]), strict=True):
        assert np.array_equal(held(tensor), value)
    apart = split(
        put(one, q, dtype), put(one, x[..., 128:], dtype), num_heads=4, num_kv_heads=2, transpose_key=False
    )
    for tensor, value in zip(apart, wanted, strict=True):
        assert np.array_equal(held(tensor), value)
    nlp = op("experimental.nlp_create_qkv_heads")
    four = nlp(put(one, x[:, None], dtype), num_heads=4, num_kv_heads=2, transpose_k_heads=False)
    for tensor, value in zip(four, wanted, strict=True):
        assert np.array_equal(held(tensor), value)
    assert np.array_equal(held(op("transformer.concatenate_heads")(found[0])), q)
    assert np.array_equal(held(op("experimental.nlp_concat_heads")(found[0])), q[:, None])
    alone = nlp(put(one, q[:, None], dtype), num_heads=4, num_kv_heads=0)
    assert np.array_equal(held(alone[0]), wanted[0])
    assert [tuple(tensor.shape) for tensor in alone[1:]] == [(2, 0, 32, 33), (2, 0, 33, 32)]
    with pytest.raises(RuntimeError, match="Unsupported input shape"):
        nlp(put(one, x[:, None], dtype), num_heads=5)


M = 2**32 - 1
HEAD_COUNTS = [
    ("transformer.split_query_key_value_and_split_heads", 3, {"num_heads": 0}, "num_heads must be greater than 0"),
    ("transformer.split_query_key_value_and_split_heads", 3, {"num_heads": 1, "num_kv_heads": 0}, "num_kv_heads must be greater than 0"),
    ("transformer.split_query_key_value_and_split_heads", 3, {"num_heads": 2, "num_kv_heads": M}, "8589934592 heads do not fit in the hidden dimension"),
    ("transformer.split_query_key_value_and_split_heads", 3, {"num_heads": 4}, "Invalid head size: 16. The head size must be a multiple of the tile"),
    ("transformer.split_query_key_value_and_split_heads", 2, {"num_heads": 1, "num_kv_heads": 2**31}, r"2 \* num_kv_heads .* exceeds the KV hidden"),
    ("experimental.nlp_create_qkv_heads", 3, {"num_heads": 0}, "num_q_heads must be greater than 0"),
    ("experimental.nlp_create_qkv_heads", 3, {"num_heads": 2, "num_kv_heads": M}, "exceeds the fused width"),
    ("experimental.nlp_create_qkv_heads_boltz", 2, {"num_heads": 1, "num_kv_heads": 0}, "num_kv_heads must be greater than 0 when"),
    ("experimental.nlp_create_qkv_heads_boltz", 2, {"num_heads": 1, "num_kv_heads": 2**31}, "exceeds the KV width"),
    ("experimental.create_qkv_heads", 3, {"num_heads": 0}, "num_q_heads must be greater than 0"),
    ("experimental.create_qkv_heads", 3, {"num_heads": 1, "num_kv_heads": 0}, "num_kv_heads must be greater than 0"),
    ("experimental.create_qkv_heads", 3, {"num_heads": 2, "num_kv_heads": M}, "exceeds the flattened hidden dimension"),
    ("experimental.create_qkv_heads_from_separate_tensors", 2, {"num_heads": 0}, "num_q_heads must be greater than 0"),
    ("experimental.create_qkv_heads_from_separate_tensors", 2, {"num_heads": 1, "num_kv_heads": 2**31}, "exceeds the KV hidden dimension"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parts", "counts", "message"), HEAD_COUNTS)
def test_head_counts_are_refused(
    one: MeshDevice, name: str, parts: int, counts: dict[str, int], message: str
):
    pytest.importorskip("torch")
    lead = (1, 32) if "split" in name else (1, 1, 32)
    widths = (192,) if parts == 3 else (64, 128)
    with pytest.raises(RuntimeError, match=message):
        op(name)(*(put(one, np.zeros((*lead, width))) for width in widths), **counts)


def test_heads_of_one_token(one: MeshDevice):
    x = sample(F32, 1, 1, 3, 8 * 32)
    split = op("experimental.nlp_create_qkv_heads_decode")
    q, k, v = split(put(one, x), num_heads=4, num_kv_heads=2)
    assert np.array_equal(held(q), x[..., :128].reshape(1, 3, 4, 32))
    assert np.array_equal(held(k), x[..., 128:192].reshape(1, 3, 2, 32))
    assert np.array_equal(held(v), x[..., 192:].reshape(1, 3, 2, 32))
    with pytest.raises(RuntimeError, match=r"shard shape \(32, 16\) must be tile"):
        split(put(one, x[..., :128]), num_heads=4, num_kv_heads=2)
    for shape in ((1, 1, 33, 256), (1, 2, 32, 256)):
        with pytest.raises(
            RuntimeError, match=rf"Unsupported input shape = Shape\(\[1, {shape[1]}, {shape[2]}, 256"
        ):
            split(put(one, sample(F32, *shape)), num_heads=4, num_kv_heads=2)
    back = op("experimental.nlp_concat_heads_decode")(q, num_heads=4)
    # As many rows as the tiles of the users have, also in the shape: recorded from the reference library 0.81.1.
    assert back.shape == (1, 1, 32, 128)
    assert np.array_equal(held(back)[:, :, :3], x[..., :128]) and not held(back)[:, :, 3:].any()
    assert op("experimental.nlp_concat_heads_decode")(q, num_heads=3).shape == (1, 1, 32, 96)


def test_caches(one: MeshDevice):
    cache, new = sample(BF16, 4, 2, 64, 16), sample(BF16, 1, 2, 20, 16, seed=1)
    t = put(one, cache, BF16)
    same = t.storage
    assert ops.fill_cache(t, put(one, new, BF16), 2, update_idx=32).storage is t.storage
    cache[2, :, 32:52] = new[0]
    assert np.array_equal(held(t), cache)
    op("kv_cache.fill_cache_for_user_")(t, put(one, new, BF16), 0)
    cache[0, :, :20] = new[0]
    token = sample(BF16, 1, 2, 32, 16, seed=2)
    ops.update_cache(t, put(one, token, BF16), 40, batch_offset=3)
    cache[:, :, 40] = token[0, :, 3:7].transpose(1, 0, 2)
    op("kv_cache.update_cache_for_token_")(t, put(one, token, BF16), 41, 0)
    cache[:, :, 41] = token[0, :, :4].transpose(1, 0, 2)
    assert np.array_equal(held(t), cache)
    assert t.storage is same
    for call in (
        lambda: ops.fill_cache(t, put(one, new, BF16), 9),
        lambda: ops.fill_cache(t, put(one, new, BF16), 0, update_idx=64),
        lambda: ops.update_cache(t, put(one, token, BF16), 64),
        lambda: ops.update_cache(t, put(one, new, BF16), 0, batch_offset=30),
    ):
        with pytest.raises(RuntimeError, match="cache"):
            call()


def test_paged_caches(one: MeshDevice):
    update, fill = op("experimental.paged_update_cache"), op("experimental.paged_fill_cache")
    cache, token = sample(F32, 4, 2, 64, 32), sample(F32, 1, 4, 2, 32, seed=1)
    t = put(one, cache)
    assert (
        update(t, by_user(put(one, token)), update_idxs_tensor=put(one, [3, -1, 63, 0], I32, ROW)).storage
        is t.storage
    )
    for user, position in ((0, 3), (2, 63), (3, 0)):
        cache[user, :, position] = token[0, user]
    assert np.array_equal(held(t), cache)
    blocks, table = np.zeros((8, 2, 16, 32), np.float32), np.array([[5, 2], [0, 7]], np.int32)
    paged = put(one, blocks)
    update(
        paged,
        by_user(put(one, token[:, :2])),
        update_idxs_tensor=put(one, [17, 4], I32, ROW),
        page_table=put(one, table, I32, ROW),
    )
    blocks[2, :, 1], blocks[0, :, 4] = token[0, 0], token[0, 1]
    new = sample(F32, 1, 2, 20, 32, seed=3)
    fill(paged, put(one, new), put(one, table, I32, ROW), batch_idx=1)
    blocks[0], blocks[7][:, :4] = new[0, :, :16], new[0, :, 16:]
    assert np.array_equal(held(paged), blocks)
    with pytest.raises(RuntimeError, match="outside of the 2 blocks"):
        words = {"update_idxs_tensor": put(one, [40], I32, ROW), "page_table": put(one, table, I32, ROW)}
        update(paged, by_user(put(one, token[:, :1])), **words)


def test_caches_of_chosen_devices(mesh: MeshDevice):
    t = put(mesh, np.zeros((1, 1, 4, 32)))
    chosen = {MeshCoordinate(0, 1), MeshCoordinate(1, 3)}
    op("experimental.paged_update_cache")(
        t, by_user(put(mesh, np.ones((1, 1, 1, 32)))), update_idxs=[2], mesh_coords=chosen
    )
    assert [held(t, d).sum() for d in range(8)] == [0, 32, 0, 0, 0, 0, 0, 32]


def test_plus_one(one: MeshDevice):
    t = put(one, [3, -1, 0], I32, ROW)
    assert ops.plus_one(t).storage is t.storage
    assert held(t).tolist() == [4, 0, 1]
    assert held(ops.plus_one(put(one, [3, -1], I32, ROW), skip_negative_entries=True)).tolist() == [4, -1]
    assert held(ops.plus_one(put(one, [3, 2**32 - 1], U32, ROW))).tolist() == [4, 0]
    with pytest.raises(RuntimeError, match="Only INT32 and UINT32"):
        ops.plus_one(put(one, [1.0], F32, ROW))


@pytest.mark.parametrize(
    ("heads", "chunks", "words"),
    [
        ((1, 0), {}, "Q num_heads must be >= K num_heads and divisible by K num_heads, and K num_heads must be greater than 0"),
        ((1, 2), {}, "Got Q: 1, K: 2"),
        ((1, 1), {"q_chunk_size": 0}, "q_chunk_size must be a positive multiple of TILE_SIZE. Got q_chunk_size: 0, TILE_SIZE: 32"),
        ((1, 1), {"k_chunk_size": 48}, "k_chunk_size must be a positive multiple of TILE_SIZE"),
    ],
)  # fmt: skip
def test_heads_and_chunks_that_attention_does_not_take(
    one: MeshDevice, heads: tuple[int, int], chunks: dict[str, int], words: str
):
    q, kv = (put(one, np.ones((1, count, 32, 32)), BF16) for count in heads)
    config = (
        SDPAProgramConfig(
            compute_with_storage_grid_size=(1, 1), **({"q_chunk_size": 32, "k_chunk_size": 32} | chunks)
        )
        if chunks
        else None
    )
    with pytest.raises(RuntimeError, match=words):
        op("transformer.scaled_dot_product_attention")(q, kv, kv, program_config=config)


def test_joint_attention_needs_heads(one: MeshDevice):
    empty = put(one, np.ones((1, 0, 32, 32)), BF16)
    with pytest.raises(RuntimeError, match="Q num_heads must be equal to K num_heads, and greater than 0"):
        op("transformer.joint_scaled_dot_product_attention")(*[empty] * 6, joint_strategy="rear")


@pytest.mark.parametrize(
    ("shape", "hint"), [((2, 32, 32), "unsqueeze_to_4D"), ((1, 1, 2, 32, 32), "to four dimensions")]
)
def test_heads_are_four_dimensional(one: MeshDevice, shape: tuple[int, ...], hint: str) -> None:
    with pytest.raises(RuntimeError, match=f"(?s){hint}.*Input must have rank 4"):
        four_dims(put(one, np.zeros(shape)))


def test_sinks_are_told_by_user_or_listed() -> None:
    scores = np.arange(8.0)
    assert sink_of(scores.reshape(2, 4), 8, 1).tolist() == scores.tolist()
    assert sink_of(scores.reshape(2, 1, 4), 4, 1).tolist() == [4, 5, 6, 7]
    assert sink_of(scores.reshape(2, 4), 2, 1).tolist() == [0, 4]
