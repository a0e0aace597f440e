"""What a product without a program configuration refuses of where its operands and result lie. Source: reference library 0.81.1.

A device then chooses the program by the places, and each program knows some of them: the words name the one that it would be.
"""

from __future__ import annotations

from tt_run.runtime.enums import BufferType, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.products.program_call import ProductCall, in_l1, layout_of, shard_of, shard_tiles

_INTERLEAVED, _HEIGHT, _WIDTH, _BLOCK = (
    TensorMemoryLayout.INTERLEAVED,
    TensorMemoryLayout.HEIGHT_SHARDED,
    TensorMemoryLayout.WIDTH_SHARDED,
    TensorMemoryLayout.BLOCK_SHARDED,
)
_ONE = "MatmulMultiCoreProgramConfig"
_LINE = "MatmulMultiCoreReuseMultiCast1DProgramConfig"
_PLANE = "MatmulMultiCoreReuseMultiCastProgramConfig"
_UNCUT = "ttnn.to_memory_config({}, ttnn.DRAM_MEMORY_CONFIG)"


def check_places(call: ProductCall) -> None:
    """Raises RuntimeError for a second operand and a result in shards that no program multiplies, where nothing else chooses one."""
    if call.output.is_sharded():
        _check_result(call)
    elif layout_of(call.b) is not _INTERLEAVED:
        raise fatal(
            f"{_ONE}: Input B memory layout must be INTERLEAVED, got: {cpp(layout_of(call.b))}",
            hint=_UNCUT.format("b") + ", or a program_config",
        )


def _check_turned(call: ProductCall, program: str) -> None:
    """Batches that are multiplied as one matrix cannot be turned round, each by itself."""
    one, batches = call.high(fused=False), call.batches[0]
    if call.transpose_a and call.batches[1] == 1 and batches > 1 and one > 1:
        raise fatal(
            f"{program}: transpose_a with fuse_batch is not supported when batch dimensions exist and M_per_batch > 1 "
            f"(batch_size={batches}, M_per_batch={one})",
            hint="ttnn.transpose the first operand before",
        )


def _check_result(call: ProductCall) -> None:
    """A result in shards: its program takes second operands that are cut as the result is."""
    asked, second = call.output, layout_of(call.b)
    if asked.memory_layout is _BLOCK and call.batches[1] > 1:
        _check_batches_of_blocks(call)
    if call.batches[1] > 1:
        return
    program = _PLANE if asked.memory_layout is _BLOCK else _LINE
    if asked.memory_layout is _BLOCK:  # what is cut by rows or columns has no room for more than one batch
        _check_turned(call, program)
    if asked.memory_layout is _HEIGHT and second is not _INTERLEAVED:
        raise fatal(f"{_LINE}: input B must be INTERLEAVED, got: {cpp(second)}", hint=_UNCUT.format("b"))
    if not in_l1(call.b):
        return
    if asked.memory_layout is _WIDTH and second is not _WIDTH:
        raise fatal(
            f"{_LINE}: input B in L1 must be WIDTH_SHARDED, got: {cpp(second)}", hint=_UNCUT.format("b")
        )
    if asked.memory_layout is _WIDTH and shard_of(call.b) is not None:
        across, cores = shard_tiles(call.b, call.tile_b)[1], call.device_cores
        each = -(-call.wide // (cores.x * cores.y))
        if across != each:
            raise fatal(
                f"{_LINE}: input B shard width in tiles ({across}) must equal per_core_N ({each})",
                hint=_UNCUT.format("b"),
            )
    if program is _PLANE and second is _HEIGHT:
        raise fatal(
            f"{_PLANE}: HEIGHT_SHARDED input B is only supported in DRAM, got: {cpp(BufferType.L1)}",
            hint=_UNCUT.format("b"),
        )
    if program is _PLANE and second is not _WIDTH:
        raise fatal(
            f"{_PLANE}: Input B memory layout must be WIDTH_SHARDED, HEIGHT_SHARDED, or DRAM ND_SHARDED, got: {cpp(second)}",
            hint=_UNCUT.format("b"),
        )
    if program is _PLANE and shard_of(call.b) is not None:
        across = shard_tiles(call.b, call.tile_b)[1]
        if across != call.wide:
            raise fatal(
                f"{_PLANE}: per_core_N ({call.wide}) must equal input tensor B shard shape[1] / in1_tile.get_width() ({across})",
                hint=_UNCUT.format("b"),
            )


def _check_batches_of_blocks(call: ProductCall) -> None:
    """A result in blocks is one matrix."""
    batches, spec = call.batches[1], call.output.shard_spec
    if spec is not None:
        box = spec.grid.bounding_box()
        if box.start.x == box.end.x or box.start.y == box.end.y:
            raise fatal(
                "BLOCK_SHARDED output on a 1D grid (single row or column of cores) is not supported when both input tensors are batched. Either "
                "use HEIGHT_SHARDED/WIDTH_SHARDED explicitly, use a 2D core grid for BLOCK_SHARDED, or ensure one input is not batched.",
                hint="memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG",
            )
    size = call.high(fused=False) * call.wide
    raise fatal(
        f"Block-sharded output is incompatible with batch > 1 (B={batches}). The output CB is backed by the shard buffer which only holds "
        f"per_core_M * per_core_N = {size} tiles, but the kernel would produce B * per_core_M * per_core_N = {batches * size} tiles.",
        hint="memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG",
    )
