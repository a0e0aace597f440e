"""Tensors from a shape: zeros, ones, full, arange, rand, empty and their `*_like` forms; and from a list of numbers.

Without a device they are un-distributed host tensors; with one, every device holds the same values, which are stored once.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import ArgumentMismatch, fatal
from tt_run.runtime.native.arguments import public
from tt_run.runtime.tensor.borders.arrays import from_array
from tt_run.runtime.tensor.creation.allocation import mesh_replicated
from tt_run.runtime.tensor.creation.uniform_range import check_range, first_at_least, last_below
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.distribution.mappers import TensorToMesh
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.sharding import of_matrix
from tt_run.runtime.tensor.spec.tensor_spec import Shape, padded_shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import check_layout, convert, default_layout, is_float, stored_dtype
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice

Dims = Sequence[int] | Shape

# Seeds of `rand` calls without one: every rank makes the same calls, so every rank counts the same.
_unseeded = itertools.count(1)


@public
def zeros(
    shape: Dims,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A tensor of zeros; bfloat16 and ROW_MAJOR unless said otherwise."""
    return full(shape, 0.0, dtype, layout, device, memory_config)


@public
def ones(
    shape: Dims,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A tensor of ones; bfloat16 and ROW_MAJOR unless said otherwise."""
    return full(shape, 1.0, dtype, layout, device, memory_config)


@public
def full(
    shape: Dims,
    fill_value: float,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
    optional_tensor: Tensor | None = None,
) -> Tensor:
    """A tensor with one value everywhere, converted to `dtype`; written into `optional_tensor` if that is given."""
    if optional_tensor is not None:
        dtype, layout = optional_tensor.dtype, optional_tensor.layout
    made = _filled(tuple(Shape(shape)), fill_value, dtype or DataType.BFLOAT16, layout, device, memory_config)
    return made if optional_tensor is None else _write(optional_tensor, made)


@public
def empty(
    shape: Dims,
    dtype: DataType = DataType.BFLOAT16,
    layout: Layout = Layout.ROW_MAJOR,
    *args: Any,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
) -> Tensor:
    """A device tensor whose content is not specified (here zeros). Raises TypeError without a device."""
    given = dict(zip(("device", "memory_config"), args, strict=False))
    target = given.get("device", device)
    if target is None:
        raise ArgumentMismatch(
            "ttnn.empty: a device is required: empty(shape, dtype, layout, device, memory_config)"
        )
    return _filled(tuple(Shape(shape)), 0.0, dtype, layout, target, given.get("memory_config", memory_config))


@public
def arange(
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    dtype: DataType = DataType.BFLOAT16,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
    layout: Layout = Layout.ROW_MAJOR,
) -> Tensor:
    """`arange(end)` or `arange(start, end, step)`: a tensor of one dimension. Raises RuntimeError for a step of 0 or the wrong way."""
    first, last = (0, start) if end is None else (start or 0, end)
    if last is None:
        raise ArgumentMismatch("ttnn.arange: an end is required: arange(end) or arange(start, end, step)")
    first, last, step = operator.index(first), operator.index(last), operator.index(step)
    if step == 0:
        raise fatal("Step must be nonzero", hint="step=1 counts up, step=-1 down")
    if (last - first) * step < 0:
        raise fatal(
            f"Invalid range: Step {step} does not lead from {first} to {last}",
            hint=f"step={'' if last > first else '-'}1, or exchange start and end",
        )
    if dtype is DataType.UINT8:
        raise fatal("Unsupported dtype", hint="dtype=ttnn.uint16")
    values = np.arange(first, last, step, dtype=np.int64)
    source = values.astype(np.float32) if is_float(dtype) else values
    return from_array(
        source, source.dtype.name, dtype=dtype, layout=layout, memory_config=memory_config, device=device
    )


@public
def from_buffer(
    buffer: Any,
    shape: Dims,
    dtype: DataType,
    device: MeshDevice,
    layout: Layout | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A device tensor from the numbers of a list, row by row; ROW_MAJOR unless said otherwise. Raises RuntimeError when they are too few or many."""
    dims = tuple(Shape(shape))
    source = np.asarray(buffer, np.float32 if is_float(dtype) else np.int64).reshape(-1)
    if source.size != math.prod(dims):
        raise fatal(
            f"from_buffer: the buffer has {source.size} elements, shape {list(dims)} has {math.prod(dims)}",
            hint=f"give {math.prod(dims)} values, or a shape of {source.size} elements",
        )
    return from_array(
        source.reshape(dims),
        source.dtype.name,
        dtype=dtype,
        layout=layout,
        memory_config=memory_config,
        device=device,
    )


@public
def rand(
    shape: Dims,
    device: MeshDevice,
    *,
    dtype: DataType = DataType.BFLOAT16,
    layout: Layout = Layout.TILE,
    memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
    low: float = 0.0,
    high: float = 1.0,
    seed: int = 0,
    mesh_mapper: MeshMapperConfig | TensorToMesh | None = None,
) -> Tensor:
    """Uniform values from `low` to `high` on a device; the same everywhere, or the shards of one array with `mesh_mapper`.

    Every rank draws the same numbers. A seed of 0 takes the next of a fixed sequence. Rows of BFLOAT8_B are BFLOAT16.
    """
    if dtype is DataType.UINT8:
        raise fatal(
            f"[ttnn::rand] Output dtype {cpp(dtype)} is not supported.",
            hint="dtype=ttnn.uint16 or uint32, and ttnn.typecast",
        )
    if dtype is DataType.BFLOAT4_B and layout is Layout.ROW_MAJOR:
        raise fatal("Only TILE layout is supported for BFLOAT8_B dtype!", hint="layout=ttnn.TILE_LAYOUT")
    if dtype is DataType.BFLOAT8_B and layout is Layout.ROW_MAJOR:
        dtype = DataType.BFLOAT16
    if memory_config.nameless:
        raise _nameless(Layout.TILE)
    if memory_config.shard_spec is not None:  # tiles are drawn, whatever the layout
        sharding.check_alignment(memory_config.shard_spec, Layout.TILE, (TILE_SIZE, TILE_SIZE))
    generator = random_source(seed)
    dims = tuple(Shape(shape))
    if shapes.active():
        values: Any = shapes.zeros(dims, np.float32)
    elif is_float(dtype):
        values = uniform_values(generator, dims, low, high, dtype)
    else:
        check_range(low, high)
        values = np.floor(generator.random(dims) * (high - low) + low)
    if mesh_mapper is None:
        return values_for_every_device(values, device, dtype, layout, memory_config)
    mapper = mesh_mapper if isinstance(mesh_mapper, TensorToMesh) else TensorToMesh(device, mesh_mapper)
    placed = mapper.place(values, dtype)
    return Tensor.of(
        placed.shards,
        dtype=dtype,
        layout=layout,
        device=device,
        topology=placed.topology,
        memory_config=memory_config,
        fits=True,
    )


def random_source(seed: int | None) -> np.random.Generator:
    """Where random numbers come from: a seed, or the next of a fixed sequence, which every rank draws alike.

    Raises ArgumentMismatch for a seed that is no whole number of 32 bits without a sign (reference library 0.81.1).
    """
    if seed is not None and not (isinstance(seed, SupportsIndex) and 0 <= operator.index(seed) < 1 << 32):
        raise ArgumentMismatch(f"seed must be a whole number from 0 to {(1 << 32) - 1}, not {seed!r}")
    return np.random.Generator(np.random.Philox(seed or (next(_unseeded) << 32)))


def uniform_values(
    source: np.random.Generator, dims: Sequence[int], low: float, high: float, dtype: DataType
) -> npt.NDArray[np.float32]:
    """Uniform values that stay within the bounds when they are rounded to the type; RuntimeError for bounds with nothing between."""
    stored: Any = ml_dtypes.bfloat16 if dtype is DataType.BFLOAT16 else np.float32
    check_range(low, high, stored)
    first, last = first_at_least(low, stored), last_below(high, stored)
    values = source.random(tuple(dims), np.float32) * np.float32(high - low) + np.float32(low)
    return np.clip(values, np.float32(first), np.float32(last))


def values_for_every_device(
    values: Any, device: MeshDevice, dtype: DataType, layout: Layout, memory_config: MemoryConfig
) -> Tensor:
    """Values that every device of a mesh holds."""
    check_layout(dtype, layout)
    stored = shapes.zeros(values.shape, stored_dtype(dtype)) if shapes.active() else convert(values, dtype)
    return Tensor.of(
        Shards(stored[None], (0,) * len(device.local_positions)),
        dtype=dtype,
        layout=layout,
        device=device,
        topology=mesh_replicated(device),
        memory_config=memory_config,
        fits=True,
    )


@public
def zeros_like(
    tensor: Tensor,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
    optional_tensor: Tensor | None = None,
) -> Tensor:
    """Zeros in the shape of `tensor`; what is not named is taken from it."""
    return full_like(tensor, 0.0, dtype, layout, device, memory_config, optional_tensor)


@public
def ones_like(
    tensor: Tensor,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
    optional_tensor: Tensor | None = None,
) -> Tensor:
    """Ones in the shape of `tensor`; what is not named is taken from it."""
    return full_like(tensor, 1.0, dtype, layout, device, memory_config, optional_tensor)


@public
def full_like(
    tensor: Tensor,
    fill_value: float,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
    optional_tensor: Tensor | None = None,
) -> Tensor:
    """One value in the shape of `tensor`; what is not named is taken from it.

    A tiled device tensor also hands on its topology; others become replicated, as in the reference.
    """
    target = device or tensor.device()
    shape = tensor.shape
    if optional_tensor is not None:
        # One like the tensor has its shape; any other is filled as it is.
        tiles = optional_tensor.layout is tensor.layout is Layout.TILE
        if tiles and optional_tensor.dtype is tensor.dtype and optional_tensor.shape != shape:
            raise _other_shape(optional_tensor, shape)
        dtype, layout, shape = optional_tensor.dtype, optional_tensor.layout, optional_tensor.shape
        memory_config = memory_config or optional_tensor.memory_config()
    wanted, laid = dtype or tensor.dtype, layout or tensor.layout
    memory = memory_config or (
        of_matrix(tensor.memory_config()) if laid is Layout.TILE else tensor.memory_config()
    )
    if memory.nameless and target is not None:
        if laid is Layout.TILE and wanted is not tensor.dtype:
            raise _nameless(laid)
        memory = _on_cores(memory, tensor, laid, target)
    made = _filled(tuple(shape), fill_value, wanted, laid, target, memory)
    if target is not None and target is tensor.device() and laid is tensor.layout is Layout.TILE:
        index = tuple(0 if row >= 0 else -1 for row in tensor.shards.index)
        made = made.derive(Shards(made.shards.data, index), topology=tensor.tensor_topology())
    return made if optional_tensor is None else _write(optional_tensor, made)


def _on_cores(asked: MemoryConfig, like: Tensor, layout: Layout, device: MeshDevice) -> MemoryConfig:
    """A cut that names no cores over those of a tensor, or as many of the device as there are tiles for. Raises RuntimeError for rows."""
    if layout is not Layout.TILE:
        raise _nameless(layout)
    held = like.memory_config()
    if held.shard_spec is not None:
        return MemoryConfig(asked.memory_layout, asked.buffer_type, held.shard_spec)
    padded, grid = (
        padded_shape(tuple(like.shape), layout, like.tile).dims,
        device.compute_with_storage_grid_size(),
    )
    return sharding.completed(asked, held, padded, like.tile.edges, grid)


def _nameless(layout: Layout) -> RuntimeError:
    """What is wrong with a cut over cores that it does not name."""
    return fatal(
        "bad optional access"
        if layout is Layout.TILE
        else "MemoryConfig must have Shard Spec specified for sharded memory layout",
        hint="memory_config=ttnn.create_sharded_memory_config(…)",
    )


@public
def empty_like(
    tensor: Tensor,
    *,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A tensor in the shape of `tensor` whose content is not specified (here zeros)."""
    if memory_config is not None and memory_config.nameless:
        raise _nameless(layout or tensor.layout)
    if memory_config is None and layout in (None, tensor.layout) and tensor.is_sharded():
        memory_config = tensor.memory_config()
    return full_like(tensor, 0.0, dtype, layout, device, memory_config)


def _one(value: Any) -> npt.NDArray[Any]:
    """A number, of NumPy or PyTorch too, as an array: whole ones stay whole."""
    try:
        return np.full((1,), operator.index(value), np.int64)
    except TypeError:
        if isinstance(value, (str, bytes)):
            raise
        return np.full((1,), float(value.item() if hasattr(value, "item") else value), np.float32)


def _filled(
    dims: tuple[int, ...],
    value: float,
    dtype: DataType,
    layout: Layout | None,
    device: MeshDevice | None,
    memory_config: MemoryConfig | None,
) -> Tensor:
    laid = layout or default_layout(dtype)
    check_layout(dtype, laid)
    is_nameless = (
        memory_config is not None and memory_config.nameless
    )  # also to refuse what is no configuration
    if device is not None:
        device.require_open("a tensor made from its shape")
        if is_nameless:
            raise _nameless(laid)
    else:
        memory_config = None  # nothing lies anywhere on the host
    scalar = convert(_one(value), dtype)[0]
    data = np.full((shapes.rows(), *dims), scalar, stored_dtype(dtype))
    count = 1 if device is None else len(device.local_positions)
    return Tensor.of(
        Shards(data, (0,) * count),
        dtype=dtype,
        layout=laid,
        device=device,
        memory_config=memory_config or DRAM_MEMORY_CONFIG,
        fits=device is not None,
    )


def _other_shape(target: Tensor, expected: Shape) -> RuntimeError:
    return fatal(
        f"Optional output tensor has shape {target.shape}, expected {expected}",
        hint=f"give a tensor of shape {expected}, or leave optional_tensor out",
    )


def _write(target: Tensor, made: Tensor) -> Tensor:
    if target.shape != made.shape:
        raise _other_shape(target, made.shape)
    index = tuple(0 if row >= 0 else -1 for row in target.shards.index)
    target.overwrite(Shards(made.shards.data, index))
    return target
