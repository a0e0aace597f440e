"""A layer of experts in one call: the tokens of each device's experts, their networks, and the rows back. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime import traffic
from tt_run.runtime.ccl import result_topology
from tt_run.runtime.ccl.exchange.gather import every_shard
from tt_run.runtime.ccl.exchange.lanes import lanes_of
from tt_run.runtime.ccl.fused.expert_groups import in_groups, shards_found
from tt_run.runtime.ccl.fused.expert_returns import (
    check_local_output,
    check_mux,
    check_returns,
    content_of,
    deliver_rows,
    return_to_devices,
    spread_over_choices,
)
from tt_run.runtime.ccl.plans import planned
from tt_run.runtime.ccl.record import Collective
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    BufferType,
    DataType,
    Layout,
    MathFidelity,
    ShardOrientation,
    TensorMemoryLayout,
    Topology,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.ops.experts import ring_checks, ring_networks, ring_routes
from tt_run.runtime.ops.experts.expert_layouts import auto_output_width_shard_dim
from tt_run.runtime.ops.experts.ring_layout import ring_packings
from tt_run.runtime.ops.experts.ring_operations import get_moe_combine_cores, ring_of
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.choices import MoEActivationFunction
from tt_run.runtime.values import shapes

Array = npt.NDArray[Any]


class Work(NamedTuple):
    """What this rank's devices computed, by their places on the mesh, and what all of it is like."""

    found: Mapping[int, Sequence[ring_routes.Route]]
    rows: Mapping[int, Sequence[Array]]
    tokens: int
    hidden: int
    choices: int
    experts: int


@operation("ttnn.experimental.moe_compute", family=families.COLLECTIVE)
@whole_call
def moe_compute(
    tilize_input_tensor: Tensor,
    tilize_expert_indices_tensor: Tensor,
    tilize_expert_scores_tensor: Tensor,
    tilize_expert_mapping_tensor: Tensor,
    matmul_w0_w1_tensor: Tensor,
    matmul_w2_tensor: Tensor,
    *,
    layer_id: int,
    output_height_shard_dim: int,
    intermediate_size: int,
    has_bias: bool = False,
    cluster_axis: int | None = None,
    topology: Topology | None = None,
    num_links: int | None = None,
    mux_core_range_set: CoreRangeSet | None = None,
    output_memory_config: MemoryConfig | None = None,
    optional_output_tensor: Tensor | None = None,
    optional_cross_device_semaphore: Any = None,
    activation_type: MoEActivationFunction | None = None,
    compute_only: bool = False,
    num_shared_experts_per_device: int | None = None,
    activation_limit: float | None = None,
    math_fidelity: MathFidelity = MathFidelity.LoFi,
    fp32_dest_acc_en: bool = False,
) -> list[Tensor]:
    """act(x W0, x W1) W2 of each device's experts on their tokens of a group; slot 5, but for `compute_only`, is (K, tokens of a device, hidden).

    Slots 0 to 2: counts (cores, experts), lines of activations, token lists. Slot 3 is scratch of the kernel and zero here; slot 4 has the rows
    of each device's last two experts in its combine cores, zero elsewhere and where an axis of one device writes slot 5 itself.
    Raises RuntimeError for weights that are not packed for the ring, for shapes and options that do not fit, and for shared experts that are
    split over the other axis.
    """
    given = (
        tilize_input_tensor,
        tilize_expert_indices_tensor,
        tilize_expert_scores_tensor,
        tilize_expert_mapping_tensor,
    )
    weights = (matmul_w0_w1_tensor, matmul_w2_tensor)
    device = on_device(*given, *weights, kind="experts")
    alone = {
        "cluster_axis": cluster_axis if compute_only else None, "topology": topology, "num_links": num_links,
        "mux_core_range_set": mux_core_range_set, "optional_cross_device_semaphore": optional_cross_device_semaphore,
        "optional_output_tensor": optional_output_tensor if compute_only else None,
    }  # fmt: skip
    ring_checks.check_mode(device, cluster_axis, compute_only, alone, num_shared_experts_per_device or 0)
    ring_checks.check_operands(given, weights)
    local = cluster_axis is not None and device.shape[cluster_axis] == 1
    if cluster_axis is not None and not local:
        check_mux(device, mux_core_range_set)
    if local:
        check_local_output(optional_output_tensor, output_memory_config)
    gate = ring_networks.gate_of(activation_type or MoEActivationFunction.SILU, activation_limit)
    hidden = tilize_input_tensor.shape[-1]
    ring = ring_of(device, hidden, intermediate_size, has_bias)
    ring_checks.check_sizes(ring, given, weights, output_height_shard_dim, num_shared_experts_per_device or 0)
    ring_networks.check_packed(ring, *weights, layer_id)
    width = auto_output_width_shard_dim(hidden)
    cores = get_moe_combine_cores.compute(
        device, output_height_shard_dim, width, hidden, mux_core_range_set or CoreRangeSet()
    )
    network = ring_networks.Network(ring, ring_packings(ring), layer_id, gate)
    work = computed(device, given, weights, network, cluster_axis)
    rooms = {
        p: ring_routes.staged(rows, output_height_shard_dim, width)
        for p, rows in (() if local else work.rows.items())
    }
    slots = tables(tilize_input_tensor, device, work)
    slots += buffers(tilize_input_tensor, device, rooms, cores)
    if compute_only:
        return slots
    if cluster_axis is None or local:
        return [
            *slots,
            _by_itself(tilize_input_tensor, device, work, optional_output_tensor, output_memory_config),
        ]
    asked = (work.tokens, hidden, work.choices)
    tuning = (topology, num_links, output_memory_config)
    plan = planned(COMPUTE, tilize_input_tensor, cluster_axis, asked, tuning)
    source = tilize_input_tensor
    back = return_to_devices(
        plan, source, work.rows, work.found, optional_output_tensor, output_memory_config
    )
    return [*slots, back]


