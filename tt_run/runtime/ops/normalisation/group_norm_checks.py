"""Which images, parameters, masks and grids of cores a group norm takes. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.enums import WIDTH_SHARDED, BufferType, DataType, Layout, cpp
from tt_run.runtime.errors import as_type, fatal, in_tiles, put_on_device
from tt_run.runtime.mesh.hardware import Arch
from tt_run.runtime.tensor.model_parameters.group_norm import (
    determine_expected_group_norm_dram_grid_size,
    dram_group_norm_grid,
    shares_evenly,
    virtual_columns,
    virtual_rows,
)
from tt_run.runtime.tensor.spec.memory_config import CoreGrid, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE


def check_rows(given: Tensor, output: Layout | None, welford: bool) -> None:
    """What is not cut over cores is in tiles; on Wormhole it may be in rows where `welford` does not ask for another way."""
    if given.is_sharded():
        return
    device = given.device()
    wormhole = device is not None and device.arch() is Arch.WORMHOLE_B0
    for word, layout, hint in (
        ("input", given.layout, in_tiles("tensor")),
        ("output", output or given.layout, "output_layout=ttnn.TILE_LAYOUT"),
    ):
        if layout is Layout.TILE:
            continue
        if not wormhole:
            raise fatal(
                f"group_norm: interleaved (non-sharded) {word} must be in TILE layout, got ROW_MAJOR",
                hint=hint,
            )
        if welford:
            raise fatal(
                "group_norm: ROW_MAJOR interleaved input/output is not supported on the SFPU two-pass path yet. Use TILE layout "
                "for both input and output, or use the tile-reduction path (use_welford=false).",
                hint=hint,
            )


def check_grid(given: Tensor, groups: int, grid: CoreGrid | None, blocks: int | None) -> None:
    """The tiles of what is not cut over cores are shared evenly by a grid of cores."""
    device = given.device()
    if device is None or given.is_sharded():
        return
    images, _, rows, channels = given.padded_shape
    tiles = images * rows // TILE_SIZE
    if grid is None:
        determine_expected_group_norm_dram_grid_size(
            device=device, num_channels=channels, num_groups=groups, input_nhw=tiles * TILE_SIZE, num_batches=images
        )  # fmt: skip
        if blocks is not None:
            raise fatal(
                "group_norm: num_out_blocks cannot be specified when core_grid is auto-selected. Either provide an explicit "
                "core_grid or omit num_out_blocks.",
                hint="core_grid=ttnn.CoreGrid(y=…, x=…)",
            )
        return
    if blocks is not None and blocks < -1:
        raise fatal(
            f"group_norm: num_out_blocks ({blocks}) is invalid. Use -1 to request the auto-heuristic, or an explicit chunk count "
            "in [1, block_h].",
            hint="num_out_blocks=-1",
        )
    sets = virtual_rows(grid, groups, channels)
    if shares_evenly(sets, tiles, images):
        if blocks not in (None, -1, *range(1, tiles // sets + 1)):
            raise fatal(
                f"num_out_blocks ({blocks}) must be in [1, block_h ({tiles // sets})]. Reduce num_out_blocks or increase input spatial dimensions.",
                hint="num_out_blocks=-1",
            )
        return
    fitting = dram_group_norm_grid(grid, channels, groups, tiles * TILE_SIZE, images)
    asked = f"(x={grid.x}, y={grid.y})"
    sizes = f"(Ht={tiles}, W={channels}, num_groups={groups}, num_batches={images})"
    found = f"Computed num_virtual_rows={sets}, num_virtual_cols={virtual_columns(grid.x, groups, channels)}."
    if fitting is None:
        raise fatal(
            f"group_norm: Cannot find any valid core grid for the given configuration {sizes}. {found} Requested grid was {asked}.",
            hint=f"channels a multiple of {TILE_SIZE}, core_grid=None",
        )
    raise fatal(
        f"group_norm: Requested core_grid {asked} is invalid for the input dimensions {sizes}. The grid must satisfy: "
        "num_virtual_rows = (grid_x / num_virtual_cols) * grid_y <= Ht, Ht must be divisible by num_virtual_rows, and num_virtual_rows "
        f"must be divisible by num_batches (for uniform multicast groups). {found} The largest valid grid that fits is "
        f"(x={fitting.x}, y={fitting.y}).",
        hint=f"core_grid=ttnn.CoreGrid(y={fitting.y}, x={fitting.x})",
    )


def check_masks(
    given: Tensor,
    groups: int,
    mask: Tensor | None,
    negative: Tensor | None,
    output: Layout | None,
    welford: bool,
) -> None:
    """A mask has a tile of rows for each group; a negative one is for rows cut over cores."""
    if mask is not None:
        if mask.layout is not Layout.TILE:
            raise fatal(
                f"Input mask must have TILE layout, got: {cpp(mask.layout)}", hint=in_tiles("input_mask")
            )
        ragged = given.shape[2] != given.padded_shape[2]
        counts = (groups, 2 * groups) if ragged else (groups,)
        if mask.padded_shape[1] not in counts:
            twice = "2 x " if ragged and not welford else ""
            raise fatal(
                f"Input mask dim1 must be {counts[-1]} ({twice}num_groups={groups}), got: {mask.padded_shape[1]}",
                hint=f"ttnn.create_group_norm_input_mask({given.shape[-1]}, {groups}, core_grid.x, mask dtype)",
            )
    if negative is None:
        return
    if negative.layout is not Layout.TILE:
        raise fatal(
            f"Negative mask must have TILE layout, got: {cpp(negative.layout)}",
            hint=in_tiles("negative_mask"),
        )
    if negative.padded_shape[1] != groups:
        raise fatal(
            f"Negative mask padded shape[1] must be equal to num_groups, but is {negative.padded_shape[1]} and num_groups is {groups}",
            hint=f"ttnn.create_group_norm_input_negative_mask({given.shape[-1]}, {groups}, …)",
        )
    if not given.is_sharded():
        raise fatal(
            "Negative mask support is only available for sharded input tensors.", hint="negative_mask=None"
        )
    if welford:
        raise fatal("Negative mask is not supported with use_welford=True.", hint="use_welford=False")
    for word, layout in (("input", given.layout), ("output", output or given.layout)):
        if layout is not Layout.ROW_MAJOR:
            raise fatal(
                f"If using negative mask, {word} tensor must be in ROW_MAJOR layout, but layout is {cpp(layout)}",
                hint="negative_mask=None",
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
    """Raises RuntimeError for images, parameters and places that a group norm does not take."""
    _check_images(x, num_groups)
    channels = x.shape[-1]
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
    if x.memory_config().memory_layout is WIDTH_SHARDED:
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
    spec, wide = x.memory_config().shard_spec, channels // num_groups
    if spec is not None and spec.shape[1] % wide:
        raise fatal(
            f"per_core_N ({spec.shape[1]}) must be divisible by num_datum_row_per_group ({wide})",
            hint="fewer columns of cores, or more groups",
        )
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


def _check_images(x: Tensor, num_groups: int) -> None:
    """They are [N, 1, H*W, C] of whole groups."""
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
