"""Sums in device order give the same bits however the elements are cut."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tt_run.runtime.kernels import device_sums
from tt_run.runtime.kernels.device_sums import BLOCK, ordered_sum, slices


def one_by_one(rows):
    total = rows[0].copy()
    for row in rows[1:]:
        total = total + row
    return total


def test_order_is_that_of_the_devices():
    rows = [np.full(3, value, np.float32) for value in (1e8, 1.0, -1e8)]
    out = np.empty(3, np.float32)
    ordered_sum(rows, out)
    assert out.tolist() == [0.0, 0.0, 0.0]  # 1 is lost beside 1e8
    ordered_sum([rows[0], rows[2], rows[1]], out)
    assert out.tolist() == [1.0, 1.0, 1.0]


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 300), st.integers(0, 2**32 - 1))
def test_any_cut_gives_the_same_bits(devices, parts, elements, seed):
    rng = np.random.default_rng(seed)
    rows = [rng.standard_normal(elements).astype(np.float32) for _ in range(devices)]
    out = np.empty(elements, np.float32)
    for piece in slices(elements, parts):
        ordered_sum([row[piece] for row in rows], out[piece])
    assert out.tobytes() == one_by_one(rows).tobytes()


def test_blocks_larger_than_the_cache_block_and_rounding_per_block():
    rng = np.random.default_rng(0)
    rows = [rng.standard_normal(2 * BLOCK + 5).astype(np.float32) for _ in range(3)]
    out = np.empty_like(rows[0])
    ordered_sum(rows, out, lambda block: np.rint(block, out=block))
    assert out.tobytes() == np.rint(one_by_one(rows)).tobytes()


def test_threads_share_blocks_without_changing_a_bit(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.setattr(device_sums, "SPREAD", 0)
    rng = np.random.default_rng(0)
    rows = [rng.standard_normal(7 * BLOCK + 5).astype(np.float32) for _ in range(4)]
    out = np.empty_like(rows[0])
    ordered_sum(rows, out)
    assert out.tobytes() == one_by_one(rows).tobytes()


@given(st.integers(0, 5000), st.integers(1, 9))
def test_slices_cover_the_range_once_on_aligned_borders(elements, parts):
    found = slices(elements, parts)
    assert len(found) == parts
    assert [i for s in found for i in range(s.start, s.stop)] == list(range(elements))
    assert all(s.start % 64 == 0 or s.start == elements for s in found)


@given(st.integers(1, 40), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_a_stack_is_summed_in_the_order_of_a_list(devices, elements, seed):
    rows = np.random.default_rng(seed).lognormal(0, 9, (devices, elements)).astype(np.float32)
    rows[:, ::3] = -0.0
    rows[-1, 1:2] = np.nan
    stacked, listed = np.empty(elements, np.float32), np.empty(elements, np.float32)
    ordered_sum(rows, stacked)
    ordered_sum(list(rows), listed)
    assert stacked.tobytes() == listed.tobytes()


def test_integers_of_a_stack_wrap_as_those_of_a_list():
    rows = np.full((5, 3), 2**30, np.int32)
    stacked, listed = np.empty(3, np.int32), np.empty(3, np.int32)
    ordered_sum(rows, stacked)
    ordered_sum(list(rows), listed)
    assert stacked.tolist() == listed.tolist() == [2**30] * 3
