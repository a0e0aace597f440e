"""What convolutions share: the computation on each device, and where its result lies."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import as_type, fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.activations import activation as activation_of
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.operands import settle
from tt_run.runtime.ops.declaration.result_topology import result_topology
from tt_run.runtime.ops.images.prepared_filters import on_mesh
from tt_run.runtime.ops.images.window_limits import check_cuts
from tt_run.runtime.ops.images.windows import Borders, Pair, lies_in_l1, need_l1_small
from tt_run.runtime.ops.placement.convolved_shards import folded, in_l1, in_slices, of_convolution
from tt_run.runtime.ops.placement.window_room import Types, Windows
from tt_run.runtime.tensor.conversion.framing import fill_padding
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import spec_of
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
from tt_run.runtime.tuning.conv import Conv2dConfig, Op2DSliceConfig, PaddingMode, SliceTypeEnum
from tt_run.runtime.values.dtypes import is_float
from tt_run.runtime.values.shards import Shards, combine_all

Array = npt.NDArray[Any]


def convolved(
    forward: Any,
    images: Tensor,
    device: MeshDevice,
    weights: Tensor,
    bias: Tensor | None,
    dtype: DataType | None,
    windows: Windows,
    config: Conv2dConfig,
    compute: WormholeComputeKernelConfig | None,
    slicing: Op2DSliceConfig | None,
    asked: MemoryConfig | None,
    turned: bool = False,
    in_line: bool = False,
) -> Tensor:
    """The function on each device, laid where the reference lays it; `turned`: a transposed convolution, `in_line`: of sequences.

    Products come in tiles, and so do images out of DRAM that are not cut into several slices; what comes out of DRAM lies there, whatever
    a call asks for. `deallocate_activation` gives back images that lie in L1.
    """
    windows = windows if turned else folded(images, windows, config)
    check_cuts(images, windows.product, config, asked)
    if windows.product and not is_float(images.dtype):
        raise fatal(
            f"Unsupported data format for input A: {cpp(images.dtype)}", hint=as_type("images", "bfloat16")
        )
    types = Types(images.dtype, weights.dtype, dtype or images.dtype, bias is not None, compute)
    whole = not windows.product and in_l1(images, slicing)
    if not windows.product:
        if not config.config_tensors_in_dram:
            need_l1_small(
                device, "a convolution", "conv_config=ttnn.Conv2dConfig(config_tensors_in_dram=True, …)"
            )
        _check_layout(config.output_layout, types.result)
        if whole and asked is not None and asked.nameless:
            raise fatal(
                "MemoryConfig must have Shard Spec specified for sharded memory layout",
                hint="memory_config with a ttnn.ShardSpec, or none",
            )
        if slicing is not None and not whole:
            out = windows.out
            _check_slices(images, slicing, (out[1], out[0]) if in_line else out, config.output_layout)
    rows = config.output_layout is Layout.ROW_MAJOR and not windows.product
    rows = rows and (whole or in_slices(images, device, windows, config, slicing, types))
    layout = Layout.ROW_MAJOR if rows else Layout.TILE
    own = of_convolution(images, device, windows, config, slicing, types)
    place = (asked if whole or windows.product else None) or own
    result = convolved_on_devices(
        forward, on_mesh(images, device), weights, bias, dtype, place, config.activation, layout,
        on_cores=whole and place == own,
    )  # fmt: skip
    if config.deallocate_activation and lies_in_l1(images):
        images.deallocate(force=True)
    return result


def _check_layout(layout: Layout, dtype: DataType) -> None:
    if layout is Layout.ROW_MAJOR and dtype is DataType.BFLOAT8_B:
        raise fatal(
            "Conv output can't be in Row Major if output dtype is BFloat8_B.",
            hint="output_layout=ttnn.TILE_LAYOUT, or dtype=ttnn.bfloat16",
        )


def _check_slices(images: Tensor, slicing: Op2DSliceConfig, out: Pair, layout: Layout) -> None:
    """Raises RuntimeError for images that are not in DRAM, and for more slices than the result has rows, or columns in whole tiles."""
    if lies_in_l1(images):
        raise fatal(
            "Conv DRAM expects the input tensor to be in DRAM.",
            hint="ttnn.to_memory_config(images, ttnn.DRAM_MEMORY_CONFIG), or slice_config=ttnn.Conv2dL1FullSliceConfig",
        )
    by_width = slicing.slice_type is SliceTypeEnum.DRAMSliceWidth
    step = TILE_SIZE if by_width and layout is Layout.TILE else 1
    most = -(-out[by_width] // step)
    if slicing.num_slices > most:
        raise fatal(
            f"Number of slices ({slicing.num_slices}) exceeds the maximum allowed ({most}) for the given output dimension and alignment.",
            hint=f"num_slices={most}, or 0 for as many as it takes",
        )


def is_product(kernel: Pair, steps: Pair, sides: Borders, spread: Pair, config: Conv2dConfig) -> bool:
    """Whether each place of the result is one of the images, so that a product of matrices computes it."""
    plain = kernel == steps == spread == (1, 1) and not sides.any
    return plain and config.shard_layout is not TensorMemoryLayout.WIDTH_SHARDED


def extent(size: int, window: int, step: int, spread: int) -> int:
    """Places of a window along one dimension."""
    return (size - spread * (window - 1) - 1) // step + 1


def padded(planes: Any, sides: Borders, mode: PaddingMode) -> Any:
    """Images with their borders."""
    if not sides.any:
        return planes
    kind = "constant" if mode is PaddingMode.Zeros else "replicate"
    return torch_cpu.torch_function("nn.functional.pad")(planes, sides.torch(), mode=kind)


def filters_of(matrix: Any, inputs: int, outputs: int, groups: int, kernel: tuple[int, int]) -> Any:
    """A prepared matrix as `(outputs, inputs / groups, kh, kw)`: filters of groups from its diagonal, or without the zeros already."""
    if groups == 1:
        # Turned by PyTorch's own copy, in a third of the time that a convolution takes for filters whose outputs lie side by side.
        rows = matrix.reshape(-1, outputs).t().contiguous()
        return rows.view(outputs, *kernel, inputs).permute(0, 3, 1, 2)
    inner, width = inputs // groups, outputs // groups
    if matrix.shape[-2] == kernel[0] * kernel[1] * inner:
        parts = matrix.reshape(*kernel, inner, groups, width).movedim(3, -1)
    else:
        parts = matrix.reshape(*kernel, groups, inner, groups, width).diagonal(dim1=2, dim2=4)
    return parts.permute(4, 3, 2, 0, 1).reshape(outputs, inner, *kernel)


def convolved_on_devices(
    forward: Any,
    images: Tensor,
    weights: Tensor,
    bias: Tensor | None,
    dtype: DataType | None,
    memory_config: MemoryConfig | None,
    fused: Any,
    layout: Layout,
    on_cores: bool = False,
) -> Tensor:
    """The function on each device, the fused activation, and one rounding; `on_cores`: it stays where windows slid."""
    given = [images, weights, *([bias] if bias is not None else [])]
    target = dtype or images.dtype

    def on_stacks(*stacks: Array) -> tuple[Array, ...]:
        def each(x: Any, w: Any, b: Any = None) -> Any:
            if not x.is_floating_point():  # weights are real, and so are the sums
                x = x.to(w.dtype)
            return forward(x, w, None if b is None else b.reshape(-1))

        (found,) = torch_cpu.on_each(each, stacks)
        return (found if fused is None else activation_of(fused)(found),)

    (shards,) = combine_all(on_stacks, *(t.shards for t in given))
    done = Shards.made(finish(shards.data, target, either=True), shards.index)
    if on_cores and layout is Layout.ROW_MAJOR and memory_config is not None:
        return _rows_on_cores(given, done, target, memory_config)
    return settle(given, done, target, memory_config=memory_config, layout=layout)


def _rows_on_cores(given: list[Tensor], done: Shards, dtype: DataType, place: MemoryConfig) -> Tensor:
    """Rows without tiles as products leave them on cores: with the padding of whole tiles."""
    first, dims = given[0], done.shape
    spec = spec_of(dims, dtype, Layout.ROW_MAJOR, place, first.tile)
    extent = (*dims[:-2], whole_tiles(dims[-2]), spec.padded_shape[-1])
    sharding.on_cores(place, extent, Layout.ROW_MAJOR, first.tile.edges)
    return fill_padding(first.successor(done, spec, result_topology(given)), 0.0, extent)


def with_what_was_asked(result: Tensor, extent: Any, kept: Any) -> Any:
    """The result, and what else a call asks for."""
    more = [value for value in (extent, kept) if value is not None]
    return (result, *more) if more else result
