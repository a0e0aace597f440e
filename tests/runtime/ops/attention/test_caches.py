"""Caches of keys and values written at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.attention.test_rotary import by_core
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, held, put
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
pytest.importorskip("torch")


def test_two_caches_at_once(one: MeshDevice) -> None:
    new = [sample(F32, 1, 2, 32, 16, seed=s) for s in (1, 2)]
    pairs = [put(one, np.zeros((2, 4, 64, 16), np.float32)) for _ in range(2)]
    found = call(
        "experimental.paged_fused_update_cache", pairs[0], put(one, new[0]), pairs[1], put(one, new[1]), update_idxs=[3, 40]
    )  # fmt: skip
    for cache, given, values in zip(found, pairs, new, strict=True):
        assert cache.storage is given.storage
        assert np.array_equal(held(cache)[0, :, 3], values[0, 0, :4])
        assert np.array_equal(held(cache)[1, :, 40], values[0, 1, :4])


UPDATES = ["experimental.paged_update_cache", "experimental.paged_fused_update_cache"]


def updated(name: str, caches: list[Any], rows: list[np.ndarray], **words: Any) -> None:
    """A token of each user into one cache or into both, each user on a core of its own."""
    pairs = [
        (cache, by_core(cache.device(), new, 4 * n))
        for n, (cache, new) in enumerate(zip(caches, rows, strict=True))
    ]
    call(name, *(part for pair in pairs for part in pair), **words)


@pytest.mark.parametrize("name", UPDATES)
def test_users_that_share_a_cache(one: MeshDevice, name: str) -> None:
    count = 2 if "fused" in name else 1
    rows = [sample(BF16, 1, 4, 2, 32, seed=s) for s in range(count)]
    caches = [put(one, np.zeros((1, 2, 64, 32)), BF16) for _ in rows]
    positions = put(one, np.array([3, 40, -1, 7]), I32, ROW)
    updated(name, caches, rows, update_idxs_tensor=positions, share_cache=True)
    for cache, new in zip(caches, rows, strict=True):
        wanted = np.zeros((1, 2, 64, 32))
        for user, position in ((0, 3), (1, 40), (3, 7)):
            wanted[0, :, position] = new[0, user]
        assert np.array_equal(held(cache), wanted)


@pytest.mark.parametrize("name", UPDATES)
def test_tokens_are_written_on_the_devices_that_are_named(row: MeshDevice, name: str) -> None:
    count = 2 if "fused" in name else 1
    rows = [sample(BF16, 1, 4, 2, 32, seed=s) for s in range(count)]
    caches = [put(row, np.zeros((4, 2, 64, 32)), BF16) for _ in rows]
    updated(name, caches, rows, update_idxs=[5] * 4, mesh_coords={MeshCoordinate(0, 1)})
    for cache, new in zip(caches, rows, strict=True):
        assert not held(cache, 0).any()
        assert (
            np.array_equal(held(cache, 1)[:, :, 5], new[0]) and np.count_nonzero(held(cache, 1)) == new.size
        )


def test_a_sequence_is_filled_on_the_devices_that_are_named(row: MeshDevice) -> None:
    pages = put(row, np.array([[2, 0], [3, 1]]), I32, ROW)
    cache, new = put(row, np.zeros((4, 2, 32, 32)), BF16), sample(BF16, 1, 2, 64, 32)
    words = {"batch_idx": 1, "mesh_coords": {MeshCoordinate(0, 0)}}
    call("experimental.paged_fill_cache", cache, put(row, new, BF16), pages, **words)
    assert not held(cache, 1).any() and not held(cache, 0)[[0, 2]].any()
    assert np.array_equal(held(cache, 0)[3], new[0, :, :32]) and np.array_equal(
        held(cache, 0)[1], new[0, :, 32:]
    )


@pytest.mark.parametrize("length", [32, 64, 96, 128, 160])
def test_a_ring_ends_with_the_rows_that_are_there(one: MeshDevice, length: int) -> None:
    pages = put(one, np.array([[1, 0]]), I32, ROW)
    cache, new = put(one, np.zeros((2, 1, 32, 32)), BF16), sample(BF16, 1, 1, 160, 32)
    stop = put(one, np.array([length]), I32, ROW)
    words = {"cache_position_modulo": 64, "valid_seq_len_tensor": stop}
    call("experimental.paged_fill_cache", cache, put(one, new, BF16), pages, **words)
    wanted = np.zeros((2, 1, 32, 32))
    for start in range(0, length, 32):
        wanted[1 - start // 32 % 2] = new[0, :, start : start + 32]
    assert np.array_equal(held(cache), wanted)


def test_a_sequence_begins_behind_the_first_rows(one: MeshDevice) -> None:
    cache, new = put(one, np.zeros((2, 2, 96, 32)), BF16), sample(BF16, 1, 2, 32, 32)
    found = call("kv_cache.fill_cache_for_user_", cache, put(one, new, BF16), 1, update_idx=64)
    wanted = np.zeros((2, 2, 96, 32))
    wanted[1, :, 64:] = new[0]
    assert found.storage is cache.storage and np.array_equal(held(cache), wanted)
