"""How much of a core's L1 a convolution takes: by this the reference chooses what is cut over cores where a call does not say.

Source: memory configurations of results of reference library 0.81.1.
"""

from __future__ import annotations

import math

from mgd.lean import dataclass
from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    DataType,
    Layout,
    TensorMemoryLayout,
)
from tt_run.runtime.tile import TILE_SIZE, tiles
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
from tt_run.runtime.tuning.conv import Conv2dConfig
from tt_run.runtime.values.dtypes import tile_bytes

_SCRATCH = 64
"""Bytes of a core for what does not go through buffers of tiles."""
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Windows:
    """What slides over what: `product` where a product of matrices computes it, `folded` where it became one."""

    batch: int
    image: Pair
    out: Pair
    channels: int
    filters: int
    groups: int
    kernel: Pair
    steps: Pair
    padding: Pair
    spread: Pair
    product: bool
    folded: bool = False

    @property
    def places(self) -> int:
        """Rows of the result."""
        return self.batch * self.out[0] * self.out[1]

    @property
    def by_channel(self) -> bool:
        """Whether each channel has a filter of its own."""
        return self.groups == self.channels == self.filters

    def reach(self, each: int) -> int:
        """The most pixels, borders among them, that `each` places after one another look at."""
        high, wide = (size + more for size, more in zip(self.image, self.padding, strict=True))
        last = (self.kernel[0] - 1) * self.spread[0] * wide + (self.kernel[1] - 1) * self.spread[1]

        def corner(place: int) -> int:
            image, inside = divmod(place, self.out[0] * self.out[1])
            row, column = divmod(inside, self.out[1])
            return image * high * wide + row * self.steps[0] * wide + column * self.steps[1]

        starts = range(0, self.places, each)
        return max(corner(min(at + each, self.places) - 1) + last - corner(at) + 1 for at in starts)


@dataclass(frozen=True, slots=True)
class Types:
    """What images, weights and result are made of, whether there is a bias, and how sums are kept."""

    images: DataType
    weights: DataType
    result: DataType
    bias: bool
    compute: WormholeComputeKernelConfig | None


@dataclass(frozen=True, slots=True)
class Cut:
    """Cores that places, channels and filters are cut over; a core's channels are a multiple of `step`."""

    scheme: TensorMemoryLayout
    down: int
    across: int
    out_across: int
    step: int


def bytes_of_core(windows: Windows, cut: Cut, config: Conv2dConfig, types: Types) -> int:
    """Bytes of each core for buffers, the result, and the pixels that its windows look at."""
    channels = _up(windows.channels, cut.across * cut.step)
    high = tiles(-(-windows.places // cut.down))
    wide = tiles(-(-windows.filters // cut.out_across))
    rows = _block_rows(high, config)
    columns = _block_columns(windows, cut, config, channels)
    held = windows.reach(high * TILE_SIZE) * (channels // cut.across) * _of_images(types)
    result = high * wide * _tile(types.result)
    return _buffers(windows, cut, config, types, (high, wide), (rows, columns)) + result + held


def _block_rows(high: int, config: Conv2dConfig) -> int:
    asked = config.act_block_h_override // TILE_SIZE or high
    return next(n for n in range(min(asked, high), 0, -1) if high % n == 0)


def _block_columns(windows: Windows, cut: Cut, config: Conv2dConfig, channels: int) -> int:
    rows, columns = windows.kernel
    if cut.scheme is HEIGHT_SHARDED:
        return tiles(channels * columns * (rows if config.enable_activation_reuse else 1))
    if cut.scheme is BLOCK_SHARDED:
        return tiles(channels // cut.across * columns * (rows if config.full_inner_dim else 1))
    return max(1, channels * rows * columns // (cut.across * config.act_block_w_div) // TILE_SIZE)


def _buffers(windows: Windows, cut: Cut, config: Conv2dConfig, types: Types, share: Pair, block: Pair) -> int:
    (high, wide), (rows, columns) = share, block
    out, weight, image = _tile(types.result), _tile(types.weights), TILE_SIZE**2 * _of_images(types)
    filters = wide * columns
    if cut.scheme is HEIGHT_SHARDED and high > rows:
        filters *= windows.kernel[0]
    elif config.enable_weights_double_buffer:
        filters *= 2
    taken = rows * columns * (2 if config.enable_act_double_buffer else 1)
    total = filters * weight + taken * (image if cut.scheme is HEIGHT_SHARDED else out) + rows * columns * out
    total += high * wide * _partial(windows, cut, config, types, wide, columns)
    if types.bias:
        total += wide * weight
    if cut.scheme is WIDTH_SHARDED:
        total += 2 * columns * image
    elif cut.scheme is BLOCK_SHARDED and image != out:
        total += taken * image
    if config.config_tensors_in_dram:
        total += high * TILE_SIZE * 2
    return total + _SCRATCH


def _partial(windows: Windows, cut: Cut, config: Conv2dConfig, types: Types, wide: int, columns: int) -> int:
    """Bytes of a tile of sums that are kept apart from the result; 0 where they are kept in it."""
    compute, kept = types.compute, types.result
    height = -(-windows.channels // cut.step) * cut.step * windows.kernel[0] * windows.kernel[1] // TILE_SIZE
    blocks = height // columns
    if cut.scheme is BLOCK_SHARDED:
        blocks *= tiles(windows.filters) // wide
    if compute is not None and compute.packer_l1_acc and blocks > (1 if types.bias else 2):
        kept = DataType.FLOAT32 if compute.fp32_dest_acc_en else DataType.BFLOAT16
    apart = config.output_layout is Layout.ROW_MAJOR or kept is not types.result
    return _tile(kept) if apart else 0


def _of_images(types: Types) -> int:
    """Bytes of an element as windows look at it."""
    return 4 if types.images is DataType.FLOAT32 else 2


def _tile(dtype: DataType) -> int:
    return tile_bytes(TILE_SIZE**2, dtype)


def _up(value: int, step: int) -> int:
    return math.ceil(value / step) * step
