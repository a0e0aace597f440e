"""What a product must keep to whose cores share nothing: each multiplies blocks of its own. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.enums import WIDTH_SHARDED, cpp
from tt_run.runtime.ops.products.program_call import (
    ProductCall,
    Wrong,
    check_cores,
    divisor,
    in_l1,
    layout_of,
    lies_alike,
    shard_of,
)


def work(call: ProductCall) -> Wrong:
    """Blocks in equal numbers on the cores of a first operand in shards, or else of a second one."""
    p = call.program
    front, behind = len(call.a.shape), len(call.b.shape)
    if front != behind:
        yield (
            f"Batched (non-bcast) matmul requires inputs of the same rank, got a_shape rank: {front} vs b_shape rank: {behind}",
            "ttnn.reshape one of them to the other's rank, or another program_config",
        )
    held = next((shard_of(t) for t in (call.a, call.b) if in_l1(t)), None)
    if held is not None:
        blocks = call.high(fused=True) // p.per_core_M * (call.wide // p.per_core_N)
        count = held.grid.num_cores()
        if blocks % count:
            yield (
                f"num_output_blocks ({blocks}) must be evenly divisible by the number of cores in the input shard grid ({count})",
                "ttnn.to_memory_config(a, ttnn.L1_MEMORY_CONFIG), or blocks of one shard each",
            )
    sharded = (t.is_sharded() for t in (call.a.memory_config(), call.b.memory_config(), call.output))
    yield from check_cores(call, call.device_cores if any(sharded) else call.cores)


def sizes(call: ProductCall) -> Wrong:
    """Blocks of whole matrices, or parts of one; as wide as the result."""
    p, one, all_ = call.program, call.high(fused=False), call.high(fused=True)
    if p.per_core_M > one:
        if p.per_core_M % one:
            yield (
                f"per_core_M, {p.per_core_M}, must be a multiple of M, {one} if per_core_M > M!",
                f"per_core_M={one}",
            )
        if all_ % p.per_core_M:
            yield (
                f"input a total height, {all_}, must be divisible by per_core_M, {p.per_core_M}!",
                f"per_core_M={one}",
            )
    elif one % p.per_core_M:
        yield (
            f"per_core_M, {p.per_core_M}, must divide M, {one}, if per_core_M < M!",
            f"per_core_M={divisor(one, p.per_core_M)}",
        )
    if call.wide != p.per_core_N:
        yield f"N ({call.wide}) must equal per_core_N ({p.per_core_N})", f"per_core_N={call.wide}"


def first(call: ProductCall) -> Wrong:
    """A shard of the first operand is what a core multiplies: a block of whole rows."""
    p, spec = call.program, shard_of(call.a)
    if spec is None:
        return
    if layout_of(call.a) is WIDTH_SHARDED:
        yield (
            f"input A memory layout must not be WIDTH_SHARDED, got: {cpp(WIDTH_SHARDED)}",
            "ttnn.to_memory_config(a, ttnn.L1_MEMORY_CONFIG)",
        )
    height, width = call.tile_a
    if call.inner * width != spec.shape[1]:
        yield (
            f"K ({call.inner * width}) must equal in0 shard_shape[1] ({spec.shape[1]})",
            f"ttnn.to_memory_config(a, …) with shards of {call.inner * width} columns",
        )
    if spec.shape[1] != p.in0_block_w * width:
        yield (
            f"in0 shard_shape[1] ({spec.shape[1]}) must equal in0_block_w ({p.in0_block_w}) * in0_tile width ({width})",
            f"in0_block_w={spec.shape[1] // width}",
        )
    if p.per_core_M * height != spec.shape[0]:
        yield (
            f"per_core_M ({p.per_core_M}) * in0_tile height ({height}) must equal in0 shard_shape[0] ({spec.shape[0]})",
            f"per_core_M={spec.shape[0] // height}",
        )
    if call.output.is_sharded():
        yield from lies_alike(call)


def batches(call: ProductCall) -> Wrong:
    """Each matrix has a second operand of its own."""
    p, (mine, theirs) = call.program, call.batches
    if mine > 1 and theirs == 1:
        yield (
            "Batch broadcasting is not supported for the chosen program config",
            "ttnn.repeat the second operand, or MatmulMultiCoreReuseMultiCastProgramConfig(…, fuse_batch=True)",
        )
    if mine > 1 and theirs > 1 and call.high(fused=False) % p.out_subblock_h:
        yield (
            f"out_subblock_h ({p.out_subblock_h}) needs to divide M ({call.high(fused=False)}) evenly and does not. Please update your program "
            "config.",
            "out_subblock_h=1",
        )


def second(call: ProductCall) -> Wrong:
    """Shards of the second operand are whole matrices."""
    p, spec = call.program, shard_of(call.b)
    if spec is None:
        return
    one = call.high(fused=False)
    if p.per_core_M % one:
        yield (
            f"per_core_M ({p.per_core_M}) must be a multiple of M ({one}) when input B is sharded",
            f"per_core_M={one}",
        )
    if layout_of(call.b) is WIDTH_SHARDED:
        yield (
            f"Input B memory layout must not be WIDTH_SHARDED, got: {cpp(WIDTH_SHARDED)}",
            "ttnn.to_memory_config(b, ttnn.L1_MEMORY_CONFIG)",
        )
    inner = call.inner * call.tile_a[1]
    if spec.shape[0] % inner:
        yield (
            f"Input B shard shape[0] ({spec.shape[0]}) must be divisible by K ({inner})",
            "ttnn.to_memory_config(b, ttnn.L1_MEMORY_CONFIG)",
        )


def result(call: ProductCall) -> Wrong:
    if not call.output.is_sharded():
        return
    p = call.program
    if call.output.memory_layout is WIDTH_SHARDED:
        yield (
            f"Output memory layout must not be WIDTH_SHARDED, got: {cpp(WIDTH_SHARDED)}",
            "memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG",
        )
    if p.out_subblock_w != p.per_core_N and p.out_subblock_h != 1:
        yield (
            f"Either out_subblock_w ({p.out_subblock_w}) must equal per_core_N ({p.per_core_N}) or out_subblock_h ({p.out_subblock_h}) must be 1",
            "out_subblock_h=1",
        )
