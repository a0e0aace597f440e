"""Parameters of group norms as programs prepare them for the cores of a chip: weights in padded chunks, masks, grids.

`ttnn.group_norm` reads the weights back out of their chunks; masks and grids are for cores and change no result.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tt_run.runtime.cores import CoreCoord, CoreGrid, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ShardTensor2dMesh
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE


def _up(value: int, step: int = TILE_SIZE) -> int:
    return -(-value // step) * step


def find_max_tile_span(W: int, group_size: int, tile_width: int) -> int:
    """The most tiles that one of the groups of a row of W channels touches."""
    starts = range(0, W, group_size)
    return max((start + group_size - 1) // tile_width - start // tile_width + 1 for start in starts)


def create_group_norm_weight_bias_rm(input_tensor: Any, num_channels: int, num_cores_x: int) -> Any:
    """A torch vector of one value per channel as `(1, 1, rows, 32)`: each core's channels, then zeros up to whole rows of 32."""
    each = num_channels // num_cores_x
    chunks = input_tensor.reshape(-1, each)[: num_channels // each]
    padded = input_tensor.new_zeros((len(chunks), _up(each)))
    padded[:, :each] = chunks
    return padded.reshape(1, 1, -1, TILE_SIZE)


def _mask(channels: int, groups: int, cores: int, height: int, width: int, inside: float) -> Any:
    """(1, groups, height, columns): `inside` where a column of a group's tiles belongs to it, the other of 0 and 1 elsewhere."""
    size = channels // groups
    columns = width * find_max_tile_span(channels, size, width)
    mask = np.full((1, groups, height, columns), 1 - inside, np.float32)
    for group in range(groups):
        start = (group % (groups // cores)) * size % width
        mask[:, group, :, start : start + size] = inside
    return mask


def create_group_norm_input_mask(
    num_channel: int,
    num_groups: int,
    num_cores_across_channel: int,
    data_type: DataType = DataType.BFLOAT16,
    tile_height: int = TILE_SIZE,
    tile_width: int = TILE_SIZE,
    rows_in_last_tile: int = 0,
) -> Tensor:
    """Which columns of its tiles belong to each group: `(1, groups, 32, 32 * tiles)`, ones and zeros.

    With rows_in_last_tile a second set follows whose rows from there on are zero. Raises RuntimeError for groups that do not divide.
    """
    _check_mask(
        "create_group_norm_input_mask",
        num_channel,
        num_groups,
        num_cores_across_channel,
        tile_height,
        rows_in_last_tile,
    )
    mask = _mask(num_channel, num_groups, num_cores_across_channel, tile_height, tile_width, 1.0)
    if rows_in_last_tile:
        last = mask.copy()
        last[:, :, rows_in_last_tile:] = 0
        mask = np.concatenate([mask, last], 1)
    return from_torch(mask, dtype=data_type, layout=Layout.TILE)


def create_group_norm_input_negative_mask(
    num_channel: int,
    num_groups: int,
    num_cores_across_channel: int,
    data_type: DataType = DataType.BFLOAT16,
    tile_height: int = TILE_SIZE,
    tile_width: int = TILE_SIZE,
) -> Tensor:
    """Which columns of its tiles do not belong to each group: the complement of `create_group_norm_input_mask`."""
    _check_mask(
        "create_group_norm_input_mask", num_channel, num_groups, num_cores_across_channel, tile_height, 0
    )
    mask = _mask(num_channel, num_groups, num_cores_across_channel, tile_height, tile_width, 0.0)
    return from_torch(mask, dtype=data_type, layout=Layout.TILE)


def _check_mask(name: str, channels: int, groups: int, cores: int, height: int, rows: int) -> None:
    """Groups divide the channels and are themselves dealt over cores; the last tile has some of its rows."""
    if cores < 1:
        raise fatal(f"{name}: num_cores_across_channel must be > 0.", hint="num_cores_across_channel=1")
    if channels < 1:
        raise fatal(f"W needs to be greater than 0 and is {channels}", hint="num_channel=32")
    _divides(channels, groups)
    if groups % cores:
        raise fatal(
            f"{name}: num_groups ({groups}) must be divisible by num_cores_across_channel ({cores}). The num_virtual_cols / "
            "num_cores_across_channel value must evenly divide both the channels into tiles and the number of groups.",
            hint=f"num_cores_across_channel is one of {', '.join(str(n) for n in range(1, groups + 1) if groups % n == 0)}",
        )
    if not 0 <= rows < height:
        raise fatal(
            f"{name}: rows_in_last_tile ({rows}) must be in [0, tile_height={height})",
            hint="rows_in_last_tile=0",
        )


def _divides(channels: int, groups: int) -> None:
    if groups < 1 or channels % groups:
        raise fatal(
            f"channel must be divisible by num_groups: {channels} channels, {groups} groups",
            hint=f"num_groups is one of {', '.join(str(n) for n in range(1, channels + 1) if channels % n == 0)}",
        )


def dram_group_norm_virtual_columns(core_grid: CoreGrid, num_channels: int, num_groups: int) -> int:
    """Over how many columns of cores channels can be cut so that each has whole groups and whole tiles, at most those of the grid.

    Raises RuntimeError when there is no such number.
    """
    found = virtual_columns(core_grid.x, num_groups, num_channels)
    if not found:
        raise fatal(
            f"no number of columns up to {core_grid.x} cuts {num_channels} channels in {num_groups} groups into whole tiles",
            hint=f"channels a multiple of {TILE_SIZE}, num_groups one of its divisors",
        )
    return found


def dram_group_norm_params_from_torch(
    torch_params: Any,
    channels_per_device: int,
    groups_per_device: int,
    device: MeshDevice,
    mesh_axis: int | None = None,
    core_grid: CoreGrid | None = None,
    return_mask: bool = True,
    dtype: DataType = DataType.BFLOAT16,
) -> Any:
    """Weights and biases of a group norm on a device, cut along one mesh axis on wish, and the mask of its groups.

    Raises RuntimeError when the channels are no whole tiles and groups.
    """
    if channels_per_device % TILE_SIZE or groups_per_device < 1 or channels_per_device % groups_per_device:
        raise fatal(
            f"channels_per_device {channels_per_device} must be divisible by 32 and groups_per_device {groups_per_device}",
            hint=f"groups_per_device={math.gcd(channels_per_device, max(groups_per_device, 1))}, and channels_per_device a multiple of {TILE_SIZE}",
        )
    shape = tuple(device.shape)
    parts = 1 if mesh_axis is None else shape[mesh_axis]
    dims: list[int | None] = [None, None]
    if mesh_axis is not None:
        dims[mesh_axis] = 0
    columns = dram_group_norm_virtual_columns(
        core_grid or device.core_grid, channels_per_device, groups_per_device
    )
    several = isinstance(torch_params, (list, tuple))
    made = []
    for parameter in torch_params if several else [torch_params]:
        if parameter.numel() // parts != channels_per_device:
            raise fatal(
                f"{parameter.numel()} values over {parts} devices are not {channels_per_device} channels each",
                hint=f"channels_per_device={parameter.numel() // parts}",
            )
        pieces = [create_group_norm_weight_bias_rm(p, channels_per_device, columns) for p in parameter.chunk(parts)]  # fmt: skip
        whole = np.concatenate([np.asarray(p.float()) for p in pieces], 0)
        mapper = ShardTensor2dMesh(device, mesh_shape=shape, dims=tuple(dims))
        made.append(from_torch(whole, dtype=dtype, device=device, mesh_mapper=mapper))
    found = made if several else made[0]
    if not return_mask:
        return found
    mask = create_group_norm_input_mask(channels_per_device, groups_per_device, columns, dtype)
    return found, mask.to(device)


def determine_expected_group_norm_dram_grid_size(
    *, device: MeshDevice, num_channels: int, num_groups: int, input_nhw: int, num_batches: int = 1
) -> CoreGrid:
    """A grid of cores for a group norm on interleaved tensors, as `dram_group_norm_grid` finds it among the device's."""
    _divides(num_channels, num_groups)
    found = dram_group_norm_grid(device.core_grid, num_channels, num_groups, input_nhw, num_batches)
    if found is None:
        raise fatal(
            f"group_norm: Could not determine a valid DRAM core grid for channels={num_channels}, num_groups={num_groups}, "
            f"nhw={input_nhw}. Specify core_grid explicitly or adjust configuration.",
            hint=f"channels a multiple of {TILE_SIZE}",
        )
    return found


def virtual_columns(width: int, groups: int, channels: int) -> int:
    """Over how many columns of cores, at most `width`, channels are cut into whole groups and whole tiles; 0 where none do."""
    fitting = (
        n for n in range(min(width, groups), 0, -1) if groups % n == 0 and channels % (n * TILE_SIZE) == 0
    )
    return next(fitting, 0)


def virtual_rows(grid: CoreGrid, groups: int, channels: int) -> int:
    """Among how many sets of columns of a grid the tiles of rows are dealt out."""
    columns = virtual_columns(grid.x, groups, channels)
    return columns and grid.x // columns * grid.y


def shares_evenly(rows: int, tiles: int, images: int) -> bool:
    """Whether each set of columns has the same number of tiles, and each image the same number of sets."""
    return rows > 0 and tiles % rows == 0 and (rows < images or rows % images == 0)


def dram_group_norm_grid(
    most: CoreGrid, channels: int, groups: int, positions: int, images: int
) -> CoreGrid | None:
    """The widest and then tallest grid of cores that shares the tiles evenly, first of those all of whose columns are used."""
    tiles = -(-positions // TILE_SIZE)
    columns = {x: virtual_columns(x, groups, channels) for x in range(most.x, 0, -1)}
    for x in sorted(filter(columns.get, columns), key=lambda x: x % columns[x] > 0):
        for y in range(most.y, 0, -1):
            if shares_evenly(x // columns[x] * y, tiles, images):
                return CoreGrid(x=x, y=y)
    return None


def determine_expected_group_norm_sharded_config_and_grid_size(
    *,
    device: MeshDevice,
    num_channels: int,
    num_groups: int,
    input_nhw: int,
    is_height_sharded: bool,
    is_row_major: bool = False,
) -> tuple[MemoryConfig, CoreGrid]:
    """The memory configuration and the grid of a group norm whose input is cut over cores.

    As many cores as divide the tiles of rows; channels over as many as leave each whole groups, 8 channels or a multiple and a tile at least.
    Pieces are rows by channels. Those of reference library 0.81.1 have both the other way round where shards run by columns: none of its tensors
    can lie so, and versions before it did as here. Raises RuntimeError for channels that are no whole tiles and groups.
    """
    if num_groups < 1:
        raise fatal(
            "num_groups needs to be greater than 0", hint=f"num_groups divides {num_channels} channels"
        )
    for divisor, name in ((TILE_SIZE, "tile width"), (num_groups, "num_groups")):
        if num_channels % divisor:
            raise fatal(
                f"group_norm: num_channels ({num_channels}) must be divisible by {name} ({divisor}).",
                hint=f"pad the channels to {_up(num_channels, math.lcm(TILE_SIZE, num_groups))}",
            )
    grid = device.core_grid
    most = grid.x * grid.y if is_height_sharded else grid.x
    tiles = -(-input_nhw // TILE_SIZE)
    tall = find_closest_largest_divisor(tiles, most)
    if is_height_sharded:
        kind, wide = TensorMemoryLayout.HEIGHT_SHARDED, 1
        cores = (min(grid.x, tall), -(-tall // grid.x))
    else:
        kind, wide = TensorMemoryLayout.BLOCK_SHARDED, _channel_cores(grid.y, num_channels, num_groups)
        cores = (wide, tall) if is_row_major else (tall, wide)
    by_rows = is_row_major or is_height_sharded
    orientation = ShardOrientation.ROW_MAJOR if by_rows else ShardOrientation.COL_MAJOR
    piece = [_up(input_nhw, tall * TILE_SIZE) // tall, num_channels // wide]
    place = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(cores[0] - 1, cores[1] - 1))])
    return (
        MemoryConfig(kind, BufferType.L1, ShardSpec(place, piece, orientation)),
        CoreGrid(x=cores[0], y=cores[1]),
    )


def _channel_cores(most: int, channels: int, groups: int) -> int:
    """Over how many cores channels are cut at most: each has whole groups, 8 channels or a multiple, and a tile at least."""
    size = math.lcm(channels // groups, 8)
    counts = range(min(most, channels // TILE_SIZE), 1, -1)
    return next((n for n in counts if channels % n == 0 and channels // n % size == 0), 1)


def create_layer_norm_reciprocals(device: MeshDevice, core_range_set: CoreRangeSet, width: int) -> Tensor:
    """1/1, 1/2, … 1/width for every core, `(cores, width)` in its L1: a table of one algorithm of devices."""
    count = core_range_set.num_cores()
    values = np.tile(1 / np.arange(1, width + 1, dtype=np.float32), (count, 1))
    spec = ShardSpec(core_range_set, (1, width), ShardOrientation.ROW_MAJOR)
    place = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)
    return from_torch(values, dtype=DataType.FLOAT32, layout=Layout.ROW_MAJOR, device=device, memory_config=place)  # fmt: skip


def channel_values(values: Any, channels: int) -> Any:
    """One value per channel out of rows of them: as they stand, or each chunk's without the zeros behind it.

    `values` are (devices, number of values); what does not look like chunks is cut to the first channels.
    """
    held = math.prod(values.shape[1:])
    flat = values.reshape(len(values), held)
    if held == channels:
        return flat
    for chunks in (n for n in range(2, channels + 1) if channels % n == 0):
        each = channels // chunks
        if chunks * _up(each) == held:
            return np.ascontiguousarray(flat.reshape(len(flat), chunks, -1)[:, :, :each]).reshape(len(flat), channels)  # fmt: skip
    return flat[:, :channels]


def find_closest_largest_divisor(num: int, start_divisor: int) -> int:
    """The largest divisor of a number that is at most `start_divisor`, which is at least 1."""
    return next(divisor for divisor in range(start_divisor, 0, -1) if num % divisor == 0)


def get_group_norm_cores_across_channel(
    memory_layout: TensorMemoryLayout, core_grid: CoreGrid, shard_orientation: ShardOrientation | None = None
) -> int:
    """How many cores share the channels: blocks by the grid's rows (its columns where shards run by rows), heights none, others all."""
    if memory_layout is TensorMemoryLayout.BLOCK_SHARDED:
        return core_grid.x if shard_orientation is ShardOrientation.ROW_MAJOR else core_grid.y
    return 1 if memory_layout is TensorMemoryLayout.HEIGHT_SHARDED else core_grid.num_cores
