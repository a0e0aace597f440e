"""The experts of GPT-OSS in one call: weights packed for a ring of twelve cores, 90 x 90 tiles with biases. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.ccl.fused.expert_compute import buffers, computed, tables
from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import BufferType, DataType, Layout, TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.ops.experts import ring_checks, ring_networks, ring_routes
from tt_run.runtime.ops.experts.ring_layout import WIDE, Ring, first_packing, second_packing
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.choices import MoEActivationFunction

_TILES = 90
_SHARES = (8, 8, 7, 7) * 3
"""Columns of both products of each core: the larger shares in pairs, where `moe_compute` has every second one."""
_RING = Ring(_TILES, _TILES, len(_SHARES), bias=True)
_WIDTH = 3  # cores that share a row of the result: four of the ring write into each


@operation("ttnn.experimental.moe_gpt", family=families.EXPERTS)
def moe_gpt(
    input_tensor: Tensor,
    *,
    expert_indices: Tensor,
    expert_scores: Tensor,
    expert_mapping: Tensor,
    w0_w1_tensor: Tensor,
    w2_tensor: Tensor,
    output_height_shard_dim: int = 4,
    output_width_shard_dim: int = 3,
    hidden_size: int = 2880,
    cluster_axis: int | None = None,
) -> list[Tensor]:
    """swiglu(x W0 + b0, x W1 + b1) W2 + b2 of each device's experts on their tokens, for hidden and intermediate sizes of 2880.

    Slots 0 to 2: counts (1, experts), lines of activations, token lists. Slot 3 is scratch of the kernel and zero here; slot 4 has the rows of
    all experts in the first rectangle of cores without a core of the ring, as `selective_reduce_combine` reads them. A token whose choices
    are all one expert was not sent, and is left out. Raises RuntimeError for weights that are not packed for the ring and for sizes that it does
    not have.
    """
    given = (input_tensor, expert_indices, expert_scores, expert_mapping)
    weights = (w0_w1_tensor, w2_tensor)
    device = on_device(*given, *weights, kind="experts")
    ring_checks.check_axis(device, cluster_axis)
    _check_weights(device, weights)
    _check_operands(given, weights[0].shape[2])
    grid = (output_height_shard_dim, output_width_shard_dim)
    rows = _check_sizes(given, weights[0].shape[2], hidden_size, grid)
    cores = _combine_cores(device, *grid)
    network = ring_networks.Network(
        _RING, _packings(), 0, ring_networks.gate_of(MoEActivationFunction.SWIGLU, None), dropped=True
    )
    work = computed(device, given, weights, network, cluster_axis)
    rooms = {
        p: ring_routes.staged_one_after_another(outputs, *grid, rows) for p, outputs in work.rows.items()
    }
    return [
        *tables(input_tensor, device, work, every_core=False),
        *buffers(input_tensor, device, rooms, cores),
    ]


def _packings() -> ring_networks.Packings:
    """Both packed tensors: columns in the cores' shares, and W2's rows in the order of the ring."""
    first = first_packing(_RING, _RING.cores, _RING.height, _SHARES)
    return first, second_packing(_RING, _SHARES, _SHARES, _RING.height)


def _combine_cores(device: MeshDevice, height: int, width: int) -> list[CoreCoord]:
    """The first rectangle of that size in which no core of the ring lies, row by row."""
    grid, ring = device.compute_with_storage_grid_size(), set(device.dram_bank_workers())
    for y in range(grid.y - height + 1):
        for x in range(grid.x - width + 1):
            cores = [CoreCoord(x + right, y + down) for down in range(height) for right in range(width)]
            if ring.isdisjoint(cores):
                return cores
    raise fatal(
        f"Could not find a {width}x{height} combine core range that avoids matmul cores",
        "found_combine_range",
        hint="a smaller output_height_shard_dim",
    )


def _check_weights(device: MeshDevice, weights: Sequence[Tensor]) -> None:
    banks = len(device.dram_bank_workers())
    if banks != _RING.cores:
        raise fatal(
            f"moe_gpt has a ring of {_RING.cores} cores, one for each DRAM bank, and this chip has {banks} banks",
            hint="a Wormhole, or ttnn.experimental.moe_compute with activation_type=SWIGLU and has_bias=True",
        )
    layers, experts = (*tuple(weights[0].shape)[1:3], 1, 1)[:2]
    for name, tensor, packing in zip(("w0_w1_tensor", "w2_tensor"), weights, _packings(), strict=True):
        wanted = (banks, layers, experts, packing.piece[0], packing.piece[1] * TILE_SIZE, WIDE * TILE_SIZE)
        if tuple(tensor.shape) != wanted:
            raise fatal(
                f"{name} {tensor.shape} is not packed for the ring of moe_gpt, which needs {list(wanted)}",
                hint="shares of 8, 8, 7 and 7 tiles for each four cores, with a row of tiles for the bias below the others",
            )


def _check_operands(given: Sequence[Tensor], experts: int) -> None:
    tokens, indices, scores, mapping = given
    for name, tensor, dtype in (
        ("input_tensor", tokens, DataType.BFLOAT16),
        ("expert_indices", indices, DataType.UINT16),
        ("expert_scores", scores, DataType.BFLOAT16),
        ("expert_mapping", mapping, DataType.UINT16),
    ):
        word = dtype.name.lower()
        if tensor.layout is not Layout.ROW_MAJOR or tensor.dtype is not dtype or len(tensor.shape) < 2:
            raise fatal(
                f"{name} must be {word} in rows, of at least two dimensions, not {tensor.shape} of {tensor.dtype} in {tensor.layout}",
                hint=f"ttnn.to_layout({name}, ttnn.ROW_MAJOR_LAYOUT), ttnn.typecast({name}, ttnn.{word})",
            )
    for name, tensor in (("expert_indices", indices), ("expert_scores", scores)):
        place = tensor.memory_config()
        if (place.memory_layout, place.buffer_type) != (TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1):
            raise fatal(
                f"{name} must be HEIGHT_SHARDED L1 (produced by all_to_all_dispatch_metadata)",
                hint="hand on what ttnn.experimental.all_to_all_dispatch_metadata returned",
            )
    if mapping.shape[-1] < experts:
        raise fatal(
            f"expert_mapping last dim (experts_total={mapping.shape[-1]}) must be >= experts_per_device ({experts})",
            "experts_total >= experts_per_device",
            hint="expert_mapping [devices, experts] with a column for every expert",
        )


def _check_sizes(given: Sequence[Tensor], experts: int, hidden: int, grid: tuple[int, int]) -> int:
    """How many rows of a core each expert has. Raises RuntimeError where they do not fit."""
    tokens, indices, scores, _ = given
    number, size = tokens.shape[0], _TILES * TILE_SIZE
    if math.prod(tokens.shape) != number * size or hidden != size:
        raise fatal(
            f"moe_gpt takes [tokens, {size}] and hidden_size={size}, not {tokens.shape} and {hidden}",
            hint=f"ttnn.reshape(input_tensor, (tokens, {size})), or ttnn.experimental.moe_compute for other sizes",
        )
    if indices.shape != scores.shape or math.prod(indices.shape[:-1]) != number:
        raise fatal(
            f"expert_indices {indices.shape} and expert_scores {scores.shape} are not of the {number} tokens of the input",
            hint="give all three as ttnn.experimental.all_to_all_dispatch_metadata returned them",
        )
    height, width = grid
    if width != _WIDTH or height < 1 or number % height:
        raise fatal(
            f"{number} tokens in rows of {size} do not divide over {height} x {width} combine cores, {_WIDTH} of them side by side",
            hint=f"output_width_shard_dim={_WIDTH}, and an output_height_shard_dim that divides the tokens",
        )
    rows = number // height
    most = ring_routes.BUFFERS * ring_routes.CHUNK * width
    if experts * rows > most:
        raise fatal(
            f"{experts} experts with {rows} rows each do not fit into a combine core, which has room for {most}",
            hint="a larger output_height_shard_dim, or fewer tokens in a call",
        )
    return rows
