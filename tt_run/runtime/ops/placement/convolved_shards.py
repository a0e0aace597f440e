"""Where convolutions leave their results: on the cores that slide their windows, or in DRAM for images that are cut into slices there.

Source: memory configurations of results of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, num_cores_to_corerangeset
from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    BufferType,
    Layout,
    ShardOrientation,
    TensorMemoryLayout,
)
from tt_run.runtime.memory.footprint import L1, banks_beside
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.placement.walked_cores import check_product, check_sent, check_walk
from tt_run.runtime.ops.placement.window_room import Cut, Types, Windows, bytes_of_core
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, tiles
from tt_run.runtime.tuning.conv import Conv2dConfig, Op2DSliceConfig, SliceTypeEnum

_LEAST = 8
"""Channels that rows without tiles are cut by: what an aligned transfer between cores carries."""


class Spread(NamedTuple):
    """Cores, and what is cut over them."""

    grid: CoreRangeSet
    scheme: TensorMemoryLayout
    orientation: ShardOrientation

    @property
    def by_column(self) -> bool:
        return self.scheme is BLOCK_SHARDED and self.orientation is ShardOrientation.COL_MAJOR

    @property
    def down(self) -> int:
        """Cores that the places are cut over."""
        size = self.grid.bounding_box().grid_size()
        if self.scheme is BLOCK_SHARDED:
            return size.x if self.by_column else size.y
        return self.grid.num_cores() if self.scheme is HEIGHT_SHARDED else 1

    @property
    def across(self) -> int:
        """Cores that the channels are cut over."""
        size = self.grid.bounding_box().grid_size()
        if self.scheme is BLOCK_SHARDED:
            return size.y if self.by_column else size.x
        return self.grid.num_cores() if self.scheme is WIDTH_SHARDED else 1


def in_l1(tensor: Tensor, slicing: Op2DSliceConfig | None) -> bool:
    """Whether the images slide as a whole, not slice by slice out of DRAM: those on the host go where they say that they lie."""
    if slicing is None:
        return tensor.memory_config().buffer_type is BufferType.L1
    return slicing.slice_type is SliceTypeEnum.L1Full


def _memory_of(tensor: Tensor) -> MemoryConfig:
    return tensor.memory_config() if tensor.device() is not None else DRAM_MEMORY_CONFIG


def folded(tensor: Tensor, windows: Windows, config: Conv2dConfig) -> Windows:
    """Windows that lie side by side as the product of matrices that they become once each is folded into one pixel."""
    asked = config.enable_kernel_stride_folding
    if asked is None:
        memory = _memory_of(tensor)
        plain = not any(windows.padding)
        asked = (
            windows.kernel == windows.steps != (1, 1)
            and windows.spread == (1, 1)
            and all(
                (size + more) % step == 0
                for size, more, step in zip(windows.image, windows.padding, windows.steps, strict=True)
            )
            and (
                memory.memory_layout is HEIGHT_SHARDED
                or (memory.buffer_type is BufferType.DRAM and (plain or tensor.layout is Layout.ROW_MAJOR))
            )
        )
    one = (1, 1)
    kernel = (-(-windows.kernel[0] // windows.steps[0]), -(-windows.kernel[1] // windows.steps[1]))
    if not asked or windows.steps == one:
        return windows
    return replace(
        windows,
        image=windows.out,
        channels=windows.channels * windows.steps[0] * windows.steps[1],
        kernel=kernel,
        steps=one,
        padding=(0, 0),
        product=kernel == one and config.shard_layout is not WIDTH_SHARDED,
        folded=True,
    )


def of_convolution(
    tensor: Tensor,
    device: MeshDevice,
    windows: Windows,
    config: Conv2dConfig,
    slicing: Op2DSliceConfig | None,
    types: Types,
) -> MemoryConfig:
    """The place of a result that the call names none for."""
    memory = _memory_of(tensor)
    if windows.product:
        stays = memory.shard_spec is not None or config.shard_layout is not None
    else:
        stays = in_l1(tensor, slicing)
    if not stays:
        return DRAM_MEMORY_CONFIG
    scheme = config.shard_layout
    if scheme is None:
        chosen = memory.memory_layout
        scheme = (
            chosen if memory.shard_spec is not None else _roomiest(tensor, device, windows, config, types)
        )
    within = _within(tensor, memory, device, windows, config, scheme)
    out = _out_of(within, device, windows, config)
    high = _up(windows.places, out.down * TILE_SIZE) // out.down
    wide = _up(windows.filters, out.across * TILE_SIZE) // out.across
    used = -(-windows.places // high)
    if windows.product and out.scheme is HEIGHT_SHARDED:
        box = out.grid.bounding_box().grid_size()
        out = out._replace(grid=num_cores_to_corerangeset(used, box, row_wise=True))
    return MemoryConfig(out.scheme, BufferType.L1, ShardSpec(out.grid, (high, wide), out.orientation))


def _within(
    tensor: Tensor,
    memory: MemoryConfig,
    device: MeshDevice,
    windows: Windows,
    config: Conv2dConfig,
    scheme: TensorMemoryLayout,
) -> Spread:
    """The cores that the images are on, or brought to."""
    held = memory.shard_spec
    step = _channel_step(tensor, memory, windows)
    orientation = ShardOrientation.COL_MAJOR if config.transpose_shards else ShardOrientation.ROW_MAJOR
    if held is not None and not (windows.folded and _apart(held, windows)):
        there = Spread(held.grid, memory.memory_layout, held.orientation)
        apart = (
            windows.product
            and there.scheme is BLOCK_SHARDED
            and windows.channels != there.across * held.shape[1]
        )
        if apart:
            scheme = BLOCK_SHARDED
        moves = (
            apart
            or config.reshard_if_not_optimal
            or (there.scheme is not BLOCK_SHARDED and there.orientation is not ShardOrientation.ROW_MAJOR)
            or held.shape[1] % step != 0
            or (windows.product and held.shape[0] % TILE_SIZE != 0)
            or (config.override_sharding_config and there != (config.core_grid, scheme, orientation))
        )
        if not moves:
            _check_there(memory, held, device, windows)
            return there
    turned = orientation if scheme is BLOCK_SHARDED else ShardOrientation.ROW_MAJOR
    if config.override_sharding_config and config.core_grid is not None:
        return Spread(config.core_grid, scheme, turned)
    return Spread(_cores(scheme, turned, step, device, windows, config), scheme, turned)


def _check_there(memory: MemoryConfig, held: ShardSpec, device: MeshDevice, windows: Windows) -> None:
    """Raises RuntimeError for images on cores that no window finds, where they stay on them."""
    if windows.product:
        check_product(memory)
        return
    by_columns = memory.memory_layout is WIDTH_SHARDED
    if not by_columns or windows.kernel != (1, 1):
        check_walk(held, memory.memory_layout)
    if by_columns and not windows.by_channel:
        check_sent(held, device.compute_with_storage_grid_size().x)


def _apart(held: ShardSpec, windows: Windows) -> bool:
    """Whether rows of windows, whole ones on each core, come out in parts of tiles or leave cores without any."""
    rows = windows.batch * windows.out[0]
    each = -(-rows // held.grid.num_cores())
    return each * windows.out[1] % TILE_SIZE != 0 or -(-rows // each) != held.grid.num_cores()


def _roomiest(
    tensor: Tensor, device: MeshDevice, windows: Windows, config: Conv2dConfig, types: Types
) -> TensorMemoryLayout:
    """What is cut where neither the images nor the configuration say: what takes the least of a core."""
    grid = device.compute_with_storage_grid_size()
    best, least = HEIGHT_SHARDED, 0
    for scheme in (HEIGHT_SHARDED, BLOCK_SHARDED, WIDTH_SHARDED):
        cut, cores = _cut_by(scheme, tensor, device, windows, config)
        if scheme is BLOCK_SHARDED and cores < grid.x:
            continue  # not cut by channels
        taken = bytes_of_core(windows, cut, config, types)
        if scheme is HEIGHT_SHARDED or taken < least:
            best, least = scheme, taken
    return best


def _cut_by(
    scheme: TensorMemoryLayout, tensor: Tensor, device: MeshDevice, windows: Windows, config: Conv2dConfig
) -> tuple[Cut, int]:
    """What a scheme cuts over how many cores, and the most cores of images and result."""
    turned = scheme is BLOCK_SHARDED and config.transpose_shards
    orientation = ShardOrientation.COL_MAJOR if turned else ShardOrientation.ROW_MAJOR
    wide = scheme is WIDTH_SHARDED or tensor.layout is not Layout.ROW_MAJOR
    step = TILE_SIZE if wide else _LEAST
    cores = _cores(scheme, orientation, TILE_SIZE if windows.by_channel else step, device, windows, config)
    within = Spread(cores, scheme, orientation)
    out = _out_of(within, device, windows, config)
    most = max(cores.num_cores(), out.grid.num_cores())
    return Cut(scheme, within.down, within.across, out.across, step), most


def in_slices(
    tensor: Tensor,
    device: MeshDevice,
    windows: Windows,
    config: Conv2dConfig,
    slicing: Op2DSliceConfig | None,
    types: Types,
) -> bool:
    """Whether images in DRAM are cut into several slices: as many as a call says, else where a core has no room for all at once.

    The reference counts what is free at the time. Here a core is taken for empty: ranks collect garbage at times of their own, and a layout
    must not depend on that.
    """
    if slicing is not None and slicing.num_slices:
        return slicing.num_slices > 1
    scheme = config.shard_layout or _roomiest(tensor, device, windows, config, types)
    cut, _ = _cut_by(scheme, tensor, device, windows, config)
    room = banks_beside(device.arch().name, device.regions)[L1].size
    return bytes_of_core(windows, cut, config, types) > room


def _channel_step(tensor: Tensor, memory: MemoryConfig, windows: Windows) -> int:
    """Channels that a core's share is a multiple of."""
    held = memory.shard_spec
    if windows.product or memory.memory_layout is WIDTH_SHARDED or tensor.layout is not Layout.ROW_MAJOR:
        return TILE_SIZE
    if held is None:
        return TILE_SIZE if windows.by_channel else _LEAST
    return next((n for n in (TILE_SIZE, TILE_SIZE // 2, _LEAST) if held.shape[1] % n == 0), TILE_SIZE)


def _cores(
    scheme: TensorMemoryLayout,
    orientation: ShardOrientation,
    step: int,
    device: MeshDevice,
    windows: Windows,
    config: Conv2dConfig,
) -> CoreRangeSet:
    grid = device.compute_with_storage_grid_size()
    rows, most = tiles(windows.places), grid.x * grid.y
    several = max(1, config.act_block_h_override // TILE_SIZE)
    if scheme is HEIGHT_SHARDED:
        return num_cores_to_corerangeset(_padded_divisor(rows, most, several), grid, row_wise=True)
    if scheme is WIDTH_SHARDED:
        shares = tiles(windows.channels)
        count = _divisor(most, shares) if windows.product else _padded_divisor(shares, most)
        return num_cores_to_corerangeset(count, grid, row_wise=True)
    by_column = orientation is ShardOrientation.COL_MAJOR
    high, wide = (grid.x, grid.y) if by_column else (grid.y, grid.x)
    shares = -(-windows.channels // step)
    down = _padded_divisor(rows, high, several)
    across = (
        _divisor(wide, tiles(windows.filters), shares) if windows.product else _padded_divisor(shares, wide)
    )
    return _rectangle(down, across, by_column)


def _out_of(within: Spread, device: MeshDevice, windows: Windows, config: Conv2dConfig) -> Spread:
    """The cores of the result: those of the images, but for channels that are cut over others."""
    if windows.product or within.scheme is HEIGHT_SHARDED:
        return within
    grid, shares = device.compute_with_storage_grid_size(), tiles(windows.filters)
    if within.scheme is WIDTH_SHARDED:
        count = _padded_divisor(shares, grid.x * grid.y)
        return within._replace(grid=num_cores_to_corerangeset(count, grid, row_wise=True))
    if config.override_output_sharding_config and config.core_grid is not None:
        grid = config.core_grid.bounding_box().grid_size()
    across = _padded_divisor(shares, grid.y if within.by_column else grid.x)
    return within._replace(grid=_rectangle(within.down, across, within.by_column))


def _rectangle(down: int, across: int, by_column: bool) -> CoreRangeSet:
    x, y = (down, across) if by_column else (across, down)
    return CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(x - 1, y - 1))])


def _padded_divisor(count: int, most: int, several: int = 1) -> int:
    """The most cores that shares of `several` each can be cut over so that none is left without any."""
    spare: Callable[[int], int] = lambda n: _up(count, n * several) - count  # noqa: E731
    return next((n for n in range(most, 1, -1) if spare(n) < _up(count, n * several) // n), 1)


def _divisor(most: int, *counts: int) -> int:
    """The largest number up to `most` that divides all counts."""
    return next(n for n in range(most, 0, -1) if not any(count % n for count in counts))


def _up(value: int, step: int) -> int:
    return math.ceil(value / step) * step
