"""Prefill of mixtures of experts: tokens into one flat buffer on the device of their experts, and back into the slots they came from.

A group of devices along the axis holds consecutive experts, each device `experts_per_chip` of them; the groups follow each other. Rows and
slots that nothing is written to are unspecified in the reference and zero here. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime import traffic
from tt_run.runtime.ccl import checks, result_topology
from tt_run.runtime.ccl.calls import Call, gathered
from tt_run.runtime.ccl.exchange.gather import every_shard
from tt_run.runtime.ccl.exchange.groups import DeviceGroup
from tt_run.runtime.ccl.plans import Plan, on_subdevice, planned
from tt_run.runtime.ccl.record import Collective, Intent
from tt_run.runtime.enums import DataType, Layout, Topology, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.experts.expert_prefill import every_expert
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.choices import RoutedExpertActivation
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
_FIELDS = 3
"""Words of metadata a token: the device it came from (row-major on the mesh), its row there, and which of its experts this is."""


class _Asked(NamedTuple):
    """What ranks must agree on in a dispatch: the shapes and sizes that it works with."""

    experts: int
    per_chip: int
    choices: tuple[int, ...]
    capacity: int
    fields: int
    group: int | None = None


@operation("ttnn.experimental.deepseek_prefill.dispatch", family=families.COLLECTIVE)
def dispatch(
    input_tensor: Tensor,
    indices_tensor: Tensor,
    expert_offsets_tensor: Tensor,
    expert_dispatch_table_tensor: Tensor,
    *,
    dispatch_group_size: int,
    experts_per_chip: int,
    num_routed_experts: int,
    num_experts_per_tok: int,
    metadata_len: int,
    max_dispatch_buffer_token_size: int,
    padding_config: Tensor | None = None,
    scales_tensor: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    subdevice_id: Any = None,
    cluster_axis: int | None = None,
    num_links: int | None = 1,
    topology: Any = Topology.Linear,
    use_l1_small_for_semaphores: bool = False,
    fp8_output: bool = False,
    fp8_scaled_input: bool = False,
    num_workers_per_sender: int = 2,
) -> tuple[Tensor, Tensor]:
    """Each token to the devices of its experts: tokens (1, S, H) into buffers (1, 1, capacity, H), and where each came from.

    indices (1, S, K); expert_offsets (1, experts): the first row of this device's tokens of each expert; expert_dispatch_table
    (1, experts): the expert's device in the group, -1 for none. Metadata int32 (1, 1, capacity, metadata_len): device, token, slot, and
    the bits of the token's scales. Rows beyond the capacity are dropped. Raises RuntimeError for shapes that do not fit, and for
    `fp8_output` of another element type.
    """
    scaled = scales_tensor.shape[-1] if scales_tensor is not None else 0
    if fp8_scaled_input is not (scales_tensor is not None):
        raise fatal("dispatch: fp8_scaled_input and scales_tensor go together")
    if metadata_len != _FIELDS + scaled:
        raise fatal(f"dispatch: metadata_len must be {_FIELDS + scaled} here, got {metadata_len}")
    if fp8_output is not (input_tensor.dtype is DataType.FP8_E4M3):
        raise fatal(
            f"dispatch: fp8_output={fp8_output} of {cpp(input_tensor.dtype)} is not emulated",
            hint="ttnn.experimental.deepseek_prefill.per_token_cast_to_fp8(tensor) before",
        )
    asked = _Asked(
        num_routed_experts, experts_per_chip, tuple(indices_tensor.shape), max_dispatch_buffer_token_size,
        metadata_len, dispatch_group_size,
    )  # fmt: skip
    tuning = topology, num_links, memory_config, on_subdevice(subdevice_id)
    plan = planned(DISPATCH, input_tensor, cluster_axis or 0, asked, tuning)
    _choices(num_experts_per_tok, indices_tensor)
    return _dispatched(
        plan,
        (input_tensor, indices_tensor, expert_offsets_tensor, expert_dispatch_table_tensor),
        (padding_config, scales_tensor),
        memory_config,
        False,
    )


@operation("ttnn.experimental.deepseek_prefill.dispatch_fabric2d", family=families.COLLECTIVE)
def dispatch_fabric2d(
    input_tensor: Tensor,
    indices_tensor: Tensor,
    expert_offsets: Tensor,
    expert_dispatch_table: Tensor,
    expert_token_counts: Tensor,
    expert_region_offsets: Tensor,
    *,
    padding_config: Tensor | None = None,
    experts_per_chip: int,
    num_routed_experts: int,
    num_experts_per_tok: int,
    metadata_len: int,
    max_dispatch_buffer_token_size: int,
    seq_len_per_chip: int,
    cluster_axis: int = 0,
    num_links: int = 1,
    topology: Any,
    memory_config: MemoryConfig,
    subdevice_id: Any = None,
) -> list[Tensor]:
    """`dispatch` around a ring; expert_offsets has a row for each device of the group, as `offset_cumsum` gives them to all.

    With padding on the right only the first tokens are sent. Raises RuntimeError for a group of fewer than four or of an odd number of
    devices, another topology than Ring and Torus, and experts that are no multiple of 16.
    """
    asked = _Asked(
        num_routed_experts, experts_per_chip, tuple(indices_tensor.shape), max_dispatch_buffer_token_size,
        metadata_len,
    )  # fmt: skip
    _ring(input_tensor, cluster_axis, topology, num_links)
    if num_routed_experts % 16 or metadata_len != _FIELDS:
        raise fatal(
            f"dispatch_fabric2d: num_routed_experts {num_routed_experts} must be a multiple of 16 and metadata_len {metadata_len} must be 3"
        )
    if seq_len_per_chip != input_tensor.shape[-2]:
        raise fatal(f"seq_len_per_chip {seq_len_per_chip} is not that of the tokens {input_tensor.shape}")
    tuning = topology, num_links, memory_config, on_subdevice(subdevice_id)
    plan = planned(DISPATCH, input_tensor, cluster_axis, asked, tuning, "dispatch_fabric2d")
    _choices(num_experts_per_tok, indices_tensor)
    return list(
        _dispatched(
            plan,
            (input_tensor, indices_tensor, expert_offsets, expert_dispatch_table),
            (padding_config, None),
            memory_config,
            True,
        )
    )


def _check_dispatch(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, asked: _Asked) -> Intent:
    members = checks.members_of(tensor, device, cluster_axis)
    if asked.group not in (None, members):
        raise fatal(
            f"dispatch_group_size {asked.group} is not that of the axis, {members}",
            "dispatch_group_size == mesh_view.shape()[axis]",
        )
    *_, length, width = tuple(tensor.shape)
    if asked.choices[-2] != length:
        raise fatal(f"indices {list(asked.choices)} must have a row for each of the {length} tokens")
    if asked.capacity < 1 or asked.per_chip < 1:
        raise fatal("max_dispatch_buffer_token_size and experts_per_chip must be positive")
    words = f"{asked.experts} experts, capacity {asked.capacity}, metadata_len {asked.fields}"
    return Intent((1, 1, asked.capacity, width), None, tuple(asked), words)


DISPATCH = Collective(
    "deepseek_prefill.dispatch", _check_dispatch, every_shard, traffic.EXCHANGE, result_topology.unchanged
)


def _dispatched(
    plan: Plan,
    given: tuple[Tensor, Tensor, Tensor, Tensor],
    optional: tuple[Tensor | None, Tensor | None],
    memory_config: MemoryConfig | None,
    offsets_of_all: bool,
) -> tuple[Tensor, Tensor]:
    tokens, _, _, table = given
    padding, scales = optional
    on_device(*given, *(t for t in optional if t is not None), kind="dispatch")
    asked = _Asked(*plan.arguments)
    lanes = plan.lanes
    width = tokens.shape[-1]
    found: tuple[dict[int, Array], dict[int, Array]] = ({}, {})
    with Call(plan, tokens) as call:
        moved = [gathered(call, t) for t in given[:3]]
        padded = gathered(call, padding) if padding is not None else {}
        bits = gathered(call, scales) if scales is not None else {}
        for position, group in in_groups(lanes.groups, lanes.positions):
            place = group.index(position)
            owner = _shard(table, lanes.locals[position]).reshape(-1).astype(np.int64)
            buffer = np.zeros((asked.capacity, width), moved[0][position].dtype)
            notes = np.zeros((asked.capacity, asked.fields), np.int32)
            for rank, source in enumerate(group):
                starts = moved[2][source].reshape(-1, moved[2][source].shape[-1])
                rows, sent, slots = _sent(
                    moved[1][source].reshape(asked.choices[-2:]).astype(np.int64),
                    starts[rank if offsets_of_all else 0].astype(np.int64),
                    owner == place,
                    _real(padded.get(source), asked.choices[-2], offsets_of_all),
                )
                kept = rows < asked.capacity
                rows, sent, slots = rows[kept], sent[kept], slots[kept]
                buffer[rows] = moved[0][source].reshape(-1, width)[sent]
                notes[rows, 0], notes[rows, 1], notes[rows, 2] = source, sent, slots
                if bits:
                    scale = bits[source].reshape(len(moved[0][source].reshape(-1, width)), -1)
                    notes[rows, _FIELDS:] = np.ascontiguousarray(scale, np.float32).view(np.int32)[sent]
            found[0][position], found[1][position] = buffer[None, None], notes[None, None]
    shapes = (1, 1, asked.capacity, width), (1, 1, asked.capacity, asked.fields)
    kinds = tokens.dtype, DataType.INT32
    likes = tokens.shards.data.dtype, np.dtype(np.int32)
    first, second = (
        settle(
            (tokens,),
            _shards(rows, lanes.positions, np.empty((0, *shape), like)),
            kind,
            layout=Layout.ROW_MAJOR,
            memory_config=memory_config,
        )
        for rows, shape, kind, like in zip(found, shapes, kinds, likes, strict=True)
    )
    return first, second


def _sent(choices: Array, starts: Array, here: Array, real: Array) -> tuple[Array, Array, Array]:
    """Rows in a device's buffer, tokens and slots of what a source sends it; `here`: whether it holds an expert."""
    slots = choices.shape[-1]
    experts = choices.reshape(-1)
    known = (experts >= 0) & (experts < len(starts)) & np.repeat(real, slots)
    wanted = np.flatnonzero(known & here[np.clip(experts, 0, len(here) - 1)])
    wanted = wanted[np.argsort(experts[wanted], kind="stable")]
    ids = experts[wanted]
    # The how-manieth token of its expert: the place in the order less where the expert begins in it.
    nth = np.arange(len(ids)) - np.searchsorted(ids, ids)
    return starts[ids] + nth, wanted // slots, wanted % slots


