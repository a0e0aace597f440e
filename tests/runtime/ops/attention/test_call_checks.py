"""What attention refuses, each call with one fault, in the words of reference library 0.81.1; and which of two faults it tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import HEIGHT, WIDTH, cores
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U16, U32, put
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
from tt_run.runtime.tuning.blocks import SDPAProgramConfig

Q, K, ONE, CACHE, BLOCKS = (1, 4, 64, 64), (1, 2, 64, 64), (1, 2, 8, 64), (2, 1, 64, 64), (8, 1, 32, 64)
WHOLE, DECODE = "scaled_dot_product_attention", "scaled_dot_product_attention_decode"
JOINT, CHUNK, LATENT = (
    "joint_scaled_dot_product_attention",
    "chunked_scaled_dot_product_attention",
    "flash_mla_prefill",
)
PAGED = f"paged_{DECODE}"


def program(grid: tuple[int, int] = (8, 8), q: int = 32, k: int = 32, cut: Any = None) -> SDPAProgramConfig:
    return SDPAProgramConfig(
        compute_with_storage_grid_size=grid, q_chunk_size=q, k_chunk_size=k, sub_core_grids=cut
    )


def piece(kind: Any, end: tuple[int, int], shape: tuple[int, int]) -> MemoryConfig:
    return MemoryConfig(kind, BufferType.L1, ShardSpec(cores(end), shape, ShardOrientation.ROW_MAJOR))


def given(one: MeshDevice, value: Any) -> Any:
    """A shape is a tensor of it; with a second thing it is in that memory, or of that type: floats in tiles, integers in rows."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        shape, how = value
        if isinstance(how, MemoryConfig):
            return to_memory_config(given(one, shape), how)
        return put(one, np.zeros(shape), BF16 if how is ROW else how, TILE if how is F32 else ROW)
    if isinstance(value, tuple) and len(value) > 1:
        return put(one, np.zeros(value), BF16)
    return value


