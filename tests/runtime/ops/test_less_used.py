"""Values of operations that no other file here calls: statistics of norms, channels of images, slices, copies and buffers, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, BFP8, F32, ROW, TILE, held, near, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tuning.blocks import SoftmaxShardedMultiCoreProgramConfig
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig


def call(name: str, *arguments: Any, **keywords: Any) -> Any:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None, name
    return operation(*arguments, **keywords)


def sample(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def over_cores(kind: str, cores: int, shard: tuple[int, int]) -> MemoryConfig:
    """Pieces in L1 on the first cores of the first row."""
    grid = CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(cores - 1, 0))})
    layout = getattr(TensorMemoryLayout, f"{kind}_SHARDED")
    return MemoryConfig(layout, BufferType.L1, ShardSpec(grid, shard, ShardOrientation.ROW_MAJOR))


@pytest.mark.parametrize("kind", ["layer_norm_{}_all_gather", "experimental.dit_layernorm_{}_allgather"])
def test_norms_in_two_steps(one: MeshDevice, kind: str):
    x, w, b = sample(1, 1, 33, 64), sample(1, 1, 1, 64, seed=1), sample(1, 1, 1, 64, seed=2)
    beside = () if kind.startswith("layer") else (put(one, np.ones((1, 1, 1, 64))),)
    exact = {"compute_kernel_config": WormholeComputeKernelConfig(fp32_dest_acc_en=True)}
    stats = call(kind.format("pre"), put(one, x), *beside, dtype=F32, **exact)
    assert stats.shape == (1, 1, 33, 64)
    np.testing.assert_allclose(held(stats)[..., 0], (x.astype(float) ** 2).sum(-1), rtol=1e-5)
    np.testing.assert_allclose(held(stats)[..., 32], x.astype(float).sum(-1), rtol=1e-4, atol=1e-4)
    wide = x.astype(float)
    normal = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    sides = {"weight": put(one, w), "bias": put(one, b)}
    found = call(kind.format("post"), put(one, x), stats, epsilon=1e-5, **sides, **exact)
    near(found, normal * w + b, steps=64)


@pytest.mark.torch
def test_channels_first_and_last(one: MeshDevice):
    x = rounded(sample(1, 1, 6, 64), BF16)
    wide = over_cores("WIDTH", 2, (6, 32))
    turned = call("experimental.convert_to_hwc", to_memory_config(put(one, x, BF16, ROW), wide))
    # Rows of 16 bytes: recorded from the reference library 0.81.1, as where the results lie.
    assert turned.shape == (1, 1, 64, 8) and turned.memory_config() == over_cores("HEIGHT", 2, (32, 8))
    assert held(turned)[..., :6].tolist() == x.swapaxes(-1, -2).tolist() and not held(turned)[..., 6:].any()
    back = call("experimental.convert_to_chw", turned)
    assert back.memory_config() == over_cores("WIDTH", 2, (8, 32))
    assert held(back)[:, :, :6].tolist() == x.tolist()
    narrow = to_memory_config(put(one, x[:, :, :3], F32, ROW), over_cores("WIDTH", 2, (3, 32)))
    floats = call("experimental.convert_to_hwc", narrow)
    assert floats.shape == (1, 1, 64, 4)


def test_channels_that_do_not_lie_over_cores(one: MeshDevice):
    x = sample(1, 1, 4, 64)
    rows = put(one, x, BF16, ROW)
    with pytest.raises(
        RuntimeError, match="When input tensor is in DRAM, output memory_config must be explicitly specified"
    ):
        call("experimental.convert_to_hwc", rows)
    cut = to_memory_config(rows, over_cores("WIDTH", 2, (4, 32)))
    with pytest.raises(RuntimeError, match=r"rounded up to next multiple of 8 .*\(width was 4\)"):
        call("experimental.convert_to_hwc", cut, memory_config=over_cores("HEIGHT", 2, (32, 4)))
    with pytest.raises(RuntimeError, match="must be sharded to infer output memory config"):
        call("experimental.convert_to_chw", rows)
    with pytest.raises(RuntimeError, match="must be height sharded"):
        call("experimental.convert_to_chw", cut)


def test_slices_into_buffers_with_padding(one: MeshDevice):
    x = sample(2, 4, 6, 8)

    def cut(memory_config: Any, **words: Any) -> Any:
        given = put(one, x, F32, ROW)
        return call(
            "experimental.padded_slice",
            given,
            [0, 1, 0, 0],
            [2, 3, 6, 8],
            memory_config=memory_config,
            **words,
        )

    high = over_cores("HEIGHT", 8, (3, 12))
    found = cut(high)
    assert found.shape == (1, 1, 24, 12) and found.memory_config() == high
    assert held(found)[..., :8].tolist() == x[:, 1:3].reshape(1, 1, 24, 8).tolist()
    assert not held(found)[..., 8:].any()
    assert (held(cut(high, pad_value=2.0))[..., 8:] == 2).all()
    assert cut(over_cores("WIDTH", 2, (24, 6))).shape == (1, 1, 24, 8)
    with pytest.raises(RuntimeError, match="Output Memory Config must be sharded"):
        cut(DRAM_MEMORY_CONFIG)
    with pytest.raises(RuntimeError, match="Steps != 1"):
        cut(high, padded_slice_step=[1, 1, 2, 1])
    tiles = call(
        "experimental.padded_slice", put(one, sample(1, 2, 32, 32), BFP8), [0, 0, 0, 0], [1, 2, 16, 32],
        memory_config=over_cores("HEIGHT", 2, (16, 32)),
    )  # fmt: skip
    assert (tiles.shape, tiles.dtype, tiles.layout) == ((1, 1, 32, 32), BF16, ROW)


def test_weights_in_another_element_type(one: MeshDevice):
    x = sample(64, 64)
    found = call("experimental.quantize_weights_via_host", put(one, x, BF16), dtype=BFP8, memory_config=None)
    assert held(found).tolist() == held(put(one, held(put(one, x, BF16)), BFP8)).tolist()


def test_a_causal_mask_over_scores(one: MeshDevice):
    x, mask = sample(1, 8, 32, 64), np.where(np.tri(32, 64, 8), 0, -9e9).astype(np.float32)[None, None]
    name, by_head = "scale_causal_mask_hw_dims_softmax_in_place", over_cores("HEIGHT", 8, (32, 64))
    tensor = to_memory_config(put(one, x), by_head)
    grid = {"compute_with_storage_grid_size": (8, 1), "subblock_w": 1, "block_h": 1, "block_w": 2}
    words = {"program_config": SoftmaxShardedMultiCoreProgramConfig(**grid)}
    with pytest.raises(RuntimeError, match="must be sharded when using SoftmaxShardedMultiCoreProgramConfig"):
        call(name, put(one, x), 0.5, put(one, mask), **words)
    with pytest.raises(RuntimeError, match="not supported in default program config"):
        call(name, tensor, 0.5, put(one, mask))
    with pytest.raises(RuntimeError, match="Input and mask batch sizes must match, got input: 2 vs mask: 1"):
        call(name, put(one, sample(2, 4, 32, 64)), 0.5, put(one, mask), **words)
    with pytest.raises(RuntimeError, match="Sharded mask shape must match input tensor shape"):
        call(name, tensor, 0.5, to_memory_config(put(one, mask), over_cores("WIDTH", 2, (32, 32))), **words)
    assert call(name, tensor, 0.5, put(one, mask), **words).storage.place is tensor.storage.place
    weights = np.exp(x.astype(float) * 0.5 + mask)
    near(tensor, weights / weights.sum(-1, keepdims=True), steps=16)
    stacked = put(
        one, x.reshape(1, 1, 8 * 32, 64)
    )  # heads one below the other: the mask begins anew with each
    stacked = to_memory_config(stacked, by_head)
    call(name, stacked, 0.5, put(one, mask), **words)
    assert np.array_equal(held(stacked).reshape(x.shape), held(tensor))


@pytest.mark.torch
def test_heads_and_caches(one: MeshDevice):
    x = sample(1, 1, 32, 6 * 64)
    heads, *unwritten = call("experimental.nlp_create_qkv_heads_segformer", put(one, x))
    assert held(heads).tolist() == x.reshape(1, 32, 12, 32).transpose(0, 2, 1, 3).tolist()
    assert [held(other).any() for other in unwritten] == [False, False]
    cache = sample(1, 2, 64, 32)
    found = call("experimental.nlp_kv_cache_load_slice", put(one, cache), seq_len_start=0, seq_len_end=32)
    assert held(found).tolist() == cache[:, :, :32].tolist()
    assert found.memory_config().shard_spec.shape == [32, 32]  # a head on each core
    assert found.memory_config().shard_spec.num_cores() == 2
    with pytest.raises(RuntimeError, match="a cache of 64 rows has none from 32 to 96"):
        call("experimental.nlp_kv_cache_load_slice", put(one, cache), seq_len_start=32, seq_len_end=96)


def test_copies(one: MeshDevice):
    x = sample(3, 5)
    for name in ("composite_example", "from_device"):
        assert held(call(name, put(one, x))).tolist() == x.tolist(), name
    first, second = call("composite_example_multiple_return", put(one, x), True, False)
    assert held(first).tolist() == x.tolist()
    assert second is None
    tiles = call(
        "experimental.deepseek_moe_post_combine_tilize",
        put(one, x, F32, ROW),
        output_memory_config=DRAM_MEMORY_CONFIG,
    )
    assert (tiles.layout, held(tiles).tolist()) == (TILE, x.tolist())
    target = put(one, np.zeros_like(x))
    assert call("copy", put(one, x), target).storage is target.storage
    assert held(target).tolist() == x.tolist()
    assert held(call("to_device", from_torch(x, dtype=F32), one)).tolist() == x.tolist()
    turned = call("reshape_on_device", put(one, sample(2, 3, 4, 8)), 1, 6, -1, 8)
    assert held(turned).tolist() == sample(2, 3, 4, 8).reshape(1, 6, 4, 8).tolist()


def test_complex_numbers_that_are_none(one: MeshDevice):
    z = call("complex_tensor", put(one, [[0.0, 1.0, 2.0]]), put(one, [[3.0, 0.0, 4.0]]))
    assert held(call("is_real", z)).tolist() == [[0, 1, 0]]
    assert held(call("is_imag", z)).tolist() == [[1, 0, 0]]


def test_shards_over_cores_hold_the_same_values(one: MeshDevice):
    x = sample(1, 1, 128, 64)
    over = [
        MemoryConfig(
            TensorMemoryLayout.HEIGHT_SHARDED,
            BufferType.L1,
            ShardSpec(
                CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, last))]),
                [128 // (last + 1), 64],
                ShardOrientation.ROW_MAJOR,
            ),
        )
        for last in (1, 3)
    ]
    first = call("interleaved_to_sharded", put(one, x, BF16), over[0])
    second = call("reshard", first, over[1])
    back = call("sharded_to_interleaved", second, DRAM_MEMORY_CONFIG)
    for tensor in (first, second, back):
        assert held(tensor).tolist() == held(put(one, x, BF16)).tolist()
    assert (first.memory_config(), second.memory_config()) == (over[0], over[1])
    assert not back.is_sharded()


@pytest.mark.listening
def test_moves(one: MeshDevice):
    """They take the operand's buffer away, so that nothing can be computed from it again."""
    x = sample(3, 5)
    for name in ("move", "reallocate"):
        before = put(one, x)
        assert held(call(name, before)).tolist() == x.tolist(), name
        assert not before.is_allocated(), name


