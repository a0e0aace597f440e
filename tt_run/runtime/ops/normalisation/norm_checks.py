"""What layer, RMS and group norms refuse: parameters, programs and places. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.cores import core_of
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout, cpp
from tt_run.runtime.errors import as_type, fatal, in_tiles, put_on_device
from tt_run.runtime.ops.declaration.operands import volume
from tt_run.runtime.tensor.spec.memory_config import CoreGrid, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, tiles
from tt_run.runtime.tuning.blocks import LayerNormDefaultProgramConfig, LayerNormShardedMultiCoreProgramConfig

_WIDTH = TensorMemoryLayout.WIDTH_SHARDED


def check_parameter(x: Tensor, parameter: Tensor | None, name: str) -> None:
    """Raises RuntimeError for a gamma or beta that is neither a row of tiles as wide as `x` nor rows of 32 that fill them."""
    if parameter is None:
        return
    width, whole = x.shape[-1], tiles(x.shape[-1]) * TILE_SIZE
    given = parameter.padded_shape.dims
    if parameter.layout is Layout.TILE:
        if given[-1] != whole or parameter.shape[-1] < width:
            raise fatal(
                f"Input and {name} padded widths must match and {name} logical width must be >= input logical width (otherwise valid input "
                f"columns would be multiplied by {name} padding). Got input: logical[-1]={width} padded[-1]={whole} vs {name}: "
                f"logical[-1]={parameter.shape[-1]} padded[-1]={given[-1]}",
                hint=f"a {name} of shape [1, {width}]",
            )
        if volume(given[:-1]) != TILE_SIZE:
            raise fatal(
                f"{name.capitalize()} tensor height must equal tile height ({TILE_SIZE}), got: {given[-2]}",
                hint=f"a {name} of shape [1, {width}]",
            )
        return
    if given[-1] != TILE_SIZE or volume(given) != whole:
        raise fatal(
            f"{name.capitalize()}'s last padded dim needs to equal tile width and {name}'s volume needs to align with last padded dim of "
            f"input. Error with {name}.value().padded_shape(): {parameter.padded_shape}, tile_width: {TILE_SIZE}, {name}.value().physical_volume(): "
            f"{volume(given)}, a.padded_shape()[-1]: {whole}",
            hint=f"in rows, a {name} of shape [{whole // TILE_SIZE}, {TILE_SIZE}]; or {in_tiles(name)}",
        )


def check_residual(x: Tensor, residual: Tensor | None) -> None:
    """Raises RuntimeError for a residual that lies otherwise than `x`, where that is in shards, and for one in rows."""
    if residual is None:
        return
    if residual.layout is not Layout.TILE:
        raise fatal(
            f"Residual tensor must have TILE layout, got: {cpp(residual.layout)}", hint=in_tiles("residual")
        )
    if not x.is_sharded():
        return
    if not residual.is_sharded():
        raise fatal(
            "residual tensor b should be sharded if input a is sharded",
            hint="ttnn.to_memory_config(residual, tensor.memory_config())",
        )
    if residual.memory_config() != x.memory_config():
        raise fatal(
            "Both a and b should have the same memory config",
            hint="ttnn.to_memory_config(residual, tensor.memory_config())",
        )


def check_program(x: Tensor, program: object, asked: MemoryConfig | None) -> None:
    """Raises RuntimeError for a program that was made for other shards than those of `x`, or for shards at all where there are none."""
    if x.is_sharded():
        if isinstance(program, LayerNormDefaultProgramConfig):
            raise fatal(
                "std::get: wrong index for variant",
                hint="program_config=ttnn.LayerNormShardedMultiCoreProgramConfig(…), or none",
            )
        if isinstance(program, LayerNormShardedMultiCoreProgramConfig):
            _check_blocks(x, program)
    elif isinstance(program, LayerNormShardedMultiCoreProgramConfig):
        _check_uncut(x, program, asked)


def _check_uncut(
    x: Tensor, program: LayerNormShardedMultiCoreProgramConfig, asked: MemoryConfig | None
) -> None:
    held, wanted = x.memory_config(), asked or x.memory_config()
    if program.inplace and not wanted.is_sharded():
        raise fatal("Output memory config must be sharded for inplace operation", hint="inplace=False")
    if held.buffer_type is not wanted.buffer_type:
        raise fatal(
            f"Input and output buffer types must match, got input: {cpp(held.buffer_type)} vs output: {cpp(wanted.buffer_type)}",
            hint="leave memory_config out",
        )
    if held.memory_layout is not wanted.memory_layout:
        raise fatal(
            f"Input and output memory layouts must match, got input: {cpp(held.memory_layout)} vs output: {cpp(wanted.memory_layout)}",
            hint="leave memory_config out",
        )
    raise fatal("bad optional access", hint="a tensor in shards, or ttnn.LayerNormDefaultProgramConfig()")


def _check_blocks(x: Tensor, program: LayerNormShardedMultiCoreProgramConfig) -> None:
    spec = x.memory_config().shard_spec
    if spec is None:
        return
    box = spec.grid.bounding_box()
    across, down = box.end.x - box.start.x + 1, box.end.y - box.start.y + 1
    cores = core_of(program.compute_with_storage_grid_size)
    if across > cores.x or down > cores.y:
        raise fatal(
            f"shard_spec.grid size {across}x{down} does not fit within program_config grid {cores.x}x{cores.y}",
            hint=f"compute_with_storage_grid_size=({across}, {down})",
        )
    if program.subblock_w < 1:
        raise fatal("subblock_w must be greater than 0.", hint="subblock_w=1")
    if program.block_w % program.subblock_w:
        raise fatal("block_w must be divisible by subblock_w.", hint="subblock_w=1")
    if x.memory_config().memory_layout is _WIDTH:
        across, down = spec.grid.num_cores(), 1
    elif spec.orientation is ShardOrientation.COL_MAJOR:
        across, down = down, across
    high, wide = (n // TILE_SIZE for n in (volume(x.padded_shape.dims[:-1]), x.padded_shape.dims[-1]))
    if program.block_h == high:  # all rows on each core
        if program.block_w * spec.grid.num_cores() != wide:
            raise fatal(
                f"block_w ({program.block_w}) must equal to K (in tiles) / num_cores ({wide // spec.grid.num_cores()})",
                hint=f"block_w={max(wide // spec.grid.num_cores(), 1)}",
            )
        return
    if program.block_w * across != wide:
        raise fatal(
            f"block_w ({program.block_w}) must equal to K (in tiles) / num_cores_c ({wide // across})",
            hint=f"block_w={max(wide // across, 1)}",
        )
    each = -(-high // down)
    if program.block_h != each:
        raise fatal(
            f"block_h ({program.block_h}) must equal ceil(Mt / num_cores_r) ({each}); Mt={high}, num_cores_r={down}",
            hint=f"block_h={each}",
        )


def check_groups(
    x: Tensor,
    num_groups: int,
    parameters: tuple[Tensor | None, Tensor | None],
    mask: Tensor | None,
    inplace: bool | None,
    output_layout: Layout | None,
    dtype: DataType | None,
    core_grid: CoreGrid | None,
    asked: MemoryConfig | None,
) -> None:
    """Raises RuntimeError for what a group norm does not take."""
    if len(x.shape) != 4:
        raise fatal(
            f"Invalid tensor shape: Input tensor must have rank 4. (rank={len(x.shape)})",
            hint="ttnn.reshape(tensor, (N, 1, H * W, C))",
        )
    channels = x.shape[-1]
    if num_groups < 1:
        raise fatal(
            f"num_groups must be greater than 0, got {num_groups}",
            "num_groups > 0",
            hint="num_groups=1 or more",
        )
    if channels % num_groups:
        raise fatal(
            f"Invalid channel configuration: Number of channels ({channels}) must be divisible by the number of groups ({num_groups}).",
            hint=f"num_groups is one of {', '.join(str(n) for n in range(1, channels + 1) if channels % n == 0)}",
        )
    batches, one, rows, padded = x.padded_shape
    if batches * one * rows % TILE_SIZE:
        raise fatal(
            f"Invalid tensor dimensions: The product of NHW dimensions ({batches * one * rows}) must be divisible by the tile size "
            f"({TILE_SIZE}).",
            hint=in_tiles("tensor"),
        )
    if padded % num_groups:
        raise fatal(
            "channel must be divisible by num_groups!",
            hint=f"ttnn.pad the channels to a multiple of {TILE_SIZE}",
        )
    if inplace and x.layout is Layout.TILE:
        raise fatal(
            "In-place operation not supported: Tile layout requires non-inplace tensors. (inplace=true)",
            hint="inplace=False",
        )
    if inplace and output_layout is not None and output_layout is not x.layout:
        raise fatal(
            f"In-place operation not allowed: Input and output tensor layouts differ. (input_layout={cpp(x.layout)}, "
            f"output_layout={cpp(output_layout)})",
            hint="inplace=False",
        )
    if x.memory_config().memory_layout is _WIDTH:
        raise fatal(
            "Unsupported memory layout: Input tensor cannot be width-sharded.",
            hint="shards of rows or blocks, or ttnn.to_memory_config(tensor, ttnn.L1_MEMORY_CONFIG)",
        )
    if x.shape[1] != 1:
        raise fatal("input tensor shape[1] must be 1!", hint="ttnn.reshape(tensor, (N, 1, H * W, C))")
    if mask is not None and mask.device() is None:
        raise fatal(
            "Input mask must be on device, got storage type: StorageType::HOST", hint=put_on_device("mask")
        )
    if x.dtype not in (DataType.BFLOAT16, DataType.FLOAT32):
        raise fatal(
            f"Input tensor must be BFLOAT16 or FLOAT32, got: {cpp(x.dtype)}",
            hint=as_type("tensor", "bfloat16"),
        )
    if dtype is not None and dtype is not x.dtype:
        raise fatal(
            f"group_norm output dtype must match input dtype ({cpp(x.dtype)}), got dtype={cpp(dtype)}",
            hint="ttnn.typecast the result",
        )
    _check_places(x, inplace, core_grid)
    _check_rows(parameters, x.is_sharded())
    if mask is not None and mask.layout is not Layout.TILE:
        raise fatal(f"Input mask must have TILE layout, got: {cpp(mask.layout)}", hint=in_tiles("mask"))
    _check_result(x, inplace, asked)


def _check_places(x: Tensor, inplace: bool | None, core_grid: CoreGrid | None) -> None:
    spec = x.memory_config().shard_spec
    if spec is None:
        if inplace:
            raise fatal("inplace groupnorm not supported for unsharded tensors", hint="inplace=False")
        return
    box = spec.grid.bounding_box()
    across, down = box.end.x - box.start.x + 1, box.end.y - box.start.y + 1
    if core_grid is not None and (across > core_grid.x or down > core_grid.y):
        raise fatal(
            f"shard_spec.grid size {across}x{down} does not fit within program_config grid {core_grid.x}x{core_grid.y}",
            hint=f"core_grid=ttnn.CoreGrid(x={across}, y={down})",
        )


def _check_result(x: Tensor, inplace: bool | None, asked: MemoryConfig | None) -> None:
    """A result of its own lies as the tensor does, in shards of L1."""
    if x.memory_config().shard_spec is None:
        if asked is not None and asked.is_sharded() and asked.shard_spec is None:
            raise fatal("bad optional access", hint="memory_config=ttnn.DRAM_MEMORY_CONFIG")
        return
    if not inplace and (asked is None or asked.buffer_type is not BufferType.L1):
        raise fatal(
            "Only L1 buffers can have an associated circular buffer!",
            hint="memory_config=tensor.memory_config(), or inplace=True",
        )
    if not inplace and asked is not None and not asked.is_sharded():
        raise fatal(
            "Cannot set circular buffer size: it is larger than the associated dynamically allocated L1 buffer bank size",
            hint="memory_config=tensor.memory_config(), or inplace=True",
        )


def _check_rows(parameters: tuple[Tensor | None, Tensor | None], sharded: bool) -> None:
    gamma, beta = parameters
    if gamma is not None and beta is not None and gamma.layout is not beta.layout:
        raise fatal(
            f"Gamma and beta must have the same layout, got gamma: {cpp(gamma.layout)} vs beta: {cpp(beta.layout)}",
            hint="ttnn.create_group_norm_weight_bias_rm makes both in rows of 32",
        )
    if gamma is not None and beta is not None and gamma.dtype is not beta.dtype:
        raise fatal(
            "Gamma and beta must have the same dtype (the program factories use a single gamma/beta CB format for both), got gamma: "
            f"{cpp(gamma.dtype)} vs beta: {cpp(beta.dtype)}",
            hint=f"ttnn.typecast(bias, {gamma.dtype})",
        )
    for name, given in (("Gamma", gamma), ("Beta", beta)):
        if given is None:
            continue
        if given.layout is not Layout.ROW_MAJOR:
            found = f", but has {cpp(given.layout)} layout" if sharded else ""
            raise fatal(
                f"{name} tensor must have ROW_MAJOR layout{found}",
                hint="ttnn.create_group_norm_weight_bias_rm makes it in rows of 32",
            )
        if given.padded_shape[-1] != TILE_SIZE:
            raise fatal(
                f"{name} tensor inner dimension must equal tile width ({TILE_SIZE}), got: {given.padded_shape[-1]}",
                hint=f"ttnn.reshape({name.lower()}, (1, 1, channels // 32, 32))",
            )
