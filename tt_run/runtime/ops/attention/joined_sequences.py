"""Attention over two joined sequences, and of the queries of one sequence that fall to a device.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import BufferType, DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.attention.decoding import cache_of
from tt_run.runtime.ops.attention.operand_shapes import Wrong, refuse, without_four_dims
from tt_run.runtime.ops.attention.prefill import prefill
from tt_run.runtime.ops.attention.prefill_checks import (
    device_cores,
    same_heads,
    whole_chunks,
    whole_tiles,
)
from tt_run.runtime.ops.attention.ring_share_checks import Share, check_share
from tt_run.runtime.ops.data_movement.conversions import typecast
from tt_run.runtime.ops.data_movement.joining import concat
from tt_run.runtime.ops.data_movement.joining import slice as cut
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.ops.goldens import attention_goldens, ring_goldens
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine

Array = npt.NDArray[Any]


@operation(
    "ttnn.transformer.joint_scaled_dot_product_attention",
    family=families.ATTENTION,
    golden=attention_goldens.joint,
)
def joint_scaled_dot_product_attention(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    joint_tensor_q: Tensor,
    joint_tensor_k: Tensor,
    joint_tensor_v: Tensor,
    *,
    joint_strategy: str,
    program_config: object = None,
    scale: float | None = None,
    compute_kernel_config: object = None,
) -> tuple[Tensor, Tensor]:
    """Attention, without a mask, over two sequences put together; the results of the first and of the joined one.

    Raises RuntimeError for a strategy other than `rear`.
    """
    first, joined = (
        (input_tensor_q, input_tensor_k, input_tensor_v),
        (joint_tensor_q, joint_tensor_k, joint_tensor_v),
    )
    both_sets = (*first, *joined)
    refuse(
        _alike(both_sets, joint_strategy), without_four_dims(*both_sets), _fitting(first, joined), whole_chunks(program_config),
        whole_tiles(*both_sets), device_cores(input_tensor_q, program_config),
    )  # fmt: skip
    length, both = input_tensor_q.shape[2], input_tensor_q.shape[2] + joint_tensor_q.shape[2]
    pairs = (
        (input_tensor_q, joint_tensor_q),
        (input_tensor_k, joint_tensor_k),
        (input_tensor_v, joint_tensor_v),
    )
    q, k, v = (concat.compute([first, second], 2) for first, second in pairs)
    whole = prefill((q, k, v), {}, lambda rest, user: None, scale, None)
    batch, heads, _, depth = whole.shape
    parts = (
        cut.compute(whole, [0, 0, first, 0], [batch, heads, last, depth])
        for first, last in ((0, length), (length, both))
    )
    # Where sequences meet inside of a tile, block floats are joined and cut in bfloat16.
    dtype = input_tensor_q.dtype
    return tuple(part if part.dtype is dtype else typecast.compute(part, dtype) for part in parts)


def _alike(tensors: tuple[Tensor, ...], strategy: str) -> Wrong:
    if strategy != "rear":
        yield f"Joint strategy must be 'rear'. Got: {strategy}", "joint_strategy='rear'"
    dtype = tensors[0].dtype
    for tensor in tensors:
        if tensor.dtype is not dtype:
            yield (
                f"All tensors must have the same dtype. Expected {cpp(dtype)}, got {cpp(tensor.dtype)}",
                f"ttnn.typecast(tensor, ttnn.{dtype.name.lower()})",
            )
    for tensor in tensors:
        if tensor.memory_config().buffer_type is not BufferType.DRAM:
            yield (
                "Operands to Joint SDPA need to be in DRAM",
                "ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG)",
            )


def _fitting(first: tuple[Tensor, ...], joined: tuple[Tensor, ...]) -> Wrong:
    """Both sequences have the users, the heads and the width of the first one's queries."""
    for place, what in ((0, "batch sizes"), (3, "head dimensions")):
        for kind, tensors in (("", first), ("Joint ", joined)):
            q, k, v = (tensor.shape[place] for tensor in tensors)
            if not q == k == v:
                yield (
                    f"{f'{kind}{what}'.capitalize()} must match. Got Q: {q}, K: {k}, V: {v}",
                    "queries, keys and values of one shape",
                )
        one, other = first[0].shape[place], joined[0].shape[place]
        if one != other:
            what_one = {0: "batch size", 3: "head dimension"}[place]
            yield (
                f"Q and joint Q must have same {what_one}. Got Q: {one}, joint Q: {other}",
                "a joined sequence with the users and the width of the first",
            )
    for kind, tensors in (("", first), ("Joint ", joined)):
        q, k = (tensor.shape[1] for tensor in tensors[:2])
        if q != k or q == 0:
            yield (
                f"{kind}Q num_heads must be equal to {kind}K num_heads, and greater than 0. Got Q: {q}, K: {k}",
                f"ttnn.repeat_interleave(k, n, dim=1) to {q} heads, and v too",
            )
    if joined[1].shape[1] != first[1].shape[1]:
        yield (
            f"Joint K num_heads must be equal to K num_heads. Got Joint K: {joined[1].shape[1]}, K: {first[1].shape[1]}",
            f"a joined sequence of {first[1].shape[1]} heads",
        )
    for tensors in (first, joined):
        yield from same_heads(*tensors[1:])
        if tensors[1].shape[2] != tensors[2].shape[2]:
            yield (
                f"K and V sequence length must match. Got K: {tensors[1].shape[2]}, V: {tensors[2].shape[2]}",
                "a value for each key",
            )


