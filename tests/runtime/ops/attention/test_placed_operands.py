"""Where pieces of attention want their operands, in the words of reference library 0.81.1, and the calls that their hints name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import HEIGHT, WIDTH, cores
from tests.runtime.ops.placement.test_reordered_shards import FINE, SQUARE, TALL, WIDE, lying
from tests.runtime.ops.tensors import BF16, I32, ROW, held, put
from tt_run.runtime.enums import BufferType, ShardOrientation
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.conversions import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tensor.tensor import Tensor


def ones(one: MeshDevice, *shape: int) -> Tensor:
    return put(one, np.ones(shape), BF16)


def on_cores(kind: Any, end: tuple[int, int], piece: tuple[int, int]) -> MemoryConfig:
    return MemoryConfig(kind, BufferType.L1, ShardSpec(cores(end), piece, ShardOrientation.ROW_MAJOR))


@pytest.mark.parametrize(
    ("name", "cut", "words", "rest"),
    [
        ("nlp_concat_heads", WIDE, "memory layout must not be WIDTH_SHARDED but got .*WIDTH_SHARDED", {}),
        (
            "nlp_concat_heads_decode",
            SQUARE,
            "must be HEIGHT_SHARDED but got TensorMemoryLayout::BLOCK_SHARDED",
            {"num_heads": 2},
        ),
        (
            "nlp_concat_heads_decode",
            TALL,
            r"Shard spec shape\[0\] \(32\) must match input tensor padded shape\[-2\] \(128\)",
            {"num_heads": 2},
        ),
    ],
)
def test_heads_are_joined_of_rows_on_cores(one: MeshDevice, name: str, cut: Any, words: str, rest: Any):
    with pytest.raises(RuntimeError, match=words):
        named(f"experimental.{name}")(lying(one, *cut), **rest)
    spread = named("sharded_to_interleaved")(lying(one, *cut))
    if name == "nlp_concat_heads_decode":
        with pytest.raises(RuntimeError, match="must be sharded"):
            named(f"experimental.{name}")(spread, **rest)
    else:
        assert named(f"experimental.{name}")(spread, **rest).shape[0] == 1


@pytest.mark.parametrize(
    ("cut", "words"),
    [(WIDE, "must not be WIDTH_SHARDED"), (FINE, r"shape \(25, 64\) must be tile \{32, 32\} sized")],
)
def test_positions_are_rotated_of_rows_on_cores(one: MeshDevice, cut: Any, words: str):
    tensor = lying(one, *cut)
    cache = ones(one, 1, 1, 128, tensor.shape[-1])
    with pytest.raises(RuntimeError, match=words):
        named("experimental.rotary_embedding")(tensor, cache, cache)


@pytest.mark.parametrize("paged", [False, True])
def test_decoding_reads_caches_in_dram_and_queries_by_rows(one: MeshDevice, paged: bool):
    attend = named(f"transformer.{'paged_' if paged else ''}scaled_dot_product_attention_decode")
    query, cache = ones(one, 1, 1, 32, 64), ones(one, 4, 1, 32, 64) if paged else ones(one, 1, 1, 128, 64)
    pages = [put(one, [[0, 1, 2, 3]], I32, ROW)] if paged else []
    words = {"cur_pos_tensor": put(one, [0], I32, ROW)} if paged else {"cur_pos": [0]}
    near = to_memory_config(cache, L1_MEMORY_CONFIG)
    for k, v, number in ((near, cache, 1), (cache, near, 2)):
        with pytest.raises(
            RuntimeError, match=f"Input tensor {number} buffer type must be DRAM but got BufferType::L1"
        ):
            attend(query, k, v, *pages, **words)
    with pytest.raises(RuntimeError, match="Q tensor memory layout must be HEIGHT_SHARDED when sharded"):
        attend(lying(one, *WIDE), cache, cache, *pages, **words)
    assert attend(query, to_memory_config(near, DRAM_MEMORY_CONFIG), cache, *pages, **words).shape[-1] == 64


def test_a_cache_is_updated_from_tiles(one: MeshDevice):
    cache, rows = ones(one, 1, 1, 128, 64), put(one, np.ones((1, 1, 32, 64)), BF16, ROW)
    update = named("experimental.paged_update_cache")
    with pytest.raises(RuntimeError, match="Input tensor in non-fused update_cache must be tilized"):
        update(cache, rows, update_idxs=[0])


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((1, 1, 32, 96), r"Input tensor width \(96\) must equal cache tensor width \(64\)"),
        ((2, 1, 32, 64), "Input tensor batch size must be 1 but got 2"),
        ((1, 2, 32, 64), r"Input tensor height \(2\) must equal cache tensor height \(1\)"),
        ((1, 1, 64, 64), r"Input batch height \(64\) must equal cache batch \(32\) rounded up to a tile"),
    ],
)
def test_a_cache_is_updated_by_one_row_of_each_user(one: MeshDevice, shape: tuple[int, ...], words: str):
    cache = ones(one, 32, 1, 128, 64)
    with pytest.raises(RuntimeError, match=words):
        named("update_cache")(cache, ones(one, *shape), 0)
    assert named("update_cache")(cache, ones(one, 1, 1, 32, 64), 0).storage is cache.storage


def test_heads_come_out_of_the_cores_that_hold_them(one: MeshDevice):
    """Each core has the queries, the key and the value of one head of keys; recorded from the reference library 0.81.1."""
    create, words = named("experimental.nlp_create_qkv_heads"), {"num_heads": 4, "num_kv_heads": 2}
    x = np.random.default_rng(0).integers(-9, 9, (1, 1, 32, 256)).astype(np.float32)
    tensor = to_memory_config(put(one, x, BF16), on_cores(WIDTH, (1, 0), (32, 128)))
    found = create(tensor, **words, transpose_k_heads=False, memory_config=on_cores(HEIGHT, (3, 0), (32, 32)))
    pieces = x.reshape(32, 2, 4, 32).transpose(1, 2, 0, 3)
    wanted = pieces[:, :2].reshape(1, 4, 32, 32), pieces[None, :, 2], pieces[None, :, 3]
    for result, value, heads in zip(found, wanted, (4, 2, 2), strict=True):
        assert np.array_equal(held(result), value)
        assert result.memory_config() == on_cores(HEIGHT, (heads - 1, 0), (32, 32))
    for given, more, message in (
        (tensor, {}, "keys that are not transposed"),
        (tensor, {"memory_config": L1_MEMORY_CONFIG}, "must be sharded and not WIDTH_SHARDED"),
        (put(one, x, BF16), {"memory_config": on_cores(HEIGHT, (3, 0), (32, 32))}, "must be INTERLEAVED"),
    ):
        with pytest.raises(RuntimeError, match=message):
            create(given, **words, **({"memory_config": on_cores(HEIGHT, (3, 0), (32, 32))} | more))