def _real(padding: Array | None, length: int, right_only: bool) -> Array:
    """Which tokens are none of the padding [how many are real, the side of the others: 0 right, 1 left]."""
    rows = np.arange(length)
    if padding is None:
        return np.ones(length, np.bool_)
    count, side = (int(v) for v in padding.reshape(-1)[:2])
    if side:
        return np.ones(length, np.bool_) if right_only else rows >= length - count
    return rows < count


@operation("ttnn.experimental.deepseek_prefill.combine", family=families.COLLECTIVE)
def combine(
    dispatched_buffer: Tensor,
    dispatched_metadata: Tensor,
    expert_token_counts: Tensor,
    expert_region_offsets: Tensor,
    *,
    dispatch_group_size: int,
    experts_per_chip: int,
    num_experts_per_tok: int,
    seq_len_per_chip: int,
    memory_config: MemoryConfig | None = None,
    subdevice_id: Any = None,
    cluster_axis: int | None = None,
    num_links: int | None = 1,
    topology: Any = Topology.Linear,
    init_zeros: bool = True,
    use_l1_small_for_semaphores: bool = False,
    use_fp8_combine: bool = False,
) -> Tensor:
    """The rows of a dispatched buffer back to their tokens: bfloat16 (1, 1, S, K, H) in rows, slot k from a token's k-th expert.

    Counts and region offsets (…, experts) say which rows of the buffer hold an expert's tokens; metadata says where each came from. Slots of
    experts of other groups are zero. Raises RuntimeError for shapes that do not fit and for `use_fp8_combine`.
    """
    if use_fp8_combine:
        raise fatal("combine: use_fp8_combine is not emulated", hint="leave it out: the result is bfloat16")
    tuning = topology, num_links, memory_config, on_subdevice(subdevice_id)
    asked = (seq_len_per_chip, num_experts_per_tok, dispatch_group_size)
    plan = planned(COMBINE, dispatched_buffer, cluster_axis or 0, asked, tuning)
    given = (dispatched_buffer, dispatched_metadata, expert_token_counts, expert_region_offsets)
    return _combined(plan, given, experts_per_chip, memory_config)


