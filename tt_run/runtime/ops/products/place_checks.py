"""What a product without a program configuration refuses of where its operands and result lie. Source: reference library 0.81.1.

A device then chooses the program by the places, and each program knows some of them: the words name the one that it would be.
"""

from __future__ import annotations

from tt_run.runtime.enums import BufferType, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.products.program_call import Call, in_l1, layout_of, shard_of
from tt_run.runtime.tensor.spec.memory_config import CoreGrid
from tt_run.runtime.tile import TILE_SIZE

_INTERLEAVED, _HEIGHT, _WIDTH, _BLOCK = (
    TensorMemoryLayout.INTERLEAVED,
    TensorMemoryLayout.HEIGHT_SHARDED,
    TensorMemoryLayout.WIDTH_SHARDED,
    TensorMemoryLayout.BLOCK_SHARDED,
)
_ONE = "MatmulMultiCoreProgramConfig"
_LINE = "MatmulMultiCoreReuseMultiCast1DProgramConfig"
_PLANE = "MatmulMultiCoreReuseMultiCastProgramConfig"
_APART = "MatmulMultiCoreReuseProgramConfig"
_UNCUT = "ttnn.to_memory_config({}, ttnn.DRAM_MEMORY_CONFIG)"
_LONG = 8
"""From how many times as long as wide a product is computed along one line of cores."""


def check_places(call: Call, core_grid: CoreGrid | None) -> None:
    """Raises RuntimeError for operands and results in shards that no program multiplies."""
    if shard_of(call.a) is not None:
        _check_first(call)
    elif call.output.is_sharded() or core_grid is not None:
        _check_result(call, core_grid)
    elif layout_of(call.b) is not _INTERLEAVED:
        raise fatal(
            f"{_ONE}: Input B memory layout must be INTERLEAVED, got: {cpp(layout_of(call.b))}",
            hint=_UNCUT.format("b") + ", or a program_config",
        )


def _check_first(call: Call) -> None:
    """A first operand in shards stays where it is; each of its batches goes with a second operand that lies as it does."""
    held, second = layout_of(call.a), layout_of(call.b)
    own = call.batches[1] > 1
    if own and held is _WIDTH:
        raise fatal(
            f"Input A memory layout must not be WIDTH_SHARDED, got: {cpp(held)}", hint=_UNCUT.format("a")
        )
    if call.output.is_sharded() and call.output.memory_layout is not held:
        raise fatal(
            f"Input A and output memory layouts must match, got input: {cpp(held)} vs output: {cpp(call.output.memory_layout)}",
            hint="leave memory_config out, or name a program_config that cuts the product anew",
        )
    if not own and second is not _INTERLEAVED:
        raise fatal(
            f"Input tensor B must have INTERLEAVED memory layout, got: {cpp(second)}", hint=_UNCUT.format("b")
        )
    if own:
        _check_own(call)
    else:
        _check_turned(call, _PLANE if held is _BLOCK else _LINE)


def _check_own(call: Call) -> None:
    """Batches with second operands of their own: blocks are the shards, whole batches or parts of one."""
    first, second = shard_of(call.a), shard_of(call.b)
    assert first is not None
    if second is not None and layout_of(call.a) is not layout_of(call.b):
        raise fatal(
            f"Input A and B memory layouts must match, got A: {cpp(layout_of(call.a))} vs B: {cpp(layout_of(call.b))}",
            hint=_UNCUT.format("b"),
        )
    if second is not None and second.grid != first.grid:
        raise fatal("Input A and B shard grids must match", hint=_UNCUT.format("b"))
    blocks = call.high(fused=True) // max(first.shape[0] // TILE_SIZE, 1)
    cores = first.grid.num_cores()
    if blocks % cores:
        raise fatal(
            f"{_APART}: num_output_blocks ({blocks}) must be evenly divisible by the number of cores in the input shard grid ({cores})",
            hint=_UNCUT.format("a"),
        )


def _check_turned(call: Call, program: str) -> None:
    """Batches that are multiplied as one matrix cannot be turned round, each by itself."""
    one, batches = call.high(fused=False), call.batches[0]
    if call.transpose_a and call.batches[1] == 1 and batches > 1 and one > 1:
        raise fatal(
            f"{program}: transpose_a with fuse_batch is not supported when batch dimensions exist and M_per_batch > 1 "
            f"(batch_size={batches}, M_per_batch={one})",
            hint="ttnn.transpose the first operand before",
        )


def _check_result(call: Call, core_grid: CoreGrid | None) -> None:
    """A result in shards, or the cores that a call names: its program takes second operands that are cut as the result is."""
    asked, second = call.output, layout_of(call.b)
    if asked.memory_layout is _BLOCK and call.batches[1] > 1:
        _check_batches_of_blocks(call, core_grid)
    if call.batches[1] > 1:
        return
    program = _program(call, core_grid)
    if asked.memory_layout in (
        _INTERLEAVED,
        _BLOCK,
    ):  # what is cut by rows or columns has no room for more than one batch
        _check_turned(call, program)
    if not in_l1(call.b):
        return
    if asked.memory_layout is _HEIGHT:
        raise fatal(f"{_LINE}: input B must be INTERLEAVED, got: {cpp(second)}", hint=_UNCUT.format("b"))
    if asked.memory_layout is _WIDTH and second is not _WIDTH:
        raise fatal(
            f"{_LINE}: input B in L1 must be WIDTH_SHARDED, got: {cpp(second)}", hint=_UNCUT.format("b")
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


def _program(call: Call, core_grid: CoreGrid | None) -> str:
    if call.output.is_sharded():
        return _PLANE if call.output.memory_layout is _BLOCK else _LINE
    high, wide = call.high(fused=True), call.wide
    straight = core_grid is not None and 1 in (core_grid.x, core_grid.y)
    return _LINE if straight or high >= _LONG * wide or wide >= _LONG * high else _PLANE


def _check_batches_of_blocks(call: Call, core_grid: CoreGrid | None) -> None:
    """A result in blocks is one matrix."""
    batches, spec = call.batches[1], call.output.shard_spec
    if core_grid is not None:
        raise fatal(
            f"Number of shards along height {batches} must not exceed number of columns 1 for column major orientation!",
            hint="memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG",
        )
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
