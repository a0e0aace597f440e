"""Dimensions that get longer by repetition, and round trips along one: expand, repeat, repeat_interleave, roll. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import as_type, fatal
from tt_run.runtime.ops.data_movement.movement import check_moves, moved, same_or_seen_as, unmoved
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.ops.declaration.operands import axis_of, ints, on_device, place_of, settle, volume
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement import fitted_shards, larger_shards
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import BLOCK_FLOATS


@operation("ttnn.expand", family=families.MOVEMENT, golden=lambda x, shape, **_: x.expand(*shape))
def expand(
    input_tensor: Tensor, output_shape: Sequence[int], *, memory_config: MemoryConfig | None = None
) -> Tensor:
    """Dimensions of length 1 repeated up to output_shape; -1 keeps a length."""
    on_device(input_tensor, kind="data movement")
    shape, wanted = tuple(input_tensor.shape), ints(output_shape)
    old = (1,) * (len(wanted) - len(shape)) + shape
    if len(old) != len(wanted) or any(w not in (-1, o) and o != 1 for w, o in zip(wanted, old, strict=True)):
        raise fatal(
            f"Cannot expand shape {list(shape)} to {list(wanted)}",
            hint="lengths of 1 can be expanded, others must stay as they are (or -1); ttnn.repeat copies",
        )
    if any(w == -1 for w in wanted[: len(wanted) - len(shape)]):
        raise fatal(
            "Leading dimension must be non-negative (got -1); it has no corresponding input dimension",
            "shape[out_idx] >= 0",
            hint=f"-1 keeps one of the {len(shape)} lengths of the tensor: name those in front of them",
        )
    full = [o if w == -1 else w for w, o in zip(wanted, old, strict=True)]
    if full == list(old) and unmoved(input_tensor, memory_config):
        return same_or_seen_as(input_tensor, full)
    if input_tensor.layout is Layout.TILE or len(shape) != 1:
        _check_bytes(input_tensor)
    times = [new // length if length else 1 for new, length in zip(full, old, strict=True)]
    place = larger_shards.of_repetition(input_tensor, times, full, memory_config)
    return moved(input_tensor, lambda s: np.broadcast_to(s.reshape(len(s), *old), (len(s), *full)), place)


def _check_bytes(tensor: Tensor) -> None:
    """Raises RuntimeError for bytes, which a device does not repeat."""
    if tensor.dtype is DataType.UINT8:
        raise fatal(
            "Can only work with UINT16, BFLOAT16, UINT32, INT32, FLOAT32 data types",
            hint=as_type("tensor", "uint16"),
        )


@operation("ttnn.repeat", family=families.MOVEMENT, golden=goldens.repeat)
def repeat(
    input_tensor: Tensor,
    repeat_dims: Sequence[int],
    *,
    memory_config: MemoryConfig | None = None,
    optional_output_tensor: Tensor | None = None,
) -> Tensor:
    """The whole repeated repeat_dims[d] times along each dimension d."""
    on_device(input_tensor, kind="repeat")
    times = ints(repeat_dims)
    rank = max(len(input_tensor.shape), len(times))
    times = (1,) * (rank - len(times)) + times
    shape = (1,) * (rank - len(input_tensor.shape)) + tuple(input_tensor.shape)
    same = set(times) <= {1} and optional_output_tensor is None
    if same and unmoved(input_tensor, memory_config):
        return same_or_seen_as(input_tensor, shape)
    _check_bytes(input_tensor)
    if any(n > 1 and length % TILE_SIZE for n, length in list(zip(times, shape, strict=True))[-2:]):
        _check_leaves(input_tensor)
    if optional_output_tensor is None:
        repeated = [length * count for length, count in zip(shape, times, strict=True)]
        memory_config = larger_shards.of_repetition(input_tensor, times, repeated, memory_config)
    return moved(
        input_tensor,
        lambda s: np.tile(s.reshape(len(s), *shape), (1, *times)),
        memory_config,
        optional_output_tensor,
    )


@operation("ttnn.repeat_interleave", family=families.MOVEMENT, golden=goldens.repeat_interleave)
def repeat_interleave(
    input_tensor: Tensor, repeats: int, dim: int, *, memory_config: MemoryConfig | None = None
) -> Tensor:
    """Every slice along `dim` repeated `repeats` times in a row."""
    on_device(input_tensor, kind="data movement")
    if not repeats:
        raise fatal("ttnn.concat: expected a non-empty list of Tensors!", hint="repeats=1 or more")
    if repeats == 1 and unmoved(input_tensor, memory_config):
        return input_tensor.alias()
    # Once is no repetition, and whichever dimension it is along is not looked at.
    axis = 1 if repeats == 1 else place_of(dim, len(input_tensor.shape)) + 1
    if repeats > 1 and len(input_tensor.shape) == 1:
        check_moves(input_tensor)
    place = memory_config
    if place is None and input_tensor.layout is Layout.ROW_MAJOR and repeats > 1:
        place = larger_shards.of_slices(input_tensor, repeats, axis - 1)
    elif place is None and repeats > 1:
        place = fitted_shards.in_dram_if_sharded(input_tensor)
    return moved(input_tensor, lambda s: np.repeat(s, repeats, axis=axis), place)


@operation("ttnn.roll", family=families.MOVEMENT, golden=goldens.roll)
def roll(
    input_tensor: Tensor,
    shifts: int | Sequence[int],
    dim: int | Sequence[int] | None = None,
    *,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Elements moved by `shifts` along `dim`, coming in again at the other end; the flattened tensor without a dim."""
    on_device(input_tensor, kind="data movement")
    rank = len(input_tensor.shape)
    _check_pairs(shifts, dim)
    if dim is None:
        if input_tensor.is_sharded():
            raise fatal(
                "ttnn::roll without dims does not support sharded inputs. Convert to interleaved first.",
                hint="dim=…, or ttnn.sharded_to_interleaved(input_tensor)",
            )
        if rank > 1:
            check_moves(input_tensor)
        size = volume(tuple(input_tensor.shape))
        shards = input_tensor.shards.map(
            lambda s: np.roll(s.reshape(len(s), size), shifts, axis=1).reshape(s.shape)
        )
        dtype = input_tensor.dtype
        amount = shifts if isinstance(shifts, int) else sum(shifts)
        if dtype in BLOCK_FLOATS and amount % max(size, 1) % TILE_SIZE:  # one row of all, cut within a tile
            _check_leaves(input_tensor)
            dtype = DataType.BFLOAT16
        return settle((input_tensor,), shards, dtype, memory_config=memory_config)
    beyond = f"The dimension must be within the range [{-rank}, {rank - 1}]."
    axes = [
        axis_of(d, rank, f"Invalid dimension index {d}. {beyond}") + 1
        for d in ([dim] if isinstance(dim, int) else dim)
    ]
    amounts = [shifts] if isinstance(shifts, int) else list(shifts)
    lengths = [max(input_tensor.shape[axis - 1], 1) for axis in axes]
    stays = not any(amount % length for amount, length in zip(amounts, lengths, strict=False))
    if stays and unmoved(input_tensor, memory_config):
        return input_tensor.alias()
    dtype = _rolled_type(input_tensor, [axis - 1 for axis in axes], amounts)
    if dtype is input_tensor.dtype:
        return moved(input_tensor, lambda s: np.roll(s, amounts, axis=axes), memory_config=memory_config)
    shards = input_tensor.shards.map(lambda s: np.roll(s, amounts, axis=axes))
    return settle((input_tensor,), shards, dtype, memory_config=memory_config)


