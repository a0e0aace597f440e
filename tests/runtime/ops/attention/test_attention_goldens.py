"""Attention over caches, joined sequences, heads and masked softmax against their golden functions, which know nothing of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.golden import compare
from tests.runtime.ops.tensors import TILE, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tools.golden import get_golden_function

torch = pytest.importorskip("torch")


def draw(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


PAGES = np.array([[0, 3, 1], [2, 5, 8], [4, 6, 7]], np.int32)
AT = np.array([5, 40, 95], np.int32)
ONE, KEYS, VALUES = draw(1, 3, 8, 64), draw(3, 2, 96, 64), draw(3, 2, 96, 64) * 2
BLOCKS, VALUE_BLOCKS, LATENT_BLOCKS = draw(9, 2, 32, 64), draw(9, 2, 32, 64) * 2, draw(9, 1, 32, 64)
QUERIES, SCORES, MASK = draw(3, 8, 32, 64), draw(2, 4, 32, 32), draw(2, 1, 32, 32)
SIDE, REST = draw(2, 4, 32, 32), draw(2, 4, 64, 32)

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"cur_pos": [5, 40, 95]}),
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"cur_pos": [5, -1, 95]}),
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"cur_pos_tensor": AT, "scale": 0.3}),
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"cur_pos": [5, 40, 95], "sliding_window_size": 8}),
    ("scaled_dot_product_attention_decode", (ONE, KEYS, VALUES), {"is_causal": False, "attn_mask": draw(3, 1, 8, 96)}),
    ("paged_scaled_dot_product_attention_decode", (ONE, BLOCKS, VALUE_BLOCKS, PAGES), {"cur_pos_tensor": AT}),
    ("chunked_scaled_dot_product_attention", (QUERIES, BLOCKS, VALUE_BLOCKS, PAGES, 32), {}),
    ("chunked_flash_mla_prefill", (QUERIES, LATENT_BLOCKS, 32, PAGES, 32), {}),
    ("flash_mla_prefill", (QUERIES, draw(3, 1, 32, 64), 32), {}),
    ("flash_mla_prefill", (QUERIES, draw(3, 1, 32, 64), 32), {"is_causal": False}),
    ("flash_multi_latent_attention_decode", (ONE, draw(3, 1, 96, 64)), {"head_dim_v": 32, "cur_pos": [1, 2, 90]}),
    ("paged_flash_multi_latent_attention_decode", (ONE, LATENT_BLOCKS), {"head_dim_v": 32, "page_table_tensor": PAGES, "cur_pos_tensor": AT}),
    ("joint_scaled_dot_product_attention", (SIDE, SIDE * 2, SIDE * 3, REST, REST * 2, REST * 3), {"joint_strategy": "rear"}),
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


@pytest.mark.parametrize(("name", "given", "keywords"), CASES)
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
        return put(device, value, DataType.INT32, Layout.ROW_MAJOR)

    operation = catalog.find(name)
    assert operation is not None
    found = operation(*map(on_mesh, given), **{word: on_mesh(v) for word, v in keywords.items()})
    golden = get_golden_function(operation)
    wanted = golden(*map(of_torch, given), **{word: of_torch(v) for word, v in keywords.items()})
    several = isinstance(found, (list, tuple))
    for result, values in zip(found, wanted, strict=True) if several else [(found, wanted)]:
        compare(result, values.numpy(), steps=64)


def test_what_no_golden_function_knows_has_none() -> None:
    for word in ("attention_sink", "paged_cache_geometry", "cache_position_modulo"):
        operation = catalog.find("ttnn.transformer.paged_scaled_dot_product_attention_decode")
        assert operation is not None
        assert (
            get_golden_function(operation)(*map(of_torch, (ONE, BLOCKS, BLOCKS, PAGES)), **{word: 1}) is None
        )
