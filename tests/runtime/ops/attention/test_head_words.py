"""Keys and values in a tensor of their own, in the same columns, and in tensors that are given for them: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_grouped_heads import cut, numbers
from tests.runtime.ops.attention.test_rotary import by_core
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import WIDTH
from tests.runtime.ops.tensors import BF16, held, put
from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.mesh import MeshDevice

SEQUENCE, PAIRS = "experimental.nlp_create_qkv_heads", "experimental.nlp_create_qkv_heads_boltz"


def heads_of(columns: Any, count: int, turned: bool = False) -> Any:
    """(…, rows, count * 32) as (…, count, rows, 32), of a sequence (B, 1, S, …) or of pairs (1, S, S, …)."""
    split = columns.reshape(*columns.shape[:-1], count, -1)
    split = split[0].transpose(2, 0, 1, 3) if columns.shape[1] > 1 else split[:, 0].swapaxes(1, 2)
    return split.swapaxes(-1, -2) if turned else split


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("tied", "fused"), [(False, False), (True, False), (True, True)])
def test_columns_of_keys_and_values(one: MeshDevice, turned: bool, tied: bool, fused: bool):
    heads, kv_heads = (2, 2) if fused else (4, 2)
    x = numbers(2, 1, 40, 32 * (heads + kv_heads if fused else heads))
    rest = numbers(2, 1, 40, 32 * kv_heads * (1 if tied else 2))
    keys = x[..., 32 * heads :] if fused else rest[..., : 32 * kv_heads]
    values = keys if tied else rest[..., 32 * kv_heads :]
    given = (x,) if fused else (x, rest)
    words = {"num_heads": heads, "num_kv_heads": kv_heads, "transpose_k_heads": turned, "kv_tied": tied}
    found = named(SEQUENCE)(*(put(one, part, BF16) for part in given), **words)
    for tensor, part, count, key in zip(
        found, (x[..., : 32 * heads], keys, values), (heads, kv_heads, kv_heads), (0, turned, 0), strict=True
    ):
        assert np.array_equal(held(tensor), heads_of(part, count, bool(key)))


@pytest.mark.parametrize(
    ("columns", "of_keys", "heads", "message"),
    [
        (192, None, (4, 2), r"width 192 is divisible by both 6 \(tied\) and 8 \(untied\) sections"),
        (128, None, (4, 0), r"divisible by both 4 \(tied\) and 4 \(untied\)"),
        (256, None, (4, 2), "Unsupported input shape"),
        (128, 128, (4, 2), "Head dims must be the same for Q and K, V"),
    ],
)
def test_what_tied_columns_may_not_be(
    one: MeshDevice, columns: int, of_keys: int | None, heads: Any, message: str
):
    given = [put(one, np.ones((1, 1, 32, width)), BF16) for width in (columns, of_keys) if width]
    with pytest.raises(RuntimeError, match=message):
        named(SEQUENCE)(*given, num_heads=heads[0], num_kv_heads=heads[1], kv_tied=True)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("kv_heads", "fused"), [(None, False), (2, False), (2, True), (None, True)])
def test_pairs(one: MeshDevice, turned: bool, kv_heads: int | None, fused: bool):
    count = kv_heads or 4
    parts = [numbers(1, 32, 32, 32 * n) for n in (4, count, count)]
    given = [np.concatenate(parts, -1)] if fused else [parts[0], np.concatenate(parts[1:], -1)]
    words = {"num_heads": 4, "num_kv_heads": kv_heads, "transpose_k_heads": turned}
    found = named(PAIRS)(*(put(one, part, BF16) for part in given), **words)
    for tensor, part, n, key in zip(found, parts, (4, count, count), (False, turned, False), strict=True):
        assert np.array_equal(held(tensor), heads_of(part, n, key))


WRITTEN: list[Any] = [
    (SEQUENCE, (1, 1, 32, 192), (), {"num_heads": 2, "output_tensors": 3}),
    (PAIRS, (1, 32, 32, 192), (), {"num_heads": 2, "output_tensors": 3}),
    ("experimental.nlp_create_qkv_heads_vit", (1, 1, 32, 2304), (), {"output_tensors": 3}),
    pytest.param("experimental.nlp_create_qkv_heads_segformer", (1, 1, 32, 64), (), {"output_tensors": 3}, marks=pytest.mark.torch),
    ("experimental.nlp_create_qkv_heads_decode", (1, 1, 4, 256), (), {"num_heads": 4, "num_kv_heads": 2, "output_tensors": 3}),
    ("experimental.split_query_key_value_and_split_heads", (8, 1, 128, 384), (CoreCoord(8, 8),), {"num_heads": 4, "output_tensors": 3}),
    ("experimental.nlp_concat_heads_boltz", (2, 32, 32, 32), (), {"output_tensor": 1}),
    ("experimental.nlp_concat_heads_decode", (1, 4, 32, 64), (), {"num_heads": 3, "output_tensor": 1}),
    ("experimental.nlp_kv_cache_load_slice", (2, 2, 64, 32), (), {"seq_len_start": 32, "seq_len_end": 64, "output_tensor": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape", "grid", "words"), WRITTEN)
def test_heads_are_written_where_they_are_asked_for(
    one: MeshDevice, name: str, shape: Any, grid: Any, words: dict[str, Any]
):
    x, room = numbers(*shape), next(word for word in words if word.startswith("output"))
    given = by_core(one, x) if "concat_heads_decode" in name else put(one, x, BF16)
    rest = {word: value for word, value in words.items() if word != room}
    plain = named(name)(given, *grid, **rest)
    listed = [plain] if words[room] == 1 else list(plain)
    rooms = [named("add")(tensor, 1.0) for tensor in listed]
    found = named(name)(given, *grid, **rest, **{room: rooms[0] if words[room] == 1 else rooms})
    for tensor, place, wanted in zip([found] if words[room] == 1 else found, rooms, listed, strict=True):
        assert tensor.storage is place.storage and tensor.spec == wanted.spec
        assert np.array_equal(held(place), held(wanted))


def test_queries_and_keys_on_other_cores_are_the_same(one: MeshDevice):
    x = cut(one, numbers(1, 1, 4, 256), WIDTH, (7, 0), (32, 32))
    decode = named("experimental.nlp_create_qkv_heads_decode")
    apart, together = (
        decode(x, num_heads=4, num_kv_heads=2, overlap_qk_coregrid=overlap) for overlap in (False, True)
    )
    for one_of, other in zip(apart, together, strict=True):
        assert np.array_equal(held(one_of), held(other))
    grids = [tensor.memory_config().shard_spec.grid for tensor in (*apart, *together)]
    assert grids[0] != grids[1] and grids[0] == grids[2] and grids[3] == grids[4] == grids[5]


def test_falcons_heads(one: MeshDevice):
    split = named("transformer.split_query_key_value_and_split_heads")
    x = numbers(1, 32, 73 * 64)
    words = {"num_heads": 71, "use_falcon7b_backend": True}
    found = split(put(one, x, BF16), num_kv_heads=1, transpose_key=False, **words)
    parts = x.reshape(1, 32, 73, 64).swapaxes(1, 2)
    for tensor, wanted in zip(found, (parts[:, :71], parts[:, 71:72], parts[:, 72:]), strict=True):
        assert np.array_equal(held(tensor), wanted)
    for given, more in (((x,), {}), ((x[..., : 71 * 64], x[..., 71 * 64 :]), {"num_kv_heads": 1})):
        with pytest.raises(RuntimeError, match="requires num_kv_heads to be set and no separate KV tensor"):
            split(*(put(one, part, BF16) for part in given), **words, **more)
