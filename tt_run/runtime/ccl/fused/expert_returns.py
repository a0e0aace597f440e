"""Rows that experts computed, back to the devices and the choices that they were computed for. Source: reference library 0.81.1.

Choices whose expert no device of the group has keep what the output held; in a new one they are zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import traffic
from tt_run.runtime.ccl import checks, result_topology
from tt_run.runtime.ccl.calls import CallContext, gathered
from tt_run.runtime.ccl.exchange.gather import every_shard
from tt_run.runtime.ccl.fused.expert_groups import in_groups, shards_found
from tt_run.runtime.ccl.plans import Plan, planned
from tt_run.runtime.ccl.record import Collective, Intent
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.cores import CoreCoord, CoreRangeSet
from tt_run.runtime.enums import DataType, Layout, ShardOrientation, TensorMemoryLayout, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.experts.ring_routes import BUFFERS, CHUNK, Route, read_routes, rows_staged, words_of
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


@operation("ttnn.experimental.selective_reduce_combine", family=families.COLLECTIVE)
@whole_call
def selective_reduce_combine(
    dense_input_tensor: Tensor,
    dense_activations_tensor: Tensor,
    dense_token_maps_tensor: Tensor,
    dense_token_counts_tensor: Tensor,
    hidden_size: int,
    batch_size: int,
    seq_size: int,
    select_experts_k: int,
    cluster_axis: int,
    topology: Topology,
    num_links: int,
    token_parallel_core_dim: int,
    data_parallel_core_dim: int,
    worker_cores: Sequence[CoreCoord],
    mux_core_range_set: CoreRangeSet,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    optional_cross_device_semaphore: Any = None,
) -> Tensor:
    """Experts' rows in height over the worker cores to [K, batch*seq/devices of the group, hidden] in rows: slot k from a token's k-th expert.

    `worker_cores` come by shares of tokens, inside of these by parts of a row; the other tensors are as `moe_compute` or `moe_gpt` returns them. Choices
    whose expert the group has not keep what output_tensor held. Raises RuntimeError for shapes and cores that do not fit.
    """
    given = (dense_input_tensor, dense_activations_tensor, dense_token_maps_tensor, dense_token_counts_tensor)
    check_mux(on_device(*given, kind="combine"), mux_core_range_set)
    grid = (token_parallel_core_dim, data_parallel_core_dim)
    experts, tokens = dense_token_maps_tensor.shape[-2], batch_size * seq_size
    _check_tables(dense_activations_tensor, dense_token_maps_tensor, experts, tokens)
    # Counts that stand there once are those of `moe_gpt`, whose cores hold the rows of all experts one after another.
    every = dense_token_counts_tensor.shape[0] == 1
    order, pieces, part = _cores(dense_input_tensor, 0 if every else experts, worker_cores, grid, hidden_size)
    in_use = None
    if every and tuple(dense_input_tensor.shape)[1:3] == (BUFFERS, CHUNK):
        in_use = experts * (tokens // token_parallel_core_dim) * part
    tuning = topology, num_links, memory_config
    asked = (tokens, hidden_size, select_experts_k)
    plan = planned(COMBINE, dense_input_tensor, cluster_axis, asked, tuning)
    rows: dict[int, list[Array]] = {}
    found: dict[int, list[Route]] = {}
    for local, position in enumerate(plan.device.local_positions):
        dense, activations, maps, counts = (tensor.shards.of(local) for tensor in given)
        if dense is None or activations is None or maps is None or counts is None:
            continue
        numbers = [int(n) for n in counts.reshape(-1)[:experts]]
        cores = dense.reshape(pieces, -1)[order].reshape(*grid, -1)[..., :in_use]
        try:
            found[position] = read_routes(activations, maps.reshape(experts, -1), counts, tokens)
            rows[position] = rows_staged(cores, numbers, part, hidden_size)
        except ValueError as error:
            raise fatal(
                f"selective_reduce_combine: {error}",
                hint="give all four as ttnn.experimental.moe_compute returned them, with its shard dimensions",
            ) from None
    return return_to_devices(plan, dense_input_tensor, rows, found, output_tensor, memory_config)


def check_mux(device: MeshDevice, cores: CoreRangeSet | None) -> None:
    """Raises RuntimeError where semaphores could be allocated where the mux has its data, which hangs a cluster."""
    if not device.regions.l1_small:
        raise fatal(
            f"The fabric mux reserves raw L1 on cores {cores or CoreRangeSet()} outside the allocator, but this device was opened with "
            "l1_small_size = 0: semaphores can lie in the mux's region then, and what overwrites them hangs",
            "l1_small_bank_size > 0",
            hint="ttnn.open_mesh_device(…, l1_small_size=16384)",
        )


def check_local_output(output: Tensor | None, place: MemoryConfig | None) -> None:
    """Raises RuntimeError where rows written one by one do not fit: they must be whole, and both arguments of one mind."""
    if output is not None and place is not None and output.memory_config() != place:
        raise fatal(
            f"optional_output_tensor memory config {output.memory_config()} differs from output_memory_config {place}",
            "out.memory_config() == output_memory_config",
            hint="leave output_memory_config out: the tensor lies somewhere already",
        )
    found = place or (DRAM_MEMORY_CONFIG if output is None else output.memory_config())
    if found.memory_layout not in (TensorMemoryLayout.INTERLEAVED, TensorMemoryLayout.HEIGHT_SHARDED):
        raise fatal(
            f"the output is written row by row, so it must be INTERLEAVED or HEIGHT_SHARDED, not {found.memory_layout}",
            "layout == INTERLEAVED || layout == HEIGHT_SHARDED",
            hint="output_memory_config=ttnn.DRAM_MEMORY_CONFIG",
        )


def return_to_devices(
    plan: Plan,
    source: Tensor,
    rows: Mapping[int, Sequence[Array]],
    found: Mapping[int, Sequence[Route]],
    output: Tensor | None,
    memory_config: MemoryConfig | None,
) -> Tensor:
    """What each device gets back: `rows` and `found` are those of the experts of each local device, by its place on the mesh."""
    tokens, hidden, choices = plan.arguments
    shape = (choices, tokens, hidden)
    places = plan.device.local_positions
    partial = {p: spread_over_choices(shape, rows[p], found[p]) for p in rows}
    values = _rows(source, {p: v for p, (v, _) in partial.items()}, places, np.empty((0, *shape), np.float32))
    marks = _rows(
        source,
        {p: m for p, (_, m) in partial.items()},
        places,
        np.empty((0, *shape[:2]), np.uint8),
        DataType.UINT8,
    )
    lanes = plan.lanes
    done: dict[int, Array] = {}
    with CallContext(plan, source) as call:
        values_of, marks_of = gathered(call, values), gathered(call, marks)
        for position, group in in_groups(lanes.groups, lanes.positions):
            each = tokens // len(group)
            own = slice(group.index(position) * each, (group.index(position) + 1) * each)
            out = content_of(output, lanes.locals[position], (choices, each, hidden))
            for member in group:
                mine = marks_of[member][:, own] != 0
                out[mine] = values_of[member][:, own][mine]
            done[position] = out
    like = np.empty((0, choices, tokens // lanes.members, hidden), np.float32)
    return deliver_rows(source, shards_found(done, lanes.positions, like), output, memory_config)


def spread_over_choices(
    shape: tuple[int, ...], rows: Sequence[Array], found: Sequence[Route]
) -> tuple[Array, Array]:
    """Experts' rows at their choices and tokens, zero elsewhere, and where there are some."""
    values, marks = np.zeros(shape, np.float32), np.zeros(shape[:2], np.uint8)
    for part, route in zip(rows, found, strict=True):
        values[route.slots, route.tokens] = part
        marks[route.slots, route.tokens] = 1
    return values, marks


