"""Filters and biases of convolutions as devices keep them: matrices in tiles. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import settle
from tt_run.runtime.ops.images import video_filters
from tt_run.runtime.ops.images.window_limits import check_convolution
from tt_run.runtime.ops.images.windows import pair
from tt_run.runtime.tensor.conversion.devices import moved_to
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
from tt_run.runtime.tuning.conv import Conv2dConfig, Op2DSliceConfig
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, quantize
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


def on_mesh(tensor: Tensor, device: MeshDevice) -> Tensor:
    """A tensor that may still be on the host."""
    return tensor if tensor.device() is not None else moved_to(tensor, device)


def prepared(
    weights: Tensor,
    device: MeshDevice,
    config: Conv2dConfig,
    shape: tuple[int, int, int, int],
    groups: int,
    *,
    whole: bool = True,
    turned: bool = False,
    mirror: bool = True,
) -> Tensor:
    """Filters as a matrix on the device: of shape `(first, second, kh, kw)`, or such a matrix already.

    Those of groups have zeros where a group's channels do not meet, unless nobody sees it: not `whole`. `turned`: of a transposed convolution,
    as the convolution that the device computes needs them, which is turned around where the call says `mirror`.
    """
    first, second, rows, columns = shape
    given = tuple(weights.shape)
    dtype = config.weights_dtype or weights.dtype
    high, wide = (first, second * groups) if turned else (second * groups, first)
    made = (1, 1, rows * columns * high, wide)
    if given == made and given != shape:
        return on_mesh(weights, device)
    if given == shape or (given == (first, second, rows) and columns == 1):
        apart = groups > 1 and (whole or dtype in BLOCK_FLOATS)

        def arranged(stack: Array) -> Array:
            planes = stack.reshape(len(stack), first, second, rows, columns)
            planes = planes[..., ::-1, ::-1] if turned and mirror else planes
            planes = planes.reshape(len(stack), groups, first // groups, second, rows, columns)
            planes = planes.transpose(0, 4, 5, 2, 1, 3) if turned else planes.transpose(0, 4, 5, 3, 1, 2)
            matrix = _apart(planes) if apart else planes
            return matrix.reshape(len(stack), 1, 1, -1, wide)

        return laid_out(weights, device, dtype, arranged)
    raise fatal(
        f"weights of shape {list(given)} are not {list(shape)}, nor prepared as {list(made)}",
        "weight_tensor.logical_shape() == (out_channels, in_channels / groups, kernel_height, kernel_width)",
        hint="ttnn.prepare_conv_weights(weight_tensor=weights, …) prepares them; else give them as PyTorch has them",
    )


def _apart(planes: Array) -> Array:
    """Filters `(…, in / groups, groups, out / groups)` in blocks along the diagonal of `(…, groups, in / groups, groups, out / groups)`."""
    *outer, inner, groups, outputs = planes.shape
    matrix = np.zeros((*outer, groups, inner, groups, outputs), planes.dtype)
    for group in range(groups):
        matrix[..., group, :, group, :] = planes[..., group, :]
    return matrix


def one_row(stack: Array) -> Array:
    """Each shard as one row, with four dimensions."""
    return stack.reshape(len(stack), 1, 1, 1, -1)


def bias_row(
    bias: Tensor, device: MeshDevice, config: Conv2dConfig, channels: int, beside: DataType | None = None
) -> Tensor:
    """A bias as a row of tiles on the device, in the type of the weights `beside` it.

    Raises RuntimeError for tiles that are not there already as they are to be.
    """
    if int(np.prod(tuple(bias.shape))) != channels:
        raise fatal(
            f"a bias of shape {list(bias.shape)} does not have {channels} elements",
            hint=f"a bias of shape [1, 1, 1, {channels}]",
        )
    dtype = config.weights_dtype or beside or bias.dtype
    there = bias.device() is not None and bias.dtype is dtype
    if beside is not None and bias.layout is Layout.TILE and not there:
        raise fatal(
            "Host conv bias layout should be in row_major layout",
            hint="ttnn.to_layout(bias, ttnn.ROW_MAJOR_LAYOUT)",
        )
    return laid_out(bias, device, dtype, one_row)


def laid_out(
    tensor: Tensor, device: MeshDevice | None, dtype: DataType, arrange: Any, layout: Layout = Layout.TILE
) -> Tensor:
    """A tensor's shards rearranged, in a layout and an element type, on the device."""
    shards = tensor.shards
    values = quantize(np.ascontiguousarray(arrange(shards.data)), dtype)
    made = settle((tensor,), Shards(values, shards.index), dtype, layout=layout)
    return made if device is None else on_mesh(made, device)


