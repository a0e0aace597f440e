"""Recycled result memory."""

import gc

import numpy as np
import pytest

from tt_run.runtime.values import recycled_arrays

SHAPE = (3, recycled_arrays.SMALLEST)


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_comes_back_when_the_last_view_is_gone():
    first = recycled_arrays.empty(SHAPE, np.float32)
    view, place = first[1:], address(first)
    del first
    gc.collect()
    other = recycled_arrays.empty(SHAPE, np.float32)
    assert address(other) != place  # a view still uses it
    view[...] = 7
    other[...] = 1
    assert (view == 7).all()
    del view
    gc.collect()
    assert address(recycled_arrays.empty(SHAPE, np.uint32)) == place


def test_arrays_are_ordinary():
    array = recycled_arrays.empty((2, recycled_arrays.SMALLEST, 3), np.float32)
    assert (
        array.flags.c_contiguous and array.flags.writeable and array.shape == (2, recycled_arrays.SMALLEST, 3)
    )
    assert recycled_arrays.empty((4,), np.int32).base is None


def test_what_is_cut_out_of_an_arrays_base_gives_nothing_back(recwarn):
    array = recycled_arrays.empty(SHAPE, np.float32)
    base, place = array.base, address(array)
    part = base[100:]
    del array, base
    gc.collect()
    assert address(recycled_arrays.empty(SHAPE, np.float32)) != place
    del part
    gc.collect()
    assert not recwarn.list
    assert address(recycled_arrays.empty(SHAPE, np.float32)) == place


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(recycled_arrays, "LIMIT", 0)
    monkeypatch.setattr(recycled_arrays, "_kept", 0)
    monkeypatch.setattr(recycled_arrays, "_free", {})
    array = recycled_arrays.empty(SHAPE, np.float32)
    del array
    gc.collect()
    assert not any(recycled_arrays._free.values())


def test_what_is_kept_and_used_is_what_was_used_at_most(monkeypatch):
    for name, value in {"_free": {}, "_last": {}, "_kept": 0, "_used": 0, "_most": 0, "SPARE": 0}.items():
        monkeypatch.setattr(recycled_arrays, name, value)
    size = recycled_arrays.SMALLEST
    small = [recycled_arrays.empty((size,), np.uint8) for _ in range(8)]
    del small[2:]
    gc.collect()
    assert (recycled_arrays._used, recycled_arrays._kept) == (2 * size, 6 * size)
    large = recycled_arrays.empty((4 * size,), np.uint8)
    assert (recycled_arrays._used, recycled_arrays._kept) == (6 * size, 2 * size)  # four small ones went
    del large, small
    gc.collect()
    assert (recycled_arrays._used, recycled_arrays._kept) == (0, 8 * size)
    assert len(recycled_arrays._free[size]) == 4


@pytest.mark.parametrize(
    ("nbytes", "room"),
    [
        (1, 4096),
        (4097, 8192),
        (256 << 10, 256 << 10),
        ((256 << 10) + 1, 288 << 10),
        ((1 << 20) - 1, 1 << 20),
        (1 << 20, 1 << 20),
        ((1 << 20) + 1, (1 << 20) + (128 << 10)),
        (15 << 20, 15 << 20),
        ((15 << 20) + 1, 16 << 20),
    ],
)
def test_sizes_are_eighths_of_a_power_of_two(nbytes, room):
    assert recycled_arrays.room_for(nbytes) == room


@pytest.mark.parametrize(("fewer", "recycled"), [(0, True), (1, False)])
def test_large_arrays_begin_in_the_middle_of_a_page(fewer, recycled):
    array = recycled_arrays.empty((recycled_arrays.SMALLEST - fewer,), np.uint8)
    assert (array.base is not None) == recycled
    assert not recycled or address(array) % 4096 == 2048


def test_what_came_back_longest_ago_goes_first(monkeypatch):
    for name, value in {"_free": {}, "_last": {}, "_kept": 0, "_used": 0, "_most": 0, "SPARE": 0}.items():
        monkeypatch.setattr(recycled_arrays, name, value)
    size = recycled_arrays.SMALLEST
    held = [recycled_arrays.empty((n * size,), np.uint8) for n in (1, 2, 4)]
    for n in (1, 0, 2):  # the order in which they come back
        held[n] = None
    gc.collect()
    assert recycled_arrays._kept == 7 * size
    recycled_arrays._shrink(5 * size)
    assert {n: len(blocks) for n, blocks in recycled_arrays._free.items()} == {
        size: 1,
        2 * size: 0,
        4 * size: 1,
    }
    recycled_arrays._shrink(4 * size)
    assert recycled_arrays._kept == 4 * size and not recycled_arrays._free[size]
    monkeypatch.setattr(recycled_arrays, "_kept", 10 * size)  # more than there is
    recycled_arrays._shrink(0)
    assert not any(recycled_arrays._free.values())


def test_an_array_row_by_row_is_not_copied():
    rows = np.arange(1 << 18, dtype=np.float32).reshape(512, 512)
    assert recycled_arrays.contiguous(rows) is rows
    turned = recycled_arrays.contiguous(rows.T)
    assert turned.flags.c_contiguous and np.array_equal(turned, rows.T)