def content_of(output: Tensor | None, local: int, shape: tuple[int, ...]) -> Array:
    """What an output holds before anything is written into it. Raises RuntimeError for one of another shape or type."""
    if output is None:
        return np.zeros(shape, np.float32)
    wanted = (shape, DataType.BFLOAT16, Layout.ROW_MAJOR)
    if (tuple(output.shape), output.dtype, output.layout) != wanted:
        raise fatal(
            f"the output tensor has shape {output.shape}, {output.dtype} and {output.layout}, the result {list(shape)}, "
            f"{DataType.BFLOAT16} and {Layout.ROW_MAJOR}",
            hint="leave it out, or ttnn.zeros of that shape, dtype=ttnn.bfloat16, layout=ttnn.ROW_MAJOR_LAYOUT",
        )
    held = output.shards.of(local)
    return np.zeros(shape, np.float32) if held is None else np.array(held, np.float32)


def deliver_rows(
    source: Tensor, shards: Shards, output: Tensor | None, memory_config: MemoryConfig | None
) -> Tensor:
    """The result in rows, or the output with it inside."""
    place = memory_config or DRAM_MEMORY_CONFIG
    return settle(
        (source,),
        shards,
        DataType.BFLOAT16,
        layout=Layout.ROW_MAJOR,
        memory_config=place,
        output_tensor=output,
    )


