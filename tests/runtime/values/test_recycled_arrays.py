"""Recycled result memory."""

import gc

import numpy as np

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
