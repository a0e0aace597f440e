"""The program that a device chooses for a product which names none: by the cores that hold its first operand, or by the grid that the call names.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    ShardOrientation,
    TensorMemoryLayout,
    cpp,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.products.program_call import ProductCall, divisor, layout_of, shard_of
from tt_run.runtime.tensor.spec.memory_config import CoreGrid
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.matmul import (
    MatmulMultiCoreReuseMultiCast1DProgramConfig,
    MatmulMultiCoreReuseMultiCastProgramConfig,
    MatmulMultiCoreReuseProgramConfig,
)

_UNCUT = "ttnn.to_memory_config({}, ttnn.DRAM_MEMORY_CONFIG)"
_NARROW = 8
"""From more than how many times as long as wide a product is computed along one line of cores."""
_DEEP = 4
"""Up to how many tiles of the inner dimension a rectangle of cores takes at a time."""


def chosen(call: ProductCall, core_grid: CoreGrid | None) -> Any:
    """The program's configuration; None where the device computes a product tile by tile, or chooses by where the result is to lie.

    Raises RuntimeError for operands and results in shards that no program goes with.
    """
    device = call.device_cores
    named = core_grid is not None and core_grid.x <= device.x and core_grid.y <= device.y
    grid = CoreCoord(core_grid.x, core_grid.y) if core_grid is not None and named else device
    if shard_of(call.a) is not None:
        _check_kept(call)
        return _of_batches(call) if call.batches[1] > 1 else _of_shards(call, grid)
    return None if core_grid is None else _of_grid(call, grid)


def _check_kept(call: ProductCall) -> None:
    """A first operand in shards stays where it is, and so does a result in shards; batches of a second one lie as it does."""
    first, second = shard_of(call.a), shard_of(call.b)
    assert first is not None
    held, own, output = call.a.memory_config(), call.batches[1] > 1, call.output
    if not own and layout_of(call.b) is not TensorMemoryLayout.INTERLEAVED:
        raise fatal(
            f"Input tensor B must have INTERLEAVED memory layout, got: {cpp(layout_of(call.b))}",
            hint=_UNCUT.format("b"),
        )
    if own and held.memory_layout is WIDTH_SHARDED:
        raise fatal(
            f"Input A memory layout must not be WIDTH_SHARDED, got: {cpp(WIDTH_SHARDED)}",
            hint=_UNCUT.format("a"),
        )
    if (
        not own
        and held.memory_layout is not BLOCK_SHARDED
        and first.orientation is not ShardOrientation.ROW_MAJOR
    ):
        raise fatal(
            f"Input tensor A must have ROW_MAJOR shard orientation, got: {cpp(first.orientation)}",
            hint="ShardSpec(…, ttnn.ShardOrientation.ROW_MAJOR)",
        )
    if output.is_sharded() and output.buffer_type is not held.buffer_type:
        raise fatal(
            f"Input A and output buffer types must match, got input: {cpp(held.buffer_type)} vs output: {cpp(output.buffer_type)}",
            hint="leave memory_config out, or ask for shards in the memory of the first operand",
        )
    if output.is_sharded() and output.memory_layout is not held.memory_layout:
        raise fatal(
            f"Input A and output memory layouts must match, got input: {cpp(held.memory_layout)} vs output: {cpp(output.memory_layout)}",
            hint="leave memory_config out, or name a program_config that cuts the product anew",
        )
    if not own or second is None:
        return
    if layout_of(call.b) is not held.memory_layout:
        raise fatal(
            f"Input A and B memory layouts must match, got A: {cpp(held.memory_layout)} vs B: {cpp(layout_of(call.b))}",
            hint=_UNCUT.format("b"),
        )
    if second.grid != first.grid:
        raise fatal("Input A and B shard grids must match", hint=_UNCUT.format("b"))


def _of_batches(call: ProductCall) -> MatmulMultiCoreReuseProgramConfig:
    """Each core multiplies the batches, or the part of one, that it holds."""
    spec = shard_of(call.a)
    assert spec is not None
    down, across = spec.shape[0] // call.tile_a[0], call.wide
    high, wide = _part(call, down, across, whole_rows=call.output.is_sharded())
    return MatmulMultiCoreReuseProgramConfig(
        compute_with_storage_grid_size=_box(call), in0_block_w=spec.shape[1] // call.tile_a[1], out_subblock_h=high, out_subblock_w=wide,
        per_core_M=down, per_core_N=across,
    )  # fmt: skip


def _of_shards(call: ProductCall, grid: CoreCoord) -> Any:
    """One operand for all batches: along the line of cores that hold the other, or over their rectangle."""
    spec, layout = shard_of(call.a), layout_of(call.a)
    assert spec is not None
    box, high, wide, inner = _box(call), call.high(fused=True), call.wide, call.inner
    down, across = spec.shape[0] // call.tile_a[0], spec.shape[1] // call.tile_a[1]
    rows = call.output.is_sharded()
    if layout is WIDTH_SHARDED:
        each = -(-wide // spec.grid.num_cores())
        return _line(call, box, (high, each), math.gcd(across, inner), True, _part(call, high, each, rows))
    if layout is HEIGHT_SHARDED:
        return _line(call, box, (down, wide), inner, False, _part(call, down, wide, rows))
    turned = spec.orientation is ShardOrientation.COL_MAJOR
    if box.x > 1 and box.y > 1:
        columns, lines = (box.y, box.x) if turned else (box.x, box.y)
        block = -(-high // lines), -(-wide // columns)
        depth = math.gcd(across, inner) if columns * across == inner else 1
        return _rectangle(call, box, block, depth, turned, _part(call, *block, rows))
    block = down, max(wide * across // inner, 1)
    return _rectangle(call, grid, block, math.gcd(across, inner), turned, _part_of_plane(call, *block))


def _of_grid(call: ProductCall, grid: CoreCoord) -> Any:
    """A first operand that is not cut, on the cores that a call names."""
    if len(call.b.shape) == 1 and call.a.shape[-2 if call.transpose_a else -1] != 1:
        raise fatal(
            "The k dimension does not match between tensors",
            hint="leave core_grid out, or ttnn.reshape the second operand to a column",
        )
    mine, theirs = call.batches
    one, high, wide = call.high(fused=False), call.high(fused=True), call.wide
    cut = shard_of(call.b)
    cores = grid.x * grid.y
    if theirs > 1:
        if mine == 1 and cut is None:
            down = -(-high // cores)
            return _line(
                call, grid, (down, wide), 2 - call.inner % 2, False, _part(call, down, wide), fuse=False
            )
        across = wide if cut is None else cut.shape[1] // TILE_SIZE
        part = _part(call, one, across, wide_first=True)
        return MatmulMultiCoreReuseProgramConfig(
            compute_with_storage_grid_size=grid, in0_block_w=1, out_subblock_h=part[0], out_subblock_w=part[1], per_core_M=one,
            per_core_N=across,
        )  # fmt: skip
    long, short = max(high, wide), min(high, wide)
    if long // short > _NARROW or 1 in (one, call.inner, wide):
        tall = high > wide
        block = (-(-high // cores), wide) if tall else (high, -(-wide // cores))
        depth = divisor(call.inner, -(-call.inner // cores))
        return _line(call, grid, block, depth, not tall, _part(call, *block, wide_first=True))
    block = -(-high // grid.y), -(-wide // grid.x)
    return _rectangle(call, grid, block, divisor(call.inner, _DEEP), False, _part_of_plane(call, *block))


def _line(
    call: ProductCall, grid: CoreCoord, block: tuple[int, int], depth: int, first_to_all: bool, part: tuple[int, int], fuse: bool = True
) -> MatmulMultiCoreReuseMultiCast1DProgramConfig:  # fmt: skip
    return MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=grid, in0_block_w=depth, out_subblock_h=part[0], out_subblock_w=part[1], per_core_M=block[0],
        per_core_N=block[1], fuse_batch=fuse, mcast_in0=first_to_all,
    )  # fmt: skip


def _rectangle(
    call: ProductCall,
    grid: CoreCoord,
    block: tuple[int, int],
    depth: int,
    turned: bool,
    part: tuple[int, int],
) -> MatmulMultiCoreReuseMultiCastProgramConfig:
    return MatmulMultiCoreReuseMultiCastProgramConfig(
        compute_with_storage_grid_size=grid, in0_block_w=depth, out_subblock_h=part[0], out_subblock_w=part[1], per_core_M=block[0],
        per_core_N=block[1], transpose_mcast=turned,
    )  # fmt: skip


def _box(call: ProductCall) -> CoreCoord:
    """Columns and rows of the rectangle around the cores that hold the first operand."""
    spec = shard_of(call.a)
    assert spec is not None
    box = spec.grid.bounding_box()
    return CoreCoord(box.end.x - box.start.x + 1, box.end.y - box.start.y + 1)


def _parts(most: int) -> Iterator[tuple[int, int]]:
    """Sides of blocks of up to `most` tiles: the largest first, of one size the squarest, of two alike the one whose first side is longer."""
    for size in range(most, 0, -1):
        sides = (side for side in range(1, size + 1) if size % side == 0)
        for side in sorted(sides, key=lambda side: (max(side, size // side), -side)):
            yield side, size // side


def _part(
    call: ProductCall, down: int, across: int, whole_rows: bool = False, wide_first: bool = False
) -> tuple[int, int]:
    """Height and width of what is added up at a time of a block; `whole_rows`: a row of it, `wide_first`: wide rather than high."""
    for pair in _parts(call.registers):
        high, wide = reversed(pair) if wide_first else pair
        if whole_rows and (high, wide) != (1, across):
            continue
        if down % high == 0 and across % wide == 0:
            return high, wide
    return 1, 1


def _part_of_plane(call: ProductCall, down: int, across: int) -> tuple[int, int]:
    high, wide = _part(call, down, across, wide_first=True)
    return high if wide == across else 1, wide
