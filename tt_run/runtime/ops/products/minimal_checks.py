"""What `minimal_matmul` refuses: blocks that its cores have no room for, and operands that do not fit. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.cores import core_of
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.mesh.hardware import Arch
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import tile_bytes

_BLOCK = 8
"""Tiles of a side of a block where no configuration says."""
_SUM = 4096
"""Bytes of a tile of sums."""
_ROOM = 1499136
"""Bytes of a core of Wormhole, of which the first _BELOW are not for buffers."""
_BELOW = 105824


def check_minimal(
    x: Tensor, weight: Tensor, bias: Tensor | None, config: Any, dtype: DataType | None, gated: bool
) -> None:
    """Raises RuntimeError for rows, shapes and blocks that the product does not take."""
    if Layout.ROW_MAJOR in (x.layout, weight.layout):
        raise fatal(
            "minimal_matmul requires TILE layout for activation and weight", hint=in_tiles("input_tensor")
        )
    inner, high = x.shape[-1], weight.shape[-2]
    if inner != high:
        raise fatal(
            f"minimal_matmul inner dimensions must match, got K={inner} and K_w={high}",
            hint=f"a weight of {inner} rows",
        )
    if bias is not None and bias.shape[-1] != weight.shape[-1]:
        raise fatal(
            f"minimal_matmul bias last dimension must equal N ({weight.shape[-1]}), got {bias.shape[-1]}",
            hint=f"a bias of shape [1, {weight.shape[-1]}]",
        )
    if gated and weight.shape[-1] % (2 * TILE_SIZE):
        raise fatal(
            f"minimal_matmul fuse_swiglu requires weight width N={weight.shape[-1]} to be a multiple of 2*TILE ({2 * TILE_SIZE})",
            hint=f"pad the weight to a multiple of {2 * TILE_SIZE} columns",
        )
    if config is not None:
        _check_blocks(x, config)
    _check_room(x, weight, bias, config, dtype or x.dtype, gated)


def _check_blocks(x: Tensor, config: Any) -> None:
    for side, part in (("M", "subblock_h"), ("N", "subblock_w")):
        block, piece = getattr(config, f"{side}_block_size"), getattr(config, part)
        if piece < 1 or block % piece:
            raise fatal(
                f"{side}_block_size ({block}) must be divisible by {part} ({piece})", hint=f"{part}=1"
            )
    if config.subblock_h * config.subblock_w > _BLOCK:
        raise fatal("subblock_h * subblock_w must be <= max_dest_volume", hint="subblock_h=2, subblock_w=2")
    device = x.device()
    assert device is not None
    own, there = core_of(config.compute_with_storage_grid_size), device.compute_with_storage_grid_size()
    if own.x > there.x or own.y > there.y:
        raise fatal(
            "compute_with_storage_grid_size must be <= device grid size",
            hint=f"compute_with_storage_grid_size=ttnn.CoreCoord({there.x}, {there.y})",
        )


def _check_room(
    x: Tensor, weight: Tensor, bias: Tensor | None, config: Any, result: DataType, gated: bool
) -> None:
    device = x.device()
    assert device is not None
    if device.arch() is not Arch.WORMHOLE_B0:
        return
    names = ("M_block_size", "K_block_size", "N_block_size")
    m, k, n = (_BLOCK if config is None else getattr(config, name) for name in names)

    def one(dtype: DataType) -> int:
        return tile_bytes(TILE_SIZE * TILE_SIZE, dtype)

    taken = _BELOW + 2 * (m * k * one(x.dtype) + k * n * one(weight.dtype)) + m * n * _SUM
    taken += 2 * m * (n // 2 if gated else n) * one(result)
    if bias is not None:
        taken += n * one(bias.dtype)
    if taken > _ROOM:
        grid = (
            device.compute_with_storage_grid_size()
            if config is None
            else core_of(config.compute_with_storage_grid_size)
        )
        raise fatal(
            f"Statically allocated dataflow buffers on core range [0-0 - {grid.x - 1}-{grid.y - 1}] grow to {taken} B which is beyond max L1 "
            f"size of {_ROOM} B",
            hint="config=ttnn.MinimalMatmulConfig(M_block_size=4, K_block_size=4, N_block_size=4, …)",
        )
