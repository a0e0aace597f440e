"""What caches refuse of what is to be written into them: in the words of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_grouped_heads import cut
from tests.runtime.ops.attention.test_rotary import by_core
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, U32, held, put
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tuning.blocks import SDPAProgramConfig


def ones(one: MeshDevice, *shape: int, dtype: Any = BF16, layout: Any = TILE) -> Any:
    return put(one, np.ones(shape), dtype, layout)


FILLED: list[tuple[Any, Any, str]] = [
    (BFP8, None, "Input and cache tensors must have same dtype!"),
    (BF16, (WIDTH, (1, 0), (64, 32)), "must not be WIDTH_SHARDED but got TensorMemoryLayout::WIDTH_SHARDED"),
    (BF16, (BLOCK, (1, 1), (32, 32)), r"Input tensor shard width \(32\) must equal padded width \(64\)"),
    (BF16, (HEIGHT, (0, 0), (128, 64)), "Seq len must be divisible by shard height!"),
]


@pytest.mark.parametrize("name", ["fill_cache", "kv_cache.fill_cache_for_user_"])
@pytest.mark.parametrize(("dtype", "place", "message"), FILLED)
def test_rows_of_a_sequence(one: MeshDevice, name: str, dtype: Any, place: Any, message: str):
    heads = 2 if place and place[2][0] == 128 else 1
    cache, rows = ones(one, 4, heads, 128, 64), np.ones((1, heads, 64, 64))
    given = put(one, rows, dtype) if place is None else cut(one, rows, *place)
    with pytest.raises(RuntimeError, match=message):
        named(name)(cache, given, 0)


def test_a_sequence_cut_by_height_is_filled_in(one: MeshDevice):
    rows = np.arange(64 * 64, dtype=np.float32).reshape(1, 1, 64, 64) % 97
    cache = put(one, np.zeros((2, 1, 128, 64)), BF16)
    named("fill_cache")(cache, cut(one, rows, HEIGHT, (1, 0), (32, 64)), 1)
    assert np.array_equal(held(cache)[1, :, :64], rows[0])


TOKEN: list[tuple[dict[str, Any], str]] = [
    ({"update_idxs": [1, 2]}, r"Number of update_idxs \(2\) should match batch size \(4\)"),
    (
        {"update_idxs": [1] * 4, "share_cache": True},
        "Share cache feature expects cache tensor to have batch of 1",
    ),
    ({"update_idxs": [1] * 4, "page_table": True}, "Paged cache requires update_idxs tensor"),
    ({"update_idxs_tensor": U32}, "Expected update_idxs to have datatype INT32"),
    ({"update_idxs": [1] * 4, "batch_offset": 1}, "batch_offset must be 0"),
    (
        {"update_idxs_tensor": I32, "page_table": True, "share_cache": True},
        "share_cache not supported with paged cache",
    ),
]


@pytest.mark.parametrize(("words", "message"), TOKEN)
def test_positions_of_tokens(one: MeshDevice, words: dict[str, Any], message: str):
    given = dict(words)
    if "page_table" in given:
        given["page_table"] = ones(one, 4, 1, dtype=I32, layout=ROW)
    if "update_idxs_tensor" in given:
        given["update_idxs_tensor"] = ones(one, 4, dtype=given["update_idxs_tensor"], layout=ROW)
    with pytest.raises(RuntimeError, match=message):
        named("experimental.paged_update_cache")(
            ones(one, 4, 2, 64, 64), by_core(one, np.ones((1, 4, 32, 64))), **given
        )


def test_tokens_are_on_a_core_each(one: MeshDevice):
    update, both = (named(f"experimental.paged_{word}update_cache") for word in ("", "fused_"))
    cache, rows = ones(one, 4, 2, 64, 64), np.ones((1, 4, 32, 64))
    with pytest.raises(RuntimeError, match=r"num_cores \(2\) equal to the number of users / batch \(4\)"):
        update(cache, cut(one, rows, HEIGHT, (1, 0), (64, 64)), update_idxs=[1] * 4)
    with pytest.raises(RuntimeError, match="must be FLOAT32 or BFLOAT16"):
        update(cache, cut(one, rows, HEIGHT, (3, 0), (32, 64), BFP8), update_idxs=[1] * 4)
    tokens = by_core(one, rows)
    with pytest.raises(RuntimeError, match="must not overlap"):
        both(cache, tokens, cache, tokens, update_idxs=[1] * 4)
    first, second = (put(one, np.zeros((4, 2, 64, 64)), BF16) for _ in range(2))
    both(first, tokens, second, by_core(one, 2 * rows, 4), update_idxs=[3] * 4)
    assert [held(cache)[:, :, 3].sum() / (4 * 2 * 64) for cache in (first, second)] == [1, 2]


def test_a_page_is_filled_for_one_user(one: MeshDevice):
    fill, pages = named("experimental.paged_fill_cache"), ones(one, 2, 4, dtype=I32, layout=ROW)
    cache = ones(one, 8, 2, 32, 64)
    with pytest.raises(RuntimeError, match=r"input_batch must be 1 \(got 2\)"):
        fill(cache, ones(one, 2, 2, 32, 64), pages)
    with pytest.raises(RuntimeError, match="Expect input_tensor to have memory layout INTERLEAVED"):
        fill(cache, cut(one, np.ones((1, 2, 32, 64)), HEIGHT, (1, 0), (32, 64)), pages)
    assert fill(cache, ones(one, 1, 2, 32, 64), pages).storage is cache.storage


@pytest.mark.parametrize(
    ("shape", "words", "message"),
    [
        ((1, 2, 160, 64), {}, r"Input seq_len \(160\) must fit in max_num_blocks_per_seq \(4\) \* block_size \(32\)"),
        ((1, 2, 32, 64), {"batch_idx": 2}, "Batch idx must be within the page_table batch size"),
        ((1, 2, 32, 64), {"batch_idx_tensor": 2}, r"input_tensor batch dim \(1\) elements, got 2"),
        ((1, 2, 32, 64), {"valid_seq_len_tensor": 1}, "only supported when cache_position_modulo is set"),
        ((1, 2, 32, 64), {"valid_seq_len_tensor": 2, "cache_position_modulo": 32}, "exactly 1 element"),
    ],
)  # fmt: skip
def test_users_and_lengths_that_a_page_table_has_not(
    one: MeshDevice, shape: tuple[int, ...], words: dict[str, int], message: str
):
    fill, pages = named("experimental.paged_fill_cache"), ones(one, 2, 4, dtype=I32, layout=ROW)
    given = {
        name: ones(one, value, dtype=I32, layout=ROW) if name.endswith("tensor") else value
        for name, value in words.items()
    }
    with pytest.raises(RuntimeError, match=message):
        fill(ones(one, 8, 2, 32, 64), ones(one, *shape), pages, **given)


@pytest.mark.parametrize(
    ("shape", "user", "start", "message"),
    [
        ((1, 2, 32, 96), 0, 0, r"Input tensor width \(96\) must equal cache tensor width \(64\)"),
        ((2, 2, 32, 64), 0, 0, "Input tensor batch size must be 1 but got 2"),
        ((1, 1, 32, 64), 0, 0, r"Input tensor height \(1\) must equal cache tensor height \(2\)"),
        ((1, 2, 32, 64), 4, 0, r"Batch index \(4\) must be less than cache tensor batch size \(4\)"),
        ((1, 2, 32, 64), 0, 8, r"Fill update_idx \(8\) must be a multiple of TILE_HEIGHT \(32\)"),
        ((1, 2, 40, 64), 0, 96, r"\(96\) \+ input tensor height \(64\) must be <= cache tensor height \(128\)"),
    ],
)  # fmt: skip
def test_sequences_that_a_cache_has_no_room_for(
    one: MeshDevice, shape: tuple[int, ...], user: int, start: int, message: str
):
    with pytest.raises(RuntimeError, match=message):
        named("fill_cache")(ones(one, 4, 2, 128, 64), ones(one, *shape), user, update_idx=start)


@pytest.mark.parametrize(
    ("chunk", "grid", "message"),
    [
        (48, (8, 8), "User provided k_chunk_size must be power of 2, got: 48"),
        (128, (8, 8), "K sequence length must be multiple of chunk size, got: 64 and 128"),
        (32, (1, 2), r"Cores available \(2\) must be >= batch size \(4\)"),
    ],
)
def test_programs_of_decoding(one: MeshDevice, chunk: int, grid: tuple[int, int], message: str):
    config = SDPAProgramConfig(compute_with_storage_grid_size=grid, q_chunk_size=0, k_chunk_size=chunk)
    query, cache = ones(one, 1, 4, 8, 64), ones(one, 4, 1, 64, 64)
    with pytest.raises(RuntimeError, match=message):
        named("transformer.scaled_dot_product_attention_decode")(
            query, cache, cache, cur_pos=[3] * 4, program_config=config
        )


def test_latent_decoding_looks_back_only(one: MeshDevice):
    with pytest.raises(RuntimeError, match="Multi-latent attention decode only tested for causal!"):
        named("transformer.flash_multi_latent_attention_decode")(
            ones(one, 1, 4, 8, 64), ones(one, 4, 1, 64, 64), head_dim_v=32, is_causal=False
        )


def test_masks_of_softmax(one: MeshDevice):
    attend, values = named("transformer.attention_softmax"), np.random.default_rng(2).standard_normal
    x, mask = (np.asarray(values(shape), np.float32) for shape in ((2, 3, 64, 64), (2, 1, 32, 64)))
    found = held(attend(put(one, x, F32), head_size=64, attention_mask=put(one, mask, F32)))
    scores = x.astype(float) / 8 + mask[:, :, :1]
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    assert np.allclose(found, weights / weights.sum(-1, keepdims=True), atol=1e-5)
    with pytest.raises(RuntimeError, match="Input and mask batch sizes must match, got input: 2 vs mask: 1"):
        attend(put(one, x, F32), head_size=64, attention_mask=put(one, mask[:1], F32))
    with pytest.raises(RuntimeError, match="requires an attention mask"):
        named("scale_mask_softmax")(put(one, x, F32), is_causal_mask=True)
    with pytest.raises(RuntimeError, match="Currently softmax inplace supports dim -1"):
        named("softmax_in_place")(put(one, x[0], F32))
