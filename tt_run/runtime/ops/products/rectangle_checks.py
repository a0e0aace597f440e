"""What a product must keep to whose operands are multicast along rows and columns of cores. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    BufferType,
    ShardOrientation,
    TensorMemoryLayout,
    cpp,
)
from tt_run.runtime.ops.products.program_call import (
    ProductCall,
    Wrong,
    check_cores,
    layout_of,
    lies_alike,
    shard_of,
    shard_tiles,
    too_high,
    whole_rows,
)

_BY_ROWS, _BY_COLUMNS = ShardOrientation.ROW_MAJOR, ShardOrientation.COL_MAJOR


def work(call: ProductCall) -> Wrong:
    """A block to a core of the rectangle, none larger than the result."""
    p, cores = call.program, call.cores
    high, wide = call.high(p.fuse_batch), call.wide
    if p.per_core_M > high:
        yield too_high(p.per_core_M, high)
    down, across = -(-high // p.per_core_M), -(-wide // p.per_core_N)
    columns, rows = (down, across) if p.transpose_mcast else (across, down)
    for way, blocks, line, there in (("x", columns, "columns", cores.x), ("y", rows, "rows", cores.y)):
        if blocks > there:
            yield (
                f"Num output blocks along {way} ({blocks}) must be smaller than or equal to the number of {line} in compute grid ({there})!",
                "give a larger per_core_M or per_core_N, or a larger compute_with_storage_grid_size",
            )
    yield from check_cores(call, cores)


def first(call: ProductCall) -> Wrong:
    """How the first operand lies that goes along rows of cores."""
    p, spec = call.program, shard_of(call.a)
    if spec is None:
        return
    layout = layout_of(call.a)
    if not p.fuse_batch:
        yield "Batch fusion is required when input A is sharded", "fuse_batch=True"
    if layout not in (BLOCK_SHARDED, HEIGHT_SHARDED):
        yield f"Unsupported memory layout {cpp(layout)}.", "ttnn.to_memory_config(a, ttnn.L1_MEMORY_CONFIG)"
    down, across = shard_tiles(call.a, call.tile_a)
    if layout is BLOCK_SHARDED:
        wanted = _BY_COLUMNS if p.transpose_mcast else _BY_ROWS
        if spec.orientation is not wanted:
            mode = "transpose" if p.transpose_mcast else "non-transpose"
            yield (
                f"Input tensor A must have {wanted.name} shard orientation for {mode} MCAST, got: {cpp(spec.orientation)}",
                f"transpose_mcast={not p.transpose_mcast}",
            )
        if call.output.is_sharded():
            yield from lies_alike(call)
    else:
        if p.transpose_mcast:
            yield "Transpose MCAST not supported with HEIGHT_SHARDED layout", "transpose_mcast=False"
        if call.inner != p.in0_block_w:
            yield f"K ({call.inner}) must equal in0_block_w ({p.in0_block_w})", f"in0_block_w={call.inner}"
        box = spec.grid.bounding_box()
        if box.start.x != box.end.x:
            yield (
                f"HEIGHT_SHARDED input A must have a single-column shard grid (got x={box.start.x} to x={box.end.x}); use "
                "MatmulMultiCoreReuseProgramConfig for multi-column HEIGHT_SHARDED inputs",
                "ttnn.MatmulMultiCoreReuseProgramConfig(…)",
            )
    if p.per_core_M != down:
        yield (
            f"per_core_M ({p.per_core_M}) must equal shard_shape[0] / in0_tile.get_height() ({down})",
            f"per_core_M={down}",
        )
    if across % p.in0_block_w:
        yield (
            f"shard_shape[1] / in0_tile.get_width() ({across}) must be divisible by in0_block_w ({p.in0_block_w})",
            f"in0_block_w={across}",
        )


def second(call: ProductCall) -> Wrong:
    """How the second operand lies that goes along columns of cores."""
    p, memory = call.program, call.b.memory_config()
    if not memory.is_sharded():
        return
    dram = memory.buffer_type is BufferType.DRAM
    if p.transpose_mcast:
        yield "Transpose MCAST not supported when input B is sharded", "transpose_mcast=False"
    if memory.memory_layout not in (WIDTH_SHARDED, HEIGHT_SHARDED) and not (
        dram and memory.shard_spec is None
    ):
        yield (
            f"Input B memory layout must be WIDTH_SHARDED, HEIGHT_SHARDED, or DRAM ND_SHARDED, got: {cpp(memory.memory_layout)}",
            "ttnn.to_memory_config(b, ttnn.DRAM_MEMORY_CONFIG)",
        )
    if memory.memory_layout is HEIGHT_SHARDED:
        if not dram:
            yield (
                f"HEIGHT_SHARDED input B is only supported in DRAM, got: {cpp(memory.buffer_type)}",
                "ttnn.to_memory_config(b, ttnn.DRAM_MEMORY_CONFIG)",
            )
        if p.fuse_batch:
            yield "HEIGHT_SHARDED input B requires fuse_batch=false for batched matmul", "fuse_batch=False"
    if memory.shard_spec is None or dram:
        return
    if layout_of(call.a) not in (HEIGHT_SHARDED, TensorMemoryLayout.INTERLEAVED):
        yield (
            "Error - non-DRAM width sharded input B requires input A to be interleaved or height sharded, rather than "
            f"{cpp(layout_of(call.a))}",
            "ttnn.to_memory_config(a, ttnn.L1_MEMORY_CONFIG)",
        )
    across = shard_tiles(call.b, call.tile_b)[1]
    if p.per_core_N != across:
        yield (
            f"per_core_N ({p.per_core_N}) must equal input tensor B shard shape[1] / in1_tile.get_width() ({across})",
            f"per_core_N={across}",
        )


def result(call: ProductCall) -> Wrong:
    """A result in shards is cut into blocks, of one matrix."""
    if not call.output.is_sharded():
        return
    if call.output.memory_layout is not BLOCK_SHARDED:
        yield (
            f"Output memory layout must be BLOCK_SHARDED, got: {cpp(call.output.memory_layout)}",
            "ask for ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG, or give MatmulMultiCoreReuseMultiCast1DProgramConfig",
        )
    batches, size = call.batches[0], call.program.per_core_M * call.program.per_core_N
    if batches > 1 and not call.program.fuse_batch:
        yield (
            f"Block-sharded output is incompatible with batch > 1 (B={batches}). The output CB is backed by the shard buffer which only holds "
            f"per_core_M * per_core_N = {size} tiles, but the kernel would produce B * per_core_M * per_core_N = {batches * size} tiles "
            "without draining. Use fuse_batch=True.",
            "fuse_batch=True, or memory_config=ttnn.L1_MEMORY_CONFIG",
        )
    yield from whole_rows(call)
