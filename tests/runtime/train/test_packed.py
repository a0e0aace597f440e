"""Operations on joint products: gate and up side by side, heads of queries, keys and values, latent attention; and the tables of rotary positions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor, ones_like, zeros_like
from tt_run.runtime.train.models import gpt
from tt_run.runtime.train.models.runner import WeightTyingType, memory_efficient_runner
from tt_run.runtime.train.ops import binary, gated, packed, pieces, rope, shapes, unary

Opened = Callable[..., AutoContext]


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weighed(outputs: tuple[Tensor, ...]) -> None:
    """A gradient that differs at every element of several outputs."""
    parts = []
    for seed, out in enumerate(outputs):
        weight = Tensor.from_numpy(numbers(seed + 50, *out.shape()))
        weight.set_requires_grad(False)
        parts.append(binary.mul(unary.mean(binary.mul(out, weight)), float(seed + 1)))
    total = parts[0]
    for part in parts[1:]:
        total = binary.add(total, part)
    total.backward()


def test_a_packed_gate_is_a_product_with_the_silu(opened: Opened) -> None:
    opened()
    both = Tensor.from_numpy(numbers(0, 2, 1, 32, 128))
    apart = Tensor.from_numpy(both.to_numpy())
    gate, up = pieces.split(apart, (64, 64), 3)
    outs = packed.swiglu_packed(both), binary.mul(unary.silu(gate), up)
    np.testing.assert_allclose(outs[0].to_numpy(), outs[1].to_numpy(), rtol=1e-6, atol=1e-6)
    for out in outs:
        weighed((out,))
    np.testing.assert_allclose(both.get_grad().to_numpy(), apart.get_grad().to_numpy(), rtol=2e-5, atol=1e-7)
    assert gated.swiglu is not packed.swiglu_packed
    place = zeros_like(outs[0].get_value())
    assert packed.swiglu_packed_fw(both.get_value(), place) is place
    np.testing.assert_array_equal(place.to_numpy(), outs[0].to_numpy())
    # Gates far below zero close, and NumPy has no word on it.
    shut = Tensor.from_numpy(np.full((1, 1, 32, 64), -200, np.float32))
    weighed((packed.swiglu_packed(shut),))
    assert not np.any(packed.swiglu_packed(shut).to_numpy()) and not np.any(shut.get_grad().to_numpy())


@pytest.mark.parametrize("width, gradient, said", [(96, 48, "multiple of 64"), (128, 32, "halved")])
def test_packed_halves_are_whole_tiles(opened: Opened, width: int, gradient: int, said: str) -> None:
    opened()
    both, upstream = (Tensor.from_numpy(numbers(0, 1, 1, 32, n)).get_value() for n in (width, gradient))
    with pytest.raises(RuntimeError, match=said):
        packed.swiglu_packed_bw(both, upstream)


@pytest.mark.parametrize("heads, groups", [(4, 2), (4, 1), (2, 2)])
def test_joint_heads_are_the_parts_of_separate_products(opened: Opened, heads: int, groups: int) -> None:
    opened()
    joint = Tensor.from_numpy(numbers(1, 2, 1, 32, (heads + 2 * groups) * 32))
    array = joint.to_numpy()
    queries, keys = (Tensor.from_numpy(a) for a in np.split(array, [heads * 32], axis=3))
    weighed(shapes.heads_creation(joint, heads, groups))
    weighed(shapes.grouped_heads_creation(queries, keys, heads, groups))
    apart = np.concatenate([queries.get_grad().to_numpy(), keys.get_grad().to_numpy()], axis=3)
    np.testing.assert_array_equal(joint.get_grad().to_numpy(), apart)
    with pytest.raises(RuntimeError, match="do not divide into 3 groups"):
        shapes.heads_creation(joint, heads, 3)


def test_latent_heads_are_put_together_without_rounding(opened: Opened) -> None:
    opened()
    query, joined, turned = (
        Tensor.from_numpy(numbers(n, 2, 1, 32, w)) for n, w in ((2, 96), (3, 80), (4, 16))
    )
    q, k, v = packed.qkv_assemble_fw(query, joined, turned, 2, 32, 16, 8)
    each = joined.to_numpy().reshape(2, 32, 2, 40).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(q.to_numpy(), query.to_numpy().reshape(2, 32, 2, 48).transpose(0, 2, 1, 3))
    np.testing.assert_array_equal(k.to_numpy()[..., :32], each[..., :32])
    np.testing.assert_array_equal(k.to_numpy()[:, 1, :, 32:], turned.to_numpy()[:, 0])
    np.testing.assert_array_equal(v.to_numpy(), each[..., 32:])
    k.backward()
    np.testing.assert_array_equal(turned.get_grad().to_numpy(), 2.0)
    with pytest.raises(RuntimeError, match=r"k_pe is \[B, 1, S, 16\]"):
        packed.qkv_assemble_fw(query, joined, query, 2, 32, 16, 8)


def test_tables_of_rotary_positions_turn_as_the_operation_does(opened: Opened) -> None:
    opened()
    params = rope.build_rope_params(32, 64, 500.0, rope.RopeScalingParams(16, 8.0))
    x = Tensor.from_numpy(numbers(5, 1, 2, 32, 64))
    rope.validate_rope_input_and_params(x, params)
    turned = x.to_numpy()
    cos, sin, swap = (t.to_numpy() for t in (params.cos_cache, params.sin_cache, params.trans_mat))
    by_tiles = (turned.reshape(1, 2, 32, 2, 32) @ swap[0, 0]).reshape(turned.shape)
    np.testing.assert_allclose(turned * cos + by_tiles * sin, rope.rope(x, params).to_numpy(), atol=1e-5)
    np.testing.assert_array_equal(params.neg_sin_cache.to_numpy(), -sin)
    sines, cosines = rope.gen_freqs(64, 32, 500.0, params.rope_scaling_params)
    np.testing.assert_array_equal(sines.to_numpy(), sin)
    np.testing.assert_array_equal(cosines.to_numpy(), cos)
    with pytest.raises(RuntimeError, match="64 positions of the input exceed"):
        rope.validate_rope_input_and_params(Tensor.from_numpy(numbers(5, 1, 2, 64, 64)), params)


def test_likes_are_of_the_kind_that_they_are_like(opened: Opened) -> None:
    opened()
    x = Tensor.from_numpy(numbers(6, 1, 1, 32, 32), new_type=DataType.FLOAT32)
    assert isinstance(ones_like(x), Tensor) and not isinstance(ones_like(x.get_value()), Tensor)
    np.testing.assert_array_equal(ones_like(x.get_value()).to_numpy(), 1.0)


def test_a_tied_head_is_a_layer_that_shares_its_weight(opened: Opened) -> None:
    opened()
    model = gpt.NanoGPT(gpt.NanoGPTConfig(64, 32, 64, 1, 2, 0.0, True, weight_tying=WeightTyingType.Enabled))
    assert model.fc.weight.tensor is model.tok_emb.weight.tensor
    assert sum(name.endswith(("fc/weight", "tok_emb/weight")) for name in model.parameters()) == 1
    assert model.ln_f_gamma is model.ln_f.gamma
    with pytest.raises(AssertionError, match="embedding_dim must be divisible by num_heads"):
        gpt.NanoGPT(gpt.NanoGPTConfig(64, 32, 65, 1, 4))


def test_what_was_made_without_a_graph_says_so(opened: Opened) -> None:
    opened()
    inside: list[Tensor] = []

    def block(x: Tensor) -> Tensor:
        inside.append(binary.mul(x, 2.0))
        return unary.relu(inside[-1])

    memory_efficient_runner(block, Tensor.from_numpy(numbers(7, 1, 1, 32, 32)))
    with pytest.raises(RuntimeError, match="while no gradients were recorded"):
        inside[0].backward()
