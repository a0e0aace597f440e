"""Attention in chunks, over joined sequences and with latent values, against plain attention in float64."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import causal, reference, sample
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, held, near, put
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.conversions import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG
from tt_run.runtime.values import shapes

pytestmark = pytest.mark.usefixtures("float32_too")


def call(name: str, *args: Any, **words: Any) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None, name
    return found(*args, **words)


PAGES = np.array([[3, 0, 5], [4, 1, 2]], np.int32)  # blocks of two users in the order of their positions


def paged(values: np.ndarray) -> np.ndarray:
    """(B, H, 3 * 32, D) as blocks of 32 rows in the places that PAGES names."""
    blocks = np.zeros((6, values.shape[1], 32, values.shape[3]), np.float32)
    for user, table in enumerate(PAGES):
        for number, block in enumerate(table):
            blocks[block] = values[user, :, 32 * number : 32 * number + 32]
    return blocks


@pytest.mark.parametrize("as_tensor", [False, True])
def test_a_chunk_sees_what_came_before(one: MeshDevice, as_tensor: bool) -> None:
    q, k, v = sample(F32, 2, 4, 96, 32), sample(F32, 2, 2, 96, 32, seed=1), sample(F32, 2, 2, 96, 32, seed=2)
    whole = reference(q, k, v, causal(96, 96))
    start = {"chunk_start_idx_tensor": put(one, np.array([32], np.int32), I32, ROW)} if as_tensor else {"chunk_start_idx": 32}  # fmt: skip
    found = call(
        "transformer.chunked_scaled_dot_product_attention", put(one, q[:, :, 32:64]), put(one, paged(k)), put(one, paged(v)),
        put(one, np.pad(PAGES, ((0, 0), (0, 5))) if as_tensor else PAGES, I32, ROW), **start,
    )  # fmt: skip
    near(found, whole[:, :, 32:64].astype(np.float32), steps=64)
    told = {80: "Got K: 96, Q: 32, chunk_start_idx: 80", -32: "non-negative"}
    for first, words in told.items():
        with pytest.raises(RuntimeError, match=words), shapes.only() if as_tensor else nullcontext():
            call(
                "transformer.chunked_scaled_dot_product_attention", put(one, q[:, :, 32:64]), put(one, paged(k)),
                put(one, paged(v)), put(one, PAGES, I32, ROW), first,
            )  # fmt: skip


def test_latent_values_are_columns_of_the_keys(one: MeshDevice) -> None:
    q, k = sample(F32, 2, 4, 96, 64), sample(F32, 2, 1, 96, 64, seed=1)
    wanted = reference(q, k, k[..., :32], causal(96, 96)).astype(np.float32)
    near(call("transformer.flash_mla_prefill", put(one, q), put(one, k), 32), wanted, steps=64)
    near(
        call("transformer.flash_mla_prefill", put(one, q), put(one, k), put(one, k[..., :32])),
        wanted,
        steps=64,
    )
    chunk = call(
        "transformer.chunked_flash_mla_prefill", put(one, q[:, :, 64:]), put(one, paged(k)), 32, put(one, PAGES, I32, ROW), 64
    )  # fmt: skip
    near(chunk, wanted[:, :, 64:], steps=64)
    free = reference(q, k, k[..., :32], 0.0).astype(np.float32)
    near(call("transformer.flash_mla_prefill", put(one, q), put(one, k), 32, is_causal=False), free, steps=64)


@pytest.mark.parametrize(
    ("values", "words", "message"),
    [
        ((2, 3, 32, 32), {}, "must be divisible by V num_heads. Got Q: 4, V: 3"),
        (
            (2, 4, 32, 96),
            {},
            "Head dimension of V must be less than or equal to head dim of Q, got 96 and 64",
        ),
        ((2, 1, 32, 32), {"attn_mask": (1, 1, 32, 32)}, "is_causal and attn_mask cannot both be present"),
    ],
)
def test_latent_values_that_do_not_fit(
    one: MeshDevice, values: tuple[int, ...], words: dict[str, Any], message: str
) -> None:
    q, k = put(one, sample(F32, 2, 4, 32, 64)), put(one, sample(F32, 2, 1, 32, 64))
    given = {word: put(one, np.zeros(shape)) for word, shape in words.items()}
    with pytest.raises(RuntimeError, match=message):
        call("transformer.flash_mla_prefill", q, k, put(one, np.zeros(values)), **given)


def test_candidates_are_users_of_the_same_blocks(one: MeshDevice) -> None:
    decode = "transformer.paged_scaled_dot_product_attention_decode"
    q, blocks = sample(BF16, 1, 4, 32, 32), put(one, sample(BF16, 6, 1, 32, 32, seed=1), BF16)
    at = {"cur_pos_tensor": put(one, [5, 6, 40, 41], I32, ROW)}
    wanted = held(
        call(decode, put(one, q, BF16), blocks, blocks, put(one, PAGES.repeat(2, 0), I32, ROW), **at)
    )
    found = call(
        decode, put(one, q.reshape(1, 2, 64, 32), BF16), blocks, blocks, put(one, PAGES, I32, ROW), spec_multi_pos_tiles=2, **at
    )  # fmt: skip
    assert np.array_equal(held(found), wanted.reshape(1, 2, 64, 32))


@pytest.mark.parametrize(
    ("rows", "words", "message"),
    [
        (64, {"is_causal": False}, "requires is_causal"),
        (64, {"sliding_window_size": 32}, "not supported with sliding_window_size"),
        (96, {}, "Q must have 64 padded rows per batch"),
        (64, {"cur_pos_tensor": None}, "requires a cur_pos tensor"),
        (64, {"cur_pos_tensor": [5, 6, 7]}, "cur_pos must have 4 entries"),
    ],
)
def test_candidates_that_do_not_fit(one: MeshDevice, rows: int, words: dict[str, Any], message: str) -> None:
    positions = words.get("cur_pos_tensor", [5, 6, 40, 41])
    at = {"cur_pos_tensor": None if positions is None else put(one, positions, I32, ROW)}
    cache = put(one, np.zeros((6, 1, 32, 32)))
    with pytest.raises(RuntimeError, match=message):
        call(
            "transformer.paged_scaled_dot_product_attention_decode", put(one, np.zeros((1, 2, rows, 32)), BF16), cache, cache,
            put(one, PAGES, I32, ROW), spec_multi_pos_tiles=2, **words | at,
        )  # fmt: skip


def test_latent_decoding(one: MeshDevice) -> None:
    q, k = sample(F32, 2, 4, 1, 24), sample(F32, 2, 1, 96, 24, seed=1)
    positions = [40, 70]
    seen = np.where(np.arange(96)[None, None, None] <= np.array(positions)[:, None, None, None], 0.0, -np.inf)
    wanted = reference(q, k, k[..., :16], seen).astype(np.float32).transpose(2, 0, 1, 3)
    queries = put(one, q.transpose(2, 0, 1, 3))
    plain = call(
        "transformer.flash_multi_latent_attention_decode", queries, put(one, k), None, 16, cur_pos=positions
    )
    near(plain, wanted, steps=64)
    blocks = call(
        "transformer.paged_flash_multi_latent_attention_decode", queries, put(one, paged(k)), head_dim_v=16,
        page_table_tensor=put(one, PAGES, I32, ROW), cur_pos_tensor=put(one, np.array(positions, np.int32), I32, ROW),
    )  # fmt: skip
    assert np.array_equal(held(blocks), held(plain))


def test_joined_sequences(one: MeshDevice) -> None:
    first = [sample(F32, 1, 2, 40, 32, seed=s) for s in (1, 2, 3)]
    rear = [sample(F32, 1, 2, 24, 32, seed=s) for s in (4, 5, 6)]
    whole = reference(*(np.concatenate(pair, 2) for pair in zip(first, rear, strict=True))).astype(np.float32)
    tensors = [put(one, t) for t in (*first, *rear)]
    found = call("transformer.joint_scaled_dot_product_attention", *tensors, joint_strategy="rear")
    near(found[0], whole[:, :, :40], steps=64)
    near(found[1], whole[:, :, 40:], steps=64)
    with pytest.raises(RuntimeError, match=r"Joint strategy must be 'rear'. Got: front"):
        call("transformer.joint_scaled_dot_product_attention", *tensors, joint_strategy="front")


def test_queries_of_a_ring_fall_to_devices_in_two_chunks(mesh: MeshDevice) -> None:
    ring = "transformer.ring_distributed_scaled_dot_product_attention"
    q, k, v = (
        sample(F32, 1, 4, 256, 32),
        sample(F32, 1, 2, 256, 32, seed=1),
        sample(F32, 1, 2, 256, 32, seed=2),
    )
    whole = np.split(reference(q, k, v, causal(256, 256)).astype(np.float32), 8, axis=2)
    tensors = [put(mesh, t) for t in (q, k, v)]
    found = call(ring, *tensors, 4)
    for device, coord in enumerate(mesh.local_coords):
        wanted = np.concatenate([whole[coord[1]], whole[7 - coord[1]]], axis=2)
        np.testing.assert_allclose(held(found, device), wanted, rtol=1e-4, atol=1e-5)
    near(call(ring, *tensors, 4, 3), np.concatenate([whole[3], whole[4]], axis=2), steps=64)
    blocks = np.array([[2, 0, 3, 1]], np.int32)
    # 512 keys in four blocks, of which the queries are those from 256 on.
    longer = [np.concatenate([t[:, :, ::-1], t], axis=2) for t in (k, v)]
    inside = [np.split(t, 4, axis=2) for t in longer]
    order = [int(np.flatnonzero(blocks[0] == n)[0]) for n in range(4)]
    paged_ = [put(mesh, np.concatenate([part[n] for n in order])) for part in inside]
    late = np.split(reference(q, *longer, causal(512, 512)[256:]).astype(np.float32), 8, axis=2)
    words = {"page_table": put(mesh, blocks, I32, ROW), "chunk_start_idx": 256}
    near(call(ring, tensors[0], *paged_, 4, 1, **words), np.concatenate([late[1], late[6]], axis=2), steps=64)
    with pytest.raises(RuntimeError, match="Got K: 512, Q: 256, chunk_start_idx: 288"):
        call(ring, tensors[0], *paged_, 4, 1, **words | {"chunk_start_idx": 288})
    longest = [put(mesh, np.zeros((1, 2, 512, 32)))] * 3
    with pytest.raises(RuntimeError, match="no single axis of the mesh"):
        call(ring, *longest, 8)
    short, near_by = (
        [put(mesh, np.zeros((1, 2, 192, 32)))] * 3,
        to_memory_config(tensors[1], L1_MEMORY_CONFIG),
    )
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (tensors, {"ring_size": 5}, "must be even for balanced distribution, got 5"),
        (tensors, {"ring_size": 4, "ring_id": 4}, "ring_id=4, ring_size=4"),
        (short, {"ring_size": 2}, "per-device sequence length: 48, q_chunk_size: 32"),
        (short, {"ring_size": 4}, r"must be at least 2\*ring_size"),
        ((tensors[0], near_by, tensors[2]), {"ring_size": 4}, "need to be in DRAM"),
        (tensors, {"ring_size": 4, "chunk_start_idx": 0}, "page_table must be provided when chunk_start_idx is set"),
    ]  # fmt: skip
    for operands, asked, message in wrong:
        with pytest.raises(RuntimeError, match=message):
            call(ring, *operands, **asked)


def test_softmax_in_place(one: MeshDevice) -> None:
    scores = put(one, sample(F32, 1, 2, 8, 32))
    with pytest.raises(RuntimeError, match="using in-place version when attention_mask is not set"):
        call("transformer.attention_softmax_", scores, head_size=16)
    words = {"head_size": 16, "attention_mask": put(one, sample(F32, 1, 1, 8, 32, seed=1))}
    wanted = held(call("transformer.attention_softmax", scores, **words))
    assert call("transformer.attention_softmax_", scores, **words).storage is scores.storage
    assert np.array_equal(held(scores), wanted)
