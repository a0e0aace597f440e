"""Tokens to the devices of their experts and back. Source: reference library 0.81.1.

`expert_mapping` [1, 1, experts, devices] has a one where a device (row-major number on the mesh) holds an expert. Rows that nobody asked
for are unspecified in the reference and zero here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import traffic
from tt_run.runtime.ccl import checks, form_checks, result_topology
from tt_run.runtime.ccl.calls import CallContext, gathered
from tt_run.runtime.ccl.collectives import result
from tt_run.runtime.ccl.exchange.gather import every_shard
from tt_run.runtime.ccl.exchange.groups import DeviceGroup
from tt_run.runtime.ccl.plans import planned, written_into
from tt_run.runtime.ccl.record import Collective, Intent
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.goldens import expert_goldens
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


@operation("ttnn.all_to_all_dispatch", family=families.COLLECTIVE, golden=expert_goldens.dispatch)
@whole_call
def all_to_all_dispatch(
    input_tensor: Tensor,
    expert_indices_tensor: Tensor,
    expert_mapping_tensor: Tensor,
    *,
    cluster_axis: int | None = None,
    output_tensors: Sequence[Tensor] | None = None,
    num_links: int | None = None,
    topology: Any = None,
    memory_config: MemoryConfig | None = None,
    subdevice_id: Any = None,
    output_concat_dim: int | None = 1,
) -> list[Tensor]:
    """Send each token to the devices of its group that hold one of its experts.

    Per device: tokens [B, S, 1, H] and indices [B, S, 1, K] become sparse tokens [1, n*B, S, H] and the indices of all tokens
    [1, n*B, S, K] of a group of n devices; with `output_concat_dim=2` [1, B, n*S, …]. Raises RuntimeError for shapes that do not fit.
    """
    form_checks.check_dispatch(input_tensor, expert_indices_tensor, output_concat_dim)
    choices_shape = tuple(expert_indices_tensor.shape)
    asked = (output_concat_dim, choices_shape)
    plan = planned(DISPATCH, input_tensor, cluster_axis, asked, (topology, num_links, memory_config))
    batch, length, width = plan.arguments
    lanes, axis = plan.lanes, int(plan.dim or 0) - 1
    tokens: dict[int, Array] = {}
    metadata: dict[int, Array] = {}
    with CallContext(plan, input_tensor) as call:
        words, choices = gathered(call, input_tensor), gathered(call, expert_indices_tensor)
        for position, group in _in_groups(lanes.groups, lanes.positions):
            chosen = np.concatenate([choices[p].reshape(batch, length, -1) for p in group], axis)
            every = np.concatenate([words[p].reshape(batch, length, width) for p in group], axis)
            here = _devices(expert_mapping_tensor, lanes.locals[position])[chosen] == position
            tokens[position] = np.where(here.any(axis=-1)[..., None], every, every.dtype.type(0))[None]
            metadata[position] = chosen[None]
    outputs = output_tensors or (None, None)
    return [
        result(
            source,
            _shards(found, lanes.positions, (*plan.spec.shape[:3], last), source),
            plan.topology,
            memory_config,
            output,
        )
        for source, found, last, output in (
            (input_tensor, tokens, width, outputs[0]),
            (expert_indices_tensor, metadata, choices_shape[-1], outputs[1]),
        )
    ]


def _check_dispatch(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, asked: Any) -> Intent:
    concat, choices = asked
    members = checks.members_of(tensor, device, cluster_axis, any_ring=True)
    batch, length, width = _tokens(tuple(tensor.shape), "input_tensor")
    shape = [1, batch, length, width]
    shape[concat] *= members
    # The indices, in two bytes as the tokens are, go with them.
    sent = batch * length * (width + choices[-1])
    return Intent(tuple(shape), concat, (batch, length, width), elements=sent)


DISPATCH = Collective(
    "all_to_all_dispatch", _check_dispatch, every_shard, traffic.RING_GATHER, result_topology.unchanged
)


@operation("ttnn.experimental.all_to_all_dispatch_metadata", family=families.COLLECTIVE)
@whole_call
def all_to_all_dispatch_metadata(
    input_tensor: Tensor,
    expert_indices_tensor: Tensor,
    expert_scores_tensor: Tensor,
    expert_mapping_tensor: Tensor,
    *,
    shared_expert_ids: Sequence[int] | None = None,
    cluster_axis: int | None = None,
    output_tensors: Sequence[Tensor] | None = None,
    num_links: int | None = None,
    drain_sync_tilizer_core: Sequence[int] | None = None,
    worker_mode: Any = None,
    dispatch_algorithm: Any = None,
    worker_core_range_set: Any = None,
    mux_core_range_set: Any = None,
    cross_device_semaphore: Any = None,
) -> list[Tensor]:
    """`all_to_all_dispatch` of flat tokens, with the scores: [1, n*T, H], indices and scores [1, n*T, K] of a group of n devices.

    Per device: tokens [B, S, 1, H], indices and scores [B, S, 1, K], T = B*S. Every token also goes to the devices of `shared_expert_ids`.
    """
    if cluster_axis is None:
        raise fatal(
            "all_to_all_dispatch_metadata needs cluster_axis", "axis.has_value()", hint="cluster_axis=0 or 1"
        )
    if expert_scores_tensor.shape != expert_indices_tensor.shape:
        raise fatal(
            f"expert_scores_tensor {expert_scores_tensor.shape} must have the shape of expert_indices_tensor "
            f"{expert_indices_tensor.shape}",
            hint=f"expert_scores_tensor of shape {list(expert_indices_tensor.shape)}",
        )
    choices_shape = tuple(expert_indices_tensor.shape)
    tuning = None, num_links, None
    plan = planned(DISPATCH_METADATA, input_tensor, cluster_axis, choices_shape, tuning)
    lanes, (width,), kept = plan.lanes, plan.arguments, choices_shape[-1]
    inputs = (input_tensor, expert_indices_tensor, expert_scores_tensor)
    found: tuple[dict[int, Array], ...] = ({}, {}, {})
    with CallContext(plan, input_tensor) as call:
        words, choices, scores = (gathered(call, tensor) for tensor in inputs)
        for position, group in _in_groups(lanes.groups, lanes.positions):
            every = np.concatenate([words[p].reshape(-1, width) for p in group])
            chosen = np.concatenate([choices[p].reshape(-1, kept) for p in group])
            owner = _devices(expert_mapping_tensor, lanes.locals[position])
            here = (owner[chosen] == position).any(axis=-1)
            if any(owner[expert] == position for expert in shared_expert_ids or ()):
                here[:] = True
            found[0][position] = np.where(here[:, None], every, every.dtype.type(0))[None]
            found[1][position] = chosen[None]
            found[2][position] = np.concatenate([scores[p].reshape(-1, kept) for p in group])[None]
    tokens = plan.spec.shape[1]
    return [
        result(tensor, _shards(rows, lanes.positions, (1, tokens, last), tensor), plan.topology, None, output)
        for tensor, rows, last, output in zip(
            inputs, found, (width, kept, kept), output_tensors or (None, None, None), strict=True
        )
    ]


def _check_metadata(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, choices: tuple[int, ...]
) -> Intent:
    members = checks.members_of(tensor, device, cluster_axis)
    batch, length, width = _tokens(tuple(tensor.shape), "input_tensor")
    if _tokens(choices, "expert_indices_tensor")[:2] != (batch, length):
        raise fatal(
            "input_tensor and expert_indices_tensor must have the same batch and sequence",
            hint=f"{tensor.shape} and {list(choices)} differ before their last dimension",
        )
    sent = batch * length * (width + 2 * choices[-1])  # the indices and the scores go with the tokens
    return Intent((1, members * batch * length, width), None, (width,), elements=sent)


DISPATCH_METADATA = Collective(
    "all_to_all_dispatch_metadata",
    _check_metadata,
    every_shard,
    traffic.RING_GATHER,
    result_topology.unchanged,
)


@operation("ttnn.all_to_all_combine", family=families.COLLECTIVE, golden=expert_goldens.combine)
@whole_call
def all_to_all_combine(
    input_tensor: Tensor,
    expert_metadata_tensor: Tensor,
    expert_mapping_tensor: Tensor,
    *,
    local_reduce: bool = False,
    output_shard_dim: int | None = 1,
    cluster_axis: int | None = None,
    subdevice_id: Any = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    num_links: int | None = None,
    topology: Any = None,
) -> Tensor:
    """Bring the experts' results back to the devices that the tokens came from: slot k holds the result of a token's k-th expert.

    Per device: results [local experts, n*B, S, H] and metadata [1, n*B, S, K] become [K, B, S, H]; with `output_shard_dim=2` the sequence
    was joined instead of the batch. With `local_reduce` the results are one sum per device, [1, n*B, S, H], put into the slot of the
    first of the device's experts that the token chose, in the order of experts. Raises RuntimeError for shapes that do not fit.
    """
    mapping = expert_mapping_tensor
    form_checks.check_combine(
        input_tensor, expert_metadata_tensor, mapping, cluster_axis, output_shard_dim, local_reduce
    )
    asked = (output_shard_dim, tuple(expert_metadata_tensor.shape))
    plan = planned(
        COMBINE,
        input_tensor,
        cluster_axis,
        asked,
        written_into((topology, num_links, memory_config), output_tensor),
    )
    dim, choices = plan.arguments
    lanes, (_, batch, length, _) = plan.lanes, tuple(input_tensor.shape)
    part = plan.spec.shape[dim]
    found: dict[int, Array] = {}
    with CallContext(plan, input_tensor) as call:
        results = gathered(call, input_tensor)
        for position, group in _in_groups(lanes.groups, lanes.positions):
            local = lanes.locals[position]
            start = group.index(position) * part
            cut = (slice(None),) * (dim - 1) + (slice(start, start + part),)
            every_expert = (slice(None), *cut)
            chosen = _shard(expert_metadata_tensor, local).reshape(batch, length, choices)[cut]
            owner = _devices(mapping, local)
            mine = {p: results[p][every_expert] for p in group}
            found[position] = _picked(mine, chosen, owner, local_reduce)
    shards = _shards(found, lanes.positions, tuple(plan.spec.shape), input_tensor)
    return result(input_tensor, shards, plan.topology, memory_config, output_tensor)


def _check_combine(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, asked: Any) -> Intent:
    dim, choices = asked
    members = checks.members_of(tensor, device, cluster_axis)
    shape = tuple(tensor.shape)
    if len(shape) != 4 or shape[1:3] != choices[-3:-1] or shape[dim] % members:
        raise fatal(
            f"all_to_all_combine: results {list(shape)} and metadata {list(choices)} must agree in batch and sequence, "
            f"and dimension {dim} must divide by {members} devices",
            hint="give the results [experts, batch, sequence, width] of what all_to_all_dispatch returned, and its metadata",
        )
    out = [choices[-1], *shape[1:]]
    out[dim] //= members
    return Intent(tuple(out), dim, (dim, choices[-1]))


COMBINE = Collective(
    "all_to_all_combine", _check_combine, every_shard, traffic.RING_SCATTER, result_topology.unchanged
)


def _picked(results: Mapping[int, Array], chosen: Array, owner: Array, local_reduce: bool) -> Array:
    """[K, B, S, H] from each device's results [experts, B, S, H]; `owner[e]` is the device of expert e."""
    any_result = next(iter(results.values()))
    slots = chosen.shape[-1]
    picked = np.zeros((slots, *any_result.shape[1:]), any_result.dtype)
    for position, values in results.items():
        experts = np.flatnonzero(owner == position)
        number = np.full(len(owner), -1)
        number[experts] = 0 if local_reduce else np.arange(len(experts))
        rows = number[chosen]
        if local_reduce:
            # Once for each token: where it chose the first of the device's experts, in the order of experts.
            first = np.where(rows >= 0, chosen, len(owner)).argmin(axis=-1, keepdims=True)
            rows = np.where(np.arange(slots) == first, rows, -1)
        for slot in range(slots):
            b, s = np.nonzero(rows[..., slot] >= 0)
            picked[slot, b, s] = values[rows[b, s, slot], b, s]
    return picked


