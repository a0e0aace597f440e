"""Attention to the blocks of keys that indices name for each query, also on queries and caches that are cut over devices.

Where the queries of a device are follows from its place on the mesh, as in `indexer`. Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal, in_range
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.ops.attention.indexer import Window
from tt_run.runtime.ops.attention.padded_caches import Dealt, on_each_place
from tt_run.runtime.ops.attention.sparse_attention import MASKED, softmax_with_sink
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.goldens import delta_goldens
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

Array = npt.NDArray[Any]


@operation("ttnn.transformer.sparse_sdpa_msa", family=families.ATTENTION, golden=delta_goldens.sparse_blocks)
def sparse_sdpa_msa(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    indices: Tensor,
    *,
    scale: float | None = None,
    block_size: int = 128,
    compute_kernel_config: object = None,
    cache_batch_idx: int | None = None,
    chunk_start_idx: int | None = None,
    cluster_axis: int | None = None,
    block_cyclic_sp_axis: int | None = None,
    block_cyclic_chunk_local: int | None = None,
    enable_kv_block_cache: bool = False,
) -> Tensor:
    """Attention of q [1, H, S, D] to the blocks of k and v [B, Hkv, T, D] that indices [1, Hkv, S, K] name -> [1, H, S, Dv], in rows.

    Index 0xFFFFFFFF names nothing. chunk_start_idx is the position of the first query, and no query sees a later key; with cluster_axis
    that of the first device along the axis. With block_cyclic_* the caches are dealt in chunks over that mesh axis.
    """
    mesh = tuple(on_device(q, k, v, indices, kind="sparse attention").shape)
    _, heads, queries, depth = q.shape
    groups, length = k.shape[1], k.shape[2]
    if length % block_size or heads % groups:
        raise fatal(
            f"sparse_sdpa_msa: {length} keys must be whole blocks of {block_size}, {heads} heads a multiple of {groups}",
            hint=f"ttnn.pad the keys to {-(-length // block_size) * block_size}; the heads are a multiple of {groups}",
        )
    if scale is not None and not scale > 0:
        raise fatal(
            f"scale must be > 0, got {scale}", "attrs.scale > 0.0f", hint="leave scale out: 1 / sqrt(depth)"
        )
    user = _slot(k.shape[0], cache_batch_idx)
    dealt = _dealt(mesh, queries, length, block_size, block_cyclic_sp_axis, block_cyclic_chunk_local)
    window = None
    if chunk_start_idx is not None:
        _check_start(chunk_start_idx, cluster_axis, block_cyclic_sp_axis, dealt, mesh)
        others = [a for a in range(len(mesh)) if a != cluster_axis and dealt and dealt.chunk != queries]
        axes = () if cluster_axis is None else (cluster_axis, *others)[:2]
        window = Window(mesh, queries, chunk_start_idx, axes, dealt=dealt)
    stored = Window(mesh, queries, 0, dealt=dealt)
    factor = np.float32(1 / math.sqrt(depth) if scale is None else scale)

    def attend(
        _: int, at: MeshCoordinate, queried: Array, keys: Array, values: Array, chosen: Array
    ) -> Array:
        hidden = ~_named(chosen.reshape(groups, queries, -1), length // block_size, block_size)
        if window is not None:
            rows = np.arange(queries) + window.start if cluster_axis is None else window.positions(at)
            hidden |= np.arange(length) > rows[:, None]
        share = heads // groups
        own_keys, own_values = (
            np.repeat(np.stack([stored.ordered(head) for head in part[user]]), share, axis=0)
            for part in (keys, values)
        )
        scores = gemm.matmul(queried[0] * factor, own_keys.swapaxes(-1, -2))
        weights = softmax_with_sink(np.where(np.repeat(hidden, share, axis=0), np.float32(-np.inf), scores))
        return finish(gemm.matmul(weights, np.ascontiguousarray(own_values))[None], q.dtype)

    like = np.empty((0, 1, heads, queries, v.shape[-1]), np.float32)
    result = on_each_place(q, (k, v, indices), attend, like)
    return settle((q, k, v, indices), result, q.dtype, layout=Layout.ROW_MAJOR)


def _slot(slots: int, chosen: int | None) -> int:
    if chosen is None and slots != 1:
        raise fatal(
            f"k/v batch must be 1 unless cache_batch_idx is set (got {slots})",
            "B == 1",
            hint="cache_batch_idx=0",
        )
    if chosen is not None and not 0 <= chosen < slots:
        raise fatal(
            f"cache_batch_idx ({chosen}) must be < kv batch slots ({slots})",
            "attrs.cache_batch_idx.value() < B",
            hint=f"cache_batch_idx is 0 to {slots - 1}",
        )
    return chosen or 0


def _dealt(
    mesh: tuple[int, ...], queries: int, length: int, block: int, axis: int | None, chunk: int | None
) -> Dealt | None:
    """How the caches are dealt, None where they are whole. Raises RuntimeError for what their rows are no chunks of."""
    if axis is None or chunk is None:
        if axis is not chunk:
            raise fatal(
                "block_cyclic_sp_axis and block_cyclic_chunk_local must be set together",
                "block_cyclic_sp_axis.has_value() == block_cyclic_chunk_local.has_value()",
                hint="give both, or none",
            )
        return None
    if not 0 <= axis < len(mesh):
        raise fatal(
            f"block_cyclic_sp_axis ({axis}) out of range for mesh dims ({len(mesh)})",
            "sp_axis < mesh_shape.dims()",
            hint=in_range("block_cyclic_sp_axis", len(mesh)),
        )
    stripes = mesh[axis]
    whole = queries * (math.prod(mesh) // stripes)
    if chunk not in (queries, whole):
        raise fatal(
            f"block_cyclic_chunk_local ({chunk}) must equal q seq-len ({queries}) or tp*q seq-len ({whole})",
            "chunk_local == q_isl || chunk_local == q_isl * tp",
            hint=f"block_cyclic_chunk_local={queries}",
        )
    if length % stripes or length // stripes % chunk:
        raise fatal(
            f"block_cyclic: chunk_local ({chunk}) must divide shard_len T/sp ({length / stripes:g})",
            "shard_len % chunk_local == 0",
            hint=f"caches of {stripes * chunk} rows, or a multiple",
        )
    if chunk % block:
        raise fatal(
            f"block_cyclic: block_size ({block}) must divide chunk_local ({chunk})",
            "chunk_local % attrs.block_size == 0",
            hint=f"block_size={TILE_SIZE}",
        )
    return Dealt(stripes, chunk)


def _check_start(
    start: int, cluster: int | None, striped: int | None, dealt: Dealt | None, mesh: tuple[int, ...]
) -> None:
    if start < 0:
        raise fatal(
            f"sparse_sdpa_msa: chunk_start_idx ({start}) must not be negative", hint="chunk_start_idx=0"
        )
    if cluster is not None and not 0 <= cluster < len(mesh):
        raise fatal(
            f"cluster axis {cluster} is out of range for physical coord rank {len(mesh)}",
            "physical_coord.dims() > cluster_axis.value()",
            hint=in_range("cluster_axis", len(mesh)),
        )
    if dealt is None:
        return
    if cluster is not None and cluster != striped:
        raise fatal(
            f"sparse_sdpa_msa: causal cluster_axis ({cluster}) must equal block_cyclic_sp_axis ({striped})",
            "cluster_axis.value() == sp_axis",
            hint=f"cluster_axis={striped}",
        )
    if start % TILE_SIZE:
        raise fatal(
            f"sparse_sdpa_msa: chunk_start_idx ({start}) must be a multiple of 32 with a block-cyclic cache",
            "chunk_start_idx % tt::constants::TILE_HEIGHT == 0",
            hint=f"chunk_start_idx={start // TILE_SIZE * TILE_SIZE}",
        )
    slab = dealt.stripes * dealt.chunk
    if cluster is None and dealt.stripes > 1 and start % slab:
        raise fatal(
            f"sparse_sdpa_msa: a mid-slab chunk_start_idx ({start}, slab {slab} = sp {dealt.stripes} x chunk_local {dealt.chunk}) "
            "with a block-cyclic cache needs cluster_axis (the SP axis) for the rotated per-device query positions",
            "chunk_start_idx % (bc.sp * bc.chunk_local) == 0",
            hint=f"cluster_axis={striped}",
        )


def _named(chosen: Array, blocks: int, block_size: int) -> Array:
    """Which keys (Hkv, S, T) the blocks that `chosen` (Hkv, S, K) names have. Raises RuntimeError for one that is not there."""
    places = chosen.astype(np.int64)
    named = (places != MASKED) & (places >= 0)
    if np.where(named, places, 0).max(initial=0) >= blocks:
        raise fatal(
            f"sparse_sdpa_msa: a block is outside of the {blocks} of k",
            hint=f"blocks are 0 to {blocks - 1}; 4294967295 stands for none",
        )
    # One block more, for what names nothing.
    seen = np.zeros((*places.shape[:2], blocks + 1), np.bool_)
    np.put_along_axis(seen, np.where(named, places, -1) % seen.shape[-1], True, axis=-1)
    return np.repeat(seen[..., :-1], block_size, axis=-1)
