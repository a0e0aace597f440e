"""Scores by which sparse attention chooses its keys, on queries that are cut over devices.

A query sees the keys before its position. Where a query is follows from the device's place on the mesh, and for caches that are dealt in
chunks (`padded_caches`) from the chunk that it fills. Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.ops.attention.padded_caches import Dealt, on_each_place
from tt_run.runtime.ops.attention.sparse_attention import block_cyclic
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Window:
    """Where queries and keys are.

    `start`: the position of the first query of rank 0; `axes`: the mesh axes that cut the queries, the one of the ring first; none of them
    means all devices in order. `ratio` tokens share a key. `dealt`: the keys lie in chunks on the ring's stripes, `finer` of them.
    """

    mesh: tuple[int, ...]
    queries: int
    start: int
    axes: tuple[int, ...] = ()
    ratio: int = 1
    dealt: Dealt | None = None
    finer: int = 1

    def positions(self, at: MeshCoordinate) -> Array:
        """Of the queries of the device at a place of the mesh."""
        rows = np.arange(self.queries)
        line = int(np.ravel_multi_index(tuple(at), self.mesh))
        rank = at[self.axes[0]] if self.axes else line
        second = at[self.axes[1]] if len(self.axes) > 1 else 0
        cut = self.mesh[self.axes[1]] if len(self.axes) > 1 else 1
        if self.dealt is None or self.dealt.chunk != self.queries * cut:
            return self.start + rank * self.queries + rows
        first = self.dealt.first(self.start, rank) + second * self.queries
        return self.dealt.positions(first + rows, rank)

    def ordered(self, keys: Array) -> Array:
        """Keys (T, D) in the order of their tokens."""
        if self.dealt is None or self.dealt.stripes == 1:
            return keys
        chunk = self.dealt.chunk // self.ratio // self.finer
        return keys[block_cyclic(np.arange(len(keys)), len(keys), self.dealt.stripes * self.finer, chunk)]

    def hidden(self, at: MeshCoordinate, keys: int, valid: int) -> Array:
        """Which keys (S, T) a query does not see."""
        seen = (self.positions(at) + 1) // self.ratio
        columns = np.arange(keys)
        return (columns >= seen[:, None]) | (columns >= valid)


def window(
    q: Tensor,
    keys: int,
    chunk_start_idx: int | None,
    ratio: int,
    axes: Sequence[int] | None,
    block_cyclic_sp_axis: int | None,
    block_cyclic_chunk_local: int | None,
    cache_tp_sharded: bool,
) -> Window:
    """The window of a call. Raises RuntimeError for axes that the mesh does not have and chunks that the queries do not fill."""
    mesh = tuple(on_device(q, kind="indexer").shape)
    chosen = tuple(int(a) for a in axes or ())
    if len(set(chosen)) != len(chosen) or any(not 0 <= a < len(mesh) for a in chosen) or len(chosen) > 2:
        raise fatal(
            f"seq_shard_axes {list(chosen)} must be at most two different axes of a mesh {mesh}",
            hint=f"seq_shard_axes=[0], an axis from 0 to {len(mesh) - 1}",
        )
    if ratio not in (1, 4):
        raise fatal(
            f"key_compression_ratio must be 1 or 4, got {ratio}", hint="key_compression_ratio=1, or 4"
        )
    queries = q.shape[2]
    ring = mesh[chosen[0]] if chosen else math.prod(mesh)
    start = keys * ratio - ring * queries if chunk_start_idx is None else chunk_start_idx
    if start < 0:
        raise fatal(
            f"the first query would be at position {start}: {keys} keys are fewer than the queries",
            hint="chunk_start_idx=0",
        )
    if (block_cyclic_sp_axis is None) is not (block_cyclic_chunk_local is None):
        raise fatal(
            "block_cyclic_sp_axis and block_cyclic_chunk_local must be given together",
            hint="give both, or none",
        )
    if block_cyclic_sp_axis is None or block_cyclic_chunk_local is None:
        return Window(mesh, queries, start, chosen, ratio)
    stripes = mesh[block_cyclic_sp_axis]
    others = math.prod(mesh) // stripes
    if block_cyclic_chunk_local not in (queries, queries * others):
        raise fatal(
            f"block_cyclic_chunk_local {block_cyclic_chunk_local} must be {queries} or {queries * others}, the queries of a stripe",
            hint=f"block_cyclic_chunk_local={queries}",
        )
    finer = others if cache_tp_sharded else 1
    if block_cyclic_chunk_local // ratio % (finer * TILE_SIZE):
        raise fatal(
            f"a chunk of {block_cyclic_chunk_local} tokens is no {finer} parts of whole tiles of keys",
            hint=f"block_cyclic_chunk_local a multiple of {finer * TILE_SIZE * ratio}",
        )
    return Window(mesh, queries, start, chosen, ratio, Dealt(stripes, block_cyclic_chunk_local), finer)


def checked_length(kv_len: int | None, keys: int, start: int, ratio: int = 1) -> int:
    """How many keys hold values. Raises RuntimeError for a number that is no whole tiles of them or ends before the queries begin."""
    if kv_len is None:
        return keys
    if kv_len % TILE_SIZE or not 0 < kv_len <= keys or start >= kv_len * ratio:
        raise fatal(
            f"kv_len {kv_len} must be a multiple of 32 in (0, {keys}], with the first query, at {start}, inside",
            hint=f"kv_len={keys} is all of them",
        )
    return kv_len


@operation("ttnn.experimental.indexer_score_dsa", family=families.ATTENTION)
def indexer_score_dsa(
    q: Tensor,
    k: Tensor,
    weights: Tensor,
    *,
    chunk_start_idx: int | None = None,
    key_compression_ratio: int = 1,
    program_config: object = None,
    compute_kernel_config: object = None,
    cache_batch_idx: int | None = None,
    kv_len: int | None = None,
    seq_shard_axes: Sequence[int] | None = None,
    block_cyclic_sp_axis: int | None = None,
    block_cyclic_chunk_local: int | None = None,
    block_cyclic_cache_tp_sharded: bool = False,
) -> Tensor:
    """Sum over heads of relu(q k) weights: q [B, H, S, D], k [B, 1, T, D], weights [B, 1, S, H] -> bfloat16 [B, 1, S, T] in rows.

    Minus infinity where a key is behind its query, or behind kv_len. Left out, chunk_start_idx follows from the queries being the last.
    """
    at = window(
        q, k.shape[2], chunk_start_idx, key_compression_ratio, seq_shard_axes, block_cyclic_sp_axis,
        block_cyclic_chunk_local, block_cyclic_cache_tp_sharded,
    )  # fmt: skip
    valid = checked_length(kv_len, k.shape[2], at.start, key_compression_ratio)
    return gated(q, k, weights, at, valid, cache_batch_idx)


def gated(
    q: Tensor, k: Tensor, weights: Tensor, at: Window, valid: int, cache_batch_idx: int | None
) -> Tensor:
    """`indexer_score_dsa` with its window known."""
    _check(q, k, weights)
    if weights.shape[-1] != q.shape[1]:
        raise fatal(
            f"weights {weights.shape} must have one for each of the {q.shape[1]} heads of q",
            hint=f"weights [B, 1, S, {q.shape[1]}]",
        )

    def reduce(products: Array, gates: Array) -> Array:
        return np.asarray(np.add.reduce(np.maximum(products, 0) * gates[0].T[..., None], axis=0)[None])

    return _scored(q, k, (weights,), reduce, at, valid, cache_batch_idx)


@operation("ttnn.experimental.indexer_score_msa", family=families.ATTENTION)
def indexer_score_msa(
    q: Tensor,
    k: Tensor,
    *,
    num_groups: int,
    chunk_start_idx: int | None = None,
    scale: float = 1.0,
    block_size: int = 0,
    program_config: object = None,
    compute_kernel_config: object = None,
    cache_batch_idx: int | None = None,
    kv_len: int | None = None,
    seq_shard_axes: Sequence[int] | None = None,
    block_cyclic_sp_axis: int | None = None,
    block_cyclic_chunk_local: int | None = None,
    block_cyclic_cache_tp_sharded: bool = False,
) -> Tensor:
    """Sum over the heads of each group of q k scale: q [B, H, S, D], k [B, 1, T, D] -> bfloat16 [B, num_groups, S, T] in rows.

    With block_size the largest score of each so many keys. Minus infinity where a key is behind its query, or behind kv_len.
    """
    if len(tuple(seq_shard_axes or ())) > 1:
        raise fatal(
            f"indexer_score_msa takes one axis in seq_shard_axes, got {list(seq_shard_axes or ())}",
            hint=f"seq_shard_axes=[{(list(seq_shard_axes or ()) or [0])[0]}]",
        )
    at = window(
        q, k.shape[2], chunk_start_idx, 1, seq_shard_axes, block_cyclic_sp_axis, block_cyclic_chunk_local,
        block_cyclic_cache_tp_sharded,
    )  # fmt: skip
    valid = checked_length(kv_len, k.shape[2], at.start)
    if num_groups < 1 or q.shape[1] % num_groups:
        raise fatal(f"num_groups {num_groups} does not divide {q.shape[1]} heads", hint="num_groups=1")
    if block_size and (block_size % TILE_SIZE or k.shape[2] % block_size or valid % block_size):
        raise fatal(
            f"block_size {block_size} must be a multiple of 32 that divides {k.shape[2]} keys and kv_len {valid}",
            hint=f"block_size={TILE_SIZE}, or 0 for each key by itself",
        )
    _check(q, k)

    def reduce(products: Array) -> Array:
        grouped = products.reshape(num_groups, -1, *products.shape[1:])
        return np.asarray(np.add.reduce(grouped, axis=1) * np.float32(scale))

    return _scored(q, k, (), reduce, at, valid, cache_batch_idx, num_groups, block_size)


def _check(q: Tensor, k: Tensor, *others: Tensor) -> None:
    on_device(q, k, *others, kind="indexer")
    if len(q.shape) != 4 or len(k.shape) != 4 or k.shape[1] != 1 or k.shape[3] != q.shape[3]:
        raise fatal(
            f"q {q.shape} and k {k.shape} must be [B, heads, S, D] and [B, 1, T, D]",
            hint="ttnn.unsqueeze_to_4D(tensor); q and k have the same last dimension",
        )
    for tensor in (q, k):
        if tensor.dtype not in (DataType.BFLOAT16, DataType.BFLOAT8_B):
            raise fatal(
                f"the indexer takes bfloat16 and bfloat8_b, got {tensor.dtype}",
                hint="ttnn.typecast(tensor, ttnn.bfloat16)",
            )


def _scored(
    q: Tensor,
    k: Tensor,
    others: tuple[Tensor, ...],
    reduce: Callable[..., Array],
    at: Window,
    valid: int,
    cache_batch_idx: int | None,
    groups: int = 1,
    block_size: int = 0,
) -> Tensor:
    """The scores of each device's queries: `reduce` makes groups (G, S, T) of the products (H, S, T) of one batch."""
    if cache_batch_idx is not None and not 0 <= cache_batch_idx < k.shape[0]:
        raise fatal(
            f"cache_batch_idx {cache_batch_idx} is outside of the {k.shape[0]} slots of k",
            hint=f"cache_batch_idx is 0 to {k.shape[0] - 1}",
        )
    if cache_batch_idx is None and k.shape[0] != q.shape[0]:
        raise fatal(
            f"q {q.shape} and k {k.shape} have different batches",
            hint="cache_batch_idx=… chooses a slot of k",
        )

    def score(_: int, place: MeshCoordinate, queries: Array, keys: Array, *rest: Array) -> Array:
        hidden = at.hidden(place, keys.shape[2], valid)
        found = []
        for batch, heads in enumerate(queries):
            held = at.ordered(keys[batch if cache_batch_idx is None else cache_batch_idx, 0])
            products = gemm.matmul(np.ascontiguousarray(heads), held.T[None])
            found.append(np.where(hidden, np.float32(-np.inf), reduce(products, *(r[batch] for r in rest))))
        scores = np.stack(found)
        if block_size:
            scores = scores.reshape(*scores.shape[:-1], -1, block_size).max(-1)
        return finish(np.ascontiguousarray(scores), DataType.BFLOAT16)

    shape = (q.shape[0], groups, q.shape[2], k.shape[2] // (block_size or 1))
    shards = on_each_place(q, (k, *others), score, np.empty((0, *shape), np.float32))
    return settle((q, k, *others), shards, DataType.BFLOAT16, layout=Layout.ROW_MAJOR)
