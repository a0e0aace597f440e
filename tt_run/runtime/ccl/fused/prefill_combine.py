"""Prefill of mixtures of experts: the outputs of experts back into the slots that their tokens came from.

Slots that nothing is written to are unspecified in the reference and zero here. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import traffic
from tt_run.runtime.ccl import checks, result_topology
from tt_run.runtime.ccl.calls import CallContext, gathered
from tt_run.runtime.ccl.exchange.gather import every_shard
from tt_run.runtime.ccl.fused.expert_groups import (
    METADATA_WORDS,
    check_ring,
    first_expert,
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
from tt_run.runtime.ops.experts.expert_networks import every_expert
from tt_run.runtime.tensor.creation.from_shape import empty
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.choices import RoutedExpertActivation
from tt_run.runtime.values.dtypes import convert

Array = npt.NDArray[Any]
_NOTE = 64
"""Bytes of what goes with a token that is handed on."""


@operation("ttnn.experimental.deepseek_prefill.combine", family=families.COLLECTIVE)
@whole_call
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
    experts of other groups are zero. With `use_fp8_combine` it is FP8, of a tiled buffer on Blackhole. Raises RuntimeError for shapes that do
    not fit.
    """
    if use_fp8_combine:
        _check_fp8(dispatched_buffer)
    tuning = topology, num_links, memory_config, on_subdevice(subdevice_id)
    asked = (seq_len_per_chip, num_experts_per_tok, dispatch_group_size)
    plan = planned(COMBINE, dispatched_buffer, cluster_axis or 0, asked, tuning)
    given = (dispatched_buffer, dispatched_metadata, expert_token_counts, expert_region_offsets)
    dtype = DataType.FP8_E4M3 if use_fp8_combine else DataType.BFLOAT16
    return _combined(plan, given, experts_per_chip, memory_config, dtype)


def _check_fp8(buffer: Tensor) -> None:
    device = on_device(buffer, kind="combine")
    if device.arch() is not Arch.BLACKHOLE:
        raise fatal(
            f"use_fp8_combine=true requires Blackhole hardware (got arch {device.arch().name})",
            "arch == tt::ARCH::BLACKHOLE",
            hint="leave it out: the result is bfloat16",
        )
    if buffer.layout is not Layout.TILE:
        raise fatal(
            "use_fp8_combine=true requires TILE-layout dispatched buffer; only the TILE path retargets the untilize CB to Fp8_e4m3 (got layout "
            f"{cpp(buffer.layout)})",
            hint="ttnn.to_layout(buffer, ttnn.TILE_LAYOUT)",
        )


@operation("ttnn.experimental.deepseek_prefill.combine_fabric2d", family=families.COLLECTIVE)
@whole_call
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
    check_ring(dispatched_buffer, cluster_axis, topology, num_links)
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


def _check_combine(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, asked: tuple[int, int, int | None]
) -> Intent:
    length, choices, group = asked
    members = checks.members_of(tensor, device, cluster_axis)
    if group not in (None, members):
        raise fatal(
            f"dispatch_group_size {group} is not that of the axis, {members}",
            "dispatch_group_size == mesh_view.shape()[axis]",
            hint=f"dispatch_group_size={members}",
        )
    if length < 1 or choices < 1:
        raise fatal(
            f"seq_len_per_chip {length} and num_experts_per_tok {choices} must be positive",
            hint="seq_len_per_chip and num_experts_per_tok as they were given to dispatch",
        )
    return Intent(arguments=(length, choices), detail=f"{choices} experts a token")


COMBINE = Collective(
    "deepseek_prefill.combine", _check_combine, every_shard, traffic.EXCHANGE, result_topology.unchanged
)


