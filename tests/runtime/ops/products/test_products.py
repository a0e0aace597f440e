"""matmul, linear and their kin against NumPy in float64."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, held, message, near, put, rounded
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_WIDTH_SHARDED_MEMORY_CONFIG
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
from tt_run.runtime.tuning.matmul import (
    MatmulMultiCoreReuseMultiCast1DProgramConfig,
    MatmulMultiCoreReuseMultiCastProgramConfig,
    MatmulMultiCoreReuseProgramConfig,
    MinimalMatmulConfig,
)


def sample(shape: tuple[int, ...], dtype: DataType, seed: int) -> np.ndarray:
    return rounded(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), dtype)


@pytest.mark.parametrize("dtype", [F32, BF16, BFP8])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((32, 64), (64, 32)),
        ((1, 1, 33, 7), (7, 5)),
        ((2, 3, 5, 40), (2, 3, 40, 9)),
        ((2, 3, 5, 40), (1, 1, 40, 9)),
        ((1, 1, 5, 40), (2, 3, 40, 9)),
        ((1, 50), (50, 70)),
        ((70, 50), (50, 1)),
        ((1, 9), (9, 1)),
        ((5, 1), (1, 6)),
        ((2, 5, 8), (8, 3)),
    ],
)
def test_matmul(one: MeshDevice, a: tuple[int, ...], b: tuple[int, ...], dtype: DataType):
    x, y = sample(a, dtype, 1), sample(b, dtype, 2)
    z = ops.matmul(put(one, x, dtype), put(one, y, dtype))
    assert z.dtype is dtype
    near(
        z,
        rounded((x.astype(float) @ y.astype(float)).astype(np.float32), dtype),
        steps=8 if dtype is F32 else 1,
    )


def test_the_tile_of_the_output(one: MeshDevice):
    x, y = put(one, sample((1, 32), BF16, 1), BF16), put(one, sample((32, 7), BF16, 2), BF16)
    flat = ops.tilize(put(one, sample((1, 32), BF16, 1), BF16, ROW), tile=Tile((1, 32)))
    assert ops.matmul(flat, y, output_tile=Tile((1, 32))).padded_shape == [1, 32]
    assert ops.linear(x, y).padded_shape == [32, 32]
    for tile, words in (
        (Tile((1, 32)), "height (1) must equal"),
        (Tile((32, 16)), "width (16) must equal the in0 tile width (32)"),
    ):
        with pytest.raises(RuntimeError, match=re.escape(words)):
            ops.matmul(x, y, output_tile=tile)
    with pytest.raises(RuntimeError, match="must be a multiple of in1 tile width"):
        ops.matmul(x, y, output_tile=Tile((32, 16)), memory_config=L1_WIDTH_SHARDED_MEMORY_CONFIG)


@pytest.mark.parametrize(("high", "wide"), [(16, 16), (16, 32), (32, 16)])
def test_blocks_of_a_program_are_of_the_operands_tiles(one: MeshDevice, high: int, wide: int):
    x, y = sample((1, 1, 64, 64), BF16, 1), sample((64, 128), BF16, 2)
    a = ops.tilize(put(one, x, BF16, ROW), tile=Tile((high, 32)))
    b = ops.tilize(put(one, y, BF16, ROW), tile=Tile((32, wide)))
    line = MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=(4, 1), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, per_core_M=64 // high,
        per_core_N=128 // wide // 4, fuse_batch=True, mcast_in0=True,
    )  # fmt: skip
    z = ops.matmul(a, b, program_config=line, memory_config=L1_WIDTH_SHARDED_MEMORY_CONFIG)
    place = z.memory_config().shard_spec
    assert place is not None and list(place.shape) == [64, 32] and place.grid.num_cores() == 4
    assert z.tile.tile_shape == [high, wide]
    near(z, rounded((x.astype(float) @ y).astype(np.float32), BF16), steps=1)
    if high > wide:
        with pytest.raises(RuntimeError, match="does not support 32x16 narrow in1 tile"):
            ops.linear(a, b, bias=put(one, y[:1], BF16), program_config=line)


def test_transposes(one: MeshDevice):
    x, y = sample((2, 7, 5), F32, 1), sample((2, 9, 7), F32, 2)
    z = ops.matmul(put(one, x), put(one, y), transpose_a=True, transpose_b=True)
    near(z, x.swapaxes(1, 2).astype(float) @ y.swapaxes(1, 2), steps=8)
    same = put(one, sample((6, 5), F32, 3))
    near(ops.matmul(same, same, transpose_b=True), held(same).astype(float) @ held(same).T, steps=8)


def test_large_products_are_cut_into_panels(one: MeshDevice):
    x, y = sample((1100, 300), BF16, 1), sample((300, 1130), BF16, 2)
    z = ops.matmul(put(one, x, BF16), put(one, y, BF16))
    near(z, rounded((x.astype(float) @ y).astype(np.float32), BF16), steps=1)


def test_linear_rounds_once_after_bias_and_activation(one: MeshDevice):
    x, w, b = sample((4, 1, 33, 64), BF16, 1), sample((64, 40), BF16, 2), sample((1, 40), BF16, 3)
    tx, tw, tb = put(one, x, BF16), put(one, w, BF16), put(one, b, BF16)
    exact = x.astype(float) @ w + b
    near(ops.linear(tx, tw, bias=tb), rounded(exact.astype(np.float32), BF16), steps=1)
    for name, wanted in (("relu", np.maximum(exact, 0)), ("silu", exact / (1 + np.exp(-exact)))):
        near(ops.linear(tx, tw, bias=tb, activation=name), rounded(wanted.astype(np.float32), BF16), steps=1)
    near(ops.linear(tx, tw, bias=tb, dtype=F32), exact, steps=16)
    named = ops.matmul(tx, tw, activation=UnaryWithParam(UnaryOpType["RELU"]))
    near(named, rounded(np.maximum(x.astype(float) @ w, 0).astype(np.float32), BF16), steps=1)


def test_configurations_change_nothing_but_a_fused_activation_counts(one: MeshDevice):
    x, w = put(one, sample((32, 64), F32, 1)), put(one, sample((64, 32), F32, 2))
    plain = ops.matmul(x, w)
    assert np.array_equal(
        held(ops.matmul(x, w, compute_kernel_config=WormholeComputeKernelConfig())), held(plain)
    )
    blocks = {
        "compute_with_storage_grid_size": (8, 8),
        "in0_block_w": 2,
        "out_subblock_h": 1,
        "out_subblock_w": 1,
        "per_core_M": 1,
        "per_core_N": 1,
    }
    config = MatmulMultiCoreReuseMultiCastProgramConfig(
        **blocks, transpose_mcast=False, fused_activation=UnaryWithParam(UnaryOpType.RELU)
    )
    assert np.array_equal(held(ops.linear(x, w, program_config=config)), np.maximum(held(plain), 0))
    with pytest.raises(TypeError, match="in0_blok_w"):
        MatmulMultiCoreReuseMultiCastProgramConfig(in0_blok_w=1)


def test_column_parallel_shards(mesh: MeshDevice):
    x, w = sample((1, 1, 32, 64), BF16, 1), sample((64, 8 * 24), BF16, 2)
    z = ops.linear(put(mesh, x, BF16), put(mesh, w, BF16, shard=-1))
    assert z.shape == (1, 1, 32, 24)
    assert "PlacementShard(-1)" in str(z.tensor_topology())
    for device in range(8):
        part = x.astype(float) @ w[:, device * 24 : device * 24 + 24]
        np.testing.assert_allclose(held(z, device), part, rtol=2**-8, atol=2**-8 * np.abs(part).max())


SMALL = MinimalMatmulConfig(
    M_block_size=4, K_block_size=4, N_block_size=4, compute_with_storage_grid_size=(8, 8)
)


def test_minimal_matmul(one: MeshDevice):
    x, w, b = sample((9, 64), F32, 1), sample((64, 40), F32, 2), sample((1, 40), F32, 3)
    found = getattr(ops, "experimental.minimal_matmul")(
        put(one, x), put(one, w), bias_tensor=put(one, b), fused_activation=UnaryOpType.RELU, config=SMALL
    )
    near(found, np.maximum(x.astype(float) @ w + b, 0), steps=16)


def test_minimal_matmul_with_gates_in_tiles(one: MeshDevice):
    x, w, b = sample((9, 64), F32, 1), sample((64, 128), F32, 2), sample((1, 128), F32, 3)
    minimal = getattr(ops, "experimental.minimal_matmul")
    found = minimal(put(one, x), put(one, w), bias_tensor=put(one, b), fuse_swiglu=True, config=SMALL)
    tiles = (x.astype(float) @ w + b).reshape(9, 2, 2, 32)
    gate = tiles[:, :, 0]
    near(found, (gate / (1 + np.exp(-gate)) * tiles[:, :, 1]).reshape(9, 64), steps=32)
    # Gates far below zero close, and NumPy has no word on it.
    shut = minimal(
        *(put(one, np.full(shape, n, np.float32)) for shape, n in (((9, 64), -200), ((64, 128), 2))),
        fuse_swiglu=True,
        config=SMALL,
    )
    assert not np.any(held(shut))
    with pytest.raises(RuntimeError, match=r"requires weight width N=32 to be a multiple of 2\*TILE"):
        minimal(put(one, x), put(one, w[:, :32]), fuse_swiglu=True)
    with pytest.raises(RuntimeError, match="cannot combine fuse_swiglu with a unary fused_activation"):
        minimal(put(one, x), put(one, w), fuse_swiglu=True, fused_activation=UnaryOpType.RELU)


def test_minimal_matmul_of_two_inputs(one: MeshDevice):
    first, second, w = sample((9, 40), F32, 1), sample((9, 20), F32, 2), sample((96, 32), F32, 3)
    minimal = getattr(ops, "experimental.minimal_matmul")
    found = minimal([put(one, first), put(one, second)], put(one, w), config=SMALL)
    near(found, first.astype(float) @ w[:40] + second.astype(float) @ w[64:84], steps=16)
    with pytest.raises(
        RuntimeError, match=r"padded_K\(64\) \+ suffix_padded_K\(32\) must equal weight_padded_K\(64\)"
    ):
        minimal([put(one, first), put(one, second)], put(one, w[:64]))
    with pytest.raises(TypeError, match=r"input_tensor is a int, not a ttnn\.Tensor"):
        minimal(3, put(one, w))


def test_columns_of_a_wider_tensor(one: MeshDevice):
    x, w = sample((32, 128), F32, 1), sample((64, 32), F32, 2)
    found = ops.linear(put(one, x), put(one, w), in0_column_offset=32)
    assert np.array_equal(held(found), held(ops.linear(put(one, x[:, 32:96].copy()), put(one, w))))
    for offset in (31, 96):
        with pytest.raises(RuntimeError, match=f"in0_column_offset {offset} must be a multiple of 32"):
            ops.linear(put(one, x), put(one, w), in0_column_offset=offset)


def test_output_tensor(one: MeshDevice):
    x = put(one, sample((32, 32), F32, 1))
    out = put(one, np.zeros((32, 32)))
    assert ops.matmul(x, x, optional_output_tensor=out).storage is out.storage
    assert np.array_equal(held(out), held(ops.matmul(x, x)))


def test_refusals(one: MeshDevice):
    a, b = put(one, np.ones((32, 32))), put(one, np.ones((64, 32)))
    with pytest.raises(RuntimeError) as error:
        ops.matmul(a, b)
    assert message(error.value) == (
        "The width of the first tensor must be equal to the height of the second tensor. Mismatch: width=32 height=64"
    )
    with pytest.raises(RuntimeError) as error:
        ops.linear(a, a, activation="bogus")
    assert message(error.value).startswith("Unknown unary op: bogus")
    with pytest.raises(RuntimeError, match="Inputs to matmul must be tilized"):
        ops.matmul(a, put(one, np.ones((32, 32)), F32, ROW))
    with pytest.raises(RuntimeError, match="floating-point"):
        ops.matmul(put(one, np.ones((32, 32)), I32), a)
    with pytest.raises(RuntimeError, match=r"need to be at least 1D, but got shapes Shape\(\[\]\)"):
        ops.matmul(put(one, np.ones(())), a)
    with pytest.raises(RuntimeError, match="bmm"):
        ops.matmul(put(one, np.ones((2, 32, 32))), put(one, np.ones((3, 32, 32))))


def test_vectors(one: MeshDevice):
    rng = np.random.default_rng(0)
    v, w, m = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((65,), (7,), (2, 65, 7)))
    near(ops.matmul(put(one, v), put(one, m[:1])), v.astype(float) @ m[:1], steps=16)
    near(ops.matmul(put(one, m), put(one, w)), m.astype(float) @ w, steps=16)
    near(ops.matmul(put(one, v), put(one, v)), v.astype(float) @ v, steps=16)
    turned = m.swapaxes(-1, -2).copy()
    near(ops.matmul(put(one, v), put(one, turned[:1]), transpose_b=True), v.astype(float) @ m[:1], steps=16)
    near(ops.matmul(put(one, turned), put(one, w), transpose_a=True), m.astype(float) @ w, steps=16)
    for words in ({"transpose_a": True}, {"transpose_b": True}):
        with pytest.raises(RuntimeError, match="width of the first tensor must be equal"):
            ops.matmul(put(one, v), put(one, v), **words)
    near(ops.linear(put(one, v), put(one, m[0]), bias=put(one, w)), v.astype(float) @ m[0] + w, steps=16)
    rows = np.arange(14, dtype=np.float32).reshape(1, 2, 7)
    near(
        ops.linear(put(one, v), put(one, m[0]), bias=put(one, rows)), v.astype(float) @ m[0] + rows, steps=16
    )


@pytest.mark.parametrize(
    ("shape", "whole", "message"),
    [
        ((5, 96), False, "Broadcast error: Invalid dimension"),
        ((1, 1, 31, 96), False, "Broadcast error: Invalid dimension"),
        ((1, 1, 32, 96), True, r"expected bias height, 64 \(tile height 32 x 2 bias"),
        ((33, 96), False, "Invalid subtile broadcast type"),
    ],
)
def test_a_bias_of_other_rows(one: MeshDevice, shape: tuple[int, ...], whole: bool, message: str):
    x, w = put(one, np.ones((1, 1, 43, 64))), put(one, np.ones((64, 96)))
    program = MatmulMultiCoreReuseProgramConfig(
        compute_with_storage_grid_size=(1, 1), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, per_core_M=2, per_core_N=3,
    )  # fmt: skip
    with pytest.raises(RuntimeError, match=message):
        ops.linear(x, w, bias=put(one, np.ones(shape)), program_config=program if whole else None)


@pytest.mark.parametrize("rows", [20, 43, 64])
def test_a_bias_that_was_filled_up_to_a_tile_adds_its_first_row(one: MeshDevice, rows: int):
    rng = np.random.default_rng(0)
    x, w, b = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((1, 1, rows, 64), (64, 96), (1, 1, 32, 96)))
    near(
        ops.linear(put(one, x), put(one, w), bias=put(one, b)), x.astype(float) @ w + b[..., :1, :], steps=16
    )


def test_a_bias_of_more_rows_than_a_row_has_makes_rows(one: MeshDevice):
    rng = np.random.default_rng(0)
    x, w, b = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((1, 64), (64, 96), (40, 96)))
    near(ops.linear(put(one, x), put(one, w), bias=put(one, b)), x.astype(float) @ w + b, steps=16)


def test_a_program_config_fuses_the_first_row_of_a_bias(one: MeshDevice):
    rng = np.random.default_rng(0)
    x, w, b = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((1, 1, 32, 64), (64, 96), (1, 1, 32, 96)))
    program = MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=(3, 1), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, per_core_M=1, per_core_N=1,
        fuse_batch=True, mcast_in0=True,
    )  # fmt: skip
    plain, fused = (
        ops.linear(put(one, x), put(one, w), bias=put(one, b), program_config=p) for p in (None, program)
    )
    near(plain, x.astype(float) @ w + b, steps=16)
    near(fused, x.astype(float) @ w + b[:, :, :1], steps=16)
    # What is higher than a tile is added after the product.
    x, b = (rng.uniform(-1, 1, (1, 1, 64, n)).astype(np.float32) for n in (64, 96))
    program.per_core_M = program.out_block_h = 2
    high = ops.linear(put(one, x), put(one, w), bias=put(one, b), program_config=program)
    near(high, x.astype(float) @ w + b, steps=16)


def test_what_addmm_refuses(one: MeshDevice):
    small, large = (np.ones((n, n), np.float32) for n in (4, 8))
    with pytest.raises(RuntimeError, match="alpha parameter cannot be 0"):
        ops.addmm(put(one, small), put(one, small), put(one, small), alpha=0.0)
    with pytest.raises(
        RuntimeError, match="must have shape matching one of result of mat1_tensor @ mat2_tensor"
    ):
        ops.addmm(put(one, large), put(one, small), put(one, small))
    unused = ops.addmm(put(one, large), put(one, small), put(one, small), beta=0.0)
    near(unused, small @ small, steps=1)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ((1, 3, 5, 40), (2, 1, 40, 9), "batch dimension 0 mismatch: a=1 vs b=2"),
        ((2, 3, 5, 40), (2, 1, 40, 9), "batch dimension 1 mismatch: a=3 vs b=1"),
        (
            (2, 3, 5, 40),
            (3, 40, 9),
            "requires inputs of the same rank, got a_shape rank: 4 vs b_shape rank: 3",
        ),
        ((5, 8), (2, 8, 3), "When in1 rank greater than in0 rank front dimensions need to be 1"),
    ],
)
def test_batches_that_a_device_does_not_stretch(
    one: MeshDevice, a: tuple[int, ...], b: tuple[int, ...], message: str
):
    with pytest.raises(RuntimeError, match=message):
        ops.matmul(put(one, np.ones(a)), put(one, np.ones(b)))
