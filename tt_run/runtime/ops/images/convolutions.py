"""Convolutions over one, two and three dimensions. Source: reference library 0.81.1.

PyTorch computes them: NumPy has none. Sums are float32 over weights in their own element type, rounded once to the result's. How
images are sliced and spread over cores (`conv_config`, `slice_config`, `compute_config`) says where the result lies; of the configuration
only the fused activation, the weights' dtype, the result's layout and the mode of the padding reach its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal, in_rows, put_on_device
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.conversions import typecast
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.goldens import pool_goldens
from tt_run.runtime.ops.images import video_filters
from tt_run.runtime.ops.images.convolving import (
    convolved,
    convolved_on_devices,
    extent,
    filters_of,
    is_product,
    padded,
    with_what_was_asked,
)
from tt_run.runtime.ops.images.prepared_filters import bias_row, laid_out, on_mesh, one_row, prepared
from tt_run.runtime.ops.images.video_borders import Around
from tt_run.runtime.ops.images.window_limits import check_convolution
from tt_run.runtime.ops.images.windows import Borders, borders, pair, to_planes, to_rows
from tt_run.runtime.ops.placement.window_room import Windows
from tt_run.runtime.tensor.conversion import framing
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
from tt_run.runtime.tuning.conv import (
    L1_FULL,
    Conv2dConfig,
    Conv3dConfig,
    Op2DSliceConfig,
    SliceTypeEnum,
)
from tt_run.runtime.values.dtypes import BLOCK_FLOATS
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@operation("ttnn.conv2d", family=families.CONVOLUTION, golden=pool_goldens.golden_conv2d)
def conv2d(
    *,
    input_tensor: Tensor,
    weight_tensor: Tensor,
    device: MeshDevice,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    dtype: DataType | None = None,
    bias_tensor: Tensor | None = None,
    conv_config: Conv2dConfig | None = None,
    compute_config: WormholeComputeKernelConfig | None = None,
    memory_config: MemoryConfig | None = None,
    slice_config: Op2DSliceConfig | None = None,
    return_output_dim: bool = False,
    return_weights_and_bias: bool = False,
) -> Any:
    """Convolution of images `(1, 1, N*H*W, C)` or `(N, H, W, C)`; gives `(1, 1, N*Ho*Wo, out_channels)` in tiles.

    Weights are `(out, in / groups, kh, kw)`, or what an earlier call returned; `padding` has two numbers or (top, bottom, left, right).
    With `return_output_dim` and `return_weights_and_bias`, a tuple with (Ho, Wo) and the weights and bias as they lie on the device.
    Raises RuntimeError when the sizes do not fit.
    """
    kernel, sides, steps, spread = (
        pair("kernel_size", kernel_size), borders(padding), pair("stride", stride), pair("dilation", dilation),
    )  # fmt: skip
    config = conv_config or Conv2dConfig()
    groups = groups or 1  # 0 says, too, that channels are not grouped
    check_convolution(steps, groups, config)
    weights = prepared(
        weight_tensor, device, config, (out_channels, in_channels // groups, *kernel), groups, whole=return_weights_and_bias
    )  # fmt: skip
    bias = None if bias_tensor is None else bias_row(bias_tensor, device, config, out_channels, weights.dtype)

    def forward(x: Any, w: Any, b: Any) -> Any:
        planes = padded(
            to_planes(x, batch_size, input_height, input_width, in_channels), sides, config.padding_mode
        )
        filters = filters_of(w, in_channels, out_channels, groups, kernel)
        return to_rows(
            torch_cpu.torch_function("nn.functional.conv2d")(planes, filters, b, steps, 0, spread, groups)
        )

    out = (
        extent(input_height + sides.top + sides.bottom, kernel[0], steps[0], spread[0]),
        extent(input_width + sides.left + sides.right, kernel[1], steps[1], spread[1]),
    )
    windows = Windows(
        batch_size, (input_height, input_width), out, in_channels, out_channels, groups, kernel, steps,
        (sides.top + sides.bottom, sides.left + sides.right), spread, is_product(kernel, steps, sides, spread, config),
    )  # fmt: skip
    result = convolved(
        forward, input_tensor, device, weights, bias, dtype, windows, config, compute_config, slice_config, memory_config,
    )  # fmt: skip
    return with_what_was_asked(
        result,
        out if return_output_dim else None,
        (weights, bias) if return_weights_and_bias else None,
    )


@operation("ttnn.conv1d", family=families.CONVOLUTION)
def conv1d(
    *,
    input_tensor: Tensor,
    weight_tensor: Tensor,
    device: MeshDevice,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_length: int,
    kernel_size: int,
    stride: int = 1,
    padding: int | Sequence[int] = 0,
    dilation: int = 1,
    groups: int = 1,
    dtype: DataType | None = None,
    bias_tensor: Tensor | None = None,
    conv_config: Conv2dConfig | None = None,
    compute_config: WormholeComputeKernelConfig | None = None,
    memory_config: MemoryConfig | None = None,
    slice_config: Op2DSliceConfig | None = None,
    return_output_dim: bool = False,
    return_weights_and_bias: bool = False,
) -> Any:
    """Convolution of sequences `(N, L, C)` or `(1, 1, N*L, C)`; gives `(1, 1, N*Lo, out_channels)` in tiles.

    Weights are `(out, in / groups, k)` or `(out, in / groups, k, 1)`; padding is one number or (before, after). Raises RuntimeError when
    the sizes do not fit.
    """
    before, after = (padding, padding) if isinstance(padding, int) else pair("padding", padding)
    sides = Borders(before, after, 0, 0)
    config = conv_config or Conv2dConfig()
    groups = groups or 1  # 0 says, too, that channels are not grouped
    check_convolution((stride, 1), groups, config)
    kernel = (kernel_size, 1)
    weights = prepared(
        weight_tensor, device, config, (out_channels, in_channels // groups, *kernel), groups, whole=return_weights_and_bias
    )  # fmt: skip
    bias = None if bias_tensor is None else bias_row(bias_tensor, device, config, out_channels, weights.dtype)

    def forward(x: Any, w: Any, b: Any) -> Any:
        planes = padded(to_planes(x, batch_size, input_length, 1, in_channels), sides, config.padding_mode)
        filters = filters_of(w, in_channels, out_channels, groups, kernel)
        convolve = torch_cpu.torch_function("nn.functional.conv2d")
        return to_rows(convolve(planes, filters, b, (stride, 1), 0, (dilation, 1), groups))

    if slice_config is not None and slice_config.slice_type is SliceTypeEnum.DRAMSliceHeight:
        raise fatal(
            "Conv1D does not support DRAM_HEIGHT slicing because the convolution height is always 1. Use DRAM_WIDTH slicing (slices along "
            "input_length) or L1_FULL.",
            hint="ttnn.Op2DSliceConfig(slice_type=ttnn.Op2DDRAMSliceWidth, num_slices=…)",
        )
    length = extent(input_length + before + after, kernel_size, stride, dilation)
    steps, spread = (stride, 1), (dilation, 1)
    windows = Windows(
        batch_size, (input_length, 1), (length, 1), in_channels, out_channels, groups, kernel, steps, (before + after, 0),
        spread, is_product(kernel, steps, sides, spread, config),
    )  # fmt: skip
    result = convolved(
        forward, input_tensor, device, weights, bias, dtype, windows, config, compute_config, slice_config, memory_config,
        in_line=True,
    )  # fmt: skip
    return with_what_was_asked(
        result,
        length if return_output_dim else None,
        (weights, bias) if return_weights_and_bias else None,
    )


@operation("ttnn.conv_transpose2d", family=families.CONVOLUTION)
def conv_transpose2d(
    *,
    input_tensor: Tensor,
    weight_tensor: Tensor,
    device: MeshDevice,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    output_padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    dtype: DataType | None = None,
    bias_tensor: Tensor | None = None,
    conv_config: Conv2dConfig | None = None,
    compute_config: WormholeComputeKernelConfig | None = None,
    memory_config: MemoryConfig | None = None,
    dram_slice_config: Op2DSliceConfig | None = None,
    mirror_kernel: bool = True,
    return_output_dim: bool = False,
    return_weights_and_bias: bool = False,
) -> Any:
    """Transposed convolution: the gradient of `conv2d` with respect to its images.

    Weights are `(in, out / groups, kh, kw)`; `mirror_kernel=False` says that they are turned by half a circle already.
    Raises RuntimeError when the sizes do not fit.
    """
    kernel, sides, steps, spread, extra = (
        pair("kernel_size", kernel_size), borders(padding), pair("stride", stride), pair("dilation", dilation),
        pair("output_padding", output_padding),
    )  # fmt: skip
    config = conv_config or Conv2dConfig()
    groups = groups or 1  # 0 says, too, that channels are not grouped
    check_convolution(steps, groups, config)
    weights = prepared(
        weight_tensor, device, config, (in_channels, out_channels // groups, *kernel), groups,
        whole=return_weights_and_bias, turned=True, mirror=mirror_kernel,
    )  # fmt: skip
    bias = None if bias_tensor is None else bias_row(bias_tensor, device, config, out_channels, weights.dtype)
    out = tuple(
        (size - 1) * step - first - last + reach * (extent - 1) + more + 1
        for size, step, first, last, reach, extent, more in zip(
            (input_height, input_width), steps, (sides.top, sides.left), (sides.bottom, sides.right), spread, kernel, extra,
            strict=True,
        )
    )  # fmt: skip
    if min(out) < 1:
        raise fatal(
            f"the result would be {out[0]} x {out[1]}: padding {tuple(padding)} takes more than there is",
            hint="less padding, a smaller kernel or dilation, or a larger image",
        )

    def forward(x: Any, w: Any, b: Any) -> Any:
        planes = to_planes(x, batch_size, input_height, input_width, in_channels)
        filters = filters_of(w, in_channels, out_channels, groups, kernel).flip((2, 3))
        filters = filters.reshape(groups, -1, in_channels // groups, *kernel).transpose(1, 2).flatten(0, 1)
        # PyTorch makes no more rows and columns than a step is long: what is beyond holds nothing but the bias.
        within = tuple(min(more, max(pair) - 1) for more, *pair in zip(extra, steps, spread, strict=True))
        beyond = tuple(more - made for more, made in zip(extra, within, strict=True))
        whole = torch_cpu.torch_function("nn.functional.conv_transpose2d")(
            planes, filters, None if any(beyond) else b, steps, 0, within, groups, spread
        )
        if any(beyond):
            whole = torch_cpu.torch_function("nn.functional.pad")(whole, (0, beyond[1], 0, beyond[0]))
            whole = whole if b is None else whole + b.view(-1, 1, 1)
        return to_rows(whole[..., sides.top : sides.top + out[0], sides.left : sides.left + out[1]])

    # Fewer than two slices are none: the images go to L1.
    slicing = (
        L1_FULL if dram_slice_config is not None and dram_slice_config.num_slices < 2 else dram_slice_config
    )
    whole = (out[0] + spread[0] * (kernel[0] - 1), out[1] + spread[1] * (kernel[1] - 1))
    windows = Windows(
        batch_size, whole, out, in_channels, out_channels, groups, kernel, (1, 1), (0, 0), spread,
        is_product(kernel, steps, sides, spread, config),
    )  # fmt: skip
    result = convolved(
        forward, input_tensor, device, weights, bias, dtype, windows, config, compute_config, slicing, memory_config, turned=True,
    )  # fmt: skip
    return with_what_was_asked(
        result,
        out if return_output_dim else None,
        (weights, bias) if return_weights_and_bias else None,
    )


@operation("ttnn.experimental.conv3d", family=families.CONVOLUTION)
def conv3d(
    *,
    input_tensor: Tensor,
    weight_tensor: Tensor,
    device: MeshDevice | None = None,
    bias_tensor: Tensor | None = None,
    config: Conv3dConfig | None = None,
    dtype: DataType,
    output_channels: int,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (1, 1, 1),
    padding: Sequence[int] = (0, 0, 0),
    dilation: Sequence[int] = (1, 1, 1),
    padding_mode: str = "zeros",
    groups: int = 1,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: WormholeComputeKernelConfig | None = None,
    halo_buffer: Tensor | None = None,
    logical_h_mask: int = 0,
    logical_w_mask: int = 0,
    pad_offset_tensor: Tensor | None = None,
    output_pad_h: int = 0,
    output_pad_w: int = 0,
    weight_lo_tensor: Tensor | None = None,
) -> Tensor:
    """Convolution of videos `(N, T, H, W, C)`, row-major; gives `(N, To, Ho, Wo, output_channels)`.

    Weights are `(out, in / groups, kt, kh, kw)`, or `(kt*kh*kw*in, out)` as `prepare_conv3d_weights` makes them with the `C_in_block`
    of the configuration; `padding_mode` is zeros or replicate. weight_lo_tensor is what bfloat16 weights lack, laid out as they are.

    With the halo_buffer of a `neighbor_pad_halo` the padding of rows and columns is the neighbours' borders. With the pad_offset_tensor,
    the first row and column of each device in the whole video, pixels from row logical_h_mask and column logical_w_mask on are zero
    (0: none). The result lies amid output_pad_h and output_pad_w rows and columns of zeros. Raises RuntimeError when the sizes do not fit.
    """
    where = input_tensor.device() or device
    _check_video(input_tensor, None if weight_lo_tensor is not None else weight_tensor, dtype, memory_config)
    if where is None:
        raise fatal("conv3d needs its input on a device", hint=put_on_device("tensor"))
    kernel, steps, spread, (t, h, w) = (
        tuple(map(int, v)) for v in (kernel_size, stride, dilation, padding)
    )  # fmt: skip
    channels = input_tensor.shape[-1]
    if padding_mode not in ("zeros", "replicate"):
        raise fatal(
            f"padding_mode must be zeros or replicate, got {padding_mode}", hint="padding_mode='zeros'"
        )
    mode = "constant" if padding_mode == "zeros" else "replicate"
    settings = config if config is not None else Conv3dConfig()
    rows = video_filters.Rows(
        kernel, channels, video_filters.block(kernel, settings.C_in_block), output_channels
    )
    video_filters.check(rows, steps, groups)
    around = Around(halo_buffer, logical_h_mask, logical_w_mask, pad_offset_tensor)
    around.check(input_tensor, kernel, spread, padding_mode, h, w)
    video = around.put(input_tensor, h, w)
    if halo_buffer is not None:
        h = w = 0

    def matrix(weights: Tensor) -> Tensor:
        flat = weights
        if len(weights.shape) == 5:
            flat = laid_out(
                weights, where, weights.dtype,
                lambda stack: video_filters.matrix(stack, groups, rows.block, settings.alignment),
            )  # fmt: skip
        video_filters.check_weights(tuple(flat.shape), rows)
        return on_mesh(flat, where)

    flat = matrix(weight_tensor)
    if weight_lo_tensor is not None:
        rest = matrix(weight_lo_tensor)
        flat = typecast.compute(flat, DataType.FLOAT32)
        flat = flat.derive(combine(np.add, flat.shards, rest.shards))
    bias = (
        None
        if bias_tensor is None
        else laid_out(bias_tensor, where, bias_tensor.dtype, _first_row(output_channels))
    )

    def forward(x: Any, filters: Any, b: Any) -> Any:
        planes = torch_cpu.torch_function("nn.functional.pad")(
            x.permute(0, 4, 1, 2, 3), (w, w, h, h, t, t), mode=mode
        )
        convolve = torch_cpu.torch_function("nn.functional.conv3d")
        found = convolve(planes, rows.filters(filters), b, steps, 0, spread).permute(0, 2, 3, 4, 1)
        amid = (0, 0, output_pad_w, output_pad_w, output_pad_h, output_pad_h)
        return torch_cpu.torch_function("nn.functional.pad")(found, amid) if any(amid) else found

    place = memory_config or DRAM_MEMORY_CONFIG
    result = convolved_on_devices(forward, video, flat, bias, dtype, place, None, Layout.ROW_MAJOR)
    extent = (*result.shape[:-1], whole_tiles(output_channels))
    cut = place.is_sharded() or extent == tuple(result.shape)
    return result if cut else framing.fill_padding(result, 0.0, extent)


def _first_row(width: int) -> Callable[[Array], Array]:
    """What a device adds of a bias: its first row, whatever lies below it in the tile."""
    return lambda stack: one_row(stack.reshape(len(stack), -1)[:, :width])


def _check_video(
    x: Tensor, weights: Tensor | None, dtype: DataType, memory_config: MemoryConfig | None
) -> None:
    """Raises RuntimeError for videos in tiles, or of another type than the weights, and for results that have no rows or name no cores."""
    if x.layout is not Layout.ROW_MAJOR:
        raise fatal("Activation tensor must be row-major.", hint=in_rows("input_tensor"))
    if weights is not None and x.dtype is not weights.dtype:
        raise fatal(
            f"Input and weight tensors must have the same dtype. got {cpp(x.dtype)} vs {cpp(weights.dtype)}",
            hint=f"ttnn.typecast the weights to ttnn.{x.dtype.name.lower()}",
        )
    if dtype in BLOCK_FLOATS:
        raise fatal(f"Only TILE layout is supported for {dtype.name} dtype!", hint="dtype=ttnn.bfloat16")
    if memory_config is not None and memory_config.nameless:
        raise fatal(
            "MemoryConfig must have Shard Spec specified for sharded memory layout",
            hint="memory_config=ttnn.DRAM_MEMORY_CONFIG",
        )
