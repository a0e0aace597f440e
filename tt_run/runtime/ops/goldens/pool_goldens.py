"""Pools, convolutions and resampling as functions of torch tensors: what `ttnn.operations.pool` calls golden.

Images are [N, H, W, C], pools also take them flat, [1, 1, N * H * W, C], and give them so. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.torch_cpu import torch_function
from tt_run.runtime.ops.goldens.common import Fused
from tt_run.runtime.ops.goldens.creation_goldens import of_type


def golden_upsample(
    input_tensor: Any, scale_factor: float | Sequence[float], mode: str = "nearest", **_: Any
) -> Any:
    """The image `scale_factor` times as large."""
    factors = (scale_factor, scale_factor) if isinstance(scale_factor, (int, float)) else tuple(scale_factor)
    larger = torch_function("nn.functional.interpolate")(
        input_tensor.permute(0, 3, 1, 2), scale_factor=factors, mode=mode
    )
    return larger.permute(0, 2, 3, 1)


def golden_global_avg_pool2d(input_tensor: Any, **_: Any) -> Any:
    """The mean of each channel: [N, 1, 1, C]; of an image (H, W) without batch and channels the mean of all."""
    rows = 1 if input_tensor.dim() == 4 else 0
    return input_tensor.mean((rows, rows + 1), keepdim=True)


def golden_conv2d(
    input_tensor: Any,
    weight_tensor: Any,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    dilation: int | Sequence[int] = (1, 1),
    groups: int = 1,
    bias_tensor: Any = None,
    conv_config: Any = None,
    return_output_dim: bool = False,
    return_weights_and_bias: bool = False,
    dtype: DataType | None = None,
    **_: Any,
) -> Any:
    """The convolution of images whose channels are cut to `in_channels`; padding is one number, two, or (top, bottom, left, right).

    The activation of `conv_config` comes last. The images alone, in a list, where a call asks for more.
    """
    image = input_tensor.reshape(batch_size, input_height, input_width, -1)[..., :in_channels]
    sides = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
    top, bottom, left, right = sides if len(sides) == 4 else (sides[0], sides[0], sides[1], sides[1])
    planes = torch_function("nn.functional.pad")(
        image.permute(0, 3, 1, 2).float(), (left, right, top, bottom)
    )
    bias = None if bias_tensor is None else bias_tensor.reshape(-1)[:out_channels].float()
    found = torch_function("nn.functional.conv2d")(
        planes, weight_tensor.float(), bias, stride, 0, dilation, groups or 1
    )
    activation = getattr(conv_config, "activation", None)
    if activation is not None:
        found = Fused().after(found, [activation])
    images = of_type(_flat(found), dtype)
    return [images] if return_output_dim or return_weights_and_bias else images


def golden_maxpool2d(
    input_tensor: Any,
    batch_size: int,
    input_h: int,
    input_w: int,
    channels: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool = False,
    return_indices: bool = False,
    **_: Any,
) -> Any:
    """The largest element under each window, and its place if `return_indices`."""
    image = _image(input_tensor, batch_size, input_h, input_w, channels)
    image, around = _padded(image, padding, float("-inf"))
    values, places = torch_function("nn.functional.max_pool2d")(
        image,
        kernel_size=tuple(kernel_size),
        stride=tuple(stride),
        padding=around,
        dilation=tuple(dilation),
        ceil_mode=ceil_mode,
        return_indices=True,
    )
    return (_flat(values), _flat(places)) if return_indices else _flat(values)


def golden_avg_pool2d(
    input_tensor: Any,
    batch_size: int,
    input_h: int,
    input_w: int,
    channels: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    **_: Any,
) -> Any:
    """The mean under each window."""
    image = _image(input_tensor, batch_size, input_h, input_w, channels)
    image, around = _padded(image, padding, 0.0)
    return _flat(
        torch_function("nn.functional.avg_pool2d")(
            image, tuple(kernel_size), tuple(stride), around, ceil_mode, count_include_pad, divisor_override
        )
    )


def golden_adaptive_avg_pool2d(
    input_tensor: Any,
    batch_size: int,
    input_h: int,
    input_w: int,
    channels: int,
    output_size: Sequence[int],
    **_: Any,
) -> Any:
    """Means of as many windows as the result has elements."""
    image = _image(input_tensor, batch_size, input_h, input_w, channels)
    return _flat(torch_function("nn.functional.adaptive_avg_pool2d")(image, tuple(output_size)))


def golden_adaptive_max_pool2d(
    input_tensor: Any,
    batch_size: int,
    input_h: int,
    input_w: int,
    channels: int,
    output_size: Sequence[int],
    **_: Any,
) -> Any:
    """The largest of as many windows as the result has elements."""
    image = _image(input_tensor, batch_size, input_h, input_w, channels)
    return _flat(torch_function("nn.functional.adaptive_max_pool2d")(image, tuple(output_size)))


def golden_grid_sample(
    input_tensor: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
    **_: Any,
) -> Any:
    """The image at the places of a grid, [N, H, W, 2]."""
    sampled = torch_function("nn.functional.grid_sample")(
        input_tensor.permute(0, 3, 1, 2).float(),
        grid.float(),
        mode=mode,
        padding_mode=padding_mode,
        align_corners=align_corners,
    )
    return sampled.permute(0, 2, 3, 1).to(input_tensor.dtype)


def _image(flat: Any, batch: int, height: int, width: int, channels: int) -> Any:
    """[N, C, H, W] of a tensor in any order of rows that ends in the channels."""
    return flat.reshape(batch, height, width, -1)[..., :channels].permute(0, 3, 1, 2)


def _padded(image: Any, padding: Sequence[int], filler: float) -> tuple[Any, tuple[int, int]]:
    """The image and the padding left for the pool, which takes the same on both sides: other sides are padded here."""
    if len(padding) == 2:
        return image, (int(padding[0]), int(padding[1]))
    top, bottom, left, right = map(int, padding)
    if top == bottom and left == right:
        return image, (top, left)
    return torch_function("nn.functional.pad")(image, (left, right, top, bottom), value=filler), (0, 0)


def _flat(image: Any) -> Any:
    """[1, 1, N * H * W, C]."""
    return image.permute(0, 2, 3, 1).reshape(1, 1, -1, image.shape[1])


def golden_fold(
    input: Any,
    stride_h: int,
    stride_w: int,
    use_transpose_as_fold: bool = False,
    output_shape: Sequence[int] | None = None,
    padding: Sequence[int] | None = (0, 0),
    *_: Any,
    collapse_output: bool = False,
    _ttnn_input_is_sharded: bool = False,
    **__: Any,
) -> Any:
    """Blocks of pixels as channels; padding is two numbers, four, or six with those of the channels.

    `use_transpose_as_fold` takes (N, C, H, W) and pads at the end alone, of a tensor cut over cores on both sides.
    """
    words = tuple(padding or (0, 0))
    top, bottom, left, right = words[:4] if len(words) > 2 else (words[0], words[0], words[1], words[1])
    front, back = words[4:] if len(words) == 6 else (0, 0)
    if use_transpose_as_fold:
        before = (left, top) if _ttnn_input_is_sharded else (0, 0)
        sides = (before[0], left, before[1], top, 0, back)
    else:
        sides = (front, back, left, right, top, bottom)
    x = torch_function("nn.functional.pad")(input, sides)
    x = x.permute(0, 2, 3, 1) if use_transpose_as_fold else x
    blocks = x.unflatten(2, (-1, stride_w)).unflatten(1, (-1, stride_h))
    deep = blocks.transpose(2, 3).flatten(3)
    return deep.flatten(0, 2)[None, None] if collapse_output else deep
