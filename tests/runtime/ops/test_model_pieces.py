"""Pieces of models against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.placement.test_larger_shards import WIDTH, cores
from tests.runtime.ops.placement.test_reordered_shards import BY_ROW
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, held, near, put
from tt_run.runtime.enums import BufferType, DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.conversions import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
pytest.importorskip("torch")
WIDE = "float64"


def test_state_space(one: MeshDevice) -> None:
    a, bx, h = (sample(F32, 1, 1, 33, 64, seed=s) * 0.5 for s in (1, 2, 3))
    state, rows = h[:, :, :1].astype(WIDE), []
    for i in range(33):
        state = a[:, :, i : i + 1] * state + bx[:, :, i : i + 1]
        rows.append(state)
    cut = (
        MemoryConfig(WIDTH, BufferType.L1, ShardSpec(cores((1, 0)), (high, 32), BY_ROW))
        for high in (64, 64, 1)
    )
    places = [
        to_memory_config(put(one, t, F32, layout), m)
        for t, layout, m in zip((a, bx, h[:, :, :1]), (TILE, TILE, ROW), cut, strict=True)
    ]
    near(call("experimental.prefix_scan", *places), np.concatenate(rows, 2).astype(np.float32), steps=16)
    for given, words in (
        ((*places[:2], put(one, h[:, :, :1])), "hidden state to be row-major"),
        ((put(one, a), *places[1:]), "tensors to be sharded"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call("experimental.prefix_scan", *given)
    with pytest.raises(RuntimeError, match="Only L1 buffers can have an associated circular buffer"):
        call("experimental.prefix_scan", *places, memory_config=DRAM_MEMORY_CONFIG)
    wide = sample(F32, 1, 1, 32, 2048, seed=6)
    near(call("experimental.hc_sum_reduce", put(one, wide)), wide.reshape(1, 1, 32, 64, 32).sum(-1), steps=16)
    with pytest.raises(RuntimeError, match="Final dim/TILE_SIZE must be a multiple of latent size"):
        call("experimental.hc_sum_reduce", put(one, a))


@pytest.mark.parametrize("wide", [(), ("small",), ("big",)], ids=str)
def test_repeated_times_interleaved(one: MeshDevice, wide: tuple[str, ...]) -> None:
    small, big = sample(F32, 1, 1, 1, 32, seed=4), sample(F32, 1, 1, 1, 5120, seed=5)
    left, right = np.tile(small, (1, 1, 1, 5120)), np.repeat(big, 32, -1)
    a, b = left if "small" in wide else small, right if "big" in wide else big
    near(
        call("experimental.repeat_and_interleave_eltwise_mul", put(one, a), put(one, b)),
        left * right,
        steps=1,
    )


@pytest.mark.parametrize(
    ("a", "b", "words"), [(32, 32, "same size"), (64, 5120, "Input a width"), (32, 64, "Input b width")]
)
def test_widths_that_are_not_multiplied(one: MeshDevice, a: int, b: int, words: str) -> None:
    given = [put(one, sample(F32, 1, 1, 32, width)) for width in (a, b)]
    with pytest.raises(RuntimeError, match=words):
        call("experimental.repeat_and_interleave_eltwise_mul", *given)


def test_sums_over_batch_and_channels(one: MeshDevice) -> None:
    x = sample(F32, 3, 4, 32, 64)
    near(
        call("experimental.fast_reduce_nc", put(one, x), dims=[0, 1]), x.sum((0, 1), keepdims=True), steps=16
    )
    near(call("experimental.fast_reduce_nc", put(one, x), dims=[1]), x.sum(1, keepdims=True), steps=16)
    parts = call("experimental.deepseek_moe_fast_reduce_nc", put(one, x), 0, split_size=32)
    near(parts[1], x.sum(0, keepdims=True)[..., 32:], steps=16)


def test_heads_of_other_models(one: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="needs a width of 4672, got 128"):
        call("experimental.nlp_create_qkv_heads_falcon7b", put(one, sample(F32, 2, 1, 8, 128)))


def test_two_caches_at_once(one: MeshDevice) -> None:
    new = [sample(F32, 1, 2, 32, 16, seed=s) for s in (1, 2)]
    pairs = [put(one, np.zeros((2, 4, 64, 16), np.float32)) for _ in range(2)]
    found = call(
        "experimental.paged_fused_update_cache", pairs[0], put(one, new[0]), pairs[1], put(one, new[1]), update_idxs=[3, 40]
    )  # fmt: skip
    for cache, given, values in zip(found, pairs, new, strict=True):
        assert cache is given
        assert np.array_equal(held(cache)[0, :, 3], values[0, 0, :4])
        assert np.array_equal(held(cache)[1, :, 40], values[0, 1, :4])


def test_products_and_norms_in_one(one: MeshDevice) -> None:
    x, w, first, second = (sample(F32, *shape, seed=s) for s, shape in enumerate(((1, 1, 32, 64), (64, 96), (1, 1, 32, 96), (1, 1, 1, 96))))  # fmt: skip
    product = x.astype(WIDE) @ w
    found = call(
        "experimental.dit_minimal_matmul_addcmul_fused",
        put(one, x),
        put(one, w),
        0.5,
        put(one, first),
        put(one, second),
    )
    near(found, (first + 0.5 * product * second).astype(np.float32), steps=64)
    parts = call("experimental.minimal_matmul_split", put(one, x), put(one, w), chunks=3)
    assert [tuple(p.shape) for p in parts] == [(1, 1, 32, 32)] * 3
    near(parts[2], product[..., 64:].astype(np.float32), steps=64)
    normed = call("experimental.dit_rms_norm_unary_fused", put(one, x), 1e-5, activation="relu")
    wanted = x / np.sqrt((x.astype(WIDE) ** 2).mean(-1, keepdims=True) + 1e-5)
    near(normed, np.maximum(wanted, 0).astype(np.float32), steps=16)


def test_writing_a_part(one: MeshDevice) -> None:
    held_before, new = np.zeros((1, 4, 8, 16), np.float32), sample(F32, 1, 2, 4, 16)
    out = put(one, held_before, F32, ROW)
    assert (
        call(
            "experimental.slice_write",
            put(one, new, F32, ROW),
            out,
            [0, 1, 0, 0],
            [1, 3, 8, 16],
            [1, 1, 2, 1],
        )
        is out
    )
    held_before[:, 1:3, ::2] = new
    assert np.array_equal(held(out), held_before)
    with pytest.raises(RuntimeError, match="does not fit a part of"):
        call(
            "experimental.slice_write",
            put(one, new, F32, ROW),
            out,
            [0, 0, 0, 0],
            [1, 4, 8, 16],
            [1, 1, 1, 1],
        )


def test_gates(one: MeshDevice) -> None:
    x, w, b = sample(F32, 32, 64), sample(F32, 64, 128, seed=1), sample(F32, 32, 128, seed=2)
    experts, weights = call(
        "experimental.topk_router_gpt", put(one, x), weight_tensor=put(one, w), bias_tensor=put(one, b)
    )
    logits = x.astype(WIDE) @ w + b
    best = np.argsort(-logits, -1)[:, :4]
    assert experts.dtype is DataType.UINT16
    assert np.array_equal(held(experts), best)
    top = np.exp(np.take_along_axis(logits, best, -1) - logits.max(-1, keepdims=True))
    near(weights, (top / top.sum(-1, keepdims=True)).astype(np.float32), steps=64)
    scores, bias = sample(F32, 1, 1, 32, 256, seed=3), sample(F32, 1, 1, 32, 256, seed=4)
    weights, chosen = call(
        "experimental.deepseek_grouped_gate", put(one, scores), put(one, bias), route_scale=2.5
    )
    plain = 1 / (1 + np.exp(-scores.astype(WIDE)))
    biased = (plain + bias).reshape(32, 8, 32)
    ranks = np.sort(biased, -1)[..., -2:].sum(-1)
    allowed = np.where(np.isin(np.arange(8), -1), 0, np.full((32, 8), -np.inf))
    np.put_along_axis(allowed, np.argsort(-ranks, -1)[:, :4], 0, -1)
    wanted = np.argsort(-(biased + allowed[..., None]).reshape(32, 256), -1, kind="stable")[:, :8]
    assert np.array_equal(held(chosen)[0, 0], wanted)
    taken = np.take_along_axis(plain[0, 0], wanted, -1)
    near(weights, (2.5 * taken / taken.sum(-1, keepdims=True))[None, None].astype(np.float32), steps=32)


def test_the_weight_of_expert_zero(one: MeshDevice) -> None:
    x, masks = (
        sample(F32, 1, 1, 32, 64),
        [np.zeros((1, 1, 1, 64), np.float32), np.zeros((1, 1, 1, 32), np.float32)],
    )
    found = call("moe", put(one, x), *(put(one, m) for m in masks), 32)
    best = np.argsort(-x, -1)[..., :32]
    top = np.exp(np.take_along_axis(x, best, -1).astype(WIDE))
    wanted = (top / top.sum(-1, keepdims=True) * (best == 0)).sum(-1, keepdims=True)
    near(found, wanted.astype(np.float32), steps=32)


def test_masks_of_experts_that_a_sum_gives(one: MeshDevice) -> None:
    """The best two of eight experts: masks of three dimensions, whose lowest float32 is minus infinity in bfloat16."""
    x = sample(F32, 1, 1, 32, 64)
    masks = []
    for width, kept in ((64, 8), (32, 2)):
        mask = np.full((1, 1, 1, width), np.finfo(np.float32).min, np.float32)
        mask[..., :kept] = 0
        masks.append(call("sum", put(one, mask, BF16), dim=2))
    assert [tuple(mask.shape) for mask in masks] == [(1, 1, 64), (1, 1, 32)]
    scores = call("add", put(one, x, BF16), masks[0])
    found = held(call("moe", scores, *masks, 32))[0, 0, :, 0]
    own = held(scores)[0, 0, :, :8].astype(WIDE)
    best = np.sort(own, -1)[:, -2:]
    weight = np.exp(own[:, 0]) / np.exp(best).sum(-1)
    assert np.allclose(found, np.where(own[:, 0] >= best[:, 0], weight, 0), atol=0.01)


def test_products_with_chosen_experts(one: MeshDevice) -> None:
    a, b = sample(F32, 2, 3, 32, 64), sample(F32, 1, 4, 64, 32, seed=1)
    sparsity = (np.random.default_rng(2).random((2, 3, 1, 4)) > 0.5).astype(np.float32)
    found = call("sparse_matmul", put(one, a), put(one, b), sparsity=put(one, sparsity, BF16, ROW), nnz=None)
    wanted = a[:, :, None, None].astype(WIDE) @ b[0] * sparsity[..., None, None]
    assert tuple(found.shape) == (2, 3, 1, 4, 32, 32)
    near(found, wanted.astype(np.float32), steps=64)
    rows = call("sparse_matmul", put(one, wanted[0, 0].astype(np.float32)), put(one, sample(F32, 1, 4, 32, 16, seed=3)),
                sparsity=put(one, sparsity[:1, :1], BF16, ROW), is_input_a_sparse=True, is_input_b_sparse=False)  # fmt: skip
    assert tuple(rows.shape) == (1, 4, 32, 16)
    with pytest.raises(RuntimeError, match="at least one sparse input"):
        call(
            "sparse_matmul",
            put(one, a),
            put(one, b),
            sparsity=put(one, sparsity, BF16, ROW),
            is_input_b_sparse=False,
        )


def test_maps_between_experts_and_devices(mesh: MeshDevice) -> None:
    weights = np.zeros((1, 32), np.float32)
    weights[0, [2, 4, 10, 13, 14, 18, 22, 24]] = np.arange(1, 9)
    found = call("moe_routing_remap", put(mesh, weights, F32, ROW), 8, 4, 1)
    with pytest.raises(RuntimeError, match="expert_parallel_size must be at least 1, got 0"):
        call("moe_routing_remap", put(mesh, weights, F32, ROW), 8, 0, 1)
    rows, columns = tuple(mesh.shape)
    for device in range(rows * columns):
        mine = device % columns
        assert (
            sorted(held(found, device)[held(found, device) != 0])
            == [2 * mine + 1, 2 * mine + 2][: 8 - 2 * mine]
        )
    scores = np.random.default_rng(1).random((1, 2, 8, 16)).astype(np.float32) + 1
    mapping = np.zeros((1, 1, 16, 8), np.int32)
    mapping[0, 0, np.arange(16), np.arange(16) // 2] = 1
    chosen = np.random.default_rng(2).integers(0, 16, (1, 2, 8, 4)).astype(np.int32)
    mapped, reduced = call(
        "moe_expert_token_remap", put(mesh, scores, F32, ROW), put(mesh, mapping, I32, ROW), put(mesh, chosen, I32, ROW), reduction_size=4
    )  # fmt: skip
    for device in range(8):
        local = np.array([2 * device, 2 * device + 1])
        picked = (chosen[..., None] == local).any(-2)
        assert np.array_equal(held(mapped, device), np.where(picked, scores[..., local], 0))
        assert np.array_equal(held(reduced, device), picked.reshape(1, 1, 4, 4, 2).any(-2).astype(np.uint16))
    with pytest.raises(RuntimeError, match="reduction_size 5 does not divide 16 tokens"):
        call(
            "moe_expert_token_remap",
            put(mesh, scores, F32, ROW),
            put(mesh, mapping, I32, ROW),
            put(mesh, chosen, I32, ROW),
            reduction_size=5,
        )