def _check_pairs(shifts: int | Sequence[int], dim: int | Sequence[int] | None) -> None:
    """Raises TypeError for one number beside several, RuntimeError for more of the ones than of the others, or none."""
    if isinstance(shifts, int) != (dim is None or isinstance(dim, int)):
        raise ArgumentMismatch("shifts and dim must both be numbers, or both sequences of as many")
    if isinstance(shifts, int) or dim is None or isinstance(dim, int):
        return
    if len(shifts) != len(dim) or not shifts:
        raise fatal(
            f"Roll expects shifts {len(shifts)} and dims {len(dim)} to have the same length",
            hint=f"a shift for each dimension; shifts={list(shifts)}, dim={list(dim)}",
        )


def _rolled_type(tensor: Tensor, dims: Sequence[int], amounts: Sequence[int]) -> DataType:
    """The type of what is cut in two along each dimension and joined the other way round: blocks that do not come out whole become bfloat16.

    A tensor on cores without padding is moved there and keeps its own. Raises RuntimeError where one part alone does, and for blocks that have no such way.
    """
    dtype = tensor.dtype
    if tensor.is_sharded() and tensor.padded_shape == tensor.shape:
        return dtype
    for dim, amount in zip(dims, amounts, strict=False):
        length = tensor.shape[dim]
        seam = -amount % max(length, 1)
        if tensor.dtype not in BLOCK_FLOATS or dim < len(tensor.shape) - 2 or not seam:
            continue
        if not (seam % TILE_SIZE or length % TILE_SIZE):
            continue
        _check_leaves(tensor)
        if dim == len(tensor.shape) - 1 and seam % TILE_SIZE:
            raise fatal("All Tensors should have same dtypes.", hint=as_type("tensor", "bfloat16"))
        dtype = DataType.BFLOAT16
    return dtype


def _check_leaves(tensor: Tensor) -> None:
    """Raises RuntimeError for blocks that do not leave their tiles."""
    if tensor.dtype is DataType.BFLOAT4_B:
        raise fatal("Only TILE layout is supported for BFLOAT8_B dtype!", hint=as_type("tensor", "bfloat16"))
