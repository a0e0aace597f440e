"""What programs ask about a tensor by a function: where it is, whether it is padded or cut over cores.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, corerange_to_cores
from tt_run.runtime.enums import (
    BufferType,
    DataType,
    ShardDistributionStrategy,
    ShardOrientation,
    StorageType,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, element_size


def is_tensor_storage_on_device(tensor: Tensor) -> bool:
    """True when the tensor lies on devices."""
    return tensor.storage_type() is StorageType.DEVICE


def get_memory_config(tensor: Tensor) -> MemoryConfig | None:
    """The memory configuration of a tensor on devices, None on the host."""
    return tensor.memory_config() if is_tensor_storage_on_device(tensor) else None


def has_storage_type_of(tensor: Tensor, storage_type: StorageType) -> bool:
    """Whether a tensor lies in memory of a kind."""
    return tensor.storage_type() is storage_type


def bytes_of_element(dtype: DataType) -> int:
    """Bytes of one element. Raises ValueError for block floats, whose elements share exponents."""
    if dtype in BLOCK_FLOATS:
        raise ValueError("datum for bfp2, bfp4, bfp8 is invalid")
    return element_size(dtype)


def bytes_of_tile(dtype: DataType) -> int:
    """Bytes of a tile of 32 by 32 elements."""
    return DEFAULT_TILE.get_tile_size(dtype)


def torch_dtype(dtype: DataType) -> Any:
    """The torch type that holds the values of a type; float32 for block floats."""
    torch = importlib.import_module("torch")
    return getattr(torch, "float32" if dtype in BLOCK_FLOATS else dtype.name.lower())


def worker_cores_of(tensor: Tensor, noc: object = None) -> list[CoreCoord]:
    """The worker cores for the shards of a tensor that is cut over cores: of its own cores in L1 those that hold one, else one for each bank.

    Raises RuntimeError for another tensor.
    """
    memory, device = tensor.memory_config(), tensor.device()
    pieces, spec = memory.nd_shard_spec, memory.shard_spec
    if pieces is None or device is None:
        raise fatal(
            "Tensor must be sharded to compute optimal worker cores.",
            "tensor.is_sharded()",
            hint="ttnn.to_memory_config(tensor, ttnn.create_sharded_memory_config(...))",
        )
    by_row = pieces.orientation is ShardOrientation.ROW_MAJOR
    shape, grid = tuple(tensor.padded_shape), pieces.grid
    cut = _pieces(shape, tuple(pieces.shard_shape))
    if spec is not None and pieces.shard_distribution_strategy is ShardDistributionStrategy.GRID_2D:
        cut = _pieces((math.prod(shape[:-1]), shape[-1]), tuple(spec.shape))
        high, wide = cut if by_row else cut[::-1]
        start = grid.bounding_box().start
        end = CoreCoord(start.x + wide - 1, start.y + high - 1)
        grid = CoreRangeSet({CoreRange(start, end)})
    cores = corerange_to_cores(grid, row_wise=by_row)[: math.prod(cut)]
    if memory.buffer_type is BufferType.L1:
        return cores
    near = device.dram_bank_workers()
    return [near[core.x] for core in cores]


def compute_shard_page_mapping(
    tensor_shape: Sequence[int],
    shard_shape: Sequence[int],
    page_height: int,
    page_width: int,
    core_range_set: CoreRangeSet,
    shard_orientation: ShardOrientation,
    distribution_strategy: ShardDistributionStrategy = ShardDistributionStrategy.ROUND_ROBIN_1D,
) -> list[tuple[CoreCoord, list[int]]]:
    """The pages on each core, in their order there, by their numbers in the whole tensor: shards in turn over the cores, or a matrix of them
    over a rectangle of cores. Raises RuntimeError for a matrix that the rectangle does not hold.
    """
    steps = (page_height, page_width)
    pages = _pieces(tuple(tensor_shape), (*(1 for _ in tensor_shape[:-2]), *steps))
    piece = (
        *shard_shape[:-2],
        *(-(-length // step) for length, step in zip(shard_shape[-2:], steps, strict=True)),
    )
    cut = _pieces(pages, piece)
    numbers = np.arange(math.prod(pages)).reshape(-1, *pages[len(pages) - len(piece) + 1 :])
    cores = _cores_in_turn(cut, core_range_set, shard_orientation, distribution_strategy)
    held: list[list[int]] = [[] for _ in cores]
    for turn, part in enumerate(_parts(cut, piece)):
        held[turn % len(cores)] += numbers[part].reshape(-1).tolist()
    return list(zip(cores, held, strict=True))


def elements_on(tensor: Tensor, cores: CoreRangeSet) -> npt.NDArray[np.bool_]:
    """Which elements of each device's padded shard of a tensor that is cut over cores these hold; cores that hold none of it count as none."""
    shape, pieces = tuple(tensor.padded_shape), tensor.memory_config().nd_shard_spec
    assert pieces is not None
    piece = tuple(pieces.shard_shape)
    cut = _pieces(shape, piece)
    turns = _cores_in_turn(cut, pieces.grid, pieces.orientation, pieces.shard_distribution_strategy)
    asked = [cores.contains(core) for core in turns]
    held = np.zeros(shape, bool)
    joined = held.reshape(-1, *shape[len(shape) - len(piece) + 1 :])
    for turn, part in enumerate(_parts(cut, piece)):
        joined[part] = asked[turn % len(asked)]
    return held


def _cores_in_turn(
    cut: tuple[int, ...],
    grid: CoreRangeSet,
    orientation: ShardOrientation,
    strategy: ShardDistributionStrategy,
) -> list[CoreCoord]:
    by_row = orientation is ShardOrientation.ROW_MAJOR
    cores = corerange_to_cores(grid, row_wise=by_row)
    if strategy is not ShardDistributionStrategy.GRID_2D:
        return cores
    size = grid.bounding_box().grid_size()
    high, wide = (size.y, size.x) if by_row else (size.x, size.y)
    for length, most, name in ((cut[-1], wide, "width"), (cut[-2], high, "height")):
        if length > most:
            raise fatal(
                f"Number of shards along {name} must not exceed core grid {name}!",
                hint=f"{length} shards on {most} cores: larger shards, or a larger grid",
            )
    return [core for turn, core in enumerate(cores) if turn // wide < cut[-2] and turn % wide < cut[-1]]


def _parts(cut: tuple[int, ...], piece: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    for at in np.ndindex(cut):
        yield tuple(slice(n * length, (n + 1) * length) for n, length in zip(at, piece, strict=True))


def _pieces(shape: tuple[int, ...], piece: tuple[int, ...]) -> tuple[int, ...]:
    """Into how many shards each dimension is cut; a shard of fewer dimensions cuts the tensor whose first ones are joined."""
    joined = len(shape) - len(piece) + 1
    whole = (math.prod(shape[:joined]), *shape[joined:])
    return tuple(-(-length // part) for length, part in zip(whole, piece, strict=True))


def is_sharded(tensor: Tensor) -> bool:
    """True when the buffer of each device is cut over its cores."""
    return tensor.is_sharded()


def has_tile_padding(tensor: Tensor, *, dim: int | None = None) -> bool:
    """True when one dimension, or else one of the last two, is padded. Raises IndexError for a dimension that does not exist."""
    shape, padded = tuple(tensor.shape), tuple(tensor.padded_shape)
    if dim is not None:
        return shape[dim] != padded[dim]
    return len(shape) > 1 and shape[-2:] != padded[-2:]
