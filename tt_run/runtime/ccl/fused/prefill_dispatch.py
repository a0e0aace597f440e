"""Prefill of mixtures of experts: tokens into one flat buffer on the device of their experts.

A group of devices along the axis holds consecutive experts, each device `experts_per_chip` of them; the groups follow each other. Rows
that nothing is written to are unspecified in the reference and zero here. Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime import traffic
from tt_run.runtime.ccl import checks, result_topology
from tt_run.runtime.ccl.calls import CallContext, gathered
from tt_run.runtime.ccl.exchange.gather import every_shard
from tt_run.runtime.ccl.fused.expert_groups import (
    METADATA_WORDS,
    check_choices,
    check_ring,
    in_groups,
    shards_found,
)
from tt_run.runtime.ccl.plans import Plan, on_subdevice, planned
from tt_run.runtime.ccl.record import Collective, Intent
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType, Layout, Topology, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.hardware import Arch
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import convert

Array = npt.NDArray[Any]


class _Asked(NamedTuple):
    """What ranks must agree on in a dispatch: the shapes and sizes that it works with."""

    experts: int
    per_chip: int
    choices: tuple[int, ...]
    capacity: int
    fields: int
    group: int | None = None


@operation("ttnn.experimental.deepseek_prefill.dispatch", family=families.COLLECTIVE)
@whole_call
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
        raise fatal(
            "dispatch: fp8_scaled_input and scales_tensor go together",
            hint="scales_tensor= of per_token_cast_to_fp8 and fp8_scaled_input=True, or neither",
        )
    if metadata_len != METADATA_WORDS + scaled:
        raise fatal(
            f"dispatch: metadata_len must be {METADATA_WORDS + scaled} here, got {metadata_len}",
            hint=f"metadata_len={METADATA_WORDS + scaled}",
        )
    if fp8_output and input_tensor.dtype is not DataType.FP8_E4M3:
        input_tensor = _in_fp8(input_tensor)
    if fp8_output is not (input_tensor.dtype is DataType.FP8_E4M3):
        raise fatal(
            f"dispatch: fp8_output={fp8_output} of {cpp(input_tensor.dtype)} is not emulated",
            hint="fp8_output=True for rows in FP8",
        )
    asked = _Asked(
        num_routed_experts, experts_per_chip, tuple(indices_tensor.shape), max_dispatch_buffer_token_size,
        metadata_len, dispatch_group_size,
    )  # fmt: skip
    tuning = topology, num_links, memory_config, on_subdevice(subdevice_id)
    plan = planned(DISPATCH, input_tensor, cluster_axis or 0, asked, tuning)
    check_choices(num_experts_per_tok, indices_tensor)
    return _dispatched(
        plan,
        (input_tensor, indices_tensor, expert_offsets_tensor, expert_dispatch_table_tensor),
        (padding_config, scales_tensor),
        memory_config,
        False,
    )


def _in_fp8(rows: Tensor) -> Tensor:
    """Rows as a Blackhole sends them in FP8. Raises RuntimeError on another device."""
    if on_device(rows, kind="dispatch").arch() is not Arch.BLACKHOLE:
        raise fatal(
            "FP8 dispatch is not supported on Wormhole_B0; use Blackhole or set fp8_output=False",
            hint="ttnn.experimental.deepseek_prefill.per_token_cast_to_fp8(tensor) before, or fp8_output=False",
        )
    fp8 = DataType.FP8_E4M3
    return rows.derive(rows.shards.map(lambda stack: convert(stack, fp8)), dtype=fp8, layout=Layout.ROW_MAJOR)


@operation("ttnn.experimental.deepseek_prefill.dispatch_fabric2d", family=families.COLLECTIVE)
@whole_call
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
    check_ring(input_tensor, cluster_axis, topology, num_links)
    if num_routed_experts % 16 or metadata_len != METADATA_WORDS:
        raise fatal(
            f"dispatch_fabric2d: num_routed_experts {num_routed_experts} must be a multiple of 16 and metadata_len {metadata_len} must be 3",
            hint=f"num_routed_experts={-(-num_routed_experts // 16) * 16}, metadata_len={METADATA_WORDS}",
        )
    if seq_len_per_chip != input_tensor.shape[-2]:
        raise fatal(
            f"seq_len_per_chip {seq_len_per_chip} is not that of the tokens {input_tensor.shape}",
            hint=f"seq_len_per_chip={input_tensor.shape[-2]}",
        )
    tuning = topology, num_links, memory_config, on_subdevice(subdevice_id)
    plan = planned(DISPATCH, input_tensor, cluster_axis, asked, tuning, "dispatch_fabric2d")
    check_choices(num_experts_per_tok, indices_tensor)
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
            hint=f"dispatch_group_size={members}",
        )
    length = tensor.shape[-2]
    if asked.choices[-2] != length:
        raise fatal(
            f"indices {list(asked.choices)} must have a row for each of the {length} tokens",
            hint=f"indices of shape [..., {length}, number of choices]",
        )
    if asked.capacity < 1 or asked.per_chip < 1:
        raise fatal(
            f"max_dispatch_buffer_token_size {asked.capacity} and experts_per_chip {asked.per_chip} must be positive",
            hint=f"max_dispatch_buffer_token_size={length * members} has room for every token; experts_per_chip=1 or more",
        )
    words = f"{asked.experts} experts, capacity {asked.capacity}, metadata_len {asked.fields}"
    return Intent(arguments=tuple(asked), detail=words)


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
    with CallContext(plan, tokens) as call:
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
                    notes[rows, METADATA_WORDS:] = np.ascontiguousarray(scale, np.float32).view(np.int32)[
                        sent
                    ]
            found[0][position], found[1][position] = buffer[None, None], notes[None, None]
    shapes = (1, 1, asked.capacity, width), (1, 1, asked.capacity, asked.fields)
    kinds = tokens.dtype, DataType.INT32
    likes = tokens.shards.data.dtype, np.dtype(np.int32)
    first, second = (
        settle(
            (tokens,),
            shards_found(rows, lanes.positions, np.empty((0, *shape), like)),
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


def _shard(tensor: Tensor, local: int) -> Array:
    shard = tensor.shards.of(local)
    if shard is None:
        raise fatal(
            "a device holds no shard of the table of experts",
            hint="mesh_mapper=ttnn.ReplicateTensorToMesh(device) where the table is made",
        )
    return shard
