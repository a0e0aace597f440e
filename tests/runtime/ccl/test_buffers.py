"""Recycled result memory."""

import gc

import numpy as np

from tt_run.runtime.ccl import buffers

SHAPE = (3, buffers.SMALLEST)


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_comes_back_when_the_last_view_is_gone():
    first = buffers.empty(SHAPE, np.float32)
    view, place = first[1:], address(first)
    del first
    gc.collect()
    other = buffers.empty(SHAPE, np.float32)
    assert address(other) != place  # a view still uses it
    view[...] = 7
    other[...] = 1
    assert (view == 7).all()
    del view
    gc.collect()
    assert address(buffers.empty(SHAPE, np.uint32)) == place


def test_arrays_are_ordinary():
    array = buffers.empty((2, buffers.SMALLEST, 3), np.float32)
    assert array.flags.c_contiguous and array.flags.writeable and array.shape == (2, buffers.SMALLEST, 3)
    assert buffers.empty((4,), np.int32).base is None


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(buffers, "LIMIT", 0)
    monkeypatch.setattr(buffers, "_kept", 0)
    monkeypatch.setattr(buffers, "_free", {})
    array = buffers.empty(SHAPE, np.float32)
    del array
    gc.collect()
    assert buffers._free == {}
