"""Attention by a gated state and attention to chosen keys, against the reference's definitions in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, I32, ROW, U32, held, near, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tuning.choices import SparseKVFormat

pytestmark = pytest.mark.usefixtures("float32_too")

MASKED = 0xFFFFFFFF


def op(name: str) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None
    return found


def rule(q: Any, k: Any, v: Any, g: Any, beta: Any, scale: float, state: Any) -> tuple[Any, Any]:
    """The recurrence, one token, user and head at a time."""
    batch, length, heads, _ = v.shape
    out, states = np.zeros(v.shape), np.zeros((batch, length, *state.shape[1:]))
    for b in range(batch):
        for h in range(heads):
            key_head, held_state = h * q.shape[2] // heads, state[b, h].astype(np.float64)
            for t in range(length):
                key = k[b, t, key_head]
                held_state = held_state * np.exp(g[b, t, h])
                held_state = held_state + np.outer(key, (v[b, t, h] - key @ held_state) * beta[b, t, h])
                out[b, t, h], states[b, t, h] = scale * q[b, t, key_head] @ held_state, held_state
    return out, states


def operands(length: int = 33) -> list[Any]:
    rng = np.random.default_rng(1)
    q, k = (rng.normal(size=(2, length, 1, 8)) for _ in range(2))
    q, k = (x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6) for x in (q, k))
    v, g = rng.normal(size=(2, length, 2, 8)), rng.uniform(-1, 0, (2, length, 2))
    return [x.astype(np.float32) for x in (q, k, v, g, rng.uniform(0, 1, (2, length, 2)))]


def test_a_gated_state_answers_token_by_token_and_in_chunks(one: MeshDevice):
    given = operands()
    state = np.random.default_rng(2).normal(size=(2, 2, 8, 8)).astype(np.float32)
    wanted, states = rule(*given, 0.3, state)
    tensors, first = [put(one, x) for x in given], put(one, state)
    recurrent, chunked = (op(f"transformer.{n}_gated_delta_rule") for n in ("fused_recurrent", "chunk"))
    out, all_states = recurrent(*tensors, scale=0.3, initial_state=first, output_per_token_state=True)
    near(out, wanted, steps=64)
    near(all_states, states, steps=64)
    out, last = chunked(*tensors, scale=0.3, initial_state=first, output_final_state=True)
    near(out, wanted, steps=64)
    near(last, states[:, -1], steps=64)
    assert out.layout is Layout.ROW_MAJOR
    out, none = chunked(*tensors, output_head_major=True, chunk_size=32)
    wanted, _ = rule(*given, 8**-0.5, 0 * state)
    near(out, wanted.swapaxes(1, 2).reshape(4, 33, 8), steps=64)
    assert none is None
    with pytest.raises(RuntimeError, match="use_qk_l2norm must be False"):
        recurrent(*tensors, use_qk_l2norm=True)


def test_flat_operands_are_normalized_and_split_by_heads(one: MeshDevice):
    q, k, v, g, beta = operands(32)
    wanted, _ = rule(q, k, v, g, beta, 8**-0.5, np.zeros((2, 2, 8, 8)))
    flat = [put(one, (3 * x).reshape(2, 32, -1)) for x in (q, k)]
    out, _ = op("transformer.chunk_gated_delta_rule")(
        *flat, put(one, v.reshape(2, 32, -1)), put(one, g), put(one, beta), chunk_size=32
    )
    near(out, wanted, steps=64)


def test_a_ring_of_states_begins_at_its_blocks_and_is_written_over(one: MeshDevice):
    given = operands(3)
    ring = np.random.default_rng(3).normal(size=(12, 8, 8)).astype(np.float32)
    blocks = np.array([4, 1, 10, 7])
    wanted, states = rule(*given, 8**-0.5, ring[blocks].reshape(2, 2, 8, 8))
    tensor = put(one, ring)
    out, written = op("transformer.fused_recurrent_gated_delta_rule")(
        *(put(one, x) for x in given),
        initial_state=tensor,
        initial_state_block_idx=put(one, blocks, I32, ROW),
        output_per_token_state=True,
    )
    assert written.storage is tensor.storage
    near(out, wanted, steps=64)
    near(tensor, states.reshape(12, 8, 8), steps=64)


def test_a_scan_over_prepared_chunks(one: MeshDevice):
    rng = np.random.default_rng(4)
    lower = np.tril(rng.uniform(-0.1, 0.1, (2, 3, 32, 32)), -1) + np.eye(32)
    v, k, q = (rng.normal(size=(2, 3, 32, d)) for d in (16, 8, 8))
    intra, late = rng.uniform(-0.1, 0.1, (2, 3, 32, 32)), rng.uniform(-0.1, 0.1, (2, 3, 8, 32))
    decay, state = rng.uniform(0.1, 1, (2, 3, 1, 1)), rng.normal(size=(2, 8, 16))
    given = [put(one, x) for x in (lower, v, k, intra, q, late, decay, np.zeros((2, 3, 32, 32)))]
    out, last = op("transformer.gated_delta_attn_seq")(*given, initial_state=put(one, state))
    wanted = []
    for chunk in range(3):
        new = np.linalg.solve(lower[:, chunk], v[:, chunk] - k[:, chunk] @ state)
        wanted.append(q[:, chunk] @ state + intra[:, chunk] @ new)
        state = state * decay[:, chunk] + late[:, chunk] @ new
    near(out, np.stack(wanted, 1), steps=256)
    near(last, state, steps=256)


@pytest.mark.parametrize("packed", [False, True])
def test_attention_to_the_rows_that_indices_name(one: MeshDevice, packed: bool):
    rng = np.random.default_rng(5)
    latent, rope = (128, 32) if packed else (16, 8)
    q = rounded(rng.normal(size=(1, 4, 5, latent + rope)) * 0.1, BF16)
    rows = rounded(rng.normal(size=(20, latent + rope)), BF16)
    kv: Any = put(one, rows[None, None], BF16, ROW)
    if packed:
        import ml_dtypes

        values = rng.normal(size=(20, latent)).astype(ml_dtypes.float8_e4m3fn)
        scales = rng.uniform(0.5, 2, (20, 1)).astype(np.float32)
        rows[:, :latent] = rounded(values.astype(np.float32) * scales, BF16)
        parts = (values, scales, rows[:, latent:].astype(ml_dtypes.bfloat16))
        raw = np.concatenate([np.ascontiguousarray(p).view(np.uint8) for p in parts], -1)
        kv = put(one, raw[None, None], DataType.UINT8, ROW)
    places = np.stack([rng.permutation(20)[:8] for _ in range(5)])
    seen = np.ones((5, 20), bool)
    chosen = places.astype(np.uint32)
    chosen[1, -2:] = MASKED
    for s in range(5):
        seen[s] = np.isin(np.arange(20), chosen[s])
    sink = np.array([0.5, -1, 2, 0])
    scores = 0.3 * q[0].astype(float) @ rows.T + np.where(seen, 0, -np.inf)
    weights = np.exp(scores)
    weights /= weights.sum(-1, keepdims=True) + np.exp(0.3 * sink)[:, None, None]
    found = op("transformer.sparse_sdpa")(
        put(one, q, BF16, ROW),
        kv,
        put(one, chosen[None, None], U32, ROW),
        latent,
        kv_format=SparseKVFormat.SCALED_FP8 if packed else SparseKVFormat.BF16,
        scale=0.3,
        attention_sink=put(one, sink.reshape(1, 1, 1, 4), BF16, ROW),
    )
    near(found, (weights @ rows[:, :latent])[None], steps=2)


def test_positions_in_a_cache_that_is_dealt_over_devices(mesh: MeshDevice):
    """Axis 1 of 2x4 has four stripes; with chunks of 2, positions 0..7 are dealt first."""
    rng = np.random.default_rng(6)
    natural = rounded(rng.normal(size=(16, 8)), BF16)
    order = [s * 8 + d * 2 + i for d in range(4) for s in range(2) for i in range(2)]
    q, chosen = rounded(rng.normal(size=(1, 2, 2, 8)), BF16), np.array([[0, 5, 9, 14], [3, 7, 11, 15]])
    call = op("transformer.sparse_sdpa")

    def attended(cache: Any, **words: Any) -> Any:
        parts = (put(mesh, q, BF16, ROW), put(mesh, cache[None, None], BF16, ROW))
        index = put(mesh, chosen[None, None], U32, ROW)
        return held(call(*parts, index, 8, kv_format=SparseKVFormat.BF16, **words))

    dealt = attended(natural[order], block_cyclic_sp_axis=1, block_cyclic_chunk_local=2)
    np.testing.assert_array_equal(dealt, attended(natural))
    # All eight devices have stripes of half a chunk: positions 0..15 are dealt first.
    natural = rounded(rng.normal(size=(32, 8)), BF16)
    order = [s * 16 + d * 2 + i for d in range(8) for s in range(2) for i in range(2)]
    words = {"block_cyclic_sp_axis": 1, "block_cyclic_chunk_local": 4, "block_cyclic_cache_tp_sharded": True}
    chosen += 13
    np.testing.assert_array_equal(attended(natural[order], **words), attended(natural))


@pytest.mark.parametrize("start", [None, 40])
def test_attention_to_blocks(one: MeshDevice, start: int | None):
    rng = np.random.default_rng(7)
    q, k, v = (rounded(rng.normal(size=s), BF16) for s in ((1, 4, 3, 16), (2, 2, 128, 16), (2, 2, 128, 8)))
    chosen = np.array([[[0, 1], [2, 0], [3, MASKED]], [[1, 0], [0, 3], [2, 1]]], np.uint32)
    seen = np.stack([[np.isin(np.arange(128) // 32, row) for row in group] for group in chosen])
    if start is not None:
        seen &= np.arange(128) <= np.arange(3)[:, None] + start
        chosen[0, 2] = [1, MASKED]
        seen[0, 2] = (np.arange(128) // 32 == 1) & (np.arange(128) <= 2 + start)
    keys, values = np.repeat(k[1], 2, 0), np.repeat(v[1], 2, 0)
    scores = q[0].astype(float) @ keys.swapaxes(-1, -2) / 4 + np.where(np.repeat(seen, 2, 0), 0, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    found = op("transformer.sparse_sdpa_msa")(
        put(one, q, BF16, ROW),
        put(one, k, BF16),
        put(one, v, BF16),
        put(one, chosen[None], U32, ROW),
        block_size=32,
        cache_batch_idx=1,
        chunk_start_idx=start,
    )
    near(found, (weights @ values)[None], steps=2)


@pytest.mark.parametrize(
    ("axis", "queries", "chunk", "start"), [(1, 32, 32, 32), (0, 16, 64, 32), (0, 32, 32, 96), (1, 16, 32, 0)]
)
def test_blocks_of_a_cache_that_is_dealt_over_devices(
    mesh: MeshDevice, axis: int, queries: int, chunk: int, start: int
):
    """A slab begins in the midst of a chunk: each device's queries are where the rows lie that its stripe gets; the other axis cuts a chunk once more."""
    rng, extents = np.random.default_rng(8), tuple(mesh.shape)
    stripes, cut = extents[axis], chunk // queries
    length = stripes * chunk * 3
    order = [(s * stripes + d) * chunk + i for d in range(stripes) for s in range(3) for i in range(chunk)]
    shapes = (1, 2, queries, 16), (1, 1, length, 16), (1, 1, length, 8)
    q, k, v = (rounded(rng.normal(size=shape), BF16) for shape in shapes)
    index = put(mesh, np.tile(np.arange(length // 32, dtype=np.uint32), (1, 1, queries, 1)), U32, ROW)
    dealt = [put(mesh, x[:, :, order], BF16) for x in (k, v)]
    words = {"cluster_axis": axis, "block_cyclic_sp_axis": axis, "block_cyclic_chunk_local": chunk}
    call = op("transformer.sparse_sdpa_msa")
    found = call(put(mesh, q, BF16, ROW), *dealt, index, block_size=32, chunk_start_idx=start, **words)
    # Rows that the devices' stripes get of a slab that begins at start, as the writer of the cache deals them.
    slab = range(start, start + stripes * chunk)
    for device, shard in enumerate(found.shards.each()):
        place = np.unravel_index(device, extents)
        mine = [p for p in slab if p // chunk % stripes == place[axis]]
        mine.sort(key=lambda p: (p // chunk // stripes, p % chunk))
        part = place[1 - axis] if cut > 1 else 0
        at = np.array(mine[part * queries : (part + 1) * queries])
        scores = q[0].astype(float) @ k[0].swapaxes(-1, -2) / 4
        scores = np.where(np.arange(length) <= at[:, None], scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(shard, (weights @ v[0])[None], rtol=0.02, atol=0.02)


def test_queries_that_are_cut_over_an_axis_see_as_far_as_they_are(mesh: MeshDevice):
    rng = np.random.default_rng(9)
    q, k, v = (rounded(rng.normal(size=s), BF16) for s in ((1, 2, 4, 16), (1, 1, 64, 16), (1, 1, 64, 8)))
    given = [put(mesh, q, BF16, ROW), put(mesh, k, BF16), put(mesh, v, BF16)]
    index = put(mesh, np.tile(np.arange(2, dtype=np.uint32), (1, 1, 4, 1)), U32, ROW)
    call = op("transformer.sparse_sdpa_msa")
    cut = call(*given, index, block_size=32, chunk_start_idx=20, cluster_axis=1).shards.each()
    for device, shard in enumerate(cut):
        start = 20 + 4 * (device % tuple(mesh.shape)[1])
        whole = call(*given, index, block_size=32, chunk_start_idx=start).shards.each()
        np.testing.assert_array_equal(shard, whole[device])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"block_cyclic_sp_axis": 0}, "must be set together"),
        ({"block_cyclic_sp_axis": 2, "block_cyclic_chunk_local": 32}, "out of range for mesh dims"),
        ({"block_cyclic_sp_axis": 0, "block_cyclic_chunk_local": 96}, "must equal q seq-len"),
        ({"block_cyclic_sp_axis": 0, "block_cyclic_chunk_local": 32, "block_size": 64}, "must divide chunk_local"),
        ({"block_cyclic_sp_axis": 0, "block_cyclic_chunk_local": 32, "chunk_start_idx": 31}, "multiple of 32"),
        ({"block_cyclic_sp_axis": 0, "block_cyclic_chunk_local": 32, "chunk_start_idx": 32}, "needs cluster_axis"),
        ({"block_cyclic_sp_axis": 0, "block_cyclic_chunk_local": 32, "chunk_start_idx": 32, "cluster_axis": 1}, "must equal block_cyclic"),
        ({"chunk_start_idx": 0, "cluster_axis": 2}, "out of range"),
        ({"scale": 0.0}, "scale must be > 0"),
        ({"cache_batch_idx": 1}, "must be < kv batch slots"),
    ],
)  # fmt: skip
def test_blocks_that_a_mesh_does_not_deal_so(mesh: MeshDevice, words: dict[str, Any], said: str):
    rows = put(mesh, np.zeros((1, 2, 32, 32)), BF16, ROW)
    keys, index = put(mesh, np.zeros((1, 1, 256, 32)), BF16), put(mesh, np.zeros((1, 1, 32, 4)), U32, ROW)
    with pytest.raises(RuntimeError, match=said):
        op("transformer.sparse_sdpa_msa")(rows, keys, keys, index, **{"block_size": 32, **words})


def test_places_of_the_largest_of_long_rows(one: MeshDevice):
    rows = np.stack([np.random.default_rng(s).permutation(200) for s in (1, 2)]).astype(np.float32)
    rows[1, 20:] = -np.inf
    tensor = put(one, rows, BF16, ROW)
    call = op("experimental.topk_large_indices")
    wanted = np.argsort(-rows[0, :160], kind="stable")[:32]
    for words in (
        {"valid_length": 160},
        {"valid_length_tensor": put(one, [150], U32, ROW), "valid_length_offset": 10},
        {
            "valid_length_tensor": put(one, [200], U32, ROW),
            "valid_end_tensor": put(one, [130], U32, ROW),
        },
    ):
        found = held(call(tensor, k=32, **words))
        np.testing.assert_array_equal(found[0], wanted)
        assert (found[1, 20:] == MASKED).all()
        assert set(found[1, :20]) == set(range(20))
    with pytest.raises(RuntimeError, match="multiple of 16"):
        call(tensor, k=20)


def test_sinks_are_scaled_and_read_from_the_first_column(one: MeshDevice):
    rng = np.random.default_rng(8)
    q, k, v = (rng.normal(size=s).astype(np.float32) for s in ((1, 2, 2, 8), (2, 2, 32, 8), (2, 2, 32, 8)))
    sink = np.repeat(np.array([[0.5], [-2.0]]), 32, 1)
    scores = 0.3 * np.einsum("bhd,bhsd->bhs", q[0].astype(float), k)
    weights = np.exp(scores) / (np.exp(scores).sum(-1) + np.exp(0.3 * sink[:, 0]))[..., None]
    found = op("transformer.scaled_dot_product_attention_decode")(
        put(one, q),
        put(one, k),
        put(one, v),
        cur_pos=[31, 31],
        scale=0.3,
        attention_sink=put(one, sink, F32),
    )
    near(found, np.einsum("bhs,bhsd->bhd", weights, v)[None], steps=16)


def test_a_window_on_both_sides_without_causality(one: MeshDevice):
    rng = np.random.default_rng(9)
    q, k, v = (rng.normal(size=(1, 1, n, 32)).astype(np.float32) for n in (8, 12, 12))
    distance = np.abs(np.arange(12)[None] - np.arange(4, 12)[:, None])
    mask = np.where(distance <= 2, 0.0, -np.inf)
    scores = q.astype(float) @ k.swapaxes(-1, -2) / np.sqrt(32) + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    sdpa, tensors = op("transformer.scaled_dot_product_attention"), [put(one, x) for x in (q, k, v)]
    found = sdpa(*tensors, is_causal=False, sliding_window_size=5)
    with pytest.raises(RuntimeError, match="bake the sliding-window mask into attn_mask"):
        sdpa(*tensors, is_causal=False, sliding_window_size=5, attn_mask=put(one, np.zeros((1, 1, 8, 12))))
    near(found, weights / weights.sum(-1, keepdims=True) @ v, steps=16)
