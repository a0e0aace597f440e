"""What layer and RMS norms refuse: parameters, programs and places. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.cores import core_of
from tt_run.runtime.enums import WIDTH_SHARDED, Layout, ShardOrientation, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.ops.declaration.operands import volume
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, tiles
from tt_run.runtime.tuning.blocks import LayerNormDefaultProgramConfig, LayerNormShardedMultiCoreProgramConfig


def check_parameter(x: Tensor, parameter: Tensor | None, name: str, *, gathered: bool = False) -> None:
    """Raises RuntimeError for a gamma or beta that is neither rows of tiles as wide as `x` nor rows of 32 that fill them.

    After statistics are `gathered`, tiles have as many columns as `x` without padding, too.
    """
    if parameter is None:
        return
    own = parameter.shape.dims
    if parameter.layout is Layout.TILE and len(own) == 2 and own == (1, x.shape.dims[-1]):
        return  # as nearly all are
    width, whole = x.shape[-1], tiles(x.shape[-1]) * TILE_SIZE
    given = parameter.padded_shape.dims
    if parameter.layout is Layout.TILE:
        if gathered and (given[-1] != whole or parameter.shape[-1] != width):
            raise fatal(
                f"Input and {name} last logical and padded dims must match, got input: logical[-1]={width} padded[-1]={whole} vs {name}: "
                f"logical[-1]={parameter.shape[-1]} padded[-1]={given[-1]}",
                hint=f"a {name} of shape [1, {width}]",
            )
        if given[-1] != whole or parameter.shape[-1] < width:
            raise fatal(
                f"Input and {name} padded widths must match and {name} logical width must be >= input logical width (otherwise valid input "
                f"columns would be {'multiplied' if name == 'gamma' else 'offset'} by {name} padding). Got input: logical[-1]={width} padded[-1]={whole} vs {name}: "
                f"logical[-1]={parameter.shape[-1]} padded[-1]={given[-1]}",
                hint=f"a {name} of shape [1, {width}]",
            )
        if given[-2] != TILE_SIZE:  # of several such the first row counts
            raise fatal(
                f"{name.capitalize()} tensor height must equal tile height ({TILE_SIZE}), got: {given[-2]}",
                hint=f"a {name} of shape [1, {width}]",
            )
        return
    if given[-1] != TILE_SIZE or volume(given) != whole:
        tiled = padded_shape(tuple(x.shape), Layout.TILE, x.tile)
        of_gamma = (
            "Gamma's last padded dim needs to equal tile width and gamma's volume needs to align with last padded dim of input. Error with "
            f"gamma.value().padded_shape(): {parameter.padded_shape}, tile_width: {TILE_SIZE}, gamma.value().physical_volume(): "
            f"{volume(given)}, a.padded_shape(): {tiled}"
        )
        of_others = (
            f"{name.capitalize()} tensor dimensions must align with input tensor. Got {name} padded shape: {given[-1]}, physical volume: "
            f"{volume(given)}, input padded shape: {whole}, tile_width: {TILE_SIZE}"
        )
        raise fatal(
            of_gamma if name == "gamma" and not gathered else of_others,
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
    if x.memory_config().memory_layout is WIDTH_SHARDED:
        across, down = spec.grid.num_cores(), 1
    along, below = "c", "r"
    if spec.orientation is ShardOrientation.COL_MAJOR:
        along, below = below, along
        if x.memory_config().memory_layout is not WIDTH_SHARDED:
            across, down = down, across
    high, wide = (n // TILE_SIZE for n in (volume(x.padded_shape.dims[:-1]), x.padded_shape.dims[-1]))
    width, whole = x.padded_shape.dims[-1], across * spec.shape[1]
    if whole - width >= spec.shape[1]:
        lines, columns = -(-high * TILE_SIZE // spec.shape[0]), -(-width // spec.shape[1])
        if x.memory_config().memory_layout is not WIDTH_SHARDED:
            raise fatal(
                f"Shard layout requires {lines}x{columns} = {lines * columns} shards but shard grid has {spec.grid.num_cores()} cores",
                hint=f"shards on {columns} cores along a row",
            )
        raise fatal(
            f"Shard-padded width ({across}x{spec.shape[1]} = {whole}) does not align with tensor width {width}: trailing pad {whole - width} "
            f"must be less than one shard width ({spec.shape[1]})",
            hint=f"shards on {columns} cores along a row",
        )
    if program.block_h == high:  # all rows on each core
        beside = -(-wide // spec.grid.num_cores())
        if program.block_w != beside:
            raise fatal(
                f"block_w ({program.block_w}) must equal to K (in tiles) / num_cores ({beside})",
                hint=f"block_w={beside}",
            )
        return
    each = -(-high // down)
    if program.block_h != each:
        raise fatal(
            f"block_h ({program.block_h}) must equal ceil(Mt / num_cores_{below}) ({each}); Mt={high}, num_cores_{below}={down}",
            hint=f"block_h={each}",
        )
    beside = -(-wide // across)
    if program.block_w != beside:
        raise fatal(
            f"block_w ({program.block_w}) must equal to K (in tiles) / num_cores_{along} ({beside})",
            hint=f"block_w={beside}",
        )
