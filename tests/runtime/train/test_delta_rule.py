"""The gated delta rule in its three layouts against PyTorch token by token, and what is beside it along one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import along, binary, delta_rule, triangles, unary
from tt_run.runtime.values import shapes as values

pytestmark = pytest.mark.torch
BATCH, TOKENS, KEYS, SHARE, WIDE, TALL = 2, 32, 2, 3, 8, 12


def draws() -> list[np.ndarray]:
    """Queries, keys, values, logarithms of decays and write strengths, heads side by side."""
    generator = np.random.default_rng(4)
    heads = KEYS * SHARE
    return [
        *(generator.standard_normal((BATCH, 1, TOKENS, KEYS * WIDE)).astype(np.float32) for _ in range(2)),
        generator.standard_normal((BATCH, 1, TOKENS, heads * TALL)).astype(np.float32),
        -generator.uniform(0.01, 0.4, (BATCH, 1, TOKENS, heads)).astype(np.float32),
        generator.uniform(0.1, 0.9, (BATCH, 1, TOKENS, heads)).astype(np.float32),
    ]


def by_tokens(torch: Any, q: Any, k: Any, v: Any, g: Any, beta: Any) -> Any:
    """The rule as the model's paper writes it, of [B, 1, T, heads * features]."""
    q, k = (x.view(BATCH, TOKENS, KEYS, WIDE).repeat_interleave(SHARE, 2) for x in (q, k))
    q, k = (x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6) for x in (q, k))
    v = v.view(BATCH, TOKENS, KEYS * SHARE, TALL)
    state, out = torch.zeros(BATCH, KEYS * SHARE, WIDE, TALL, dtype=torch.float64), []
    for t in range(TOKENS):
        state = state * torch.exp(g[:, 0, t])[..., None, None]
        missed = v[:, t] - torch.einsum("bhkv,bhk->bhv", state, k[:, t])
        state = state + torch.einsum("bhk,bhv->bhkv", k[:, t], missed * beta[:, 0, t][..., None])
        out.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]) * WIDE**-0.5)
    return torch.stack(out, 1).reshape(BATCH, 1, TOKENS, -1)


def one_head_each(arrays: list[np.ndarray], width: int) -> list[Tensor]:
    """[B, 1, T, H * F] -> [B * H, 1, T, F]."""
    return [
        Tensor.from_numpy(
            a.reshape(BATCH, TOKENS, -1, each).transpose(0, 2, 1, 3).reshape(-1, 1, TOKENS, each)
        )
        for a, each in zip(arrays, (width, width, TALL, 1, 1), strict=True)
    ]


def expected_of(arrays: list[np.ndarray], weight: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    torch = torch_or_skip()
    given = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]
    out = by_tokens(torch, *given)
    (out * torch.tensor(weight)).mean().backward()
    return out.detach().numpy(), [x.grad.numpy() for x in given]


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= 2e-5 * np.abs(wanted).max()


@pytest.mark.parametrize("chunk", [8, 32])
def test_heads_side_by_side(opened: Any, chunk: int) -> None:
    opened()
    arrays = draws()
    weight = (
        np.random.default_rng(9).standard_normal((BATCH, 1, TOKENS, KEYS * SHARE * TALL)).astype(np.float32)
    )
    wanted, slopes = expected_of(arrays, weight)
    tensors = [Tensor.from_numpy(a) for a in arrays]
    q, k, *rest = tensors
    out = delta_rule.fused_chunk_gated_delta_rule_flat(
        along.flat_l2_norm(q, WIDE),
        along.flat_l2_norm(k, WIDE),
        *rest,
        num_k_heads=KEYS,
        num_v_heads=KEYS * SHARE,
        key_dim=WIDE,
        chunk_size=chunk,
    )
    unary.mean(binary.mul(out, Tensor.from_numpy(weight))).backward()
    close(out.to_numpy(), wanted)
    for tensor, slope in zip(tensors, slopes, strict=True):
        close(tensor.get_grad_tensor().to_numpy(), slope)
    AutoContext.get_instance().reset_graph()


