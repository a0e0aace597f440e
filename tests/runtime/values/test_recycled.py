"""Recycled result memory."""

import gc

import numpy as np

from tt_run.runtime.values import recycled

SHAPE = (3, recycled.SMALLEST)


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_comes_back_when_the_last_view_is_gone():
    first = recycled.empty(SHAPE, np.float32)
    view, place = first[1:], address(first)
    del first
    gc.collect()
    other = recycled.empty(SHAPE, np.float32)
    assert address(other) != place  # a view still uses it
    view[...] = 7
    other[...] = 1
    assert (view == 7).all()
    del view
    gc.collect()
    assert address(recycled.empty(SHAPE, np.uint32)) == place


def test_arrays_are_ordinary():
    array = recycled.empty((2, recycled.SMALLEST, 3), np.float32)
    assert array.flags.c_contiguous and array.flags.writeable and array.shape == (2, recycled.SMALLEST, 3)
    assert recycled.empty((4,), np.int32).base is None


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(recycled, "LIMIT", 0)
    monkeypatch.setattr(recycled, "_kept", 0)
    monkeypatch.setattr(recycled, "_free", {})
    array = recycled.empty(SHAPE, np.float32)
    del array
    gc.collect()
    assert recycled._free == {}