@operation("ttnn.experimental.deepseek_prefill.combine_fabric2d", family=families.COLLECTIVE)
def combine_fabric2d(
    dispatched_buffer: Tensor,
    dispatched_metadata: Tensor,
    expert_token_counts: Tensor,
    expert_region_offsets: Tensor,
    expert_offsets: Tensor,
    experts_per_chip: int,
    num_experts_per_tok: int,
    seq_len_per_chip: int,
    cluster_axis: int,
    num_links: int,
    topology: Any,
    memory_config: MemoryConfig,
) -> Tensor:
    """`combine` around a ring of an even number of devices, at least four; expert_offsets only tell a device whose rows it forwards.

    Raises RuntimeError for another group and another topology than Ring and Torus.
    """
    _ring(dispatched_buffer, cluster_axis, topology, num_links)
    asked = (seq_len_per_chip, num_experts_per_tok, None)
    plan = planned(
        COMBINE,
        dispatched_buffer,
        cluster_axis,
        asked,
        (topology, num_links, memory_config),
        "combine_fabric2d",
    )
    given = (dispatched_buffer, dispatched_metadata, expert_token_counts, expert_region_offsets)
    on_device(*given, expert_offsets, kind="combine")
    return _combined(plan, given, experts_per_chip, memory_config)


