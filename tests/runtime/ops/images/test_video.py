"""Bytes of YUV videos against the formulas of the standards."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, ROW, held, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tuning.choices import RGBRange, YUVColorSpace, YUVRange
from tt_run.runtime.tuning.video import (
    YUVCoefficients,
    coefficients,
    yuv_bt601_coefficients,
    yuv_bt709_coefficients,
)

# As the reference library gives them.
TABLES = {
    yuv_bt601_coefficients: (
        [32.74049758911133, 64.27649688720703, 12.482999801635742, 125.5],
        [-18.898420333862305, -37.10157775878906, 56.0, 128.0],
        [56.0, -46.893009185791016, -9.106989860534668, 128.0],
    ),
    yuv_bt709_coefficients: (
        [23.279699325561523, 78.31439971923828, 7.905900001525879, 125.5],
        [-12.832075119018555, -43.16792297363281, 56.0, 128.0],
        [56.0, -50.8651237487793, -5.13487434387207, 128.0],
    ),
}


@pytest.mark.parametrize("made", TABLES)
def test_coefficients_are_those_of_the_reference(made):
    found = made()
    assert (found.y, found.cb, found.cr) == TABLES[made]


@pytest.mark.parametrize("space", YUVColorSpace)
@pytest.mark.parametrize("source", RGBRange)
@pytest.mark.parametrize(("target", "black", "white"), [(YUVRange.Full, 0, 255), (YUVRange.Limited, 16, 235)])
def test_black_is_black_and_white_is_white(one: MeshDevice, space, source, target, black, white):
    low = -1.0 if source is RGBRange.MinusOneToOne else 0.0
    pixels = np.full((3, 2, 4, 1), low, np.float32)
    pixels[:, :, 2:] = 1
    words = {"color_space": space, "input_range": source, "output_range": target}
    y, u, v = (held(t) for t in rgb_to_yuv(put(one, pixels, BF16, ROW), **words))
    assert y.reshape(2, 4).tolist() == [[black, black, white, white]] * 2
    assert u.ravel().tolist() == v.ravel().tolist() == [128, 128]


@pytest.mark.parametrize("wide", [False, True])
def test_colours_are_means_of_two_by_two_pixels(one: MeshDevice, wide: bool):
    pixels = rounded(np.random.default_rng(1).normal(0, 0.6, (3, 4, 6, 5)), BF16)
    given = YUVCoefficients([30, 60, 12.5, 125.5], cb=[-19, -37, 56, 128], cr=[56, -47, -9, 128])
    planes = []
    for row in (given.y, given.cb, given.cr):
        plane = np.tensordot(row[:3], pixels.astype(np.float64), 1) + row[3]
        if planes:
            plane = plane.reshape(2, 2, 3, 2, 5).mean((1, 3))
        planes.append(np.clip(plane + 0.5, 0, 255).astype(np.uint8)[None])
    found = rgb_to_yuv(put(one, pixels, BF16, ROW), coefficients=given, wide_rows=wide)
    for tensor, plane in zip(found, planes, strict=True):
        shape = (*plane.shape[:2], -1) if wide else plane.shape
        assert np.array_equal(held(tensor), plane.reshape(shape))


@pytest.mark.parametrize(
    ("shape", "dtype", "words", "message"),
    [
        ((3, 4, 6, 5), F32, {}, "must be BFLOAT16"),
        ((4, 4, 6, 5), BF16, {}, "with even H and W"),
        ((3, 4, 5, 5), BF16, {}, "with even H and W"),
        ((3, 2, 2, 33), BF16, {"wide_rows": True}, "at most 32 frames, got 33"),
    ],
)
def test_other_pixels_are_refused(one: MeshDevice, shape, dtype, words, message):
    with pytest.raises(RuntimeError, match=message):
        rgb_to_yuv(put(one, np.zeros(shape), dtype, ROW), **words)


def test_coefficients_are_rows_of_four():
    made = coefficients(YUVColorSpace.BT2020, RGBRange.ZeroToOne, YUVRange.Full)
    assert sum(made.y[:3]) == pytest.approx(255)
    for wrong in ([1.0], "abcd"):
        with pytest.raises(TypeError, match="four numbers as cb"):
            made.cb = wrong
    with pytest.raises(AttributeError, match="no attribute 'u'"):
        made.u = [1.0]


def rgb_to_yuv(tensor, **words):
    operation = catalog.find("ttnn.rgb_to_yuv")
    assert operation is not None
    return operation(tensor, **words)
