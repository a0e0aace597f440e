"""Places of a grid as numbers of pixels and weights, worked out before images are read there. Source: reference library 0.81.1.

A place has the row and column of the pixel up left of it, as 16-bit integers in the bits of bfloat16 numbers, and the weights of the four
pixels around it; or, for the nearest pixel, that pixel's row and column alone. Pixels outside of the image weigh nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import settle
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.bfloat16 import round_bfloat16
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
_MODES = {"bilinear": 6, "nearest": 2}
"""How an image is read, and the numbers that a place has for it."""
_LEAST, _MOST = -(1 << 15), (1 << 15) - 1


@operation("ttnn.prepare_grid_sample_grid", family=families.CONVERSION)
def prepare_grid_sample_grid(
    grid: Tensor,
    input_shape: Sequence[int],
    *,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
    output_dtype: DataType | None = None,
) -> Tensor:
    """A grid `(N, Ho, Wo, 2)` of (x, y) from -1 to 1 as `(N, Ho, Wo, 6)`: rows, columns and weights in images `[N, H, W, C]`.

    For `nearest` it is `(N, Ho, Wo, 2)`. Raises RuntimeError for a grid that is not float32, row-major and of that shape, and for another
    mode or padding_mode.
    """
    if grid.layout is not Layout.ROW_MAJOR:
        raise fatal("Grid tensor must be in row major layout", hint="ttnn.to_layout(grid, ttnn.ROW_MAJOR_LAYOUT)")  # fmt: skip
    if len(grid.shape) != 4:
        raise fatal("Grid tensor must be 4D", hint=f"(N, Ho, Wo, 2) instead of {grid.shape}")
    if grid.shape[-1] != 2:
        raise fatal("Grid tensor last dimension must be 2 (x, y coordinates)", hint=f"got {grid.shape}")
    if padding_mode != "zeros":
        raise fatal("Currently only 'zeros' padding mode is supported", hint=f"got {padding_mode!r}")
    if len(input_shape) != 4:
        raise fatal("Input shape must have 4 dimensions [N, H, W, C]", hint=f"got {list(input_shape)}")
    if output_dtype not in (None, DataType.BFLOAT16):
        raise fatal(
            "Currently only BFLOAT16 is supported for the grid output dtype",
            hint="output_dtype=ttnn.bfloat16",
        )
    if grid.dtype is not DataType.FLOAT32:
        raise fatal("Currently only float32 input grid is supported", hint=f"got {grid.dtype}")
    _check_mode(mode)
    height, width = int(input_shape[1]), int(input_shape[2])
    shards = grid.shards
    rows, columns = (
        _pixels(shards.data[..., axis], length, align_corners) for axis, length in ((1, height), (0, width))
    )
    prepare = _nearest if mode == "nearest" else _around
    places = Shards(prepare(rows, columns, height, width), shards.index)
    return settle((grid,), places, DataType.BFLOAT16)


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise fatal(f"mode must be bilinear or nearest, got {mode!r}", hint="mode='bilinear', or 'nearest'")


def _pixels(places: Array, length: int, corners: bool) -> Array:
    """Places from -1 to 1 counted in pixels, whose middles or (`corners`) whose first and last ones lie at the ends."""
    if corners:
        return (places + np.float32(1)) * np.float32(0.5) * np.float32(length - 1)
    # The reference multiplies and subtracts with one rounding.
    doubled = (places + np.float32(1)).astype(np.float64) * length - 1
    return doubled.astype(np.float32) * np.float32(0.5)


def _nearest(rows: Array, columns: Array, height: int, width: int) -> Array:
    found = np.stack([np.floor(rows + np.float32(0.5)), np.floor(columns + np.float32(0.5))], -1)
    inside = (found >= 0).all(-1) & (found[..., 0] < height) & (found[..., 1] < width)
    return _hidden(np.where(inside[..., None], found, -1))


def _around(rows: Array, columns: Array, height: int, width: int) -> Array:
    up, left = np.floor(rows), np.floor(columns)
    down, right = rows - up, columns - left
    weights = []
    for y, tall in ((0, np.float32(1) - down), (1, down)):
        for x, wide in ((0, np.float32(1) - right), (1, right)):
            inside = (up + y >= 0) & (up + y < height) & (left + x >= 0) & (left + x < width)
            weights.append(np.where(inside, tall * wide, np.float32(0)))
    return np.concatenate([_hidden(np.stack([up, left], -1)), round_bfloat16(np.stack(weights, -1))], -1)


def _hidden(whole: Array) -> Array:
    """Whole numbers in the bits of bfloat16 numbers."""
    bits = np.clip(np.nan_to_num(whole), _LEAST, _MOST).astype(np.int32) << 16
    return bits.view(np.float32)


def read(x: Any, grid: Any, mode: str) -> Any:
    """Images `(N, H, W, C)` at prepared places, torch tensors: `(N, Ho, Wo * K, C)`. Raises RuntimeError for a grid of another form."""
    _check_mode(mode)
    numbers, (batch, rows, columns, total) = _MODES[mode], grid.shape
    if total % numbers:
        raise fatal(
            f"grid_sample: a prepared grid for {mode} has {numbers} numbers for a place, got {total}",
            hint="use_precomputed_grid=False for a grid of x and y, or ttnn.prepare_grid_sample_grid(grid, …) with the same mode",
        )
    packed = grid.reshape(batch, rows, columns * (total // numbers), numbers)
    # Negative numbers are the bits of NaN, of which a conversion keeps only -1's.
    hidden = packed[..., :2].contiguous()
    y, x_ = (hidden.view(library().int32) >> 16).masked_fill(hidden.isnan(), -1).long().unbind(-1)
    if mode == "nearest":
        return _pixel(x, y, x_)
    weights = packed[..., 2:].float()
    corners = ((0, 0), (0, 1), (1, 0), (1, 1))
    return sum(weights[..., n, None] * _pixel(x, y + dy, x_ + dx) for n, (dy, dx) in enumerate(corners))


def _pixel(images: Any, rows: Any, columns: Any) -> Any:
    """The pixels at whole rows and columns; zeros outside of the image."""
    batch, height, width, channels = images.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    places = rows.clamp(0, height - 1) * width + columns.clamp(0, width - 1)
    flat = places.reshape(batch, -1, 1).expand(-1, -1, channels)
    found = images.float().reshape(batch, height * width, channels).gather(1, flat)
    return found.reshape(*rows.shape, channels) * inside[..., None]
