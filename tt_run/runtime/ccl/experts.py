"""Tokens to the devices of their experts and back. Source: ttnn specification, section 9.

`expert_mapping` [1, 1, experts, devices] has a one where a device (row-major number on the mesh) holds an expert. Rows that nobody asked
for are unspecified in the reference and zero here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl import checks
from tt_run.runtime.ccl.collectives import result
from tt_run.runtime.ccl.gather import every_shard
from tt_run.runtime.ccl.groups import DeviceGroup
from tt_run.runtime.ccl.lanes import Call, plan_of, sources
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops import families
from tt_run.runtime.ops.dispatch import operation
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


@operation("ttnn.all_to_all_dispatch", family=families.COLLECTIVE)
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
    device = checks.device_of(input_tensor, "all_to_all_dispatch")
    members = checks.members_of(device, cluster_axis)
    batch, length, width = _tokens(input_tensor, "input_tensor")
    if _tokens(expert_indices_tensor, "expert_indices_tensor")[:2] != (batch, length):
        raise fatal("input_tensor and expert_indices_tensor must have the same batch and sequence")
    if output_concat_dim not in (1, 2):
        raise fatal(f"output_concat_dim must be 1 or 2, got {output_concat_dim}")
    axis = output_concat_dim - 1
    plan = plan_of("all_to_all_dispatch", input_tensor, device, cluster_axis, output_concat_dim)
    call = Call(plan, input_tensor)
    tokens: dict[int, Array] = {}
    metadata: dict[int, Array] = {}
    lanes = call.lanes
    with call:
        for position, group, (words, choices) in _in_groups(
            lanes.groups, lanes.positions, call, expert_indices_tensor
        ):
            chosen = np.concatenate([choices[p].reshape(batch, length, -1) for p in group], axis)
            every = np.concatenate([words[p].reshape(batch, length, width) for p in group], axis)
            here = _devices(expert_mapping_tensor, lanes.locals[position])[chosen] == position
            tokens[position] = np.where(here.any(axis=-1)[..., None], every, every.dtype.type(0))[None]
            metadata[position] = chosen[None]
    joined = [1, batch, length]
    joined[output_concat_dim] *= members
    topology_ = input_tensor.tensor_topology()
    outputs = output_tensors or (None, None)
    return [
        result(
            source, _shards(found, lanes.positions, (*joined, last), source), topology_, memory_config, output
        )
        for source, found, last, output in (
            (input_tensor, tokens, width, outputs[0]),
            (expert_indices_tensor, metadata, expert_indices_tensor.shape[-1], outputs[1]),
        )
    ]


@operation("ttnn.all_to_all_combine", family=families.COLLECTIVE)
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
    device's first expert. Raises RuntimeError for shapes that do not fit.
    """
    device = checks.device_of(input_tensor, "all_to_all_combine")
    members = checks.members_of(device, cluster_axis)
    if output_shard_dim not in (1, 2):
        raise fatal(f"output_shard_dim must be 1 or 2, got {output_shard_dim}")
    shape, choices = tuple(input_tensor.shape), tuple(expert_metadata_tensor.shape)
    if len(shape) != 4 or shape[1:3] != choices[-3:-1] or shape[output_shard_dim] % members:
        raise fatal(
            f"all_to_all_combine: results {list(shape)} and metadata {list(choices)} must agree in batch and sequence, "
            f"and dimension {output_shard_dim} must divide by {members} devices"
        )
    part = shape[output_shard_dim] // members
    plan = plan_of("all_to_all_combine", input_tensor, device, cluster_axis, output_shard_dim)
    call = Call(plan, input_tensor)
    found: dict[int, Array] = {}
    lanes = call.lanes
    with call:
        for position, group, (results, _) in _in_groups(lanes.groups, lanes.positions, call, None):
            local = lanes.locals[position]
            start = group.index(position) * part
            cut = (slice(None),) * (output_shard_dim - 1) + (slice(start, start + part),)
            every_expert = (slice(None), *cut)
            chosen = _shard(expert_metadata_tensor, local).reshape(*shape[1:3], choices[-1])[cut]
            owner = _devices(expert_mapping_tensor, local)
            mine = {p: results[p][every_expert] for p in group}
            found[position] = _picked(mine, chosen, owner, local_reduce)
    out = [choices[-1], *shape[1:]]
    out[output_shard_dim] = part
    shards = _shards(found, lanes.positions, tuple(out), input_tensor)
    return result(input_tensor, shards, input_tensor.tensor_topology(), memory_config, output_tensor)


def _picked(results: Mapping[int, Array], chosen: Array, owner: Array, local_reduce: bool) -> Array:
    """[K, B, S, H] from each device's results [experts, B, S, H]; `owner[e]` is the device of expert e."""
    first = next(iter(results.values()))
    slots = chosen.shape[-1]
    picked = np.zeros((slots, *first.shape[1:]), first.dtype)
    for position, values in results.items():
        experts = np.flatnonzero(owner == position)
        number = np.full(len(owner), -1)
        number[experts] = 0 if local_reduce else np.arange(len(experts))
        rows = number[chosen]
        if local_reduce:
            rows = np.where(np.cumsum(rows >= 0, axis=-1) == 1, rows, -1)
        for slot in range(slots):
            b, s = np.nonzero(rows[..., slot] >= 0)
            picked[slot, b, s] = values[rows[b, s, slot], b, s]
    return picked


def _in_groups(
    groups: Sequence[DeviceGroup], positions: Sequence[int], call: Call, second: Tensor | None
) -> Iterator[tuple[int, DeviceGroup, tuple[Mapping[int, Array], Mapping[int, Array]]]]:
    """For each local device: its group, and the shards of all devices of one or two tensors."""
    shards: tuple[dict[int, Array], dict[int, Array]] = ({}, {})
    for tensor, known in zip((call.tensor, second), shards, strict=True):
        for source in sources(tensor, call.lanes) if tensor is not None else ():
            known.update(every_shard(source))
    group_of = {p: group for group in groups for p in group}
    for position in positions:
        yield position, group_of[position], shards


def _tokens(tensor: Tensor, name: str) -> tuple[int, int, int]:
    """Batch, sequence and width of [B, S, 1, W] or [B, 1, S, W]."""
    shape = tuple(tensor.shape)
    if len(shape) != 4 or 1 not in shape[1:3]:
        raise fatal(f"{name} must be [batch, sequence, 1, width] per device, got {tensor.shape}")
    return shape[0], shape[1] * shape[2], shape[3]


def _devices(mapping: Tensor, local: int) -> Array:
    """The device of each expert."""
    return _shard(mapping, local).reshape(mapping.shape[-2], mapping.shape[-1]).argmax(axis=-1)


def _shard(tensor: Tensor, local: int) -> Array:
    shard = tensor.shards.of(local)
    if shard is None:
        raise fatal("a device holds no shard of the tensor")
    return shard


def _shards(
    found: Mapping[int, Array], positions: Sequence[int], shape: tuple[int, ...], source: Tensor
) -> Shards:
    if not positions:
        return Shards(np.empty((0, *shape), source.shards.data.dtype), ())
    return Shards.from_each([np.ascontiguousarray(found[p]) for p in positions])