def _combined(
    plan: Plan,
    given: tuple[Tensor, Tensor, Tensor, Tensor],
    per_chip: int,
    memory_config: MemoryConfig | None,
    dtype: DataType = DataType.BFLOAT16,
) -> Tensor:
    buffer, metadata, counts, _ = given
    on_device(*given, kind="combine")
    if metadata.shape[-2] != buffer.shape[-2] or metadata.shape[-1] < METADATA_WORDS:
        raise fatal(
            f"metadata {metadata.shape} must have {METADATA_WORDS} words for each row of {buffer.shape}",
            hint="give both as ttnn.experimental.deepseek_prefill.dispatch returned them",
        )
    length, slots = plan.arguments
    lanes, width = plan.lanes, buffer.shape[-1]
    experts = counts.shape[-1]
    found: dict[int, Array] = {}
    with CallContext(plan, buffer) as call:
        rows_of, notes_of, counts_of, starts_of = (gathered(call, t) for t in given)
        for position, group in in_groups(lanes.groups, lanes.positions):
            out = np.zeros((length, slots, width), buffer.shards.data.dtype)
            first = first_expert(lanes.groups, group, per_chip)
            for rank, source in enumerate(group):
                own = np.arange(first + rank * per_chip, first + (rank + 1) * per_chip) % experts
                starts, many = (a[source].reshape(-1)[own].astype(np.int64) for a in (starts_of, counts_of))
                rows = np.concatenate([np.arange(s, s + n) for s, n in zip(starts, many, strict=True)])
                rows = rows[rows < buffer.shape[-2]].astype(np.int64)
                notes = notes_of[source].reshape(-1, notes_of[source].shape[-1])[rows]
                mine = notes[:, 0] == position
                out[notes[mine, 1], notes[mine, 2]] = rows_of[source].reshape(-1, width)[rows[mine]]
            found[position] = (
                convert(out[None, None], dtype) if dtype is DataType.FP8_E4M3 else out[None, None]
            )
    like = np.empty((0, 1, 1, length, slots, width), buffer.shards.data.dtype)
    return settle(
        (buffer,),
        shards_found(found, lanes.positions, like),
        dtype,
        layout=Layout.ROW_MAJOR,
        memory_config=memory_config,
    )


@operation("ttnn.experimental.deepseek_prefill.hybrid_routed_expert_moe", family=families.COLLECTIVE)
@whole_call
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
        raise fatal(
            "dispatched_metadata needs expert_offsets and the three semaphores",
            hint="expert_offsets=… and the three semaphores of ttnn.create_global_semaphore(mesh_device, cores, 0), or leave dispatched_metadata out",
        )
    back: Tensor = combine_fabric2d.compute(
        done, dispatched_metadata, expert_token_counts, expert_region_offsets, expert_offsets, len(gate_projs),
        num_experts_per_tok, seq_len_per_chip, combine_axis, combine_num_links, Topology.Ring, DRAM_MEMORY_CONFIG,
    )  # fmt: skip
    return back


@operation(
    "ttnn.experimental.deepseek_prefill.hybrid_routed_expert_moe_forwarding_buffer",
    family=families.EXPERTS,
    direct=True,
)
def hybrid_routed_expert_moe_forwarding_buffer(
    mesh_device: MeshDevice,
    *,
    emb_dim: int,
    experts_per_chip: int,
    num_experts_per_tok: int,
    seq_len_per_chip: int,
    combine_axis: int = 0,
    combine_num_links: int = 2,
) -> Tensor:
    """Room in DRAM as large as what devices hand on to those behind their neighbours, in rows of a token and its note; nothing reads it here.

    Raises RuntimeError for tokens whose rows are not aligned, and where no device has anything to hand on.
    """
    extents = tuple(mesh_device.shape)
    if not 0 <= combine_axis < len(extents):
        raise fatal(
            f"combine_axis {combine_axis} is no axis of {extents}",
            hint=f"combine_axis is 0 to {len(extents) - 1}",
        )
    members = extents[combine_axis]
    page = 2 * emb_dim + _NOTE
    if page % _NOTE:
        raise fatal(
            f"combine_fabric2d: forwarding page {page} B must be {_NOTE}-byte aligned for DRAM",
            hint=f"emb_dim={-(-emb_dim // 32) * 32}",
        )
    sizes = {
        "experts_per_chip": experts_per_chip, "num_experts_per_tok": num_experts_per_tok, "seq_len_per_chip": seq_len_per_chip,
        "combine_num_links": combine_num_links,
    }  # fmt: skip
    if members < 4 or min(sizes.values()) < 1:
        told = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise fatal(
            f"hybrid_routed_expert_moe_forwarding_buffer: {members} devices along axis {combine_axis} hand nothing on with {told}",
            hint="an axis of 4 devices or more and sizes of at least 1, or leave forwarding_buffer out",
        )
    half = members // 2
    tokens = num_experts_per_tok * seq_len_per_chip // combine_num_links
    rows = (members - 3) * tokens // 2 + experts_per_chip * (half * (half - 1) // 2)
    return empty(
        (2 * combine_num_links * rows, page // 4), DataType.UINT32, Layout.ROW_MAJOR, device=mesh_device
    )