def check_returns(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, asked: tuple[int, int, int]
) -> Intent:
    """A call that sends `asked` (tokens of the group, elements of a row, choices of a token) back."""
    tokens, hidden, choices = asked
    members = checks.members_of(tensor, device, cluster_axis)
    if tokens % members or min(asked) < 1:
        raise fatal(
            f"{tokens} tokens of {choices} choices do not divide by the {members} devices of axis {cluster_axis}",
            hint="batch_size * seq_size is the number of all tokens of the group, as dispatch returned them",
        )
    detail = f"{tokens} tokens of {hidden} elements, {choices} choices each"
    elements = choices * tokens * hidden // members  # each choice is computed once in the group
    return Intent((choices, tokens // members, hidden), None, asked, detail, elements)


COMBINE = Collective(
    "selective_reduce_combine", check_returns, every_shard, traffic.EXCHANGE, result_topology.unchanged
)


def _rows(
    source: Tensor,
    held: Mapping[int, Array],
    places: Sequence[int],
    like: Array,
    dtype: DataType = DataType.BFLOAT16,
) -> Tensor:
    shards = shards_found(held, places, like)
    return source.derive(shards, dtype=dtype, layout=Layout.ROW_MAJOR, memory_config=DRAM_MEMORY_CONFIG)


def _check_tables(activations: Tensor, maps: Tensor, experts: int, tokens: int) -> None:
    line = words_of(2 * experts + 1)
    if activations.shape[-1] != tokens * line:
        raise fatal(
            "The token activations tensor is expected to have aligned 2 * experts_per_device + 1 elements per token: "
            f"{activations.shape}, not {tokens} x {line}",
            "activations_stride_elm == expected_activations_stride_elm",
            hint="batch_size * seq_size is the number of all tokens of the group",
        )
    if maps.shape[-1] != words_of(1) * (tokens + 1):
        raise fatal(
            f"token maps {maps.shape} must have {words_of(1)} words for each of {tokens} tokens and an end",
            hint="give them as ttnn.experimental.moe_compute returned them",
        )


def _cores(
    dense: Tensor, experts: int, cores: Sequence[CoreCoord], grid: tuple[int, int], hidden: int
) -> tuple[list[int], int, int]:
    """Which shard each worker core has, of how many, and how many elements of a row."""
    place = dense.memory_config()
    spec, dims = place.shard_spec, tuple(dense.shape)
    if place.memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED or spec is None:
        raise fatal(
            f"dense_input_tensor must be in height over the worker cores, not {place.memory_layout}",
            hint="ttnn.to_memory_config with a HEIGHT_SHARDED memory config over worker_cores",
        )
    if len(cores) != grid[0] * grid[1]:
        raise fatal(
            f"{len(cores)} worker_cores are not {grid[0]} x {grid[1]}",
            hint="token_parallel_core_dim * data_parallel_core_dim cores",
        )
    if len(dims) == 4 and dims[1:3] == (BUFFERS, CHUNK) and experts > BUFFERS:
        raise fatal(
            f"the cores hold the rows of the last {BUFFERS} of {experts} experts only",
            hint="let ttnn.experimental.moe_compute combine: cluster_axis=…, compute_only=False",
        )
    by_rows = spec.orientation is ShardOrientation.ROW_MAJOR
    number = int(np.prod(dims[:-1])) // spec.shape[0]
    held = [core for one in spec.grid.ranges() for core in _in_range(one, by_rows)][:number]
    missing = [core for core in cores if core not in held]
    if missing:
        raise fatal(
            f"dense_input_tensor has {number} pieces on {spec.grid}, none of them on {', '.join(map(str, missing))}",
            hint="worker_cores are those that dense_input_tensor lies on",
        )
    part = dims[-1] if dims[-1] < hidden or grid[1] == 1 else hidden // grid[1]
    return [held.index(core) for core in cores], number, part


def _in_range(one: Any, by_rows: bool) -> list[CoreCoord]:
    xs, ys = range(one.start.x, one.end.x + 1), range(one.start.y, one.end.y + 1)
    return [CoreCoord(x, y) for y in ys for x in xs] if by_rows else [CoreCoord(x, y) for x in xs for y in ys]
