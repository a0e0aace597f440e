"""What a product must keep to whose one operand is multicast to all cores. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.enums import BLOCK_SHARDED, HEIGHT_SHARDED, WIDTH_SHARDED, TensorMemoryLayout, cpp
from tt_run.runtime.ops.products.program_call import (
    ProductCall,
    Wrong,
    by_rows,
    check_cores,
    in_l1,
    layout_of,
    lies_alike,
    shard_of,
    shard_tiles,
    too_high,
    whole_rows,
)


def work(call: ProductCall) -> Wrong:
    """A block to a core; what all cores get is one block high, or wide."""
    p, cores = call.program, call.cores
    high, wide = call.high(p.fuse_batch), call.wide
    if p.gather_in0:
        yield from _ring(call)
        return
    down, across = -(-high // p.per_core_M), -(-wide // p.per_core_N)
    if down * across > cores.x * cores.y:
        yield (
            f"Number of blocks exceeds number of cores: {down * across} blocks > {cores.x * cores.y} cores",
            "give a larger per_core_M or per_core_N, or a larger compute_with_storage_grid_size",
        )
    if p.mcast_in0 and down != 1:
        yield (
            f"mcast_in0 requires M ({high}) to fit within a single per_core_M block ({p.per_core_M}), got num_blocks_y={down}",
            f"per_core_M={high}, or mcast_in0=False",
        )
    if not p.mcast_in0:
        if across != 1:
            yield (
                f"mcast_in1 requires N ({wide}) to fit within a single per_core_N block ({p.per_core_N}), got num_blocks_x={across}. A single "
                "in1 sender multicasts one per_core_N-wide weight slice to the whole grid, so multi-column N is not supported here; use "
                "MatmulMultiCoreReuseMultiCastProgramConfig (the 2D factory) for multi-column N.",
                f"per_core_N={wide}",
            )
        if p.per_core_M > high:
            yield too_high(p.per_core_M, high)
    yield from check_cores(call, cores)


def _ring(call: ProductCall) -> Wrong:
    for word in ("transpose_a", "transpose_b"):
        if getattr(call, word):
            yield f"{word} is not supported with gather_in0", "ttnn.transpose the operand before"
    if not call.a.memory_config().is_sharded():
        yield "gather_in0 requires input A to be sharded", "ttnn.to_memory_config(a, …WIDTH_SHARDED…)"
    yield from check_cores(call, call.device_cores)


def modes(call: ProductCall) -> Wrong:
    p = call.program
    if p.mcast_in0 and p.gather_in0:
        yield "Matmul1D does not support mcast_in0 and gather_in0 at the same time.", "mcast_in0=False"


def first(call: ProductCall) -> Wrong:
    """How the first operand lies: in columns where it goes to all cores, in rows where the second does."""
    p, spec = call.program, shard_of(call.a)
    if spec is None:
        return
    if not p.fuse_batch:
        yield "fuse_batch must be enabled when input A is sharded", "fuse_batch=True"
    by_columns = p.mcast_in0 or p.gather_in0
    wanted = WIDTH_SHARDED if by_columns else HEIGHT_SHARDED
    if layout_of(call.a) is not wanted:
        when = " when mcast_in0 or gather_in0 is set" if by_columns else ""
        yield (
            f"input A must be {wanted.name}{when}, got: {cpp(layout_of(call.a))}",
            "ttnn.to_memory_config(a, ttnn.L1_MEMORY_CONFIG)",
        )
    if call.output.is_sharded():
        yield from lies_alike(call)
    yield from by_rows(call)
    high = call.high(p.fuse_batch)
    down, across = shard_tiles(call.a, call.tile_a)
    if by_columns and high != p.per_core_M:
        yield f"M ({high}) must equal per_core_M ({p.per_core_M})", f"per_core_M={high}"
    blocks, there = -(-high // p.per_core_M), spec.grid.num_cores()
    if not by_columns and blocks > there:
        yield (
            f"number of M blocks ceil(M/per_core_M)={blocks} must not exceed input A shard grid cores ({there})",
            f"per_core_M={down}",
        )
    if p.per_core_M != down:
        yield (
            f"per_core_M ({p.per_core_M}) must equal shard_shape[0] ({spec.shape[0]}) / in0_tile height ({call.tile_a[0]})",
            f"per_core_M={down}",
        )
    if by_columns and not p.gather_in0 and across % p.in0_block_w:
        yield (
            f"shard_shape[1] ({spec.shape[1]}) / in0_tile width ({call.tile_a[1]}) must be divisible by in0_block_w ({p.in0_block_w})",
            f"in0_block_w={across}",
        )
    if not by_columns and call.inner != across:
        yield (
            f"K ({call.inner}) must equal shard_shape[1] ({spec.shape[1]}) / in0_tile width ({call.tile_a[1]})",
            f"ttnn.to_memory_config(a, …) with shards of {call.inner * call.tile_a[1]} columns",
        )


def result(call: ProductCall) -> Wrong:
    """A result in shards: columns where the first operand goes to all cores, rows where the second does; blocks on a line count as such."""
    p, asked = call.program, call.output
    if not asked.is_sharded() or p.gather_in0:
        return
    wanted, line, axis = (WIDTH_SHARDED, "row", "y") if p.mcast_in0 else (HEIGHT_SHARDED, "column", "x")
    straight = False
    if asked.memory_layout is BLOCK_SHARDED and asked.shard_spec is not None:
        box = asked.shard_spec.grid.bounding_box()
        straight = getattr(box.start, axis) == getattr(box.end, axis)
    if asked.memory_layout is not wanted and not straight:
        yield (
            f"output memory layout must be {wanted.name} or BLOCK_SHARDED on a 1-{line} grid, got: {cpp(asked.memory_layout)}",
            f"memory_config=ttnn.L1_{wanted.name}_MEMORY_CONFIG",
        )
    high, wide = call.high(p.fuse_batch), call.wide
    if p.mcast_in0 and high != p.per_core_M:
        yield f"M ({high}) must equal per_core_M ({p.per_core_M})", f"per_core_M={high}"
    if not p.mcast_in0 and wide != p.per_core_N:
        yield f"N ({wide}) must equal per_core_N ({p.per_core_N})", f"per_core_N={wide}"
    yield from whole_rows(call)


def second(call: ProductCall) -> Wrong:
    """How the second operand lies: in columns of one block each, or uncut where all cores get it."""
    p, layout = call.program, layout_of(call.b)
    if not (p.mcast_in0 or p.gather_in0):
        if layout is not TensorMemoryLayout.INTERLEAVED:
            yield (
                f"input B must be INTERLEAVED, got: {cpp(layout)}",
                "ttnn.to_memory_config(b, ttnn.DRAM_MEMORY_CONFIG)",
            )
        return
    if not in_l1(call.b):
        return
    if layout is not WIDTH_SHARDED:
        yield (
            f"input B in L1 must be WIDTH_SHARDED, got: {cpp(layout)}",
            "ttnn.to_memory_config(b, ttnn.DRAM_MEMORY_CONFIG)",
        )
    if shard_of(call.b) is not None:
        across = shard_tiles(call.b, call.tile_b)[1]
        if p.per_core_N != across:
            yield (
                f"input B shard width in tiles ({across}) must equal per_core_N ({p.per_core_N})",
                f"per_core_N={across}",
            )