def _in_groups(groups: Sequence[DeviceGroup], positions: Sequence[int]) -> Iterator[tuple[int, DeviceGroup]]:
    """Each local device that takes part, with its group."""
    group_of = {p: group for group in groups for p in group}
    for position in positions:
        if position in group_of:
            yield position, group_of[position]


def _tokens(shape: tuple[int, ...], name: str) -> tuple[int, int, int]:
    """Batch, sequence and width of [B, S, 1, W] or [B, 1, S, W]."""
    if len(shape) != 4 or 1 not in shape[1:3]:
        raise fatal(
            f"{name} must be [batch, sequence, 1, width] per device, got {list(shape)}",
            hint=f"ttnn.reshape({name}, (batch, sequence, 1, width))",
        )
    return shape[0], shape[1] * shape[2], shape[3]


def _devices(mapping: Tensor, local: int) -> Array:
    """The device of each expert."""
    return _shard(mapping, local).reshape(mapping.shape[-2], mapping.shape[-1]).argmax(axis=-1)


def _shard(tensor: Tensor, local: int) -> Array:
    shard = tensor.shards.of(local)
    if shard is None:
        raise fatal(
            "a device holds no shard of the tensor",
            hint="mesh_mapper=ttnn.ReplicateTensorToMesh(device) where the tensor is made",
        )
    return shard


def _shards(
    found: Mapping[int, Array], positions: Sequence[int], shape: tuple[int, ...], source: Tensor
) -> Shards:
    if not found:
        return Shards(np.empty((0, *shape), source.shards.data.dtype), (-1,) * len(positions))
    return Shards.from_each([np.ascontiguousarray(found[p]) if p in found else None for p in positions])
