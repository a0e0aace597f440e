"""Where joined and split heads lie, and what BERT-large's forms refuse: recorded from reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_grouped_heads import cut, numbers
from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH
from tests.runtime.ops.placement.test_reordered_shards import BM, HM, WM
from tests.runtime.ops.tensors import BF16, F32, held, put
from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG

JOINED: list[tuple[Any, Any, Any]] = [
    ((1, HEIGHT, (3, 0), (64, 64)), BM, (BLOCK, (3, 0), (64, 64))),
    ((1, HEIGHT, (3, 0), (64, 64)), WM, (WIDTH, (3, 0), (64, 64))),
    ((1, HEIGHT, (1, 0), (128, 64)), BM, (BLOCK, (1, 0), (64, 128))),
    ((2, HEIGHT, (3, 1), (64, 64)), BM, (BLOCK, (3, 1), (64, 64))),
    ((1, HEIGHT, (3, 0), (64, 64)), HM, "Shard width 64 must match physical width 256 for height sharded"),
    ((1, HEIGHT, (3, 0), (64, 64)), None, "Shard width 64 must match physical width 256 for height sharded"),
    ((1, HEIGHT, (3, 0), (64, 64)), DRAM_MEMORY_CONFIG, "requires a sharded output memory config but got"),
    ((2, HEIGHT, (1, 0), (256, 64)), HM, "layout must not be HEIGHT_SHARDED but got"),
    ((2, HEIGHT, (7, 0), (64, 64)), BM, "Number of shards along height 2 must not exceed number of rows 1"),
    (
        (1, BLOCK, (1, 3), (64, 32)),
        None,
        r"Input tensor shard width \(32\) must equal padded width \(64\)",
    ),
    ((1, HEIGHT, (7, 0), (32, 64)), BM, "pieces of 32 rows hold no whole head, which has 64"),
]


@pytest.mark.parametrize(("given", "asked", "wanted"), JOINED)
def test_heads_are_joined_on_their_cores(one: MeshDevice, given: Any, asked: Any, wanted: Any):
    users, *place = given
    x = numbers(users, 4, 64, 64)
    tensor, join = cut(one, x, *place), named("experimental.nlp_concat_heads")
    if isinstance(wanted, str):
        with pytest.raises(RuntimeError, match=wanted):
            join(tensor, memory_config=asked)
        return
    found = join(tensor, memory_config=asked)
    assert np.array_equal(held(found), x.swapaxes(1, 2).reshape(users, 1, 64, 256))
    assert where(found) == wanted


def test_heads_on_cores_are_joined_into_pages(one: MeshDevice):
    x = numbers(2, 4, 64, 64)
    join = named("transformer.concatenate_heads")
    for place in ((HEIGHT, (3, 0), (128, 64)), (HEIGHT, (7, 0), (64, 64))):
        found = join(cut(one, x, *place), memory_config=DRAM_MEMORY_CONFIG)
        assert np.array_equal(held(found), x.swapaxes(1, 2).reshape(2, 64, 256))
        assert found.memory_config() == DRAM_MEMORY_CONFIG


SPLIT = "experimental.split_query_key_value_and_split_heads"


def test_each_core_keeps_the_heads_that_it_has(one: MeshDevice):
    x = numbers(2, 1, 64, 384)
    q, k, v = named(SPLIT)(
        cut(one, x, BLOCK, (1, 1), (64, 192)), CoreCoord(2, 2), num_heads=4, memory_config=HM
    )
    pieces = x.reshape(2, 64, 2, 3, 2, 32)
    wanted = [pieces[:, :, :, i].reshape(2, 64, 4, 32).swapaxes(1, 2) for i in range(3)]
    for found, value in zip((q, k, v), (wanted[0], wanted[1].swapaxes(-1, -2), wanted[2]), strict=True):
        assert np.array_equal(held(found), value)
        assert where(found) == (HEIGHT, (1, 1), (value[..., 0].size // 4, value.shape[-1]))


@pytest.mark.parametrize(
    ("place", "words", "message"),
    [
        ((BLOCK, (1, 1), (64, 192)), {}, r"Bounding box end coordinates \(1, 1\) must be less than grid size \(1, 1\)"),
        ((HEIGHT, (3, 0), (32, 384)), {}, "must be less than grid size"),
        ((BLOCK, (1, 1), (64, 192), F32), {}, "Unsupported data format"),
        ((BLOCK, (1, 1), (64, 192)), {"num_heads": 3}, "3 heads cannot be cut over 2 columns of cores"),
        (None, {}, "Input batch size must be between 7 to 9 for bert large TM ops!"),
    ],
)  # fmt: skip
def test_bert_splits_are_refused(one: MeshDevice, place: Any, words: dict[str, Any], message: str):
    x = numbers(2, 1, 64, 384)
    tensor = put(one, x, BF16) if place is None else cut(one, x, *place)
    with pytest.raises(RuntimeError, match=message):
        named(SPLIT)(tensor, CoreCoord(*((2, 2) if words else (1, 1))), **({"num_heads": 4} | words))


def test_bert_heads(one: MeshDevice, monkeypatch: pytest.MonkeyPatch):
    """A row of cores for each user, as many as tiles of rows: more than Wormhole has."""
    join = named("experimental.concatenate_heads")
    x = numbers(8, 16, 384, 64)
    tensor = put(one, x, BF16)
    grid = CoreCoord(8, 8)
    with pytest.raises(RuntimeError, match="core 8-0 is outside the worker grid 8x8"):
        join(tensor, grid)
    with pytest.raises(RuntimeError, match="Unsupported grid shape"):
        join(tensor, CoreCoord(12, 9))
    with pytest.raises(RuntimeError, match="Unsupported input shape"):
        join(put(one, np.ones((8, 8, 384, 64)), BF16), grid)
    with pytest.raises(RuntimeError, match="Input batch size must be between 7 to 9"):
        join(put(one, np.ones((6, 16, 384, 64)), BF16), grid)
    with pytest.raises(RuntimeError, match="core 8-0 is outside the worker grid 8x8"):
        named(SPLIT)(put(one, np.ones((8, 1, 384, 3072)), BF16), grid, num_heads=16)
    monkeypatch.setattr(type(one), "compute_with_storage_grid_size", lambda self: CoreCoord(13, 10))
    assert np.array_equal(held(join(tensor, grid)), x.swapaxes(1, 2).reshape(8, 1, 384, 1024))


def test_few_rows_of_a_bert_projection_are_split(one: MeshDevice):
    x = numbers(8, 1, 128, 384)
    q, k, v = named(SPLIT)(put(one, x, BF16), CoreCoord(8, 8), num_heads=4)
    parts = x.reshape(8, 128, 3, 4, 32).transpose(2, 0, 3, 1, 4)
    for found, value in zip((q, k, v), (parts[0], parts[1].swapaxes(-1, -2), parts[2]), strict=True):
        assert np.array_equal(held(found), value)


def test_heads_are_as_wide_as_tiles(one: MeshDevice):
    x = numbers(1, 1, 64, 480)
    q, k, v = named("experimental.nlp_create_qkv_heads")(put(one, x, BF16), num_heads=4)
    parts = np.pad(x.reshape(1, 64, 3, 4, 40).transpose(2, 0, 3, 1, 4), ((0, 0),) * 4 + ((0, 24),))
    for found, value in zip((q, k, v), (parts[0], parts[1].swapaxes(-1, -2), parts[2]), strict=True):
        assert np.array_equal(held(found), value)
    cache = numbers(1, 4, 128, 40)
    rows = named("experimental.nlp_kv_cache_load_slice")(
        put(one, cache, BF16), seq_len_start=32, seq_len_end=96
    )
    assert np.array_equal(held(rows), np.pad(cache[:, :, 32:96], ((0, 0),) * 3 + ((0, 24),)))
    assert where(rows) == (HEIGHT, (3, 0), (64, 64))