AT, PAGES = ((2,), I32), ((2, 2), I32)
FAULTS = [
    (WHOLE, ((1, 4, 64), K, K), {}, r"index out of range. 3 not in \[-4, 3\)"),
    (WHOLE, (Q, K, (1, 2, 64, 32)), {}, "K and V hidden dim must match. Got K: 64, V: 32"),
    (WHOLE, (Q, K, (1, 1, 64, 64)), {}, "K and V num_heads must match. Got K: 2, V: 1"),
    (WHOLE, (Q, K, (1, 2, 32, 64)), {}, "K and V sequence length must match. Got K: 64, V: 32"),
    (WHOLE, (Q, K, K), {"program_config": program(q=33)}, "q_chunk_size must be a positive multiple"),
    (WHOLE, (Q, K, K), {"program_config": program((9, 1))}, "core 8-0 is outside the worker grid 8x8"),
    (WHOLE, (Q, K, K), {"attn_mask": ((1, 1, 64, 64), L1_MEMORY_CONFIG), "is_causal": False}, "it must be in DRAM"),
    (WHOLE, (Q, K, K), {"attn_mask": (2, 1, 64, 64), "is_causal": False}, "Mask batch dim must either be 1"),
    (WHOLE, (Q, K, K), {"attn_mask": (1, 3, 64, 64), "is_causal": False}, "Mask num_heads must either be 1"),
    (WHOLE, (Q, K, K), {"attn_mask": (1, 1, 64, 32), "is_causal": False}, "must match K sequence length"),
    (WHOLE, (Q, K, K), {"attention_sink": (2, 4, 1, 1)}, "sink batch dimension must be 1"),
    (WHOLE, (Q, K, K), {"attention_sink": ((1, 4, 1, 1), ROW)}, "sink must be tilized"),
    (WHOLE, (Q, K, K), {"cu_window_seqlens": ((1,), I32)}, "must have between 2 and 1024 elements, got 1"),
    (WHOLE, (Q, K, K), {"cu_window_seqlens": ((3,), I32), "sliding_window_size": 8}, "Windowed SDPA does not support sliding"),
    (WHOLE, (Q, K, K), {"cu_window_seqlens": ((3,), I32), "windowed_q_token_offset": 32}, r"Q shard \[32, 32 \+ 64\) does not fit"),
    (LATENT, (Q, (1, 1, 64, 64), 96), {}, "less than or equal to head dim of Q, got 96 and 64"),
    (LATENT, (Q, (1, 1, 32, 64), 32), {}, "requires Q and K to have the same sequence length"),
    (CHUNK, (Q, BLOCKS, BLOCKS, ((1, 8), I32), 33), {"program_config": program()}, "must be a multiple of q_chunk_size"),
    (CHUNK, (Q, BLOCKS, BLOCKS, ((1, 8), I32), 32), {"program_config": program(k=64)}, "must be a multiple of k_chunk_size"),
    (CHUNK, (Q, BLOCKS, BLOCKS, ((2, 8), I32), 0), {}, "Page table batch size must match input batch size"),
    (CHUNK, (Q, BLOCKS, BLOCKS, ((1, 2), I32)), {"chunk_start_idx_tensor": ((1,), I32)}, "stick size must be a multiple of 32"),
    (CHUNK, (Q, BLOCKS, BLOCKS, ((1, 8), I32)), {"chunk_start_idx_tensor": ((1,), U32)}, "tensor must be int32"),
    (JOINT, (Q, Q, Q, Q, Q, (Q, L1_MEMORY_CONFIG)), {}, "Operands to Joint SDPA need to be in DRAM"),
    (JOINT, (Q, Q, Q, Q, Q, (1, 4, 64, 32)), {}, "Joint head dimensions must match. Got Q: 64, K: 64, V: 32"),
    (JOINT, (Q, Q, Q, K, K, K), {}, "Joint K num_heads must be equal to K num_heads"),
    (DECODE, ((ONE, L1_MEMORY_CONFIG), CACHE, CACHE), {"cur_pos": [1, 2]}, "must be DRAM when not sharded but got BufferType::L1"),
    (DECODE, (ONE, (3, 1, 64, 64), CACHE), {"cur_pos": [1, 2]}, r"K tensor batch size \(3\) must equal B \(2\)"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos": [1, 2], "share_cache": True}, "Share cache expects K to have batch size of 1"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos": [1, 64]}, "cur_pos must be <= K sequence dim"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos": [1]}, "1 positions for 2 users"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos_tensor": ((2, 1), I32)}, "must hold all positions in its last dim"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos_tensor": ((1,), I32)}, "at least one position per batch"),
    (DECODE, (ONE, CACHE, (2, 1, 64, 32)), {"cur_pos": [1, 2]}, r"V tensor hidden dimension \(32\) must equal"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos": [1, 2], "attention_sink": (1, 8, 1)}, "sink must have 2 dimensions"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos": [1, 2], "attention_sink": (8, 64)}, "must be a single tile wide"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos": [1, 2], "program_config": program((9, 8))}, r"Cores available \(72\) exceeds grid size"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos": [1, 2], "program_config": program(k=16)}, "must be multiple of 32, got: 16"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos": [1, 2], "program_config": program((4, 4), cut=cores((1, 1)))}, r"cores \(4\) must match .* \(16\)"),
    (DECODE, (ONE, CACHE, CACHE), {"cur_pos": [1, 2], "memory_config": piece(WIDTH, (1, 0), (64, 32))}, "must be HEIGHT_SHARDED when sharded"),
    (PAGED, (ONE, BLOCKS, BLOCKS, PAGES), {"cur_pos_tensor": ((3,), I32)}, "cur_pos must have batch size equal to Q, got 3 and 2"),
    (PAGED, (ONE, BLOCKS, BLOCKS, PAGES), {}, "Must have cur_pos tensor for paged attention in causal mode"),
    (PAGED, (ONE, BLOCKS, (8, 1, 32, 32), PAGES), {"cur_pos_tensor": AT}, "Q, K, V must have same hidden size"),
    # The first of two faults.
    (WHOLE, (Q, K, (1, 2, 64, 32)), {"program_config": program(k=48)}, "hidden dim must match"),
    (WHOLE, (Q, K, K), {"attn_mask": (2, 1, 64, 64)}, "cannot both be present"),
    (DECODE, ((ONE, L1_MEMORY_CONFIG), CACHE, CACHE), {}, "must be DRAM when not sharded"),
    (PAGED, (ONE, (8, 2, 32, 64), (8, 2, 32, 64), PAGES), {"attention_sink": (1, 8, 1, 1)}, "Must have cur_pos tensor"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "words", "message"), FAULTS)
def test_a_call_with_a_fault(
    one: MeshDevice, name: str, operands: tuple[Any, ...], words: dict[str, Any], message: str
) -> None:
    asked = {"joint_strategy": "rear"} if name == JOINT else {}
    asked |= {
        word: value if word in ("memory_config", "cur_pos") else given(one, value)
        for word, value in words.items()
    }
    with pytest.raises(RuntimeError, match=message):
        named(f"transformer.{name}")(*(given(one, value) for value in operands), **asked)


