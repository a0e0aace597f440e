"""Caches dealt in chunks over a 2x4 mesh: what is written and turned is where a prompt's positions are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import F32, ROW, TILE, U32, held, put
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ShardTensor2dMesh

CHUNK, LENGTH = 32, 96  # rows of a chunk, and of the cache on each device: three slabs of 4 chunks
RNG = np.random.default_rng(5)


def op(name: str) -> Any:
    found = catalog.find(f"ttnn.experimental.deepseek_prefill.{name}")
    assert found is not None
    return found


def position(row: int, column: int, chunk: int = CHUNK, stripes: int = 4) -> int:
    """Of a row of the cache on a device of that column, in the prompt."""
    return (row // chunk * stripes + column) * chunk + row % chunk


def rows_from(start: int, column: int) -> list[int]:
    """The rows of a column whose tokens are in the slab of 128 from `start` on."""
    return [r for r in range(LENGTH) if start <= position(r, column) < start + 4 * CHUNK]


def slab(mesh: MeshDevice, tokens: np.ndarray, start: int) -> Any:
    """Each device's chunk of a slab, in the order of its rows: [1, H, 32, D]."""
    parts = [tokens[:, :, [position(r, c) - start for r in rows_from(start, c)]] for c in range(4)]
    mapper = ShardTensor2dMesh(mesh, (2, 4), (None, 2))
    return from_torch(np.concatenate(parts, 2), dtype=F32, layout=TILE, device=mesh, mesh_mapper=mapper)