def test_a_view_takes_its_sizes_by_name(one: MeshDevice):
    x = put(one, np.arange(256).reshape(4, 64), BF16, ROW)
    view = call("experimental.view", x, N=1, C=2, H=2, W=64)
    assert view.shape == (1, 2, 2, 64)
    assert held(view).reshape(4, 64).tolist() == held(x).tolist()
    with pytest.raises(TypeError, match="missing a required argument: 'shape'"):
        call("experimental.view", x)


@pytest.mark.torch
@pytest.mark.parametrize("kind", [TensorMemoryLayout.HEIGHT_SHARDED, TensorMemoryLayout.WIDTH_SHARDED])
def test_padding_is_filled_where_the_tensor_lies(one: MeshDevice, kind: TensorMemoryLayout):
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
    shape = [32, 64] if kind is TensorMemoryLayout.HEIGHT_SHARDED else [64, 32]
    spec = ShardSpec(grid, shape, ShardOrientation.ROW_MAJOR)
    x = to_memory_config(put(one, np.ones((40, 50)), BF16), MemoryConfig(kind, BufferType.L1, spec))
    filled = call("fill_implicit_tile_padding", x, 3.0, memory_config=DRAM_MEMORY_CONFIG)
    assert filled.memory_config() == x.memory_config()
    batches = put(one, np.ones((2, 20, 50)), BF16)
    if kind is TensorMemoryLayout.HEIGHT_SHARDED:
        with pytest.raises(RuntimeError, match=r"N_slices > 1 not yet supported \(got 2\)"):
            call("fill_implicit_tile_padding", to_memory_config(batches, x.memory_config()), 3.0)
    padded = filled.cpu().to_torch_with_padded_shape().float().numpy()
    assert (padded[:40, :50] == 1).all()
    assert (padded[40:] == 3).all() and (padded[:, 50:] == 3).all()
