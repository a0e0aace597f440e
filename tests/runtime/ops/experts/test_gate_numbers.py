"""The numbers of gates: how many groups and experts are chosen, what the weights are multiplied with, what keeps their sum from zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import BF16, F32, held, near, put, rounded
from tt_run.runtime.mesh import MeshDevice

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
GATES = ("experimental.deepseek_grouped_gate", "experimental.deepseek_prefill.moe_grouped_topk")
SAID: dict[str, Any] = {
    "n_groups": 8, "summed_experts_per_group": 2, "topk_groups": 4, "n_activated_experts": 8, "route_scale": 1.0, "epsilon": 1e-20,
}  # fmt: skip


def sample(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def gate(scores: np.ndarray, bias: np.ndarray, said: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Weights and experts of rows of scores."""
    plain = 1 / (1 + np.exp(-scores.astype(float)))
    biased = plain + bias
    rows, experts = scores.shape
    groups = biased.reshape(rows, said["n_groups"], -1)
    ranks = np.sort(groups, -1)[..., -said["summed_experts_per_group"] :].sum(-1)
    left = np.full_like(groups, -np.inf)
    for row, best in enumerate(np.argsort(-ranks, -1)[:, : said["topk_groups"]]):
        left[row, best] = groups[row, best]
    chosen = np.argsort(-left.reshape(rows, experts), -1, kind="stable")[:, : said["n_activated_experts"]]
    taken = np.take_along_axis(plain, chosen, -1)
    return said["route_scale"] * taken / (taken.sum(-1, keepdims=True) + said["epsilon"]), chosen


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((GATES[0], words) for words in ({"topk_groups": 2}, {"n_activated_experts": 4}, {"summed_experts_per_group": 1}, {"n_groups": 4, "topk_groups": 1})),
        *((name, {"epsilon": 2.0}) for name in GATES),
        *((GATES[1], {"n_groups": 1, "topk_groups": 1, "n_activated_experts": n}) for n in (4, 6)),
    ],
)  # fmt: skip
def test_gates_over_groups(one: MeshDevice, name: str, words: dict[str, Any]) -> None:
    scores, bias = sample(1, 1, 32, 256, seed=3), sample(1, 1, 32, 256, seed=4)
    weights, chosen = call(name, put(one, scores), put(one, bias), **words)
    wanted, experts = gate(scores[0, 0], bias[0, 0], SAID | words)
    assert np.array_equal(held(chosen)[0, 0], experts)
    near(weights, wanted[None, None], steps=32)


@pytest.mark.parametrize("k", [2, 4])
def test_experts_of_a_router(one: MeshDevice, k: int) -> None:
    x, w, b = sample(32, 64), sample(64, 128, seed=1), sample(32, 128, seed=2)
    experts, weights = call(
        "experimental.topk_router_gpt", put(one, x), weight_tensor=put(one, w), bias_tensor=put(one, b), k=k
    )
    logits = x.astype(float) @ w + b
    best = np.argsort(-logits, -1)[:, :k]
    top = np.exp(np.take_along_axis(logits, best, -1) - logits.max(-1, keepdims=True))
    assert np.array_equal(held(experts)[:, :k], best)
    np.testing.assert_allclose(held(weights)[:, :k], top / top.sum(-1, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize(
    "words",
    [{}, {"weight": True}, {"bias": True}, {"residual_input_tensor": True}, {"weight": True, "epsilon": 0.5}],
)
def test_norms_before_an_activation(one: MeshDevice, words: dict[str, Any]) -> None:
    x = rounded(sample(1, 1, 32, 64), BF16)
    beside = {
        "weight": rounded(sample(64, seed=1), BF16), "bias": rounded(sample(64, seed=2), BF16),
        "residual_input_tensor": rounded(sample(1, 1, 32, 64, seed=3), BF16),
    }  # fmt: skip
    given = {word: put(one, beside[word], BF16) if value is True else value for word, value in words.items()}
    found = call("experimental.dit_rms_norm_unary_fused", put(one, x, BF16), **given)
    wide = x.astype(float) + (beside["residual_input_tensor"] if "residual_input_tensor" in words else 0)
    wanted = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + words.get("epsilon", 1e-5))
    wanted = wanted * (beside["weight"] if "weight" in words else 1)
    near(found, wanted + (beside["bias"] if "bias" in words else 0), steps=2)


@pytest.mark.parametrize("epsilon", [1e-5, 0.5])
def test_norms_after_what_is_gathered(one: MeshDevice, epsilon: float) -> None:
    x = sample(1, 1, 32, 64)
    wide = x.astype(float)
    for pair, kind in (("dit_layernorm", "layer"), ("wan_fused_rmsnorm", "rms")):
        given = put(one, x, BF16 if kind == "rms" else F32)
        stats = call(f"experimental.{pair}_pre_allgather", given, dtype=F32) if kind == "rms" else None
        if stats is None:
            stats = call(
                f"experimental.{pair}_pre_allgather", given, put(one, np.ones((1, 1, 1, 64))), dtype=F32
            )
        found = call(f"experimental.{pair}_post_allgather", given, stats, epsilon=epsilon)
        rows = held(given).astype(float)
        rows = rows - rows.mean(-1, keepdims=True) if kind == "layer" else rows
        wanted = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + epsilon)
        assert np.abs(held(found).reshape(wide.shape) - wanted).max() < 2**-6 * np.abs(wanted).max()


def test_heads_with_keys_as_they_are(one: MeshDevice) -> None:
    x = sample(1, 1, 32, 8 * 32)
    for transpose in (False, True):
        q, k, v = call(
            "experimental.nlp_create_qkv_heads",
            put(one, x),
            num_heads=4,
            num_kv_heads=2,
            transpose_k_heads=transpose,
        )
        parts = [p.reshape(1, 32, -1, 32).transpose(0, 2, 1, 3) for p in np.split(x[0], [128, 192], -1)]
        parts[1] = parts[1].swapaxes(-1, -2) if transpose else parts[1]
        for found, wanted in zip((q, k, v), parts, strict=True):
            assert np.array_equal(held(found), wanted)