@pytest.mark.parametrize("start", [0, 128, 64, 160])
@pytest.mark.parametrize("tensors", [False, True])
def test_a_slab_goes_where_its_positions_are(mesh: MeshDevice, start: int, tensors: bool):
    tokens = RNG.normal(size=(1, 2, 128, 32)).astype(np.float32)
    cache = put(mesh, np.full((4, 2, LENGTH, 32), 7.0))
    number = lambda n: put(mesh, [[[[n]]]], U32, ROW)  # noqa: E731
    call, new, valid = op("update_padded_kv_cache"), slab(mesh, tokens, start), start + 70
    if tensors:
        found = call(cache, new, number(1), number(start), 1, 2, 1, valid_global=number(valid))
    else:
        found = call(cache, new, 1, 1, 2, start, 1, valid_global=valid)
    assert found.storage is cache.storage
    for device in range(8):
        values, column = held(cache, device), device % 4
        assert (values[:3] == 7).all()
        for row in range(LENGTH):
            p = position(row, column)
            wanted = tokens[0, :, p - start] if start <= p < -(-valid // 32) * 32 else 7.0
            np.testing.assert_array_equal(values[3, :, row], np.broadcast_to(wanted, (2, 32)))


def test_a_chunk_is_dealt_further_over_the_other_axis(mesh: MeshDevice):
    tokens = RNG.normal(size=(1, 1, 128, 32)).astype(np.float32)
    cache = put(mesh, np.zeros((1, 1, LENGTH // 2, 32)))
    op("update_padded_kv_cache")(cache, slab(mesh, tokens, 64), 0, 0, 1, 64, 1, tp_axis=0)
    for device in range(8):
        row, column = divmod(device, 4)
        for place in range(LENGTH // 2):
            p = position(place, 2 * column + row, 16, 8)
            wanted = tokens[0, 0, p - 64] if 64 <= p < 192 else 0.0
            np.testing.assert_array_equal(held(cache, device)[0, 0, place], np.broadcast_to(wanted, 32))


def test_rope_is_joined_to_the_columns(mesh: MeshDevice):
    tokens = RNG.normal(size=(1, 1, 128, 64)).astype(np.float32)
    cache = put(mesh, np.zeros((1, 1, LENGTH, 64)), F32, ROW)
    parts = [slab(mesh, tokens[..., columns], 0) for columns in (slice(32), slice(32, None))]
    op("update_padded_kv_cache")(cache, parts[0], 0, 0, 1, 0, 1, rope=parts[1])
    np.testing.assert_array_equal(held(cache, 2)[0, 0, :CHUNK], tokens[0, 0, 64:96])


def test_what_is_behind_the_last_token_is_cleared(mesh: MeshDevice):
    cache = put(mesh, np.ones((2, 1, LENGTH, 32)))
    assert op("zero_padded_kv_cache")(cache, 1, 0, 1, 150, 128, 1, 64).storage is cache.storage
    for device in range(8):
        values = held(cache, device)
        assert (values[0] == 1).all()
        cleared = [150 <= position(row, device % 4) < 192 for row in range(LENGTH)]
        np.testing.assert_array_equal(values[1, 0, :, 0] == 0, cleared)


@pytest.mark.parametrize("start", [0, 64, 160])
def test_tokens_are_turned_by_their_positions(mesh: MeshDevice, start: int):
    tokens, prefix = (RNG.normal(size=(1, 2, 128, n)).astype(np.float32) for n in (96, 32))
    angles = RNG.normal(size=(384, 64))
    order = [position(r, c) for c in range(4) for r in range(LENGTH)]
    mapper = ShardTensor2dMesh(mesh, (2, 4), (None, 2))
    cos, sin = (
        from_torch(f(angles[order])[None, None], dtype=F32, layout=TILE, device=mesh, mesh_mapper=mapper)
        for f in (np.cos, np.sin)
    )
    turn = np.zeros((1, 1, 32, 32), np.float32)
    turn[..., range(1, 32, 2), range(0, 32, 2)], turn[..., range(0, 32, 2), range(1, 32, 2)] = -1, 1
    found = op("rotary_embedding_indexed")(
        slab(mesh, tokens, start), cos, sin, put(mesh, turn), start, 1,
        rotary_offset=32, concat_prefix=slab(mesh, prefix, start),
    )  # fmt: skip
    for device in range(8):
        at = [position(r, device % 4) for r in rows_from(start, device % 4)]
        x = tokens[0][:, np.array(at) - start]
        y = x[..., 32:]
        swapped = np.stack([-y[..., 1::2], y[..., ::2]], -1).reshape(y.shape)
        turned = y * np.cos(angles[at]) + swapped * np.sin(angles[at])
        wanted = np.concatenate([prefix[0][:, np.array(at) - start], x[..., :32], turned], -1)
        np.testing.assert_allclose(held(found, device)[0], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        ("zero_padded_kv_cache", (9, 0, 1, 150, 128, 1), "slot 9 of layer 0 of 1 is outside"),
        ("zero_padded_kv_cache", (1,), "incompatible function arguments"),
    ],
)
def test_wrong_calls(mesh: MeshDevice, name: str, given: tuple[Any, ...], error: str):
    with pytest.raises((RuntimeError, TypeError), match=error):
        op(name)(put(mesh, np.ones((2, 1, LENGTH, 32))), *given)


@pytest.mark.parametrize(("start", "end"), [(0, 128), (128, 200), (64, 150), (160, 161)])
@pytest.mark.parametrize("side", [0, 1])
def test_real_tokens_of_a_slab_are_counted(mesh: MeshDevice, start: int, end: int, side: int):
    mapper = ShardTensor2dMesh(mesh, (2, 4), (None, 0))
    config = from_torch(np.full((4, 2), 9), dtype=U32, layout=ROW, device=mesh, mesh_mapper=mapper)
    bounds = [put(mesh, np.array([[[[n]]]]), U32, ROW) for n in (start, end)]
    assert op("moe_padding_config")(config, *bounds, CHUNK, side, 1).storage is config.storage
    for device in range(8):
        real = sum(position(r, device % 4) < end for r in rows_from(start, device % 4))
        assert held(config, device).reshape(-1).tolist() == [real, side]
    with pytest.raises(RuntimeError, match="pad_side must be 0 or 1"):
        op("moe_padding_config")(config, *bounds, CHUNK, 2, 1)
