"""Attention over caches, joined sequences, heads and masked softmax against their golden functions, which know nothing of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.golden import compare
from tests.runtime.ops.tensors import TILE, put
from tests.sweep import thinned
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tools.golden import get_golden_function
from tt_run.runtime.tuning.blocks import PagedCacheGeometryOverride
from tt_run.runtime.tuning.choices import SparseKVFormat

pytestmark = pytest.mark.usefixtures("float32_too")

torch = pytest.importorskip("torch")


def draw(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


PAGES = np.array([[0, 3, 1], [2, 5, 8], [4, 6, 7]], np.int32)
AT = np.array([5, 40, 95], np.int32)
ONE, KEYS, VALUES = draw(1, 3, 8, 64), draw(3, 2, 96, 64), draw(3, 2, 96, 64) * 2
BLOCKS, VALUE_BLOCKS, LATENT_BLOCKS = draw(9, 2, 32, 64), draw(9, 2, 32, 64) * 2, draw(9, 1, 32, 64)
QUERIES, SCORES, MASK = draw(3, 8, 32, 64), draw(2, 4, 32, 32), draw(2, 1, 32, 32)
SIDE, REST = draw(2, 4, 32, 32), draw(2, 4, 64, 32)

NOTHING = 0xFFFFFFFF
DELTA = (
    draw(2, 9, 2, 32),
    draw(2, 9, 2, 32) * 0.1,
    draw(2, 9, 4, 64),
    -abs(draw(2, 9, 4)),
    draw(2, 9, 4) % 1,
)

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"cur_pos": [5, 40, 95]}),
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"cur_pos_tensor": np.array([5, -1, 95], np.int32)}),
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"cur_pos_tensor": AT, "scale": 0.3}),
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"cur_pos": [5, 40, 95], "sliding_window_size": 8}),
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"is_causal": False, "attn_mask": draw(3, 1, 8, 96)}),
    ("paged_scaled_dot_product_attention_decode", (ONE, BLOCKS, VALUE_BLOCKS, PAGES), {"cur_pos_tensor": AT}),
    ("chunked_scaled_dot_product_attention", (QUERIES, BLOCKS, VALUE_BLOCKS, PAGES, 32), {}),
    ("chunked_flash_mla_prefill", (QUERIES, LATENT_BLOCKS, 32, PAGES, 32), {}),
    ("flash_mla_prefill", (QUERIES, draw(3, 1, 32, 64), 32), {}),
    ("flash_mla_prefill", (QUERIES, draw(3, 1, 32, 64), 32), {"is_causal": False}),
    ("flash_mla_prefill", (QUERIES, draw(3, 1, 32, 64), draw(3, 4, 32, 32)), {}),
    ("flash_multi_latent_attention_decode", (ONE, draw(3, 1, 96, 64)), {"head_dim_v": 32, "cur_pos": [1, 2, 90]}),
    ("paged_flash_multi_latent_attention_decode", (ONE, LATENT_BLOCKS), {"head_dim_v": 32, "page_table_tensor": PAGES, "cur_pos_tensor": AT}),
    ("joint_scaled_dot_product_attention", (SIDE, SIDE * 2, SIDE * 3, REST, REST * 2, REST * 3), {"joint_strategy": "rear"}),
    *(("scaled_dot_product_attention", (SIDE, SIDE[:, :2] * 2, SIDE[:, :2] * 3), words) for words in (
        {"scale": 0.2}, {"sliding_window_size": 5}, {"is_causal": False, "sliding_window_size": 6}, {"is_causal": False, "attn_mask": MASK},
        {"attention_sink": draw(1, 4, 1, 1)}, {"is_causal": False, "cu_window_seqlens": np.array([0, 5, 20, 32], np.int32)},
        {"output_concat_heads": True},
    )),
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"cur_pos": [5, 40, 95], "attention_sink": draw(8, 32)}),
    *(("paged_scaled_dot_product_attention_decode", (ONE, BLOCKS, VALUE_BLOCKS, PAGES), {"cur_pos_tensor": AT, **words}) for words in (
        {"cache_position_modulo": 64}, {"cache_position_modulo": 64, "sliding_window_size": 32, "attention_sink": draw(8, 32)},
    )),
    ("paged_scaled_dot_product_attention_decode", (ONE, draw(9, 2, 64, 64), draw(9, 2, 64, 64), PAGES),
        {"cur_pos_tensor": AT, "paged_cache_geometry": PagedCacheGeometryOverride(block_size=32, num_kv_heads=4)}),
    ("chunked_scaled_dot_product_attention", (QUERIES, BLOCKS, VALUE_BLOCKS, PAGES, 32), {"attention_sink": draw(1, 8, 1, 1), "sliding_window_size": 9}),
    *(("fused_recurrent_gated_delta_rule", DELTA, words) for words in ({"scale": 0.3, "output_final_state": True}, {"output_per_token_state": True})),
    ("chunk_gated_delta_rule", DELTA, {"initial_state": draw(2, 4, 32, 64), "output_final_state": True, "output_head_major": True}),
    ("gated_delta_attn_seq", (np.tril(draw(3, 2, 32, 32)) * 0.1 + np.eye(32, dtype=np.float32), draw(3, 2, 32, 64), draw(3, 2, 32, 32),
        draw(3, 2, 32, 32), draw(3, 2, 32, 32), draw(3, 2, 32, 32), draw(3, 2, 1, 1), draw(3, 2, 32, 32)), {"initial_state": draw(3, 32, 64)}),
    *(("sparse_sdpa", (draw(1, 4, 3, 96), draw(2, 1, 64, 96), np.array([[[[1, 5, 60], [7, NOTHING, NOTHING], [0, 3, NOTHING]]]]), 64),
        {"kv_format": SparseKVFormat.BF16, **words}) for words in ({}, {"cache_batch_idx": 1, "scale": 0.1}, {"attention_sink": draw(1, 1, 1, 4)})),
    *(("sparse_sdpa_msa", (draw(1, 4, 2, 32), draw(1, 2, 128, 32), draw(1, 2, 128, 64), np.array([[[[1, 0], [3, NOTHING]], [[2, 3], [NOTHING, NOTHING]]]])),
        {"block_size": 32, **words}) for words in ({}, {"chunk_start_idx": 70})),
    *(("ring_distributed_scaled_dot_product_attention", (draw(1, 4, 128, 32), draw(1, 2, 128, 32), draw(1, 2, 128, 32), 2, place), {}) for place in (0, 1)),
    *(("flash_mla_prefill", (QUERIES, draw(3, 1, 32, 64), 32), words) for words in (
        {"scale": 0.3}, {"is_causal": False, "attn_mask": draw(3, 1, 32, 32)}, {"input_tensor_v": draw(3, 1, 32, 32)},
    )),
    ("chunked_flash_mla_prefill", (QUERIES, LATENT_BLOCKS, 32, PAGES, 64), {"scale": 0.3}),
    ("chunked_scaled_dot_product_attention", (QUERIES, BLOCKS, VALUE_BLOCKS, PAGES, 64), {"scale": 0.3}),
    ("joint_scaled_dot_product_attention", (SIDE, SIDE * 2, SIDE * 3, REST, REST * 2, REST * 3), {"joint_strategy": "rear", "scale": 0.4}),
    ("ring_distributed_scaled_dot_product_attention", (draw(1, 4, 128, 32), draw(1, 2, 128, 32), draw(1, 2, 128, 32), 2, 1), {"scale": 0.4}),
    *(("flash_multi_latent_attention_decode", (ONE, draw(3, 1, 96, 64)), {"head_dim_v": 32, **words}) for words in (
        {"cur_pos": [1, 2, 90], "scale": 0.3}, {"cur_pos_tensor": AT, "sliding_window_size": 8}, {"cur_pos_tensor": AT, "attention_sink": draw(8, 32)},
    )),
    ("flash_multi_latent_attention_decode", (ONE, draw(3, 1, 96, 64)), {"cur_pos_tensor": AT, "input_tensor_v": draw(3, 1, 96, 64)}),
    *(("paged_flash_multi_latent_attention_decode", (ONE, LATENT_BLOCKS), {"head_dim_v": 32, "page_table_tensor": PAGES, **words}) for words in (
        {"cur_pos_tensor": AT, "scale": 0.3}, {"cur_pos_tensor": AT, "sliding_window_size": 8}, {"cur_pos_tensor": AT, "attention_sink": draw(8, 32)},
    )),
    ("paged_flash_multi_latent_attention_decode", (ONE, LATENT_BLOCKS), {"page_table_tensor": PAGES, "cur_pos_tensor": AT, "input_tensor_v": LATENT_BLOCKS}),
    *(("paged_scaled_dot_product_attention_decode", (ONE, BLOCKS, VALUE_BLOCKS, PAGES), words) for words in (
        {"cur_pos_tensor": AT, "scale": 0.3}, {"cur_pos_tensor": AT, "sliding_window_size": 8}, {"cur_pos_tensor": AT, "attention_sink": draw(8, 32)},
        {"is_causal": False, "attn_mask": draw(3, 1, 8, 96), "cur_pos_tensor": AT},
    )),
    ("scaled_dot_product_attention_decode", (ONE, KEYS[:1], VALUES[:1]), {"cur_pos": [5, 40, 95], "share_cache": True}),
    ("scaled_dot_product_attention", (SIDE, SIDE, SIDE), {"is_causal": False, "cu_window_seqlens": np.array([0, 5, 20, 32], np.int32), "scale": 0.3}),
    ("scaled_dot_product_attention", (SIDE[:, :, :10], SIDE, SIDE),
        {"is_causal": False, "cu_window_seqlens": np.array([0, 5, 20, 32], np.int32), "windowed_q_token_offset": 14}),
    ("scaled_dot_product_attention", (SIDE[:, :, :10], SIDE, SIDE),
        {"is_causal": False, "cu_window_seqlens": np.array([0, 5, 20, 32], np.int32), "windowed_q_token_offset_tensor": np.array([14], np.int32)}),
    ("sparse_sdpa_msa", (draw(1, 4, 2, 32), draw(1, 2, 128, 32), draw(1, 2, 128, 64), np.array([[[[1, 0], [3, NOTHING]], [[2, 3], [NOTHING, NOTHING]]]])),
        {"block_size": 32, "scale": 0.3}),
    ("chunk_gated_delta_rule", DELTA, {"scale": 0.3, "chunk_size": 32}),
    *(("attention_softmax" + form, (SCORES,), {"head_size": 16, "attention_mask": MASK, "causal_mask": True}) for form in ("", "_")),
    ("attention_softmax", (SCORES,), {"head_size": 64, "attention_mask": MASK}),
    ("attention_softmax_", (SCORES,), {"head_size": 64, "attention_mask": MASK}),
    ("split_query_key_value_and_split_heads", (draw(2, 32, 384),), {"num_heads": 4}),
    ("split_query_key_value_and_split_heads", (draw(2, 32, 128), draw(2, 32, 128)), {"num_heads": 4, "num_kv_heads": 2, "transpose_key": False}),
    ("concatenate_heads", (SCORES,), {}),
]  # fmt: skip


def of_torch(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return torch.from_numpy(value.astype(np.float64) if value.dtype.kind == "f" else value)


@pytest.mark.filterwarnings("ignore:attn_mask holds")
@pytest.mark.parametrize(("name", "given", "keywords"), thinned(CASES, 3))
def test_attention(one: MeshDevice, name: str, given: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    against(one, f"ttnn.transformer.{name}", given, keywords)


@pytest.mark.parametrize("name", ["scale_mask_softmax", "scale_mask_softmax_in_place"])
def test_masked_softmax(one: MeshDevice, name: str) -> None:
    against(one, f"ttnn.{name}", (SCORES, 0.5, MASK), {})


def against(device: MeshDevice, name: str, given: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Compare an operation with its golden function, which takes the same values in float64."""

    def on_mesh(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype.kind == "f":
            return put(device, value, DataType.FLOAT32, TILE)
        wide = value.max() > np.iinfo(np.int32).max
        return put(
            device,
            value.astype(np.uint32 if wide else np.int32),
            DataType.UINT32 if wide else DataType.INT32,
            Layout.ROW_MAJOR,
        )

    operation = catalog.find(name)
    assert operation is not None
    found = operation(*map(on_mesh, given), **{word: on_mesh(v) for word, v in keywords.items()})
    golden = get_golden_function(operation)
    wanted = golden(*map(of_torch, given), **{word: of_torch(v) for word, v in keywords.items()})
    several = isinstance(found, (list, tuple))
    for result, values in zip(found, wanted, strict=True) if several else [(found, wanted)]:
        if values is None:
            assert result is None
        elif values.abs().sum():  # room for statistics is zeros
            compare(result, values.double().numpy(), steps=64)