COMPUTE = Collective("moe_compute", check_returns, every_shard, traffic.EXCHANGE, result_topology.unchanged)


def computed(
    device: MeshDevice,
    given: Sequence[Tensor],
    packed: Sequence[Tensor],
    network: ring_networks.Network,
    axis: int | None,
) -> Work:
    """What this rank's devices make of `given`: tokens, choices, scores and the map of experts to devices."""
    hidden, choices, experts = given[0].shape[-1], given[1].shape[-1], packed[0].shape[2]
    number = math.prod(given[0].shape[:-1])
    lanes = lanes_of(device, axis)
    groups = dict(in_groups(lanes.groups, lanes.positions)) if axis is not None else {}
    unpacked: dict[
        tuple[int, int, int], ring_networks.Matrices
    ] = {}  # of devices with the same weights, once
    found: dict[int, Sequence[ring_routes.Route]] = {}
    rows: dict[int, Sequence[Array]] = {}
    for local, position in enumerate(device.local_positions):
        shards = [tensor.shards.of(local) for tensor in (*given, *packed)]
        if any(shard is None for shard in shards):
            continue
        if shapes.active():  # a run in shapes does not know who goes where
            found[position] = [ring_routes.NOBODY] * experts
            rows[position] = [np.zeros((0, hidden), np.float32)] * experts
            continue
        tokens, indices, scores, mapping, first, second = (np.asarray(shard) for shard in shards)
        group = groups.get(position, (position,))
        if number % len(group):
            raise fatal(
                f"{number} tokens do not divide by the {len(group)} devices of axis {axis}",
                hint="give what ttnn.experimental.all_to_all_dispatch_metadata returned along the same axis",
            )
        # A token goes where the device that it came from sends its experts.
        senders = np.minimum(np.repeat(group, number // len(group)), len(mapping) - 1)
        chosen = indices.reshape(number, choices).astype(np.int64)
        if chosen.size and chosen.max() >= mapping.shape[1]:
            raise fatal(
                f"a token has expert {chosen.max()}, and the mapping {mapping.shape[1]} of them",
                hint="tilize_expert_mapping_tensor [devices, experts] with a column for every expert",
            )
        owners = mapping.astype(np.int64)[senders]
        if network.dropped and choices > 1:
            owners[(chosen == chosen[:, :1]).all(axis=1)] = -1
        try:
            mine = ring_routes.routes(chosen, scores.reshape(number, choices), owners, position, experts)
        except LookupError as error:
            raise fatal(
                f"the mapping gives device {position} {error.args[0]} experts, its weights have {experts}",
                hint="weights [L, E, …] with as many experts as tilize_expert_mapping_tensor gives a device",
            ) from None
        rows_held = packed[0].shards.index[local], packed[1].shards.index[local]

        def weights(
            expert: int, held: tuple[int, int] = rows_held, a: Array = first, b: Array = second
        ) -> ring_networks.Matrices:
            key = (*held, expert)
            if key not in unpacked:
                unpacked[key] = ring_networks.expert_of(network, a, b, expert)
            return unpacked[key]

        flat = np.asarray(tokens, np.float32).reshape(number, hidden)
        found[position], rows[position] = (
            mine,
            ring_networks.computed(flat, network.ring, weights, mine, network.gate),
        )
    return Work(found, rows, number, hidden, choices, experts)


def tables(source: Tensor, device: MeshDevice, work: Work, every_core: bool = True) -> list[Tensor]:
    """Counts, on every core or once, lines of activations and token lists."""
    grid = device.compute_with_storage_grid_size()
    cores, tokens = grid.x * grid.y if every_core else 1, work.tokens
    counts = {p: ring_routes.counts_table(routes, cores) for p, routes in work.found.items()}
    lines = {
        p: ring_routes.activation_table(routes, tokens, work.choices) for p, routes in work.found.items()
    }
    lists = {p: ring_routes.token_lists(routes, tokens) for p, routes in work.found.items()}
    width, line = ring_routes.words_of(work.experts), ring_routes.words_of(2 * work.experts + 1)
    made = (
        (counts, (cores, width), _in_height(grid, (1, width)) if every_core else L1_MEMORY_CONFIG),
        (lines, (1, tokens * line), L1_MEMORY_CONFIG),
        (lists, (work.experts, ring_routes.words_of(1) * (tokens + 1)), L1_MEMORY_CONFIG),
    )
    return [
        source.derive(
            shards_found(held, device.local_positions, np.empty((0, *shape), np.uint32)),
            dtype=DataType.UINT32, layout=Layout.ROW_MAJOR, memory_config=place,
        )
        for held, shape, place in made
    ]  # fmt: skip


def buffers(
    source: Tensor, device: MeshDevice, rooms: Mapping[int, Array], cores: Sequence[CoreCoord]
) -> list[Tensor]:
    """Slots 3 and 4: on hardware one buffer of every core, seen as tiles and as rows; `rooms` are what lies on `cores`."""
    grid, hidden = device.compute_with_storage_grid_size(), source.shape[-1]
    shape = (grid.x * grid.y, ring_routes.BUFFERS, ring_routes.CHUNK, hidden)
    nothing = np.broadcast_to(np.float32(0), shape)
    places = [core.y * grid.x + core.x for core in cores]
    held: dict[int, Array] = {}
    for position, content in rooms.items():
        room = np.zeros(shape, np.float32)
        room[places] = content.reshape(-1, *shape[1:])
        held[position] = room
    empty = dict.fromkeys(device.local_positions, nothing)
    place = _in_height(grid, (ring_routes.BUFFERS * ring_routes.CHUNK, hidden))
    like = np.empty((0, *shape), np.float32)
    return [
        source.derive(
            shards_found(found, device.local_positions, like),
            dtype=DataType.BFLOAT16, layout=layout, memory_config=place,
        )
        for found, layout in ((empty, Layout.TILE), (held or empty, Layout.ROW_MAJOR))
    ]  # fmt: skip


def _in_height(grid: CoreCoord, piece: tuple[int, int]) -> MemoryConfig:
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(grid.x - 1, grid.y - 1))])
    spec = ShardSpec(cores, piece, ShardOrientation.ROW_MAJOR)
    return MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)


def _by_itself(
    source: Tensor, device: MeshDevice, work: Work, output: Tensor | None, memory_config: MemoryConfig | None
) -> Tensor:
    """Slot 5 of devices that combine with no other: the rows of their own experts."""
    shape = (work.choices, work.tokens, work.hidden)
    done: dict[int, Array] = {}
    for local, position in enumerate(device.local_positions):
        if position in work.rows:
            values, marks = spread_over_choices(shape, work.rows[position], work.found[position])
            done[position] = np.where(marks[..., None] != 0, values, content_of(output, local, shape))
    shards = shards_found(done, device.local_positions, np.empty((0, *shape), np.float32))
    return deliver_rows(source, shards, output, memory_config)