@operation("ttnn.experimental.deepseek_prefill.hybrid_routed_expert_moe", family=families.COLLECTIVE)
def hybrid_routed_expert_moe(
    dispatched_buffer: Tensor,
    expert_region_offsets: Tensor,
    expert_token_counts: Tensor,
    global_expert_idx_table: Tensor,
    gate_projs: Sequence[Tensor],
    up_projs: Sequence[Tensor],
    down_projs: Sequence[Tensor],
    max_dispatched_tokens_per_expert: int,
    *,
    hybrid_token_threshold: int = 0,
    compute_kernel_config: object = None,
    activation: RoutedExpertActivation = RoutedExpertActivation.Silu,
    gate_biases: Sequence[Tensor] | None = None,
    up_biases: Sequence[Tensor] | None = None,
    down_biases: Sequence[Tensor] | None = None,
    dispatched_metadata: Tensor | None = None,
    expert_offsets: Tensor | None = None,
    replicated_global_expert_idx_table: Tensor | None = None,
    combine_axis: int = 0,
    combine_num_links: int = 2,
    num_experts_per_tok: int = 0,
    seq_len_per_chip: int = 0,
    fwd_arrived_semaphore: Any = None,
    final_arrived_semaphore: Any = None,
    expert_go_semaphore: Any = None,
    forwarding_buffer: Tensor | None = None,
) -> Tensor:
    """`unified_routed_expert_moe`, whichever kernel an expert's number of tokens chooses; with dispatched_metadata `combine_fabric2d` of it.

    The experts hand bfloat8_b values to the combination. Raises RuntimeError for metadata without expert_offsets and the three semaphores.
    """
    regions = expert_region_offsets, expert_token_counts, global_expert_idx_table
    weights, biases = (gate_projs, up_projs, down_projs), (gate_biases, up_biases, down_biases)
    every = 0, 2**32 - 1
    kind = dispatched_buffer.dtype if dispatched_metadata is None else DataType.BFLOAT8_B
    done = every_expert(dispatched_buffer, regions, weights, biases, activation, every, kind)
    if dispatched_metadata is None:
        return done
    semaphores = fwd_arrived_semaphore, final_arrived_semaphore, expert_go_semaphore
    if expert_offsets is None or any(semaphore is None for semaphore in semaphores):
        raise fatal("dispatched_metadata needs expert_offsets and the three semaphores")
    back: Tensor = combine_fabric2d.compute(
        done, dispatched_metadata, expert_token_counts, expert_region_offsets, expert_offsets, len(gate_projs),
        num_experts_per_tok, seq_len_per_chip, combine_axis, combine_num_links, Topology.Ring, DRAM_MEMORY_CONFIG,
    )  # fmt: skip
    return back


