"""Routing of tokens to experts, and products with the chosen ones, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, U16, held, near, put
from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import CoreGrid
from tt_run.runtime.tuning.matmul import (
    MatmulMultiCoreReuseMultiCast1DProgramConfig,
    MatmulMultiCoreReuseMultiCastProgramConfig,
)

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
pytest.importorskip("torch")
WIDE = "float64"
_SIZES = {"in0_block_w": 1, "out_subblock_h": 1, "out_subblock_w": 1, "per_core_M": 1, "per_core_N": 1}
PROGRAM = MatmulMultiCoreReuseMultiCast1DProgramConfig(
    compute_with_storage_grid_size=CoreCoord(4, 1), fuse_batch=False, fused_activation=None, mcast_in0=True, **_SIZES
)  # fmt: skip


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
    found = call("sparse_matmul", put(one, a), put(one, b), sparsity=put(one, sparsity, BF16, ROW), nnz=None, program_config=PROGRAM)  # fmt: skip
    wanted = a[:, :, None, None].astype(WIDE) @ b[0] * sparsity[..., None, None]
    assert tuple(found.shape) == (2, 3, 1, 4, 32, 32)
    near(found, wanted.astype(np.float32), steps=64)
    counts = put(one, sparsity, U16, ROW)  # as `moe_expert_token_remap` leaves it
    near(
        call("sparse_matmul", put(one, a), put(one, b), sparsity=counts, program_config=PROGRAM),
        wanted.astype(np.float32),
        steps=64,
    )
    rows = call("sparse_matmul", put(one, wanted[0, 0].astype(np.float32)), put(one, sample(F32, 1, 4, 32, 16, seed=3)),
                sparsity=put(one, sparsity[:1, :1], BF16, ROW), is_input_a_sparse=True, is_input_b_sparse=False, program_config=PROGRAM)  # fmt: skip
    assert tuple(rows.shape) == (1, 4, 32, 16)
    for of_a, of_b, words in (
        (False, False, "at least one of is_input_a_sparse or is_input_b_sparse to be true"),
        (True, False, r"logical_volume \(24\) must equal batch_length \(6\) \[sparsity_shape=Shape\(\[2, 3, 1, 4\]\), is_input_a_sparse=true"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=words):
            call("sparse_matmul", put(one, a), put(one, b), sparsity=put(one, sparsity, BF16, ROW), is_input_a_sparse=of_a,
                 is_input_b_sparse=of_b, program_config=PROGRAM)  # fmt: skip


def test_programs_of_products_with_experts(one: MeshDevice) -> None:
    a, b = put(one, sample(F32, 1, 3, 32, 64)), put(one, sample(F32, 1, 4, 64, 32, seed=1))
    sparsity = put(one, np.ones((1, 3, 1, 4), np.float32), BF16, ROW)
    with pytest.raises(TypeError, match="missing a required argument: 'program_config'"):
        call("sparse_matmul", a, b, sparsity=sparsity)
    other = MatmulMultiCoreReuseMultiCastProgramConfig(
        compute_with_storage_grid_size=CoreCoord(4, 1), transpose_mcast=False, fused_activation=None, **_SIZES
    )
    for words, given in (
        ("std::get: wrong index for variant", {"program_config": other}),
        ("Cannot use both user core grid", {"program_config": PROGRAM, "core_grid": CoreGrid(y=1, x=4)}),
    ):
        with pytest.raises(RuntimeError, match=words):
            call("sparse_matmul", a, b, sparsity=sparsity, **given)


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
