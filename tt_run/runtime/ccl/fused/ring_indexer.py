"""Scores of an indexer whose keys are gathered over a ring in the same operation. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_run.runtime.ccl.collectives import gather_as
from tt_run.runtime.ccl.plans import on_subdevice
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.attention import indexer
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.shards import Shards


@operation("ttnn.experimental.ring_indexer_score_dsa", family=families.COLLECTIVE)
@whole_call
def ring_indexer_score_dsa(
    q: Tensor,
    k: Tensor,
    weights: Tensor,
    k_local: Tensor,
    ag_multi_device_global_semaphore: Sequence[Any],
    *,
    cluster_axis: int | None,
    topology: Topology,
    num_links: int = 1,
    ag_sub_device_id: Any = None,
    chunk_start_idx: int | None = None,
    key_compression_ratio: int = 1,
    program_config: object = None,
    compute_kernel_config: object = None,
    cache_batch_idx: int | None = None,
    kv_len: int | None = None,
    seq_subshard_axis: int | None = None,
    block_cyclic_sp_axis: int | None = None,
    block_cyclic_chunk_local: int | None = None,
    block_cyclic_cache_tp_sharded: bool = False,
    chunk_start_idx_tensor: Tensor | None = None,
    valid_end_tensor: Tensor | None = None,
    cache_batch_idx_tensor: Tensor | None = None,
    index_cache_num_layers: int = 1,
    index_cache_layer_idx: int = 0,
) -> Tensor:
    """`indexer_score_dsa` of keys k_local [B, 1, T/n, D] that lie on the n devices of the axis: gathered into k [B, 1, T, D], which keeps them.

    With a slot (cache_batch_idx, or a user's number in cache_batch_idx_tensor) only that one is gathered, into slot 0. The position and the end may
    stand in tensors. Raises RuntimeError for arguments that exclude each other and shapes that do not fit.
    """
    device = on_device(q, k, weights, k_local, kind="indexer")
    mesh = tuple(device.shape)
    _check(cluster_axis, block_cyclic_sp_axis, seq_subshard_axis, topology)
    ring = math.prod(mesh) if cluster_axis is None else mesh[cluster_axis]
    if k.shape[2] != ring * k_local.shape[2] or k.dtype is not k_local.dtype:
        raise fatal(
            f"k {k.shape} must hold {ring} parts like k_local {k_local.shape}, of its type",
            hint=f"k of {ring * k_local.shape[2]} rows: ttnn.all_gather(k_local, dim=2, cluster_axis=…)",
        )
    slot = _slot(cache_batch_idx, cache_batch_idx_tensor, index_cache_num_layers, index_cache_layer_idx)
    part = k_local if slot is None else _only(k_local, slot)
    tuning = topology, num_links, None, on_subdevice(ag_sub_device_id)
    whole = gather_as("ring_indexer_score_dsa", part, 2, cluster_axis, tuning)
    k.overwrite(whole.shards)
    axes = [] if cluster_axis is None else [cluster_axis]
    if seq_subshard_axis is not None:
        axes.append(seq_subshard_axis)
    start, end = chunk_start_idx, kv_len
    if chunk_start_idx_tensor is not None:
        if chunk_start_idx is not None or kv_len is not None:
            raise fatal(
                "chunk_start_idx_tensor excludes chunk_start_idx and kv_len",
                hint="leave chunk_start_idx and kv_len out",
            )
        start = _first(chunk_start_idx_tensor)
        end = _end(start, q, mesh, axes, key_compression_ratio, valid_end_tensor, k.shape[2])
    elif valid_end_tensor is not None:
        raise fatal(
            "valid_end_tensor needs chunk_start_idx_tensor",
            hint="give chunk_start_idx_tensor=…, or kv_len=… in the place of valid_end_tensor",
        )
    sp_axis = block_cyclic_sp_axis
    if cluster_axis is None and block_cyclic_chunk_local is not None:
        if len([extent for extent in mesh if extent > 1]) > 1:
            raise fatal(
                "keys that are dealt to a complete mesh are not emulated", hint="give cluster_axis=0 or 1"
            )
        sp_axis = next((axis for axis, extent in enumerate(mesh) if extent > 1), 0)
    at = indexer.window(
        q, k.shape[2], start, key_compression_ratio, axes, sp_axis, block_cyclic_chunk_local,
        block_cyclic_cache_tp_sharded,
    )  # fmt: skip
    valid = indexer.checked_length(end, k.shape[2], at.start, key_compression_ratio)
    return indexer.gated(q, k, weights, at, valid, None)


def _check(cluster_axis: int | None, sp_axis: int | None, second: int | None, topology: Topology) -> None:
    if cluster_axis is None:
        if sp_axis is not None or second is not None or topology is not Topology.Ring:
            raise fatal(
                "a ring over the complete mesh takes topology=Ring, without block_cyclic_sp_axis and seq_subshard_axis",
                hint="topology=ttnn.Topology.Ring without both axes, or cluster_axis=0 or 1",
            )
    elif sp_axis not in (None, cluster_axis):
        raise fatal(
            f"block_cyclic_sp_axis {sp_axis} must be cluster_axis {cluster_axis}",
            hint=f"block_cyclic_sp_axis={cluster_axis}",
        )


def _slot(given: int | None, user: Tensor | None, layers: int, layer: int) -> int | None:
    if user is None:
        return given
    if given is not None:
        raise fatal(
            "give cache_batch_idx or cache_batch_idx_tensor, not both", hint="leave cache_batch_idx out"
        )
    return _first(user) * layers + layer


def _first(tensor: Tensor) -> int:
    """The number in a tensor of one element."""
    held = next((shard for shard in tensor.shards.each() if shard is not None), None)
    return 0 if held is None else int(held.reshape(-1)[0])


def _only(cache: Tensor, slot: int) -> Tensor:
    if not 0 <= slot < cache.shape[0]:
        raise fatal(
            f"slot {slot} is outside of the {cache.shape[0]} of k_local",
            hint=f"slots are 0 to {cache.shape[0] - 1}",
        )
    rows = cache.shards
    return cache.derive(Shards(rows.data[:, slot : slot + 1].copy(), rows.index))


def _end(
    start: int, q: Tensor, mesh: tuple[int, ...], axes: list[int], ratio: int, valid: Tensor | None, keys: int
) -> int:
    """How many keys the chunk that begins at `start` reaches, in whole tiles: to its padded end, or to that of its real tokens."""
    cut = math.prod(mesh[a] for a in axes) if axes else math.prod(mesh)
    stop = start + cut * q.shape[2] if valid is None else _first(valid)
    return min(math.ceil(stop / ratio / TILE_SIZE) * TILE_SIZE, keys)
