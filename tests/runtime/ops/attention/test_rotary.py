"""Rotary embeddings: values against NumPy in float64, places and refusals as those of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_grouped_heads import cut
from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH
from tests.runtime.ops.placement.test_reordered_shards import HM
from tests.runtime.ops.tensors import BF16, F32, TILE, held, near, put
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, ShardOrientation
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.conversions import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig

ONE, HF, PAIRS, BOTH = (
    f"experimental.rotary_embedding{word}" for word in ("", "_hf", "_llama", "_llama_fused_qk")
)


def halves(x: Any, cos: Any, sin: Any, wide: int) -> Any:
    """x cos + rotate_half(x) sin of operands filled up to so many columns."""
    x, cos, sin = (
        np.pad(t, (*[(0, 0)] * (t.ndim - 1), (0, wide - t.shape[-1]))).astype(float) for t in (x, cos, sin)
    )
    turned = np.concatenate([-x[..., wide // 2 :], x[..., : wide // 2]], -1)
    return x * cos + turned * sin


@pytest.mark.parametrize(("rows", "width"), [(64, 64), (40, 64), (64, 40), (64, 32), (33, 100)])
def test_halves_are_those_of_whole_tiles(one: MeshDevice, rows: int, width: int):
    wide = -(-width // 32) * 32
    x, cos, sin = sample(BF16, 2, 3, rows, width), *(sample(BF16, 1, 1, 70, wide, seed=s) for s in (1, 2))
    wanted = halves(x, cos[:, :, :rows], sin[:, :, :rows], wide)
    found = named(ONE)(*(put(one, t, BF16) for t in (x, cos, sin)))
    near(found, np.pad(wanted, ((0, 0), (0, 0), (0, -rows % 32), (0, 0))))
    if rows % 32 == 0:
        at = named(ONE)(*(put(one, t, BF16) for t in (x[:1], cos, sin)), 66)
        near(at, halves(x[:1], cos[:, :, 66:67], sin[:, :, 66:67], wide))
        flat = named(ONE)(*(put(one, t, BF16) for t in (x[0], cos, sin)))
        near(flat, wanted[0])


@pytest.mark.torch
@pytest.mark.parametrize("width", [64, 40, 32])
def test_halves_of_a_sequence(one: MeshDevice, width: int):
    wide = -(-width // 32) * 32
    x, cos, sin = sample(F32, 2, 3, 40, width), *(sample(F32, 1, 1, 70, wide, seed=s) for s in (1, 2))
    wanted = halves(x, cos[:, :, :40], sin[:, :, :40], wide)[..., :width]
    near(named(HF)(*(put(one, t) for t in (x, cos, sin))), wanted, steps=4)
    near(named(HF)(*(put(one, t) for t in (x[0], cos, sin))), wanted[0], steps=4)


def by_core(one: MeshDevice, values: Any, first: int = 0) -> Tensor:
    """[1, users, rows, columns] with each user on a core, from that of column `first` on."""
    _, users, rows, columns = values.shape
    cores = CoreRangeSet([CoreRange(CoreCoord(first, 0), CoreCoord(first + users - 1, 0))])
    spec = ShardSpec(cores, (-(-rows // 32) * 32, columns), ShardOrientation.ROW_MAJOR)
    return to_memory_config(put(one, values, BF16), MemoryConfig(HEIGHT, BufferType.L1, spec))


@pytest.mark.torch
def test_halves_of_a_token_of_each_user(one: MeshDevice):
    x, cos, sin = sample(BF16, 1, 4, 8, 64), *(sample(BF16, 1, 4, 1, 64, seed=s) for s in (1, 2))
    found = named(HF)(*(by_core(one, t) for t in (x, cos, sin)), is_decode_mode=True)
    near(found, halves(x, cos, sin, 64))
    assert where(found) == (HEIGHT, (3, 0), (32, 64))


def pair_turn() -> np.ndarray:
    turn = np.zeros((1, 1, 32, 32), np.float32)
    for i in range(0, 32, 2):
        turn[0, 0, i, i + 1], turn[0, 0, i + 1, i] = 1, -1
    return turn


def of_pairs(x: Any, cos: Any, sin: Any) -> Any:
    pairs = x.astype(float).reshape(*x.shape[:-1], -1, 2)
    return x * cos + np.stack([-pairs[..., 1], pairs[..., 0]], -1).reshape(x.shape) * sin


@pytest.mark.parametrize("width", [64, 40])
def test_pairs(one: MeshDevice, width: int):
    x, angle = (
        sample(BF16, 2, 3, 20, width),
        np.repeat(sample(BF16, 1, 1, 20, width // 2, seed=1), 2, axis=-1),
    )
    cos, sin = (np.asarray(t, np.float32) for t in (np.sign(angle), angle))
    found = named(PAIRS)(*(put(one, t, BF16) for t in (x, cos, sin, pair_turn())))
    near(found, of_pairs(x, cos, sin))


def turns(one: MeshDevice, users: int) -> Tensor:
    return cut(one, np.tile(pair_turn(), (1, 1, users, 1)), HEIGHT, (users - 1, 0), (32, 32))


def test_pairs_of_a_token_of_each_user(one: MeshDevice):
    q, k = (sample(BF16, 1, 4, 8, 64, seed=s) for s in (3, 4))
    cos, sin = (sample(BF16, 1, 8, 1, 64, seed=s) for s in (1, 2))
    alone = named(PAIRS)(
        by_core(one, q), *(by_core(one, t[:, :4]) for t in (cos, sin)), turns(one, 4), is_decode_mode=True
    )
    near(alone, of_pairs(q, cos[:, :4], sin[:, :4]))
    assert where(alone) == (HEIGHT, (3, 0), (32, 64))
    both = named(BOTH)(
        by_core(one, q), by_core(one, k, 4), *(by_core(one, t) for t in (cos, sin)), turns(one, 8)
    )
    assert np.array_equal(held(both[0]), held(alone))
    near(both[1], of_pairs(k, cos[:, 4:], sin[:, 4:]))
    assert [tensor.memory_config().shard_spec.grid.bounding_box().end.x for tensor in both] == [3, 7]


def test_wide_heads_have_no_room_for_sums_in_32_bits(one: MeshDevice):
    x, cos, sin = (put(one, sample(BF16, 1, heads, 32, 160), BF16) for heads in (2, 1, 1))
    turn, wide = put(one, pair_turn(), BF16), WormholeComputeKernelConfig(fp32_dest_acc_en=True)
    words = "If head_dim is > 128, fp32_dest_acc_en must be False"
    with pytest.raises(RuntimeError, match=words):
        named(PAIRS)(x, cos, sin, turn, compute_kernel_config=wide)
    narrow = WormholeComputeKernelConfig(fp32_dest_acc_en=False)
    assert named(PAIRS)(x, cos, sin, turn, compute_kernel_config=narrow).shape == x.shape
    q, caches = by_core(one, sample(BF16, 1, 4, 8, 160)), by_core(one, sample(BF16, 1, 8, 1, 160))
    with pytest.raises(RuntimeError, match=words):
        named(BOTH)(q, q, caches, caches, turns(one, 8), compute_kernel_config=wide)


BY_FOUR: tuple[Any, ...] = (HEIGHT, (3, 0), (32, 64))
S, C = (1, 4, 64, 64), (1, 1, 64, 64)
SHAPES: list[tuple[str, list[tuple[int, ...]], tuple[Any, ...], str]] = [
    (ONE, [(1, 4, 64, 96), (1, 1, 64, 96), (1, 1, 64, 96)], (), r"X dimension \(96\) must be either 32 \(single tile\) or"),
    (ONE, [S, (1, 1, 40, 64), (1, 1, 40, 64)], (), "must cover the input sequence length. Input sequence length: 64, Cos"),
    (ONE, [S, C, C], (70,), "Token index: 70, Cos cache sequence length: 64"),
    (ONE, [S, C, (1, 1, 32, 64)], (), "Cosine and Sine cache dimensions must match"),
    (ONE, [S, S, S], (), r"Expected \(1, 1, 64\), but got Shape\(\[1, 4, 64, 64\]\)"),
    (ONE, [S, (64, 64), (64, 64)], (), r"Expected \(1, 1, 64\), but got Shape\(\[64, 64\]\)"),
    (ONE, [(2, 4, 64, 64), C, C], (3,), "sequence length must be 1. Current sequence length: 2"),
    (HF, [(1, 4, 64, 96), (1, 1, 64, 96), (1, 1, 64, 96)], (), r"Input X dim \(96\) must be either 32"),
    (HF, [S, S, S], (), "Cos must have batch dim = 1 in prefill mode"),
    (HF, [S, (2, 1, 64, 64), (2, 1, 64, 64)], (), "Cos dims must match input dims"),
    (HF, [S, C, (1, 1, 128, 64)], (), "Cos and Sin shapes must match"),
    (HF, [S, (1, 1, 32, 64), (1, 1, 32, 64)], (), "Input seq_len: 64, Cos seq_len: 32"),
    (PAIRS, [(1, 4, 64, 320), (1, 1, 64, 320), (1, 1, 64, 320), (1, 1, 32, 32)], (), "Head dim must be less than 256"),
    (PAIRS, [S, C, C, (1, 1, 64, 64)], (), "must have 4th dim equal to TILE_WIDTH"),
    (PAIRS, [S, C, C, (1, 1, 64, 32)], (), "must have 3rd dim equal to TILE_HEIGHT"),
    (PAIRS, [S, C, C, (32, 32)], (), "must have 1st & 2nd dim equal to 1"),
    (PAIRS, [S, (1, 1, 64, 96), (1, 1, 64, 96), (1, 1, 32, 32)], (), "Cos dims must match input dims"),
    (PAIRS, [S, C, (1, 1, 128, 64), (1, 1, 32, 32)], (), "Cos and Sin dims must match"),
    (PAIRS, [S, (1, 2, 64, 64), (1, 2, 64, 64), (1, 1, 32, 32)], (), "Expected 4, got 2"),
    (PAIRS, [S, (1, 1, 32, 64), (1, 1, 32, 64), (1, 1, 32, 32)], (), "of 32 positions do not cover 64"),
    (BOTH, [(1, 4, 8, 64), (1, 4, 8, 64), (1, 8, 1, 64), (1, 8, 1, 64), (1, 1, 32, 32)], (), "Q input tensor must be HEIGHT_SHARDED"),
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize(("name", "shapes", "more", "message"), SHAPES)
def test_shapes_are_refused(one: MeshDevice, name: str, shapes: Any, more: Any, message: str):
    with pytest.raises(RuntimeError, match=message):
        named(name)(*(put(one, np.ones(shape), BF16) for shape in shapes), *more)


@pytest.mark.torch
@pytest.mark.parametrize("name", [ONE, HF])
def test_angles_are_of_one_type(one: MeshDevice, name: str):
    with pytest.raises(RuntimeError, match="Cos and Sin dtypes must match"):
        named(name)(put(one, np.ones(S), BF16), put(one, np.ones(C), BF16), put(one, np.ones(C)))


X, T = ((1, 4, 8, 64), *BY_FOUR), ((1, 4, 1, 64), *BY_FOUR)
M = ((1, 1, 128, 32), HEIGHT, (3, 0), (32, 32))
LARGE = ((1, 4, 8, 64), HEIGHT, (1, 0), (64, 64))
TOKENS: list[tuple[str, list[Any], dict[str, Any], str]] = [
    (HF, [((1, 4, 8, 64),), T, T], {}, "Input must be sharded in decode mode"),
    (HF, [X, ((1, 4, 1, 64),), T], {}, "Cos must be sharded in decode mode"),
    (HF, [((1, 4, 32, 64), WIDTH, (1, 0), (128, 32)), T, T], {}, "Input must be HEIGHT_SHARDED in decode mode"),
    (HF, [X, ((1, 1, 1, 64), HEIGHT, (0, 0), (32, 64)), ((1, 1, 1, 64), HEIGHT, (0, 0), (32, 64))], {}, "Cos batch dim must match input"),
    (HF, [X, T, T], {"memory_config": DRAM_MEMORY_CONFIG}, "Only L1 buffers can have an associated circular buffer"),
    (HF, [LARGE, T, T], {}, "pieces of 64 rows are not the 32 of one user"),
    (PAIRS, [((1, 4, 8, 64),), T, T, M], {}, "Sharded inputs for RoPE must be HEIGHT_SHARDED"),
    (PAIRS, [X, ((1, 4, 1, 64),), T, M], {}, "cos tensor for RoPE must be HEIGHT_SHARDED"),
    (PAIRS, [X, T, T, ((1, 1, 32, 32),)], {}, "transformation matrix for RoPE must be HEIGHT_SHARDED"),
    (PAIRS, [X, T, T, M], {"memory_config": DRAM_MEMORY_CONFIG}, "must have same memory layout"),
    (PAIRS, [X, T, T, M], {"memory_config": HM}, "bad optional access"),
    (PAIRS, [LARGE, T, T, M], {}, "pieces of 64 rows are not the 32 of one user"),
    (PAIRS, [((2, 4, 8, 64), HEIGHT, (7, 0), (32, 64)), T, T, M], {}, r"seq_len \(in dim 0\) must be 1"),
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize(("name", "operands", "words", "message"), TOKENS)
def test_places_of_tokens_are_refused(
    one: MeshDevice, name: str, operands: Any, words: dict[str, Any], message: str
):
    given = [
        cut(one, np.ones(shape), *place) if place else put(one, np.ones(shape), BF16)
        for shape, *place in operands
    ]
    with pytest.raises(RuntimeError, match=message):
        named(name)(*given, is_decode_mode=True, **words)


def test_queries_and_keys_are_on_cores_of_their_own(one: MeshDevice):
    x, twice = sample(BF16, 1, 4, 8, 64), sample(BF16, 1, 8, 1, 64)
    caches = [by_core(one, twice), by_core(one, twice)]
    q, apart = by_core(one, x), by_core(one, x, 4)
    with pytest.raises(RuntimeError, match="Q and K must not overlap"):
        named(BOTH)(q, q, *caches, turns(one, 8))
    with pytest.raises(RuntimeError, match="the same batch size as the sum of Q and K batch sizes"):
        named(BOTH)(q, apart, *(by_core(one, twice[:, :4]) for _ in range(2)), turns(one, 8))
    with pytest.raises(RuntimeError, match="Trans mat tensor must be HEIGHT_SHARDED"):
        named(BOTH)(q, apart, *caches, put(one, pair_turn(), BF16))
    wide = cut(one, np.ones((1, 4, 8, 96)), HEIGHT, (3, 0), (32, 96))
    with pytest.raises(RuntimeError, match="must have same head dimensions"):
        named(BOTH)(q, wide, *caches, turns(one, 8))


def test_a_rotated_sequence_lies_as_it_lay(one: MeshDevice):
    cache = put(one, np.ones((1, 1, 64, 64)), BF16)
    tensor = cut(one, np.ones((1, 4, 64, 64)), HEIGHT, (3, 0), (64, 64), BF16, TILE)
    assert where(named(ONE)(tensor, cache, cache)) == (HEIGHT, (3, 0), (64, 64))
    assert where(named(ONE)(tensor, cache, cache, memory_config=HM)) == (HEIGHT, (3, 0), (64, 64))
    with pytest.raises(RuntimeError, match=r"Input tensor shard width \(32\) must equal padded width \(64\)"):
        named(ONE)(cut(one, np.ones((1, 4, 64, 64)), BLOCK, (1, 3), (64, 32)), cache, cache)
    spread = cut(one, np.ones((1, 4, 64, 64)), HEIGHT, (7, 0), (32, 64))
    with pytest.raises(RuntimeError, match="must be interleaved in prefill mode"):
        named(PAIRS)(spread, cache, cache, put(one, pair_turn(), BF16))


def test_halves_change_places(one: MeshDevice):
    for width in (100, 64):
        wide = -(-width // 32) * 32
        x = sample(BF16, 1, 2, 40, width)
        whole = np.pad(x, ((0, 0), (0, 0), (0, 0), (0, wide - width)))
        wanted = np.concatenate([-whole[..., wide // 2 :], whole[..., : wide // 2]], -1)[..., :width]
        assert np.array_equal(held(named("experimental.rotate_half")(put(one, x, BF16))), wanted)
    with pytest.raises(RuntimeError, match=r"Input X dimension \(96\) must be divisible by 64"):
        named("experimental.rotate_half")(put(one, np.ones((1, 1, 32, 96)), BF16))
    with pytest.raises(RuntimeError, match="bad optional access"):
        named("experimental.rotate_half")(put(one, np.ones((1, 1, 64, 64)), BF16), memory_config=HM)