OTHERS = [
    ("experimental.paged_update_cache", ((8, 2, 32, 64), ((1, 2, 32, 64), piece(HEIGHT, (1, 0), (32, 64)))), {"update_idxs_tensor": AT, "page_table": ((2, 2), U16)}, "page table to have datatype INT32"),
    ("experimental.paged_update_cache", ((8, 2, 32, 64), ((1, 2, 32, 64), piece(HEIGHT, (1, 0), (32, 64)))), {"update_idxs_tensor": AT, "page_table": ((3, 2), I32)}, "Batch size between page_table and input_tensor must match"),
    ("experimental.paged_fill_cache", ((8, 2, 32, 64), (1, 4, 32, 64), ((1, 2), I32)), {}, "cache has 4096 elems/block .* but input view is 8192"),
    ("experimental.paged_fill_cache", ((8, 2, 32, 64), (2, 32, 64), ((1, 2), I32)), {"batch_idx": 0}, r"3 not in \[-4, 3\)"),
    ("experimental.paged_fill_cache", ((8, 32, 64), (1, 2, 32, 64), ((1, 2), I32)), {"batch_idx": 0}, r"3 not in \[-4, 3\)"),
    ("experimental.paged_fill_cache", ((8, 2, 32, 64), (1, 2, 32, 64), ((2,), I32)), {"batch_idx": 0}, r"1 not in \[-4, 1\)"),
    ("experimental.paged_fill_cache", ((8, 2, 32, 64), (1, 2, 64, 64), ((1, 1, 4), I32)), {"batch_idx": 0}, r"must fit in max_num_blocks_per_seq \(1\)"),
    ("fill_cache", ((8, 32, 64), (1, 2, 32, 64), 0), {}, r"3 not in \[-4, 3\)"),
    ("experimental.nlp_create_qkv_heads", ((1, 1, 32, 128), ((1, 1, 32, 256), F32)), {"num_heads": 2}, "KV tensor dtype must be same as Q tensor dtype"),
    ("experimental.nlp_create_qkv_heads", ((2, 32, 128),), {"num_heads": 2, "num_kv_heads": 1}, r"3 not in \[-4, 3\)"),
    ("experimental.nlp_create_qkv_heads", ((1, 2, 32, 128),), {"num_heads": 2, "num_kv_heads": 1}, "Unsupported input sequence length 2 is not equal to 1"),
    ("experimental.nlp_create_qkv_heads", ((1, 1, 1, 32, 128),), {"num_heads": 2, "num_kv_heads": 1}, "Unsupported input shape"),
    ("experimental.nlp_create_qkv_heads_decode", (((1, 1, 2, 256), piece(WIDTH, (3, 0), (32, 64))),), {"num_heads": 4, "num_kv_heads": 2, "overlap_qk_coregrid": False}, "partial heads in shards"),
    ("scale_mask_softmax", (Q, 0.5, (1, 1, 64, 64)), {}, r"Mask height must be 1 or input tensor tile height \(32\), got: 64"),
    ("transformer.attention_softmax", (Q,), {"attention_mask": (1, 1, 64, 64)}, "A full causal mask is not accepted here"),
    ("scale_mask_softmax_in_place", (Q, 0.5, Q), {}, "intermediate dimensions must be 1, got 4 at dimension 1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "words", "message"), OTHERS)
def test_a_fault_beside_attention(
    one: MeshDevice, name: str, operands: tuple[Any, ...], words: dict[str, Any], message: str
) -> None:
    with pytest.raises(RuntimeError, match=message):
        named(name)(
            *(given(one, value) for value in operands), **{w: given(one, value) for w, value in words.items()}
        )


def test_keys_lie_behind_queries_where_they_do_not_share_cores(one: MeshDevice) -> None:
    x = given(one, ((1, 1, 2, 256), piece(WIDTH, (7, 0), (32, 32))))
    words = {"num_heads": 4, "num_kv_heads": 2, "overlap_qk_coregrid": False}
    found = named("experimental.nlp_create_qkv_heads_decode")(x, **words)
    assert [str(t.memory_config().shard_spec.grid) for t in found] == [
        "{[0-0 - 1-0]}",
        "{[2-0 - 3-0]}",
        "{[0-0 - 1-0]}",
    ]


def test_what_looks_like_a_fault_is_none(one: MeshDevice) -> None:
    """Chunks that are named need no cache of a power of two, blocks of values may be more, and one cache serves all users."""

    def attend(name: str, *operands: Any, **words: Any) -> Tensor:
        made = named(f"transformer.{name}")(*(given(one, value) for value in operands), **words)
        assert isinstance(made, Tensor)
        return made

    long = (2, 1, 100, 64)
    assert attend(DECODE, ONE, long, long, cur_pos=[1, 2], program_config=program()).shape == ONE
    assert attend(DECODE, ONE, (1, 1, 64, 64), (1, 1, 64, 64), cur_pos=[1, 2], share_cache=True).shape == ONE
    at = {"cur_pos_tensor": given(one, AT)}
    assert attend(PAGED, ONE, BLOCKS, (9, 1, 32, 64), PAGES, **at).shape == ONE
    rows = to_memory_config(given(one, ONE), piece(HEIGHT, (1, 0), (32, 64)))
    found = attend(
        DECODE, rows, CACHE, CACHE, cur_pos=[1, 2], program_config=program((2, 2), cut=cores((1, 1)))
    )
    assert found.memory_config() == DRAM_MEMORY_CONFIG


def test_heads_of_other_types(one: MeshDevice):
    queries, others = put(one, np.ones((1, 32, 128)), BF16), put(one, np.ones((1, 32, 256)), F32)
    with pytest.raises(RuntimeError, match="KV tensor dtype must be same as Q tensor dtype!"):
        named("transformer.split_query_key_value_and_split_heads")(queries, others, num_heads=2)
    for name, width in (("falcon7b", 73 * 64), ("vit", 2304)):
        with pytest.raises(RuntimeError, match="Unsupported data format"):
            named(f"experimental.nlp_create_qkv_heads_{name}")(put(one, np.ones((1, 1, 32, width)), I32))
