"""Pieces of models that work token by token or place by place: FP8 scales, gates by table, heads, caches, samples of maps."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, U16, U32, held, near, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreGrid
from tt_run.runtime.enums import DataType, ShardOrientation, ShardStrategy, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.conversions import sharded_to_interleaved
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, create_sharded_memory_config

RNG = np.random.default_rng(3)


def op(name: str) -> Any:
    found = catalog.find(f"ttnn.experimental.{name}")
    assert found is not None
    return found


@pytest.mark.parametrize("power", [False, True])
def test_tokens_to_fp8_and_back(one: MeshDevice, power: bool):
    x = RNG.normal(size=(3, 256)).astype(np.float32) * 50
    x[0, :128] = 0
    values, scales = op("deepseek_prefill.per_token_cast_to_fp8")(
        put(one, x, F32, ROW), round_scale_to_power_of_two=power
    )
    scale = np.maximum(np.abs(x.reshape(3, 2, 128)).max(-1), 1e-4) / 448
    if power:
        scale = 2.0 ** np.ceil(np.log2(scale))
    near(scales, scale, steps=1)
    assert (values.dtype, values.shape) == (DataType.FP8_E4M3, [3, 256])
    wanted = x / np.repeat(scale, 128, -1)
    found = held(values)
    assert (np.abs(found) <= np.abs(wanted) * (1 + 1e-6)).all()  # cut towards zero
    np.testing.assert_allclose(found, wanted, rtol=0.13, atol=2**-9)
    assert (found == found.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)).all()
    back = op("deepseek_prefill.per_token_cast_back")
    near(back(values, scales, F32), found * np.repeat(held(scales), 128, -1), steps=1)
    bits = np.concatenate([np.zeros((3, 4), np.int32), held(scales).view(np.int32)], -1)
    noted = back(values, None, F32, token_count_aware=True, metadata=put(one, bits, I32, ROW))
    near(noted, found * np.repeat(held(scales), 128, -1), steps=1)
    with pytest.raises(RuntimeError, match="one of input_scale and metadata"):
        back(values)


@pytest.mark.parametrize("kind", ["sigmoid", "sqrtsoftplus"])
def test_a_gate_that_looks_experts_up(one: MeshDevice, kind: str):
    logits, ids = RNG.normal(size=(32, 8)).astype(np.float32), RNG.integers(0, 5, (1, 32))
    table = np.stack([RNG.permutation(8)[:4] for _ in range(5)])
    gate = partial(
        op("deepseek_prefill.moe_hash_gate"), put(one, logits), put(one, ids, U32, ROW), put(one, table, U16, ROW),
        n_activated_experts=3, route_scale=2.5, score_func=kind,
    )  # fmt: skip
    weights, chosen = gate()
    np.testing.assert_array_equal(held(chosen), table[ids[0], :3])
    scores = 1 / (1 + np.exp(-logits)) if kind == "sigmoid" else np.sqrt(np.logaddexp(0, logits))
    taken = np.take_along_axis(scores, table[ids[0], :3], -1)
    near(weights, 2.5 * taken / taken.sum(-1, keepdims=True), steps=1)
    assert (weights.dtype, chosen.dtype) == (BF16, U16)
    _, padded = gate(padding_config=put(one, [[30, 1]], U32, ROW))
    np.testing.assert_array_equal(held(padded)[:2], np.full((2, 3), 8))
    np.testing.assert_array_equal(held(padded)[2:], held(chosen)[2:])


def test_a_weighted_sum_for_each_set_of_weights(one: MeshDevice):
    x, w = (rounded(RNG.normal(size=s), BF16) for s in ((1, 3, 33, 40), (2, 3, 33, 1)))
    found = op("deepseek_prefill.attn_res_weighted_reduce_nc")(put(one, x, BF16), put(one, w, BF16))
    near(found, (x * w).sum(1, keepdims=True), steps=1)


def test_heads_of_which_a_core_holds_a_part(one: MeshDevice):
    x = put(one, np.ones((2, 32, 32, 64), np.float32))
    for tall, words in (
        (1024, "requires a sharded output"),
        (512, r"shard height \(512\) must be divisible by rows per head"),
    ):
        cut = catalog.find("ttnn.interleaved_to_sharded")
        assert cut is not None
        parts = cut(
            x, (1, 2048 // tall), [tall, 64], TensorMemoryLayout.HEIGHT_SHARDED, ShardOrientation.COL_MAJOR
        )
        with pytest.raises(RuntimeError, match=words):
            op("nlp_concat_heads_boltz")(parts, memory_config=DRAM_MEMORY_CONFIG if tall == 1024 else None)
    whole = sharded_to_interleaved(parts)
    assert op("nlp_concat_heads_boltz")(whole, memory_config=DRAM_MEMORY_CONFIG).shape == [1, 32, 32, 128]


def test_heads_of_other_models(one: MeshDevice):
    x = RNG.normal(size=(3, 5, 5, 8)).astype(np.float32)
    found = op("nlp_concat_heads_boltz")(put(one, x))
    np.testing.assert_array_equal(held(found), x.transpose(1, 2, 0, 3).reshape(1, 5, 5, 24))
    x = RNG.normal(size=(2, 1, 5, 36 * 8)).astype(np.float32)
    heads = x.reshape(2, 5, 3, 12, 8).transpose(2, 0, 3, 1, 4)
    for result, wanted in zip(op("nlp_create_qkv_heads_vit")(put(one, x)), heads, strict=True):
        np.testing.assert_array_equal(held(result)[..., :5, :], wanted)
        assert (result.shape[2], held(result)[..., 5:, :].any()) == (32, False)
    pairs = RNG.normal(size=(1, 5, 5, 36 * 8)).astype(np.float32)
    heads = pairs.reshape(5, 5, 3, 12, 8).transpose(2, 3, 0, 1, 4)
    q, k, v = op("nlp_create_qkv_heads_boltz")(put(one, pairs), num_heads=12)
    np.testing.assert_array_equal(held(k), heads[1].swapaxes(-1, -2))
    np.testing.assert_array_equal(np.stack([held(q), held(v)]), heads[::2])
    np.testing.assert_array_equal(
        held(op("nlp_concat_heads_boltz")(q)), heads[0].transpose(1, 2, 0, 3).reshape(1, 5, 5, 96)
    )
    with pytest.raises(RuntimeError, match=r"takes pairs \[1, S, S, columns\]"):
        op("nlp_create_qkv_heads_boltz")(put(one, x), num_heads=12)


def test_rows_into_two_caches_by_their_places(one: MeshDevice):
    caches = [rounded(RNG.normal(size=(3, 2, 4, 8)), BF16) for _ in range(2)]
    rows = [rounded(RNG.normal(size=(1, 2, 3, 8)), BF16) for _ in range(2)]
    places = [11, -1, 6, 0]  # the last is more than there are rows
    tensors = [put(one, x, BF16) for pair in zip(caches, rows, strict=True) for x in pair]
    found = op("indexed_fused_update_cache")(*tensors, put(one, [places], I32, ROW))
    for cache, new, result, tensor in zip(caches, rows, found, tensors[::2], strict=True):
        cache[2, :, 3], cache[1, :, 2] = new[0, :, 0], new[0, :, 2]
        assert result.storage is tensor.storage
        np.testing.assert_array_equal(held(result), cache)


def test_twiddles_turn_rows(one: MeshDevice):
    z = RNG.normal(size=(4, 8)) + 1j * RNG.normal(size=(4, 8))
    wanted = z * np.tile(np.exp(-2j * np.pi * np.outer(range(2), range(8)) / 16), (2, 1))
    real, imag = op("apply_twiddles")(put(one, z.real, F32, ROW), put(one, z.imag, F32, ROW), 8, 2)
    near(real, wanted.real, steps=4)
    near(imag, wanted.imag, steps=4)


def test_transforms_by_their_passes(one: MeshDevice):
    z = RNG.normal(size=(8, 16)) + 1j * RNG.normal(size=(8, 16))
    parts = put(one, z.real, F32, ROW), put(one, z.imag, F32, ROW)

    def same(found: Any, wanted: Any) -> None:
        for tensor, part in zip(found, (wanted.real, wanted.imag), strict=True):
            near(tensor, part, steps=8)

    rows, columns = np.arange(8)[:, None], np.arange(16)
    turned = np.fft.fft(z) * np.exp(-2j * np.pi * (rows // 2 % 4) * columns / 64) * 0.5
    same(op("fft_radix_pass")(*parts, 16, 4, 2, 0.5), turned)
    same(op("fft_radix_pass")(parts[0], P=16), np.fft.fft(z.real))
    same(op("apply_twiddles_xl")(*parts, 16, 8, 128), z * np.exp(-2j * np.pi * rows * columns / 128))
    same(op("bluestein_fft")(parts[0], parts[1], 16), np.fft.fft(z))
    odd = RNG.normal(size=(2, 7))
    same(op("bluestein_fft")(put(one, odd, F32, ROW), N=7), np.fft.fft(odd))
    with pytest.raises(RuntimeError, match="no multiple of 3 rows"):
        op("fft_radix_pass")(*parts, 16, 3)


def test_a_transform_of_a_long_signal(one: MeshDevice):
    full = 1 << 15
    z = RNG.normal(size=full) + 1j * RNG.normal(size=full)
    shaped = [put(one, part.reshape(1024, 32), F32, ROW) for part in (z.real, z.imag)]
    for inverse, function in ((False, np.fft.fft), (True, np.fft.ifft)):
        found = op("fft_three_pass")(*shaped, full, inverse=inverse)
        for tensor, wanted in zip(found, (function(z).real, function(z).imag), strict=True):
            assert held(tensor).shape == (32, 32, 32)
            near(tensor, wanted.reshape(32, 32, 32), steps=8)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_gradients_of_two_complex_operands(one: MeshDevice, name: str):
    from tt_run.runtime.ops.elementwise.complex_numbers import ComplexTensor

    gradient, a, b = (RNG.normal(size=(2, 33)) + 1j * RNG.normal(size=(2, 33)) for _ in range(3))
    given = [ComplexTensor((put(one, z.real), put(one, z.imag))) for z in (gradient, a, b)]
    backward = catalog.find(f"ttnn.{name}_bw")
    assert backward is not None
    # As the reference's bindings have it: a place for products and quotients, a factor for the others.
    more = {"memory_config": DRAM_MEMORY_CONFIG} if name in ("mul", "div") else {"alpha": 0.5}
    found = backward(*given, **more)
    of_a, of_b = {
        "add": (1, 0.5),
        "sub": (1, -0.5),
        "mul": (b, a),
        "div": (1 / b, -a / b**2),
    }[name]
    for result, factor in zip(found, (of_a, of_b), strict=True):
        wanted = gradient * np.conj(factor)
        near(result.real, wanted.real, steps=16)
        near(result.imag, wanted.imag, steps=16)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        backward(*given, 1.0, 2.0)


def test_a_product_of_few_rows(one: MeshDevice):
    a, b = RNG.normal(size=(5, 8)).astype(np.float32), RNG.normal(size=(8, 3)).astype(np.float32)
    with pytest.raises(RuntimeError, match="Input tensor A must be in width sharded memory layout"):
        op("matmul_decode")(put(one, a), put(one, b))
    with pytest.raises(RuntimeError, match="bad optional access"):
        columns = create_sharded_memory_config((32, 32), CoreGrid(x=1, y=1), ShardStrategy.WIDTH)
        op("matmul_decode")(to_memory_config(put(one, a), columns), to_memory_config(put(one, b), columns))
    wide = [
        create_sharded_memory_config(shape, CoreGrid(x=1, y=1), ShardStrategy.WIDTH)
        for shape in ((32, 32), (32, 32))
    ]
    with pytest.raises(RuntimeError, match="needs the cores of its result"):
        op("matmul_decode")(*(to_memory_config(put(one, x), m) for x, m in zip((a, b), wide, strict=True)))
    near(
        op("matmul_decode")(
            *(to_memory_config(put(one, x), m) for x, m in zip((a, b), wide, strict=True)),
            partial_width_sharded=True,
            output_mem_config=wide[0],
        ),
        a.astype(float) @ b,
        steps=4,
    )
    halves = [to_memory_config(put(one, x, BF16), m) for x, m in zip((a, b), wide, strict=True)]
    words = {"partial_width_sharded": True, "output_mem_config": wide[0]}
    exact = op("matmul_decode")(*halves, **words, dtype=F32)
    near(exact, rounded(a, BF16).astype(float) @ rounded(b, BF16), steps=4)
    for dtype in (None, BFP8):
        found = op("matmul_decode")(*halves, **words, dtype=dtype)
        assert found.dtype is (dtype or BF16)
        assert np.array_equal(held(found), rounded(held(exact), found.dtype))


def bilinear(image: Any, x: float, y: float) -> Any:
    """A sample of [H, W, D] between pixel centres; zero outside."""
    left, top = int(np.floor(x)), int(np.floor(y))
    total = np.zeros(image.shape[-1])
    for row, column in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
            total += image[row, column] * (1 - abs(x - column)) * (1 - abs(y - row))
    return total


@pytest.mark.torch
@pytest.mark.parametrize("packed", [False, True])
def test_samples_of_several_maps(one: MeshDevice, packed: bool):
    sizes, (b, q, h, p, d) = [(3, 4), (2, 5)], (2, 3, 2, 2, 4)
    value = rounded(RNG.normal(size=(b, 22, h, d)), BF16)
    places = rounded(RNG.uniform(-0.2, 1.2, (b, q, h, 2, p, 2)), BF16)
    weights = rounded(RNG.random((b, q, h, 2, p)), BF16)
    wanted = np.zeros((b, q, h, d))
    for i in np.ndindex(b, q, h, 2, p):
        first, (rows, columns) = (0, 12)[i[3]], sizes[i[3]]
        image = value[i[0], first : first + rows * columns, i[2]].reshape(rows, columns, d)
        x, y = places[i] * (columns, rows) - 0.5
        wanted[i[:3]] += weights[i] * bilinear(image, x, y)
    shapes = [(b, 22, h * d), (b, q, h, 2 * p * 2), (b, q, h, 2 * p)]
    given = [
        put(one, array.reshape(shape) if packed else array, BF16, ROW)
        for array, shape in zip((value, places, weights), shapes, strict=True)
    ]
    near(op("fused_msda")(*given, sizes), wanted.reshape(b, q, h * d), steps=2)


@pytest.mark.torch
def test_samples_of_one_map(one: MeshDevice):
    value = rounded(RNG.normal(size=(2, 3, 4, 5)), BF16)
    grid = rounded(RNG.uniform(-1.2, 1.2, (2, 6, 1, 2)), BF16)
    weights = rounded(RNG.random((2, 3, 2)), BF16)
    wanted = np.zeros((2, 3, 5))
    for n, query, point in np.ndindex(2, 3, 2):
        x, y = (grid[n, 2 * query + point, 0] + 1) * (3, 2) / 2
        wanted[n, query] += weights[n, query, point] * bilinear(value[n], x, y)
    given = [put(one, array, BF16, ROW) for array in (value, grid, weights)]
    near(op("multi_scale_deformable_attn")(*given, align_corners=True), wanted, steps=2)