@operation("ttnn.experimental.prepare_conv3d_weights", family=families.CONVERSION)
def prepare_conv3d_weights(
    *,
    weight_tensor: Tensor,
    groups: int = 1,
    C_in_block: int = 0,
    alignment: int = 32,
    device: MeshDevice | None = None,
) -> Tensor:
    """Filters `(out, in / groups, kt, kh, kw)` as the matrix `(kt*kh*kw*in, out)`, in the layout of the filters, on a device that is given.

    Groups are filled with zeros, and so is `in` up to a multiple of `alignment`; rows go by blocks of `C_in_block` channels (0: as
    a convolution without a configuration has them), then by place in the kernel. Raises RuntimeError when the blocks do not divide the channels.
    """
    where = device or weight_tensor.device()

    def arrange(stack: Array) -> Array:
        return video_filters.matrix(stack, groups, C_in_block, alignment)

    return laid_out(weight_tensor, where, weight_tensor.dtype, arrange, weight_tensor.layout)


@operation("ttnn.prepare_conv_weights", family=families.CONVERSION)
def prepare_conv_weights(
    *,
    weight_tensor: Tensor,
    input_memory_config: MemoryConfig,
    input_layout: Layout,
    weights_format: str,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    has_bias: bool,
    groups: int,
    device: MeshDevice,
    input_dtype: DataType,
    output_dtype: DataType | None = None,
    conv_config: Conv2dConfig | None = None,
    compute_config: WormholeComputeKernelConfig | None = None,
    slice_config: Op2DSliceConfig | None = None,
) -> Tensor:
    """Filters as `conv2d` keeps them: the matrix `(1, 1, kh*kw*in, out)` in tiles on the device."""
    if weights_format != "OIHW":
        raise fatal(
            f"weights_format must be OIHW, got {weights_format}",
            hint="ttnn.permute or torch.permute the weights to (out, in, height, width)",
        )
    kernel, config, groups = pair("kernel_size", kernel_size), conv_config or Conv2dConfig(), groups or 1
    check_convolution(pair("stride", stride), groups, config)
    shape = (out_channels, in_channels // groups, *kernel)
    return prepared(weight_tensor, device, config, shape, groups)


@operation("ttnn.prepare_conv_bias", family=families.CONVERSION)
def prepare_conv_bias(
    *,
    bias_tensor: Tensor,
    input_memory_config: MemoryConfig,
    input_layout: Layout,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    device: MeshDevice,
    input_dtype: DataType,
    output_dtype: DataType | None = None,
    conv_config: Conv2dConfig | None = None,
    compute_config: WormholeComputeKernelConfig | None = None,
    slice_config: Op2DSliceConfig | None = None,
) -> Tensor:
    """A bias as `conv2d` keeps it: `(1, 1, 1, out)` in tiles on the device."""
    return bias_row(bias_tensor, device, conv_config or Conv2dConfig(), out_channels)


@operation("ttnn.prepare_conv_transpose2d_weights", family=families.CONVERSION)
def prepare_conv_transpose2d_weights(
    *,
    weight_tensor: Tensor,
    input_memory_config: MemoryConfig,
    input_layout: Layout,
    weights_format: str,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int] = (0, 0),
    dilation: Sequence[int],
    has_bias: bool,
    groups: int,
    device: MeshDevice,
    input_dtype: DataType,
    output_dtype: DataType | None = None,
    conv_config: Conv2dConfig | None = None,
    compute_config: WormholeComputeKernelConfig | None = None,
    dram_slice_config: Op2DSliceConfig | None = None,
    mirror_kernel: bool = True,
) -> Tensor:
    """Filters as `conv_transpose2d` keeps them: the matrix `(1, 1, kh*kw*in, out)` in tiles on the device."""
    if weights_format != "IOHW":
        raise fatal(
            f"weights_format must be IOHW, got {weights_format}",
            hint="ttnn.permute or torch.permute the weights to (in, out, height, width)",
        )
    kernel, config, groups = pair("kernel_size", kernel_size), conv_config or Conv2dConfig(), groups or 1
    check_convolution(pair("stride", stride), groups, config)
    shape = (in_channels, out_channels // groups, *kernel)
    return prepared(weight_tensor, device, config, shape, groups, turned=True, mirror=mirror_kernel)


@operation("ttnn.prepare_conv_transpose2d_bias", family=families.CONVERSION)
def prepare_conv_transpose2d_bias(*, bias_tensor: Tensor, out_channels: int, device: MeshDevice, **tuning: Any) -> Tensor:  # fmt: skip
    """A bias as `conv_transpose2d` keeps it: `(1, 1, 1, out)` in tiles on the device; the other settings change nothing."""
    config = tuning.get("conv_config") or Conv2dConfig()
    return bias_row(bias_tensor, device, config, out_channels)
