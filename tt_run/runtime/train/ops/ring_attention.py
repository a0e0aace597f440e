"""Attention whose positions are cut over a mesh axis: each device has the queries of its part and meets the keys of all.

A device passes keys and values around a ring and adds up partial softmaxes; here they are gathered along the axis, which gives the
attention of the whole sequence in one softmax, as a single device has it.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.axis_placement import is_replicated
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.positions import RingLayout, order
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import distributed
from tt_run.runtime.train.ops.attention import causal_attention, scaled_dot_product_attention
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.tensor_parallel import SEQUENCE_DIM

Array = npt.NDArray[Any]

AttentionMaskType = enum.Enum("AttentionMaskType", {"Causal": 0, "None": 1})
AttentionMaskType.__doc__ = (
    "What a position sees without a mask of the program's: those up to itself, or all."
)


def ring_attention_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    mask_type: AttentionMaskType = AttentionMaskType.Causal,
    cp_axis: int | None = None,
    layout: RingLayout | None = None,
) -> Tensor:
    """`scaled_dot_product_attention` of parts [B, H, S / C, E] of the positions, which lie along the axis of context parallelism by `layout`.

    The layout is else that of the parallelism context, or contiguous with an axis that is given. A mask is [1 or B, 1, S, S] on each
    device, or cut on its rows; it takes the place of `mask_type`. Without an axis of several devices it is the attention of one.
    Raises ValueError for a mask of another size, and for attention to all in a zigzag.
    """
    axis, usual = context_positions() if cp_axis is None else (cp_axis, RingLayout.Contiguous)
    layout = layout or usual
    own, count = query.shape()[SEQUENCE_DIM], 1
    if axis is not None:
        count = int(AutoContext.get_instance().get_device().shape[axis])
    causal = mask_type is AttentionMaskType.Causal
    if axis is None or count == 1:
        attend = causal_attention if causal else scaled_dot_product_attention
        return attend(query, key, value, mask)
    whole = own * count
    if layout is RingLayout.Zigzag and mask is None and not causal:
        raise ValueError("ring_attention_sdpa: a zigzag evens out a causal mask; help: mask_type=Causal, or layout=RingLayout.Contiguous")  # fmt: skip
    places = order(whole, count, layout)
    if mask is not None:
        mask = _rows(mask, own, whole, axis, None if layout is RingLayout.Contiguous else places)
    elif causal:
        mask = _causal(places, axis)
    keys, values = (distributed.all_gather(part, SEQUENCE_DIM, axis) for part in (key, value))
    return scaled_dot_product_attention(query, keys, values, mask)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """What a model's layer calls: over all positions, wherever they lie. Without a mask a position sees those up to itself."""
    if context_axis() is None:
        return causal_attention(query, key, value, mask)
    return ring_attention_sdpa(query, key, value, mask)


def context_axis() -> int | None:
    """The mesh axis over which positions are cut; None where they are whole."""
    return context_positions()[0]


def context_positions() -> tuple[int | None, RingLayout]:
    """The mesh axis over which positions are cut, None where they are whole, and which of them a device has."""
    context = AutoContext.get_instance()
    if not context.is_parallelism_context_initialized():
        return None, RingLayout.Contiguous
    parallelism = context.get_parallelism_context()
    axis = parallelism.get_cp_axis() if parallelism.get_cp_size() > 1 else None
    return axis, parallelism.get_cp_layout()


def require_whole_positions(who: str, instead: str = "a Llama or a Qwen3") -> None:
    """Raise RuntimeError for a model or a trainer that cannot have its positions cut."""
    if context_axis() is not None:
        raise RuntimeError(
            f"enable_cp: {who} needs all positions on every device; help: {instead}, or enable_cp: false"
        )


def _rows(mask: Tensor, own: int, whole: int, axis: int, places: Array | None) -> Tensor:
    """The rows of a mask that belong to a device's positions; columns, and rows that are not cut yet, in another order of places."""
    rows, columns = mask.shape()[-2:]
    if places is not None and columns == whole:
        moved = places if rows == whole else np.arange(rows)
        ordered = stacks.moved(lambda seen: seen[..., moved, :][..., places], mask.get_value())
        mask = Tensor(ordered, requires_grad=False)
    if columns == whole and rows == own and not is_replicated(mask.get_value(), axis):
        return mask
    if (rows, columns) != (whole, whole):
        raise ValueError(
            f"ring_attention_sdpa: the mask is {mask.shape()}, for {whole} positions of which a device has {own}; "
            f"help: [1, 1, {whole}, {whole}] on every device"
        )
    cut = distributed.scatter(mask, mask.get_rank() - 2, axis)
    cut.set_requires_grad(False)
    return cut


def _causal(places: Array, axis: int) -> Tensor:
    seen = (places[:, None] >= places).astype(np.float32)[None, None]
    mapper = shard_tensor_to_mesh_mapper(AutoContext.get_instance().get_device(), SEQUENCE_DIM, axis)
    mask = Tensor.from_numpy(seen, new_type=DataType.BFLOAT16, mapper=mapper)
    mask.set_requires_grad(False)
    return mask
