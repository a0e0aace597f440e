"""What reductions refuse before they compute, in the reference's order and words: a program that fails on a device fails here.

Source: reference library 0.81.1, asked on its host side.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import as_type, fatal, in_range, in_rows, in_tiles, put_on_device, throw
from tt_run.runtime.kernels.ordered_sums import reduced_shape
from tt_run.runtime.ops.declaration import small_tiles
from tt_run.runtime.ops.declaration.element_types import check_summed
from tt_run.runtime.ops.declaration.operands import axes_of, on_device, volume
from tt_run.runtime.ops.reduction.placement_checks import (
    check_on_grid,
    check_placement,
    check_shards_on_grid,
    check_within_program,
)
from tt_run.runtime.tensor.conversion.layouts import check_tiles_filled
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.tensor import Tensor

Dims = int | Sequence[int] | None

_FLOATS = (DataType.FLOAT32, DataType.BFLOAT16, DataType.BFLOAT8_B)
_SIGNED = ("sum", "max", "min")
_ARGMAX_ROWS = (DataType.BFLOAT16, DataType.FLOAT32, DataType.INT32, DataType.UINT32, DataType.UINT16)
_ARGMAX_TILES = (DataType.BFLOAT16, DataType.FLOAT32)


def has_nothing_to_reduce(tensor: Tensor) -> bool:
    """Whether there is nothing to reduce, no elements or no dimension, of which no device is asked."""
    return not len(tensor.shape) or not volume(tuple(tensor.shape))


def check_total(
    name: str, tensor: Tensor, dim: Dims, memory_config: MemoryConfig | None, cores: CoreRangeSet | None
) -> None:
    """Arguments of `ttnn.sum`, `mean`, `max` and `min`."""
    on_device(tensor, kind="reduction")
    axes, dtype = axes_of(dim, len(tensor.shape)), tensor.dtype
    if name == "mean" and dtype in (DataType.INT32, DataType.UINT32):
        raise fatal(
            f"ttnn.mean does not support integer inputs - got {cpp(dtype)}.",
            hint=as_type("tensor", "float32"),
        )
    if name in ("max", "min"):
        _not_empty(tensor, axes)
    if has_nothing_to_reduce(tensor):
        return
    _made_into_tiles(tensor)
    check_summed(dtype, signed=name in _SIGNED)
    turned = max(axes, default=0) < len(tensor.shape) - 2
    check_placement(tensor, memory_config, cores, filled=True, turned=turned)


def check_spread(
    tensor: Tensor,
    dim: Dims,
    memory_config: MemoryConfig | None,
    cores: CoreRangeSet | None,
    kernel: object,
) -> None:
    """Arguments of `ttnn.std` and `var`."""
    if tensor.device() is None:
        raise fatal(
            "Tensor must already be on device",
            "tensor.storage_type() == StorageType::DEVICE",
            hint=put_on_device("tensor"),
        )
    on_device(tensor, kind="reduction")
    axes = axes_of(dim, len(tensor.shape))
    nothing_varies = has_nothing_to_reduce(tensor) or [tensor.shape[axis] for axis in axes] == [1]
    if not nothing_varies:
        _made_into_tiles(tensor)
        turned = (
            len(axes) == 1 and axes[0] < len(tensor.shape) - 2
        )  # a batch dimension is brought where rows are first, in whole tiles
        if not turned:
            small_tiles.check("spread", tensor)
    if tensor.dtype not in _FLOATS and not nothing_varies:
        raise fatal(
            f"Only FLOAT32, BFLOAT16, and BFLOAT8_B are supported for Std/Var reduction - got {cpp(tensor.dtype)}",
            hint=as_type("tensor", "float32"),
        )
    if tensor.dtype is DataType.FLOAT32 and getattr(kernel, "fp32_dest_acc_en", True) is False:
        raise fatal(
            "ttnn.std/var with Float32 input requires fp32_dest_acc_en=true in the compute kernel config; otherwise precision is "
            "silently lost in the unpacker format conversion.",
            "!(input_cb_data_format == tt::DataFormat::Float32 && !fp32_dest_acc_en)",
            hint="leave compute_kernel_config out, or set fp32_dest_acc_en=True in it",
        )
    turned = len(axes) > 1 or (max(axes, default=0) < len(tensor.shape) - 2)
    check_placement(tensor, memory_config, cores, turned=turned)


def _made_into_tiles(tensor: Tensor) -> None:
    if tensor.layout is not Layout.TILE:
        check_tiles_filled(tensor)


def _not_empty(tensor: Tensor, axes: Collection[int]) -> None:
    for axis in axes:
        if len(tensor.shape) and tensor.shape[axis] == 0:
            raise throw(
                f"Expected reduction dim {axis} to have non-zero size",
                hint=f"the tensor is empty along dimension {axis}: reduce along another, or give it elements",
            )


def check_argmax(
    tensor: Tensor,
    dim: int | None,
    keepdim: bool,
    memory_config: MemoryConfig | None,
    cores: CoreRangeSet | None,
    output: Tensor | None,
) -> None:
    """Arguments of `ttnn.argmax`."""
    on_device(tensor, kind="topk")
    if output is not None and output.device() is None:
        raise fatal("Preallocated output tensor must be on device", hint=put_on_device("output"))
    shape = tuple(tensor.shape)
    _argmax_dim(dim, len(shape))
    axes = axes_of(dim, len(shape))
    if (not shape or not volume(shape)) and output is not None:
        wanted = Shape(reduced_shape(shape, axes, keepdim))
        if output.shape != wanted:
            raise fatal(
                f"Preallocated output tensor has incorrect shape! Got : {output.shape}, expected: {wanted}",
                hint="leave the output tensor out, or make it of the expected shape with ttnn.empty",
            )
        if not shape and output.dtype is not DataType.UINT32:
            raise fatal(
                "Preallocated output tensor must be UINT32 for rank 0 input tensor",
                hint=as_type("output", "uint32"),
            )
    if dim is not None or shape:
        _not_empty(tensor, axes)
    if not shape or not volume(shape):
        return
    _argmax_input(tensor, dim)
    _argmax_output(memory_config if output is None else output.memory_config(), output)
    if output is not None and _pages(output.shape) != _pages(
        wanted := Shape(reduced_shape(shape, axes, keepdim))
    ):
        raise fatal(
            f"Preallocated output tensor is not page-compatible with the reduction result! Got : {output.shape}, expected: {wanted} "
            "(or any shape with the same volume and last dimension)",
            hint="leave the output tensor out, or make it of the expected shape with ttnn.empty",
        )
    if cores is not None:
        if len(cores.ranges()) > 2:
            raise fatal(
                f"Multicore argmax only supports up to 2 core grid ranges, but got {len(cores.ranges())} ranges",
                hint="join them: ttnn.CoreRangeSet of one or two rectangles",
            )
        check_on_grid("Argmax Multicore argmax sub_core_grids", cores, tensor)


def _pages(shape: Shape) -> tuple[int, int]:
    """How many rows there are, and how long they are."""
    width = shape[-1] if len(shape) else 1
    return volume(tuple(shape)) // max(width, 1), width


def _argmax_dim(dim: int | None, rank: int) -> None:
    if dim is None:
        return
    if not rank and dim not in (0, -1):
        raise fatal(
            f"argmax: Dimension out of range for scalar tensor (expected 0 or -1, but got {dim})",
            hint="dim=0, or leave it out",
        )
    if rank and not -rank <= dim < rank:
        raise fatal(
            f"argmax: Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})",
            hint=in_range("dim", rank),
        )


def _argmax_input(tensor: Tensor, dim: int | None) -> None:
    memory, dtype, rank = tensor.memory_config().memory_layout, tensor.dtype, len(tensor.shape)
    if memory is not TensorMemoryLayout.INTERLEAVED:
        raise fatal(
            f"Only INTERLEAVED memory layout is supported for inputs, got {cpp(memory)}",
            hint="ttnn.sharded_to_interleaved(tensor)",
        )
    if tensor.layout is Layout.TILE:
        if dtype not in _ARGMAX_TILES:
            raise fatal(
                f"Only BFLOAT16, FLOAT32 are supported for inputs with TILE layout, got {cpp(dtype)}",
                hint="ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT)",
            )
        if dim is None:
            raise fatal(
                "For inputs with TILE layout, dim parameter must be specified!",
                hint=f"{in_range('dim', rank)}; or {in_rows('tensor')}",
            )
        return
    if dtype not in _ARGMAX_ROWS:
        raise fatal(
            "Only BFLOAT16, FLOAT32, INT32, UINT32, and UINT16 are supported for inputs with ROW_MAJOR layout, got "
            f"{cpp(dtype)}",
            hint=as_type("tensor", "float32"),
        )
    if dim is not None and dtype not in _ARGMAX_TILES and dim % rank != rank - 1:
        raise fatal(
            f"ROW_MAJOR: only argmax on the last dim is supported. Got dim={dim} (normalized={dim % rank}), expected {rank - 1}",
            hint="ttnn.transpose the dimension to the end, or give a tensor in tiles of bfloat16 or float32",
        )


def _argmax_output(memory_config: MemoryConfig | None, output: Tensor | None) -> None:
    if output is not None and output.dtype is not DataType.UINT32:
        raise fatal(
            f"Only UINT32 is supported for outputs, got {cpp(output.dtype)}",
            hint="leave the output tensor out, or make it with dtype=ttnn.uint32",
        )
    if memory_config is not None and memory_config.is_sharded():
        raise fatal(
            f"Only INTERLEAVED memory layout is supported for outputs, got {cpp(memory_config.memory_layout)}",
            hint="memory_config=ttnn.DRAM_MEMORY_CONFIG",
        )
    if output is not None and output.layout is not Layout.ROW_MAJOR:
        raise fatal(
            f"Output tensor must have ROW_MAJOR layout, got {cpp(output.layout)}", hint=in_rows("output")
        )


def check_prod(tensor: Tensor, dim: Dims, into_dims: bool, output: Tensor | None) -> None:
    """Arguments of `ttnn.prod`; `into_dims` for the form with an output tensor and a list of dimensions."""
    if into_dims:
        _prod_into(tensor, list(dim) if isinstance(dim, Sequence) else [], output)
        return
    on_device(tensor, kind="data movement")
    rank, dtype = len(tensor.shape), tensor.dtype
    if isinstance(dim, int) and not -max(rank, 1) <= dim < max(rank, 1):
        raise fatal(
            f"Dimension for prod is out of range (expected to be in range of [{-max(rank, 1)}, {max(rank, 1) - 1}])",
            hint=in_range("dim", max(rank, 1)),
        )
    if has_nothing_to_reduce(tensor):
        return
    _made_into_tiles(tensor)
    if rank == 1 and tensor.layout is Layout.ROW_MAJOR:
        room = Shape([-(-tensor.shape[0] // 32) * 32])
        raise fatal(
            f"To be tilizable output tensor shape {room} must be divisible by tile size (32, 32)",
            hint="ttnn.to_layout(tensor, ttnn.TILE_LAYOUT), or two dimensions",
        )
    if dim is None and dtype not in (*_FLOATS, DataType.BFLOAT4_B):
        raise fatal(
            f"Error - unsupported data type for prod, expected BFLOAT16, FLOAT32, BFLOAT8_B or BFLOAT4_B but got {cpp(dtype)}.",
            hint=as_type("tensor", "float32"),
        )
    if dim is None and tensor.is_sharded():
        raise fatal(
            f"Memory layout must be INTERLEAVED, got: {cpp(tensor.memory_config().memory_layout)}",
            hint="ttnn.sharded_to_interleaved(tensor), and ttnn.prod",
        )
    if dim is not None and dtype is DataType.BFLOAT4_B:
        raise fatal(
            "ttnn.prod with a dim argument does not support bfloat4_b", hint=as_type("tensor", "bfloat16")
        )
    if dim is not None:
        _prod_dtype(dtype)


def _prod_dtype(dtype: DataType) -> None:
    if dtype not in _FLOATS:
        raise fatal(
            f"Error - unsupported data type for prod, expected BFLOAT16, FLOAT32 or BFLOAT8_B but got {cpp(dtype)}.",
            hint=as_type("tensor", "float32"),
        )


def _prod_into(tensor: Tensor, dims: list[int], output: Tensor | None) -> None:
    if tensor.device() is None:
        raise fatal(
            f"Input tensor must be stored on device. Storage type: {cpp(tensor.storage_type())}",
            hint=put_on_device("tensor"),
        )
    on_device(tensor, kind="data movement")
    for dim in dims if len(dims) > 1 else ():
        if dim not in (0, 1):
            raise throw(
                f"Unsupported dim {dim} for prod nc op",
                hint="dims=[0], [1] or [0, 1]; ttnn.prod(tensor, dim) takes the others",
            )
    for dim in dims:
        if not 0 <= dim <= 3:
            raise fatal("dim should be 0 - 3", hint="dims=[0], [1] or [0, 1]")
        if len(tensor.shape) != 4:
            raise fatal(
                f"rank should be 4, got rank: {len(tensor.shape)}", hint="ttnn.unsqueeze_to_4D(tensor)"
            )
        if output is not None:
            _prod_shapes(tensor, output, dims)
        _prod_dtype(tensor.dtype)
        if dim not in (0, 1):
            raise fatal(
                f"Dimension ({dim}) must be either 0 or 1",
                "dim == 0 || dim == 1",
                hint="dims=[0], [1] or [0, 1]; ttnn.prod(tensor, dim) takes the others",
            )
        pieces = tensor.memory_config().shard_spec
        if pieces is not None and pieces.shape[0] % tensor.tile.edges[0]:
            raise fatal(
                f"Prod_nc input shard height={pieces.shape[0]} must be tile-height-aligned ({tensor.tile.edges[0]})",
                "shard_height % tile_height == 0",
                hint="pieces of whole tiles, or ttnn.sharded_to_interleaved(tensor)",
            )


def _prod_shapes(tensor: Tensor, output: Tensor, dims: list[int]) -> None:
    for place, (a, b) in enumerate(zip(tensor.padded_shape, output.padded_shape, strict=False)):
        if place not in dims and a != b:
            raise fatal(
                f"Input and output shapes must match at dimension {place}, got input: {a} vs output: {b}",
                hint="an output of length 1 along dims and of the tensor's elsewhere",
            )


def check_running(
    tensor: Tensor, dim: int, output: Tensor | None, memory_config: MemoryConfig | None
) -> None:
    """Arguments of `ttnn.cumsum` and `cumprod`."""
    if output is not None and output.device() is None:
        raise fatal("Preallocated output tensor must be on device", hint=put_on_device("output"))
    on_device(tensor, kind="data movement")
    rank = len(tensor.shape)
    if output is not None and output.shape != tensor.shape:
        raise fatal(
            f"Shape mismatch: input tensor shape {tensor.shape} does not match output tensor shape {output.shape}.",
            hint="leave the output tensor out, or make it of the tensor's shape with ttnn.empty",
        )
    if rank and not -rank <= dim < rank:
        raise fatal(
            f"The requested accumulation axis is {dim}, while the input tensor has rank {rank}.",
            hint=in_range("dim", rank),
        )
    if not volume(tuple(tensor.shape)) or not rank:
        return
    if tensor.memory_config().is_sharded():
        raise fatal(
            "ttnn accumulation operations (cumprod, cumsum) do not support sharded input tensors.",
            hint="ttnn.sharded_to_interleaved(tensor)",
        )
    if tensor.layout is not Layout.TILE:
        raise fatal(
            f"The provided input tensor has a non-tile layout: {tensor.layout.name}.", hint=in_tiles("tensor")
        )
    place = output.memory_config() if output is not None else memory_config
    check_shards_on_grid(tensor, place)
    if place is not None and place.is_sharded() and place.buffer_type is BufferType.L1:
        lengths, edges = list(tensor.padded_shape), tensor.tile.edges
        along = (*[1] * (rank - 2), *edges)[dim] if rank > 1 else edges[1]
        columns = math.prod(lengths) // math.prod(edges) // max(lengths[dim] // along, 1)
        check_within_program("Accumulation", place, tensor, columns)
