"""What a product's program configuration must keep to: its blocks, its cores, and how operands and result lie on them.

Rules for all configurations come first, then those of each. What fits none of them hangs a device or computes past a tensor's end.
Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable

from tt_run.runtime.enums import WIDTH_SHARDED, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.products import apart_checks, line_checks, rectangle_checks
from tt_run.runtime.ops.products.program_call import (
    ProductCall,
    Wrong,
    by_rows,
    divisor,
    layout_of,
    lies_alike,
    shard_tiles,
)
from tt_run.runtime.tuning.matmul import (
    MatmulMultiCoreReuseMultiCast1DProgramConfig,
    MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig,
    MatmulMultiCoreReuseMultiCastProgramConfig,
    MatmulMultiCoreReuseProgramConfig,
)


def check_program(call: ProductCall) -> None:
    """Raises RuntimeError for the first rule that a call's program configuration breaks."""
    name = type(call.program).__name__
    for rule in _RULES.get(type(call.program), ()):
        for words, hint in rule(call):
            raise fatal(f"{name}: {words}", hint=hint)


def _grid(call: ProductCall) -> Wrong:
    """Cores that the device has, and blocks of some tiles."""
    p = call.program
    if not getattr(p, "gather_in0", False):
        own, there = call.cores, call.device_cores
        if own.x < 1 or own.y < 1:
            yield (
                f"compute_with_storage_grid_size must be non-zero, got ({own.x}, {own.y})",
                f"compute_with_storage_grid_size=({there.x}, {there.y})",
            )
        if own.x > there.x or own.y > there.y:
            yield (
                f"compute_with_storage_grid_size ({own.x}, {own.y}) must fit within device grid ({there.x}, {there.y})",
                f"compute_with_storage_grid_size=({min(own.x, there.x)}, {min(own.y, there.y)})",
            )
    yield from _sizes(call)


def _sizes(call: ProductCall) -> Wrong:
    for word in ("in0_block_w", "per_core_M", "per_core_N"):
        if getattr(call.program, word) == 0:
            yield f"{word} is 0, which is not valid", f"{word}=1"


def _blocks(call: ProductCall) -> Wrong:
    """Blocks divide what they are cut from, and their smallest parts fit the registers."""
    p = call.program
    if call.inner % p.in0_block_w:
        yield (
            f"Kt ({call.inner}) must be divisible by in0_block_w ({p.in0_block_w})",
            f"in0_block_w={divisor(call.inner, p.in0_block_w)}",
        )
    cut = [("per_core", "out_block"), ("out_block", "out_subblock")]
    if isinstance(p, MatmulMultiCoreReuseProgramConfig):
        cut = [("per_core", "out_subblock")]
    names = {
        part: (f"{part}_h", f"{part}_w") if part != "per_core" else ("per_core_M", "per_core_N")
        for pair in cut
        for part in pair
    }
    for part in ("out_subblock", "out_block"):
        for word in names.get(part, ()):
            if getattr(p, word) == 0:
                yield f"{word} is 0, which is not valid", f"{word}=1"
    for whole, part in reversed(cut):
        for outer, inner in zip(names[whole], names[part], strict=True):
            size, piece = getattr(p, outer), getattr(p, inner)
            if size % piece:
                yield (
                    f"{outer} ({size}) must be divisible by {inner} ({piece})",
                    f"{inner}={divisor(size, piece)}",
                )
    if p.out_subblock_h * p.out_subblock_w > call.registers:
        yield (
            f"out_subblock_w {p.out_subblock_w} times out_subblock_h {p.out_subblock_h} needs to be at most {call.registers} to fit in hardware",
            "out_subblock_h=1, out_subblock_w=1",
        )


def _shared_batch(call: ProductCall) -> Wrong:
    """Batches that count as one matrix: all are multiplied with the same second operand."""
    if not call.program.fuse_batch:
        return
    if call.batches[1] != 1:
        yield (
            "Matmul with fused batch requires input tensors of shapes BCMK*11KN=BCMN or equivalent. Please change the second input tensor or "
            "adjust the program config.",
            "fuse_batch=False",
        )
    one = call.high(fused=False)
    if call.transpose_a and call.batches[0] != 1 and one != 1:
        yield (
            f"transpose_a with fuse_batch is not supported when batch dimensions exist and M_per_batch > 1 (batch_size={call.batches[0]}, "
            f"M_per_batch={one})",
            "ttnn.transpose the first operand before, or fuse_batch=False",
        )


def _from_banks(call: ProductCall) -> Wrong:
    """One row of tiles along cores, its second operand in columns over the banks of DRAM."""
    p = call.program
    if not call.a.memory_config().is_sharded():
        yield (
            "Input tensor A must be sharded for DRAM sharded program config",
            "ttnn.to_memory_config(a, …WIDTH_SHARDED…)",
        )
    if not call.output.is_sharded():
        yield (
            "Output memory config must be sharded for DRAM sharded program config",
            "memory_config=ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG",
        )
    if layout_of(call.a) is not WIDTH_SHARDED:
        yield (
            f"Input A memory layout must be WIDTH_SHARDED, got: {cpp(layout_of(call.a))}",
            "ttnn.to_memory_config(a, …WIDTH_SHARDED…)",
        )
    yield from lies_alike(call)
    yield from by_rows(call, "Input A")
    one = call.high(fused=False)
    down, across = shard_tiles(call.a, call.tile_a)
    if one != p.per_core_M:
        yield f"M ({one}) must equal per_core_M ({p.per_core_M})", f"per_core_M={one}"
    if one != 1:
        yield "currently only support in0 tensor height of tile height", "a first operand of up to 32 rows"
    if p.per_core_M != down:
        yield (
            f"per_core_M ({p.per_core_M}) must equal shard_shape[0] / in0_tile.get_height() ({down})",
            f"per_core_M={down}",
        )
    if call.inner % p.in0_block_w:
        yield (
            f"K ({call.inner}) must be divisible by in0_block_w ({p.in0_block_w})",
            f"in0_block_w={divisor(call.inner, p.in0_block_w)}",
        )
    if across % p.in0_block_w:
        yield (
            f"shard_shape[1] / in0_tile.get_width() ({across}) must be divisible by in0_block_w ({p.in0_block_w})",
            f"in0_block_w={divisor(across, p.in0_block_w)}",
        )
    if layout_of(call.b) is not WIDTH_SHARDED:
        yield (
            f"Input B memory layout must be WIDTH_SHARDED, got: {cpp(layout_of(call.b))}",
            "ttnn.to_memory_config(b, …WIDTH_SHARDED, ttnn.BufferType.DRAM…)",
        )


_RULES: dict[type, tuple[Callable[[ProductCall], Wrong], ...]] = {
    MatmulMultiCoreReuseProgramConfig: (
        _grid, _blocks, apart_checks.work, apart_checks.sizes, apart_checks.first, apart_checks.batches, apart_checks.second, apart_checks.result,
    ),
    MatmulMultiCoreReuseMultiCastProgramConfig: (
        _grid, _blocks, rectangle_checks.work, _shared_batch, rectangle_checks.first, rectangle_checks.second, rectangle_checks.result,
    ),
    MatmulMultiCoreReuseMultiCast1DProgramConfig: (
        _grid, _blocks, line_checks.work, _shared_batch, line_checks.modes, line_checks.first, line_checks.result, line_checks.second,
    ),
    MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig: (_sizes, _from_banks),
}  # fmt: skip
