"""Products of queries with each user's keys: values against NumPy, places and refusals as those of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_grouped_heads import cut
from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import HEIGHT, WIDTH
from tests.runtime.ops.placement.test_reordered_shards import BY_COLUMN, HM
from tests.runtime.ops.tensors import BF16, BFP8, F32, held, near, put, rounded
from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig

pytestmark = pytest.mark.torch
pytest.importorskip("torch")
EXACT = {"compute_kernel_config": WormholeComputeKernelConfig(fp32_dest_acc_en=True)}
GRID = {"compute_with_storage_grid_size": CoreCoord(8, 8)}


def call(name: str, *args: Any, **words: Any) -> Any:
    return named(f"experimental.{name}")(*args, **(GRID | words))


def products(q: Any, k: Any) -> Any:
    """Queries (1, heads, users, D) and keys (users, kv heads, D, keys) in float64, as (1, heads, users, keys)."""
    keys = np.repeat(k, q.shape[1] // k.shape[1], 1).astype(float)
    return np.einsum("qhbd,bhdn->qhbn", q.astype(float), keys)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("users", [32, 20])
def test_products_with_each_users_keys(one: MeshDevice, groups: int, users: int):
    q, k = sample(F32, 1, 8, users, 40), sample(F32, 32, groups, 40, 90, seed=1)
    whole = np.pad(q, ((0, 0), (0, 0), (0, 32 - users), (0, 0)))
    wanted = np.pad(products(whole, k), ((0, 0), (0, 0), (0, 0), (0, 6)))
    name = "attn_matmul" if groups == 1 else "group_attn_matmul"
    near(call(name, put(one, q), put(one, k), **EXACT), wanted, steps=64)


@pytest.mark.parametrize("tokens", [64, 40])
def test_products_with_rows_of_a_cache(one: MeshDevice, tokens: int):
    q, cache = sample(F32, 1, 8, 32, 64), sample(F32, 32, 1, 128, 64, seed=1)
    read = {"num_tokens": tokens, **EXACT}
    found = call("attn_matmul_from_cache", put(one, q), put(one, cache), transpose_hw=True, **read)
    near(found, products(q, cache[:, :, :64].swapaxes(-1, -2)), steps=64)
    found = call("attn_matmul_from_cache", put(one, q), put(one, cache), transpose_hw=False, **read)
    near(found, products(q, cache[:, :, :64]), steps=64)


@pytest.mark.parametrize("dtype", [None, F32, BFP8])
def test_products_are_written_where_they_are_asked_for(one: MeshDevice, dtype: DataType | None):
    q, k = sample(BF16, 1, 8, 32, 64), sample(BF16, 32, 2, 64, 96, seed=1)
    given, words = (put(one, q, BF16), put(one, k, BF16)), {"dtype": dtype, **EXACT}
    found = call("group_attn_matmul", *given, **words)
    exact = call("group_attn_matmul", *given, **(words | {"dtype": F32}))
    near(exact, products(q, k), steps=64)
    assert found.dtype is (dtype or BF16)
    assert np.array_equal(held(found), rounded(held(exact), found.dtype))
    room = put(one, np.ones((1, 8, 32, 96)), found.dtype)
    again = call("group_attn_matmul", *given, **words, optional_output_tensor=room)
    assert again.storage is room.storage and np.array_equal(held(room), held(found))


CACHED = {"num_tokens": 64, "transpose_hw": True}
REFUSED: list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any], str]] = [
    ("attn_matmul", (2, 8, 32, 64), (32, 1, 64, 96), {}, "Input q_len must be 1!"),
    ("attn_matmul", (1, 8, 32, 64), (32, 2, 64, 96), {}, "Number of kv_heads must be 1!"),
    ("attn_matmul", (1, 8, 20, 64), (20, 1, 64, 96), {}, "Num of users must match!"),
    ("attn_matmul", (1, 8, 32, 64), (32, 1, 96, 96), {}, r"Dimension K \(A.shape\[3\]and B.shape\[2\]\) must match"),
    ("attn_matmul", (1, 8, 32, 64), (32, 1, 64, 96), {"dtype": F32}, "fp32_dest_acc_en must be set"),
    ("attn_matmul", (1, 8, 32, 64), (32, 1, 64, 96), {"memory_config": HM}, "bad optional access"),
    ("attn_matmul_from_cache", (1, 8, 32, 64), (32, 1, 128, 32), CACHED, "A.shape\\[3\\] must match B.shape\\[3\\]"),
    ("attn_matmul_from_cache", (1, 8, 32, 64), (32, 1, 128, 64), CACHED | {"num_tokens": 160}, "smaller or equal to the max cache"),
    ("attn_matmul_from_cache", (1, 8, 32, 96), (32, 1, 128, 64), CACHED | {"transpose_hw": False}, "must match the length of the"),
    ("group_attn_matmul", (1, 8, 32, 64), (32, 3, 64, 96), {}, "Number of q_heads must be divisible by kv_heads!"),
    ("group_attn_matmul", (1, 8, 64, 64), (64, 2, 64, 96), {}, "Only batch 32 is supported for group attention matmul!"),
    ("group_attn_matmul", (1, 8, 32, 64), (32, 2, 64, 96), {"compute_with_storage_grid_size": CoreCoord(4, 4)}, "Compute grid size is too"),
    ("group_attn_matmul", (1, 128, 32, 64), (32, 2, 64, 96), {}, "we require at most 1 q_heads per core"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "queries", "keys", "words", "message"), REFUSED)
def test_products_are_refused(
    one: MeshDevice, name: str, queries: Any, keys: Any, words: dict[str, Any], message: str
):
    with pytest.raises(RuntimeError, match=message):
        call(name, put(one, np.ones(queries), BF16), put(one, np.ones(keys), BF16), **words)


def test_each_head_of_queries_is_on_a_core(one: MeshDevice):
    keys = put(one, np.ones((32, 2, 64, 96)), BF16)
    spread = put(one, np.ones((1, 8, 32, 64)), BF16)
    queries = cut(one, np.ones((1, 8, 32, 64)), HEIGHT, (7, 0), (32, 64))
    assert where(call("group_attn_matmul", queries, keys)) == DRAM_MEMORY_CONFIG
    assert where(call("group_attn_matmul", queries, keys, memory_config=L1_MEMORY_CONFIG)) == L1_MEMORY_CONFIG
    assert where(call("group_attn_matmul", queries, keys, memory_config=HM)) == (HEIGHT, (7, 0), (32, 96))
    turned = call("group_attn_matmul", spread, keys, memory_config=HM)
    assert where(turned) == (HEIGHT, (0, 7), (32, 96))
    assert turned.memory_config().shard_spec.orientation is BY_COLUMN
    by_row = call(
        "group_attn_matmul",
        spread,
        cut(one, np.ones((32, 2, 64, 96)), HEIGHT, (7, 3), (128, 96)),
        memory_config=HM,
    )
    assert where(by_row) == (HEIGHT, (7, 0), (32, 96))
    for kind, last, piece, words in (
        (HEIGHT, (3, 0), (64, 64), "Q heads must be sharded on number of q heads!"),
        (
            WIDTH,
            (1, 0),
            (256, 32),
            "A memory layout must be HEIGHT_SHARDED but got TensorMemoryLayout::WIDTH",
        ),
    ):
        with pytest.raises(RuntimeError, match=words):
            call("group_attn_matmul", cut(one, np.ones((1, 8, 32, 64)), kind, last, piece), keys)
    with pytest.raises(RuntimeError, match="Shard width 64 must match physical width 96 for height sharded"):
        call("attn_matmul", queries, put(one, np.ones((32, 1, 64, 96)), BF16))
