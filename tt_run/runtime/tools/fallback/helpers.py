"""Functions of `tt_lib.utils` on torch tensors and numbers: room for whole tiles, matrices of convolutions, comparison.

`tilize`, `untilize` and `tilize_to_list` leave the order of elements as it is, as in the reference: tensors are tiled by themselves.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import struct
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library, torch_function
from tt_run.runtime.tensor.borders.arrays import to_torch
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

_TOLERANCE = 8e-2


def divup(a: int, b: int) -> int:
    """How many times `b` it takes to reach `a`."""
    return -(-a // b)


def roundup(a: int, b: int) -> int:
    """The next multiple of `b`."""
    return divup(a, b) * b


def roundup32(a: int) -> int:
    """The next multiple of a tile's width."""
    return roundup(a, TILE_SIZE)


def pad_activation(x: Any) -> Any:
    """An activation in four dimensions with zeros up to whole tiles; each row of a matrix becomes a tile of its own."""
    _check(x)
    if x.dim() < 3:
        x = x.reshape(-1 if x.dim() == 2 else 1, 1, 1, x.shape[-1])
    return _whole_tiles(x.unsqueeze(1) if x.dim() == 3 else x)


def pad_weight(x: Any) -> Any:
    """A weight with zeros up to whole tiles; vectors and matrices get four dimensions."""
    _check(x)
    return _whole_tiles(x.reshape(1, 1, -1, x.shape[-1]) if x.dim() < 3 else x)


def _check(x: Any) -> None:
    if not isinstance(x, library().Tensor):
        raise AssertionError("Input to this function must be an instance of torch.Tensor")
    if not 1 <= x.dim() <= 4:
        raise AssertionError("Only tensors with dimension 1-4 supported")


def _whole_tiles(x: Any) -> Any:
    height, width = x.shape[-2:]
    made = library().zeros(*x.shape[:-2], roundup32(height), roundup32(width))
    made[..., :height, :width] = x
    return made


def convert_weights_2d_matrix(weights: Any, w_shape: list[int]) -> Any:
    """Weights [K, C, R, S] as the matrix [1, 1, R * S * C, K] of a convolution."""
    weights = library().as_tensor(weights).float()
    return weights.permute(0, 2, 3, 1).reshape(1, 1, w_shape[0], -1).transpose(2, 3)


def convert_act_2d_matrix(
    activation: Any, kernel_y: int, kernel_x: int, stride_y: int, stride_x: int, pad_y: int, pad_x: int
) -> Any:
    """Images [N, C, H, W] as the matrix [1, N, windows, R * S * C] of a convolution."""
    images = library().as_tensor(activation).float()
    batch, channels = images.shape[:2]
    windows = torch_function("nn.functional.unfold")(
        images, (kernel_y, kernel_x), padding=(pad_y, pad_x), stride=(stride_y, stride_x)
    )
    cut = windows.reshape(batch, channels, kernel_y * kernel_x, -1).permute(0, 3, 2, 1)
    return cut.reshape(1, batch, windows.shape[-1], -1)


def tilize(x: Any) -> Any:
    """The same."""
    return x


def untilize(x: Any) -> Any:
    """The same."""
    return x


def tilize_to_list(x: Any) -> list[float]:
    """The elements in a row."""
    elements: list[float] = x.reshape(-1).tolist()
    return elements


def tt2torch(ttx: Tensor) -> Any:
    """A tensor as torch's."""
    return to_torch(ttx)


def float_to_bits(x: float) -> int:
    """The bits of a float32 as a signed integer."""
    (bits,) = struct.unpack(">l", struct.pack(">f", x))
    return int(bits)


def print_diff_argmax(a: Any, b: Any, annotation: str = "") -> float:
    """Print where two tensors differ most, with both values; the difference."""
    apart = (a - b).abs()
    place = int(apart.argmax())
    mine, theirs = a.reshape(-1)[place].item(), b.reshape(-1)[place].item()
    largest: float = apart.reshape(-1)[place].item()
    print("Abs diff=", largest, " at ", place, " --- ", annotation, *_in_tiles(a, place))
    scale = max(abs(mine), abs(theirs)) or 1.0
    for name, value in (("a", mine), ("b", theirs)):
        print(f"  ({name}=", value, f") Rel {name}=", abs(value) / scale)
    return largest


def is_close(
    a: Any,
    b: Any,
    rtol: float = _TOLERANCE,
    atol: float = _TOLERANCE,
    max_mag: float = 4.0,
    max_mag_fraction: float = 0.02,
) -> Any:
    """Whether tensors agree by difference, by ratio or by a fraction of their magnitude; the first place where they do not is printed."""
    apart = (a - b).abs()
    ratio, shifted = a.abs() / b.abs() - 1.0, (a.abs() + 1.0) / (b.abs() + 1.0) - 1.0
    fits = (
        (ratio.abs() < rtol) | (shifted.abs() < rtol) | (apart < atol) | (apart < max_mag * max_mag_fraction)
    )
    if not fits.all():
        place = int(fits.reshape(-1).int().argmin())
        print("****   is_close mismatch at index=", place, *_in_tiles(a, place))
        for name, values in (("a", a), ("b", b), ("reldiff1", ratio), ("reldiff2", shifted), ("absdiff", apart)):  # fmt: skip
            print(f"****    {name}=", values.reshape(-1)[place].item())
    return fits.all()


def _in_tiles(a: Any, place: int) -> tuple[Any, ...]:
    """An element's tile, and its place in there, where elements are counted tile by tile."""
    tile, inside = divmod(place, TILE_SIZE * TILE_SIZE)
    across = max(1, a.shape[-1] // TILE_SIZE)
    return ("HTWT=", *divmod(tile, across), "HW=", *divmod(inside, TILE_SIZE))


def find_closest_largest_divisor(num: int, start_divisor: int) -> int:
    """The largest divisor that is not above a number."""
    return next(divisor for divisor in range(start_divisor, 0, -1) if num % divisor == 0)


def find_closest_largest_divisor_with_num_padding(num: int, start_divisor: int) -> int:
    """The largest number of parts, not above another, of which none is padding alone once `num` is rounded up to them."""
    return next(
        parts
        for parts in range(start_divisor, 0, -1)
        if roundup(num, parts) - num < roundup(num, parts) // parts
    )
