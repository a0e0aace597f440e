"""Coefficients of YUV conversions. Source: reference library 0.81.1."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np

from tt_run.runtime.errors import incompatible
from tt_run.runtime.native.classes import Native
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.tuning.choices import RGBRange, YUVColorSpace, YUVRange

_NONE = (0.0, 0.0, 0.0, 0.0)
# The shares of red and blue in the brightness.
_SHARES = {
    YUVColorSpace.BT601: (0.299, 0.114),
    YUVColorSpace.BT709: (0.2126, 0.0722),
    YUVColorSpace.BT2020: (0.2627, 0.0593),
}
# Spans of brightness and colour in 8 bits, and where brightness begins.
_SPANS = {YUVRange.Full: (255.0, 255.0, 0.0), YUVRange.Limited: (219.0, 224.0, 16.0)}
_MIDDLE = 128.0


@native_class("ttnn._ttnn.operations.experimental.YUVCoefficients")
class YUVCoefficients(metaclass=Native):
    """Weights of red, green and blue and an offset, for brightness and the two colours."""

    def __init__(
        self, y: Sequence[float] = _NONE, cb: Sequence[float] = _NONE, cr: Sequence[float] = _NONE
    ) -> None:
        self.y, self.cb, self.cr = y, cb, cr

    def __setattr__(self, name: str, value: Sequence[float]) -> None:
        if name not in ("y", "cb", "cr"):
            raise AttributeError(f"'YUVCoefficients' object has no attribute '{name}'", name=name, obj=self)
        if len(value) != 4 or not all(isinstance(v, numbers.Real) for v in value):
            raise incompatible("", (f"(self, arg: four numbers as {name})",), (self, value))
        object.__setattr__(self, name, [float(np.float32(v)) for v in value])


def coefficients(space: YUVColorSpace, source: RGBRange, target: YUVRange) -> YUVCoefficients:
    """The coefficients of a colour standard, from pixels of one range to bytes of another, computed in float32."""
    one = np.float32(1)
    red, blue = (np.float32(share) for share in _SHARES[space])
    green = one - red - blue
    bright, colour, black = _SPANS[target]
    # From -1 to 1 is twice as far as from 0 to 1, and its middle is black's and white's.
    centred = source is RGBRange.MinusOneToOne
    step, half = np.float32(bright / 2 if centred else bright), np.float32(colour / (4 if centred else 2))
    lift = black + (bright / 2 if centred else 0)
    to_blue, to_red = half / (one - blue), half / (one - red)
    return YUVCoefficients(
        y=(red * step, green * step, blue * step, lift),
        cb=(-red * to_blue, -green * to_blue, half, _MIDDLE),
        cr=(half, -green * to_red, -blue * to_red, _MIDDLE),
    )


def yuv_bt601_coefficients() -> YUVCoefficients:
    """Coefficients of BT.601 from pixels between -1 and 1 to limited bytes."""
    return coefficients(YUVColorSpace.BT601, RGBRange.MinusOneToOne, YUVRange.Limited)


def yuv_bt709_coefficients() -> YUVCoefficients:
    """Coefficients of BT.709 from pixels between -1 and 1 to limited bytes."""
    return coefficients(YUVColorSpace.BT709, RGBRange.MinusOneToOne, YUVRange.Limited)