def test_other_layouts_have_the_same_bits(opened: Any) -> None:
    """Heads apart from one another, tokens before heads, and heads that share no key: what comes out is the same."""
    opened()
    q, k, v, g, beta = draws()
    q, k = (
        np.repeat(x.reshape(BATCH, TOKENS, KEYS, WIDE), SHARE, 2).reshape(BATCH, 1, TOKENS, -1)
        for x in (q, k)
    )
    count = KEYS * SHARE
    flat = delta_rule.fused_chunk_gated_delta_rule_flat(
        *(Tensor.from_numpy(a) for a in (q, k, v, g, beta)), count, count, WIDE, 16
    ).to_numpy()
    tokens = [Tensor.from_numpy(a.reshape(BATCH, TOKENS, count, -1)) for a in (q, k, v)]
    first = delta_rule.fused_chunk_gated_delta_rule(
        *tokens, Tensor.from_numpy(g), Tensor.from_numpy(beta), chunk_size=8
    )
    assert first.shape() == [BATCH, 1, TOKENS * count, TALL]
    assert first.to_numpy().tobytes() == flat.tobytes()
    apart = delta_rule.chunk_gated_delta_rule(
        *one_head_each([q, k, v, g, beta], WIDE), chunk_size=32, use_qk_l2norm=False
    ).to_numpy()
    again = apart.reshape(BATCH, count, TOKENS, TALL).transpose(0, 2, 1, 3).reshape(flat.shape)
    assert np.ascontiguousarray(again).tobytes() == flat.tobytes()


def test_what_does_not_fit_is_refused(opened: Any) -> None:
    opened()
    q, k, v, g, beta = one_head_each(draws(), WIDE)
    with pytest.raises(ValueError, match="do not fit together"):
        delta_rule.chunk_gated_delta_rule(q, k, v, g, beta)
    same = (
        q,
        k,
        q,
        Tensor.from_numpy(g.to_numpy()[: q.shape()[0]]),
        Tensor.from_numpy(beta.to_numpy()[: q.shape()[0]]),
    )
    with pytest.raises(ValueError, match=r"32 must be a multiple of chunk_size 24; help: .*chunk_size=8"):
        delta_rule.chunk_gated_delta_rule(*same, chunk_size=24)
    with pytest.raises(ValueError, match="one number for each of 1 heads and 32 tokens"):
        delta_rule.chunk_gated_delta_rule(*same[:3], q, q)
    many = [Tensor.from_numpy(np.zeros((1, 8, 40, n), np.float32)) for n in (4, 4, 4)]
    gates = [Tensor.from_numpy(np.zeros((1, 1, 8, 40), np.float32)) for _ in range(2)]
    with pytest.raises(ValueError, match="at most 32 heads per chip, got 40"):
        delta_rule.fused_chunk_gated_delta_rule(*many, *gates, chunk_size=8)
    with pytest.raises(ValueError, match="chunk_size must be a power of two, got 24"):
        delta_rule.wy_inverse(q, 24, (1, 1))


def test_the_inverse_of_a_triangle(opened: Any) -> None:
    torch = torch_or_skip()
    opened()
    draw = np.tril(np.random.default_rng(1).standard_normal((2, 3, 16, 16)), -1).astype(np.float32) * 0.3
    weight = np.random.default_rng(2).standard_normal(draw.shape).astype(np.float32)
    ours, theirs = Tensor.from_numpy(draw), torch.tensor(draw, dtype=torch.float64, requires_grad=True)
    out = delta_rule.wy_inverse(ours, 16, (2, 3))
    wanted = torch.linalg.inv(torch.eye(16, dtype=torch.float64) - theirs)
    unary.mean(binary.mul(out, Tensor.from_numpy(weight))).backward()
    (wanted * torch.tensor(weight)).mean().backward()
    close(out.to_numpy(), wanted.detach().numpy())
    close(ours.get_grad_tensor().to_numpy(), theirs.grad.numpy())
    AutoContext.get_instance().reset_graph()


def test_without_values(opened: Any) -> None:
    """In a run in shapes the rule costs its calls alone and gives the shape."""
    opened()
    with values.only(strict=True):
        tensors = [Tensor.from_numpy(a) for a in draws()]
        out = delta_rule.fused_chunk_gated_delta_rule_flat(
            *tensors, num_k_heads=KEYS, num_v_heads=KEYS * SHARE, key_dim=WIDE, chunk_size=8
        )
        out.backward()
        assert out.shape() == [BATCH, 1, TOKENS, KEYS * SHARE * TALL]
        assert tensors[0].get_grad_tensor().shape() == tensors[0].shape()
    AutoContext.get_instance().reset_graph()


@pytest.mark.parametrize("diagonal", [-1, 0, 1, 3])
def test_masks_are_pytorchs_triangles(diagonal: int) -> None:
    torch = torch_or_skip()
    ones = torch.ones(2, 3, 40, 40)
    mask = triangles.causal_mask(40, (2, 3), diagonal=diagonal)
    assert np.array_equal(mask.to_numpy(), torch.tril(ones, diagonal - 1).numpy())
    for strict in (False, True):
        found = triangles.tril_ones(40, (2, 3), strict=strict)
        assert np.array_equal(found.to_numpy(), torch.tril(ones, -int(strict)).numpy())
