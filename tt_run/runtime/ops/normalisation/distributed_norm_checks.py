"""What the halves of norms over devices refuse, and where statistics lie. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.cores import CoreRange, CoreRangeSet
from tt_run.runtime.enums import HEIGHT_SHARDED, WIDTH_SHARDED, DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.normalisation.norm_checks import check_parameter
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.blocks import LayerNormShardedMultiCoreProgramConfig

_PROGRAM = "program_config=ttnn.LayerNormShardedMultiCoreProgramConfig(compute_with_storage_grid_size=…, subblock_w=…, block_h=…, block_w=…, inplace=False)"


def check_statistics(name: str, x: Tensor, residual: Tensor | None, program: object, kernel: object) -> None:
    """What `rms_norm_pre_all_gather` and `layer_norm_pre_all_gather` refuse."""
    _check_rank(x)
    if x.dtype is DataType.FLOAT32 and not _exact(kernel):
        raise fatal(
            f"{name} with Float32 input requires fp32_dest_acc_en=true in the compute kernel config; otherwise precision is silently lost "
            "in the unpacker format conversion.",
            hint="compute_kernel_config=ttnn.WormholeComputeKernelConfig(fp32_dest_acc_en=True)",
        )
    if residual is not None and residual.is_sharded() is not x.is_sharded():
        raise fatal(
            "residual tensor b should be sharded if input a is sharded"
            if x.is_sharded()
            else "Residual tensor must be interleaved.",
            hint="ttnn.to_memory_config(residual_input_tensor, input_tensor.memory_config())",
        )
    if x.memory_config().memory_layout is not HEIGHT_SHARDED:
        _check_program(x, program)


def place_of(x: Tensor, tiles: int) -> MemoryConfig | None:
    """Where `tiles` of statistics lie of a tensor on cores: on the first of them, where it is cut by width; as it does, where they do not fit."""
    memory = x.memory_config()
    if memory.memory_layout is HEIGHT_SHARDED:
        return memory
    if memory.memory_layout is not WIDTH_SHARDED or memory.shard_spec is None:
        return None
    start = memory.shard_spec.grid.bounding_box().start
    piece = (memory.shard_spec.shape[0], tiles * TILE_SIZE)
    spec = ShardSpec(CoreRangeSet([CoreRange(start, start)]), piece, memory.shard_spec.orientation)
    return MemoryConfig(memory.memory_layout, memory.buffer_type, spec)


def check_normalised(
    x: Tensor,
    stats: Tensor,
    parameters: Sequence[Tensor | None],
    program: object,
    kernel: object,
    memory_config: MemoryConfig | None,
) -> None:
    """What `rms_norm_post_all_gather` and `layer_norm_post_all_gather` refuse."""
    _check_rank(x)
    if x.memory_config().memory_layout is HEIGHT_SHARDED:
        raise fatal("Height sharded inputs are not supported.", hint="shard the width, or blocks")
    if DataType.FLOAT32 in (x.dtype, stats.dtype) and x.dtype is DataType.FLOAT32 and not _exact(kernel):
        raise fatal(
            "FLOAT32 input/stats require fp32_dest_acc_en=true in the compute kernel config.",
            hint="compute_kernel_config=ttnn.WormholeComputeKernelConfig(fp32_dest_acc_en=True)",
        )
    if x.is_sharded() and not stats.is_sharded():
        raise fatal(
            "Stats must be sharded",
            hint="gather them onto one core: ttnn.all_gather(…, memory_config=a WIDTH_SHARDED configuration)",
        )
    if x.is_sharded() and memory_config is not None and not memory_config.is_sharded():
        raise fatal(
            "Sharded inputs require sharded outputs.",
            hint="leave memory_config out, and ttnn.sharded_to_interleaved the result",
        )
    for name, parameter in zip(("gamma", "beta"), parameters, strict=True):
        check_parameter(x, parameter, name, gathered=True)
    _check_program(x, program)


def _check_rank(x: Tensor) -> None:
    if len(x.shape) != 4:
        raise fatal(
            f"ShapeBase[] index out of range. 3 not in [-4, {len(x.shape)})",
            hint="ttnn.unsqueeze_to_4D(tensor)",
        )


def _check_program(x: Tensor, program: object) -> None:
    """A tensor on cores needs the program that says how they share it."""
    if x.is_sharded() and not isinstance(program, LayerNormShardedMultiCoreProgramConfig):
        raise fatal(
            "a tensor that is cut over cores needs a program for them",
            "std::get: wrong index for variant",
            hint=_PROGRAM,
        )


def _exact(kernel: object) -> bool:
    return getattr(kernel, "fp32_dest_acc_en", False) is True
