"""Attention to chosen keys: the latents that indices name for each query; and choosing them. Blocks of keys are in `sparse_blocks`.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import on_each_device
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.goldens import delta_goldens
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.choices import SparseKVFormat

Array = npt.NDArray[Any]

MASKED = 0xFFFFFFFF
"""The index that names nothing."""
_SCALED = 128  # latent columns that share a scale in a packed row


def softmax_with_sink(scores: Array, sink: Array | None = None) -> Array:
    """Softmax of rows of scores; `sink` takes a share and gives nothing; rows of minus infinity give zeros."""
    top = scores.max(axis=-1, keepdims=True)
    if sink is not None:
        top = np.maximum(top, sink)
    top = np.where(np.isneginf(top), np.float32(0), top)
    values = np.exp(scores - top)
    sums = np.add.reduce(values, axis=-1, keepdims=True)
    if sink is not None:
        sums = sums + np.exp(sink - top)
    shares: Array = values / np.where(sums == 0, np.float32(1), sums)
    return shares


def _unpacked(rows: Array, latent: int, rope: int) -> Array:
    """Rows of bytes [latent in FP8 | a float32 scale for 128 of them | bfloat16] as numbers."""
    scales = latent + 4 * (latent // _SCALED)
    if latent % _SCALED or rows.shape[-1] != scales + 2 * rope:
        raise fatal(
            f"a packed row of {latent} latent and {rope} other columns has {scales + 2 * rope} bytes",
            hint=f"rows of {scales + 2 * rope} bytes, with a multiple of {_SCALED} latent columns",
        )
    raw = np.ascontiguousarray(rows, np.uint8)

    def part(start: int, stop: int | None, kind: Any) -> Array:
        return np.ascontiguousarray(raw[..., start:stop]).view(kind).astype(np.float32)

    factors = np.repeat(part(latent, scales, np.float32), _SCALED, axis=-1)
    values = finish(part(0, latent, ml_dtypes.float8_e4m3fn) * factors, DataType.BFLOAT16)
    return np.concatenate([values, part(scales, None, ml_dtypes.bfloat16)], axis=-1)


def block_cyclic(indices: Array, length: int, stripes: int, chunk: int) -> Array:
    """Where positions lie in a cache that is dealt in chunks to stripes, one stripe after the other."""
    if length % stripes or (length // stripes) % chunk:
        raise fatal(
            f"a cache of {length} rows has no {stripes} stripes of whole chunks of {chunk}",
            hint=f"a cache of {stripes * chunk} rows, or a multiple",
        )
    block = indices // chunk
    slab, stripe = block // stripes, block % stripes
    return np.asarray(indices + stripe * (length // stripes - chunk) - slab * chunk * (stripes - 1), np.int64)


@operation("ttnn.transformer.sparse_sdpa", family=families.ATTENTION, golden=delta_goldens.sparse)
def sparse_sdpa(
    q: Tensor,
    kv: Tensor,
    indices: Tensor,
    v_dim: int,
    *,
    kv_format: SparseKVFormat,
    scale: float | None = None,
    k_chunk_size: int = 128,
    compute_kernel_config: object = None,
    cache_batch_idx: int | None = None,
    block_cyclic_sp_axis: int | None = None,
    block_cyclic_chunk_local: int | None = None,
    block_cyclic_cache_tp_sharded: bool = False,
    attention_sink: Tensor | None = None,
) -> Tensor:
    """Attention of q [1, H, S, D] to the rows of kv [B, 1, T, D] that indices [1, 1, S, K] name -> [1, H, S, v_dim], in rows.

    Values are a row's first v_dim columns; index 0xFFFFFFFF names nothing. attention_sink [1, 1, 1, H] is times scale (1/sqrt(D)) and
    takes weight only. With block_cyclic_* indices are positions of a cache that is dealt in chunks over that mesh axis, or over all
    devices. SCALED_FP8 rows are bytes: a uint8 kv.
    """
    named = () if attention_sink is None else (attention_sink,)
    device = on_device(q, kv, indices, *named, kind="sparse attention")
    _, heads, queries, depth = q.shape
    factor = np.float32(1 / math.sqrt(depth) if scale is None else scale)
    if (block_cyclic_sp_axis is None) != (block_cyclic_chunk_local is None):
        raise fatal(
            "block_cyclic_sp_axis and block_cyclic_chunk_local must be given together",
            hint="give both, or none",
        )
    packed = kv_format is SparseKVFormat.SCALED_FP8
    if packed and kv.dtype is not DataType.UINT8:
        raise fatal(
            f"kv_format SCALED_FP8 is emulated for rows of bytes, a uint8 tensor; got {kv.dtype}",
            hint="give the packed rows as a ttnn.uint8 tensor, or leave kv_format out",
        )
    stripes, chunk = 1, block_cyclic_chunk_local or 0
    if block_cyclic_sp_axis is not None:
        mesh = tuple(device.shape)
        stripes = mesh[block_cyclic_sp_axis]
        if block_cyclic_cache_tp_sharded:
            chunk, stripes = chunk // (math.prod(mesh) // stripes), math.prod(mesh)

    def attend(queried: Array, held: Array, chosen: Array, *sinks: Array) -> tuple[Array]:
        rows = held[cache_batch_idx or 0, 0]
        rows = _unpacked(rows, v_dim, depth - v_dim) if packed else rows.astype(np.float32, copy=False)
        places = chosen.reshape(queries, -1).astype(np.int64)
        hidden = (places == MASKED) | (places < 0)
        places = np.where(hidden, 0, places)
        if chunk:
            places = np.where(hidden, 0, block_cyclic(places, len(rows), stripes, chunk))
        if places.max(initial=0) >= len(rows):
            raise fatal(
                f"sparse_sdpa: index {places.max()} is outside of the {len(rows)} rows of kv",
                hint=f"indices are 0 to {len(rows) - 1}; 4294967295 stands for none",
            )
        sink = sinks[0].reshape(-1)[:heads, None] * factor if sinks else None
        out = np.empty((1, heads, queries, v_dim), np.float32)
        for s in range(queries):
            keys = rows[places[s]]
            scores = gemm.matmul(np.ascontiguousarray(queried[:, :, s]), keys.T[None])[0] * factor
            weights = softmax_with_sink(np.where(hidden[s], np.float32(-np.inf), scores), sink)
            out[0, :, s] = gemm.matmul(weights[None], np.ascontiguousarray(keys[None, :, :v_dim]))[0]
        return (finish(out, q.dtype),)

    (result,) = on_each_device(attend, q, kv, indices, *named)
    return settle((q, kv, indices), result, q.dtype, layout=Layout.ROW_MAJOR)


@operation("ttnn.experimental.topk_large_indices", family=families.SORT)
def topk_large_indices(
    input_tensor: Tensor,
    *,
    k: int,
    valid_length: int | None = None,
    valid_length_tensor: Tensor | None = None,
    valid_length_offset: int = 0,
    subdevice_id: object = None,
    sub_core_grids: CoreRangeSet | None = None,
    valid_end_tensor: Tensor | None = None,
) -> Tensor:
    """The places of the k largest elements of each row, largest first, as uint32 in rows; of minus infinity 0xFFFFFFFF.

    Only the first `valid_length` columns are looked at, or valid_length_tensor[0] + valid_length_offset of them, at most valid_end_tensor[0]
    rounded up to 32. Raises RuntimeError unless k is a multiple of 16 in [16, 2048] and the columns are as many.
    """
    given = [t for t in (valid_length_tensor, valid_end_tensor) if t is not None]
    on_device(input_tensor, *given, kind="topk")
    width = input_tensor.shape[-1]
    if k % 16 or not 16 <= k <= 2048:
        raise fatal(
            f"topk_large_indices: k must be a multiple of 16 in [16, 2048], got {k}",
            hint=f"k={min(max(k // 16 * 16, 16), 2048)}",
        )
    if valid_length is not None and valid_length_tensor is not None:
        raise fatal(
            "topk_large_indices: give valid_length or valid_length_tensor, not both",
            hint="leave one of them out",
        )
    if valid_end_tensor is not None and valid_length_tensor is None:
        raise fatal(
            "topk_large_indices: valid_end_tensor needs valid_length_tensor",
            hint="give valid_length_tensor=… as well, or leave valid_end_tensor out",
        )
    if not k <= (valid_length or width) <= width:
        raise fatal(
            f"topk_large_indices: valid_length must be in [{k}, {width}], got {valid_length or width}",
            hint=f"valid_length={width}",
        )

    def chosen(rows: Array, *limits: Array) -> tuple[Array]:
        end = valid_length or width
        if limits and limits[0].any():
            end = int(limits[0].ravel()[0]) + valid_length_offset
        if len(limits) > 1:
            end = min(end, -(-int(limits[1].ravel()[0]) // 32) * 32)
        looked = np.full(rows.shape, -np.inf, np.float32)
        looked[..., :end] = rows[..., :end]
        places = np.argsort(-looked, axis=-1, kind="stable")[..., :k]
        lost = np.isneginf(np.take_along_axis(looked, places, axis=-1))
        return (np.where(lost, MASKED, places).astype(np.uint32),)

    (result,) = on_each_device(chosen, input_tensor, *given)
    return settle((input_tensor,), result, DataType.UINT32, layout=Layout.ROW_MAJOR)