def _check_combine(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, asked: tuple[int, int, int | None]
) -> Intent:
    length, choices, group = asked
    members = checks.members_of(tensor, device, cluster_axis)
    if group not in (None, members):
        raise fatal(
            f"dispatch_group_size {group} is not that of the axis, {members}",
            "dispatch_group_size == mesh_view.shape()[axis]",
        )
    if length < 1 or choices < 1:
        raise fatal("seq_len_per_chip and num_experts_per_tok must be positive")
    return Intent(
        (1, 1, length, choices, tensor.shape[-1]), None, (length, choices), f"{choices} experts a token"
    )


COMBINE = Collective(
    "deepseek_prefill.combine", _check_combine, every_shard, traffic.EXCHANGE, result_topology.unchanged
)


def _combined(
    plan: Plan,
    given: tuple[Tensor, Tensor, Tensor, Tensor],
    per_chip: int,
    memory_config: MemoryConfig | None,
) -> Tensor:
    buffer, metadata, counts, _ = given
    on_device(*given, kind="combine")
    if metadata.shape[-2] != buffer.shape[-2] or metadata.shape[-1] < _FIELDS:
        raise fatal(f"metadata {metadata.shape} must have {_FIELDS} words for each row of {buffer.shape}")
    length, slots = plan.arguments
    lanes, width = plan.lanes, buffer.shape[-1]
    experts = counts.shape[-1]
    found: dict[int, Array] = {}
    with Call(plan, buffer) as call:
        rows_of, notes_of, counts_of, starts_of = (gathered(call, t) for t in given)
        for position, group in in_groups(lanes.groups, lanes.positions):
            out = np.zeros((length, slots, width), buffer.shards.data.dtype)
            first = _first_group_expert(lanes.groups, group, per_chip)
            for rank, source in enumerate(group):
                own = np.arange(first + rank * per_chip, first + (rank + 1) * per_chip) % experts
                starts, many = (a[source].reshape(-1)[own].astype(np.int64) for a in (starts_of, counts_of))
                rows = np.concatenate([np.arange(s, s + n) for s, n in zip(starts, many, strict=True)])
                rows = rows[rows < buffer.shape[-2]].astype(np.int64)
                notes = notes_of[source].reshape(-1, notes_of[source].shape[-1])[rows]
                mine = notes[:, 0] == position
                out[notes[mine, 1], notes[mine, 2]] = rows_of[source].reshape(-1, width)[rows[mine]]
            found[position] = out[None, None]
    like = np.empty((0, 1, 1, length, slots, width), buffer.shards.data.dtype)
    return settle(
        (buffer,),
        _shards(found, lanes.positions, like),
        DataType.BFLOAT16,
        layout=Layout.ROW_MAJOR,
        memory_config=memory_config,
    )


def _first_group_expert(groups: Sequence[DeviceGroup], group: DeviceGroup, per_chip: int) -> int:
    """The first expert of a group: those of the groups before it come first."""
    return sorted(groups, key=min).index(group) * len(group) * per_chip


def _ring(tensor: Tensor, cluster_axis: int, topology: Any, num_links: int) -> None:
    members = tuple(on_device(tensor, kind="dispatch").shape)[cluster_axis]
    if members % 2 or members < 4:
        raise fatal(
            f"a ring needs an even number of devices, at least four; axis {cluster_axis} has {members}"
        )
    if topology not in (Topology.Ring, Topology.Torus):
        raise fatal(f"topology must be Ring or Torus, got {topology}")
    if not 1 <= num_links <= 4:
        raise fatal(f"num_links must be 1 to 4, got {num_links}")


def _choices(number: int, indices: Tensor) -> None:
    if indices.shape[-1] != number:
        raise fatal(f"indices {indices.shape} do not have num_experts_per_tok={number} columns")


def in_groups(groups: Sequence[DeviceGroup], positions: Sequence[int]) -> list[tuple[int, DeviceGroup]]:
    """Each local device that takes part, with its group."""
    group_of = {p: group for group in groups for p in group}
    return [(position, group_of[position]) for position in positions if position in group_of]


def _shard(tensor: Tensor, local: int) -> Array:
    shard = tensor.shards.of(local)
    if shard is None:
        raise fatal("a device holds no shard of the table of experts")
    return shard


def _shards(found: Mapping[int, Array], positions: Sequence[int], like: Array) -> Shards:
    return Shards.from_each([found.get(p) for p in positions], like=like)