def _ring_axis(q: Tensor, ring_size: int) -> int:
    """The one axis of the mesh that has the length of the ring."""
    shape = q.site.shape
    axes = [axis for axis in range(shape.dims()) if shape[axis] == ring_size]
    if len(axes) != 1:
        raise fatal(
            f"no single axis of the mesh {shape} has ring_size {ring_size} devices: give ring_id",
            hint=f"ring_id=…, 0 to {ring_size - 1}, or a mesh with an axis of {ring_size} devices",
        )
    return axes[0]


@operation(
    "ttnn.transformer.ring_distributed_scaled_dot_product_attention",
    family=families.ATTENTION,
    golden=ring_goldens.distributed,
)
def ring_distributed_scaled_dot_product_attention(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    ring_size: int,
    ring_id: int | None = None,
    *,
    scale: float | None = None,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
    page_table: Tensor | None = None,
    chunk_start_idx: int | None = None,
) -> Tensor:
    """Causal attention of a device's share of the queries: q [B, H, S, D] -> [B, H, S/ring_size, D], chunk i and chunk 2 ring_size - 1 - i.

    i is `ring_id`, or the device's place along the axis of the mesh that has ring_size devices. The queries begin at position
    chunk_start_idx; page_table [B, pages] orders keys that are in blocks. Raises RuntimeError when S is not cut evenly into 2 ring_size
    chunks, and for keys that end before the queries.
    """
    q = input_tensor_q
    share = Share(
        q, input_tensor_k, input_tensor_v, ring_size, ring_id, page_table, chunk_start_idx, program_config
    )
    check_share(share)
    length, start, behind = q.shape[2], chunk_start_idx or 0, share.keys
    on_device(q, input_tensor_k, input_tensor_v, kind="ring attention")
    part = length // (2 * ring_size)
    if ring_id is None:
        axis = _ring_axis(q, ring_size)
        places = [coord[axis] for coord in q.site.local_coords]
    else:
        places = [ring_id] * len(q.site.local_coords)
    chunks = [(place, 2 * ring_size - 1 - place) for place in places]
    each = [np.concatenate([np.arange(c * part, (c + 1) * part) for c in pair]) for pair in chunks]
    held = [None if row < 0 else at.astype(np.int32) for at, row in zip(each, q.shards.index, strict=True)]
    positions = q.derive(Shards.from_each(held), dtype=DataType.INT32, layout=Layout.ROW_MAJOR)

    def pick(stack: Array, at: Array) -> Array:
        return np.stack([queries[:, :, rows] for queries, rows in zip(stack, at, strict=True)])

    mine = q.derive(combine(pick, q.shards, positions.shards))
    keys = np.arange(behind) - start

    def mask_of(rest: dict[str, Array], user: int) -> Array:
        return np.where(keys[None] <= rest["at"].ravel()[:, None], np.float32(0), np.float32(-np.inf))[None]

    def of_user(held: Array, rest: dict[str, Array], user: int) -> Array:
        return cache_of(held, user, rest["pages"])

    tensors, named = (mine, input_tensor_k, input_tensor_v), {"at": positions, "pages": page_table}
    if page_table is None:
        return prefill(tensors, named, mask_of, scale, memory_config)
    return prefill(tensors, named, mask_of, scale, memory_config, of_user=of_user)
