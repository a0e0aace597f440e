"""Which rows, masks and grids of cores a group norm takes. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.enums import Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.mesh.hardware import Arch
from tt_run.runtime.tensor.model_parameters.group_norm import (
    determine_expected_group_norm_dram_grid_size,
    dram_group_norm_grid,
    shares_evenly,
    virtual_columns,
    virtual_rows,
)
from tt_run.runtime.tensor.spec.memory_config import CoreGrid
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
