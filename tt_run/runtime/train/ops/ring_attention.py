"""Attention whose positions are cut over a mesh axis: each device has the queries of its part and meets the keys of all.

A device passes keys and values around a ring and adds up partial softmaxes; here they are gathered along the axis, which gives the
attention of the whole sequence in one softmax, as a single device has it.
"""

from __future__ import annotations

import enum

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.axis_placement import is_replicated
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import distributed
from tt_run.runtime.train.ops.attention import causal_attention, scaled_dot_product_attention
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.tensor_parallel import SEQUENCE_DIM

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
) -> Tensor:
    """`scaled_dot_product_attention` of parts [B, H, S / C, E] of the positions, in order along the axis of context parallelism.

    A mask is [1 or B, 1, S, S] on each device, or cut on its rows; it takes the place of `mask_type`. Without an axis of several devices
    it is the attention of one. Raises ValueError for a mask of another size.
    """
    axis = context_axis() if cp_axis is None else cp_axis
    own, count = query.shape()[SEQUENCE_DIM], 1
    if axis is not None:
        count = int(AutoContext.get_instance().get_device().shape[axis])
    causal = mask_type is AttentionMaskType.Causal
    if axis is None or count == 1:
        attend = causal_attention if causal else scaled_dot_product_attention
        return attend(query, key, value, mask)
    whole = own * count
    if mask is not None:
        mask = _rows(mask, own, whole, axis)
    elif causal:
        mask = _causal(whole, axis)
    keys, values = (distributed.all_gather(part, SEQUENCE_DIM, axis) for part in (key, value))
    return scaled_dot_product_attention(query, keys, values, mask)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """What a model's layer calls: over all positions, wherever they lie. Without a mask a position sees those up to itself."""
    if context_axis() is None:
        return causal_attention(query, key, value, mask)
    return ring_attention_sdpa(query, key, value, mask)


def context_axis() -> int | None:
    """The mesh axis over which positions are cut; None where they are whole."""
    context = AutoContext.get_instance()
    if not context.is_parallelism_context_initialized():
        return None
    parallelism = context.get_parallelism_context()
    return parallelism.get_cp_axis() if parallelism.get_cp_size() > 1 else None


def require_whole_positions(model: str) -> None:
    """Raise RuntimeError for a model that cannot have its positions cut."""
    if context_axis() is not None:
        raise RuntimeError(
            f"enable_cp: {model} needs all positions on every device; help: a Llama, or enable_cp: false"
        )


def _rows(mask: Tensor, own: int, whole: int, axis: int) -> Tensor:
    """The rows of a mask that belong to a device's positions."""
    rows, columns = mask.shape()[-2:]
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


def _causal(whole: int, axis: int) -> Tensor:
    seen = np.tril(np.ones((1, 1, whole, whole), np.float32))
    mapper = shard_tensor_to_mesh_mapper(AutoContext.get_instance().get_device(), SEQUENCE_DIM, axis)
    mask = Tensor.from_numpy(seen, new_type=DataType.BFLOAT16, mapper=mapper)
    mask.set_requires_grad(False)
    return mask
