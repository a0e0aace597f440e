"""`ttml.ops.attention`: scaled dot-product attention with grouped keys and values.

A mask holds 1 where a position may be seen and 0 where not. Without a mask these operations hide nothing: the documents always pass one, and
reading a missing mask as causal, as newer fused kernels do, would hide a mistake. The layers of models that generate text are causal without one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels import gemm
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.values.recycled_arrays import empty

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]

HIDDEN = np.float32(-1e9)


@recorded
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | Value | None = None
) -> Tensor:
    """softmax(q k^T / sqrt(E) with hidden positions) v: query [B, H, S, E], key [B, G, T, E], value [B, G, T, F], mask [1 or B, 1, S, T].

    Without a mask every key is seen. Raises RuntimeError when the heads are no multiple of the groups.
    """
    return _attention(query, key, value, mask, False)


@recorded
def scaled_dot_product_attention_composite(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | Value | None = None
) -> Tensor:
    """As `scaled_dot_product_attention`; made of several kernels on devices, where it also takes a mask for each sequence."""
    return _attention(query, key, value, mask, False)


@recorded
def causal_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | Value | None = None) -> Tensor:
    """As `scaled_dot_product_attention`, but without a mask no query sees the keys after it; of other keys than queries (a cache's) it sees all."""
    return _attention(query, key, value, mask, mask is None and query.shape()[-2] == key.shape()[-2])


def _attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | Value | None, causal: bool
) -> Tensor:
    q, k, v = query.get_value(), key.get_value(), value.get_value()
    if not len(q.shape) == len(k.shape) == len(v.shape) == 4:
        raise RuntimeError(
            f"scaled_dot_product_attention: query {list(q.shape)}, key {list(k.shape)} and value {list(v.shape)} have four dimensions; "
            "help: [batch, heads, positions, width], as ttml.ops.multi_head_utils.heads_creation(qkv, heads) makes them"
        )
    heads, groups = q.shape[1], k.shape[1]
    # Values may be of another width than keys, as in latent attention.
    if heads % groups or tuple(k.shape)[:-1] != tuple(v.shape)[:-1] or q.shape[-1] != k.shape[-1]:
        raise RuntimeError(
            f"scaled_dot_product_attention: query {list(q.shape)}, key {list(k.shape)} and value {list(v.shape)} do not fit together; "
            "help: query [B, H, S, E], key [B, G, T, E], value [B, G, T, F] with H a multiple of G"
        )
    shared = heads // groups
    scale = np.float32(1.0 / math.sqrt(q.shape[-1]))

    def forward(*stacks: Array) -> tuple[Array, Array]:
        seen = stacks[3] if len(stacks) > 3 else None
        if causal:
            seen = np.tri(stacks[0].shape[-2], dtype=bool)
        weights = _softmax(_scores(stacks[0], _spread(stacks[1], shared), scale, seen))
        return gemm.matmul(weights, _spread(stacks[2], shared)), weights

    operands = (q, k, v) if mask is None else (q, k, v, _value(mask))
    out, weights = stacks.compute_several(forward, *operands)

    def backward(g: Array, u: Array, w: Array, x: Array, p: Array) -> tuple[Array, Array, Array]:
        w, x = _spread(w, shared), _spread(x, shared)
        for_v = gemm.matmul(np.swapaxes(p, -1, -2), g)
        slope = gemm.matmul(g, np.swapaxes(x, -1, -2))
        slope -= np.einsum("...i,...i->...", slope, p)[..., None]
        slope *= p
        slope *= scale
        return (
            gemm.matmul(slope, w),
            _gather(gemm.matmul(np.swapaxes(slope, -1, -2), u), shared),
            _gather(for_v, shared),
        )

    def rule(gradient: Value) -> None:
        for_q, for_k, for_v = stacks.compute_several(backward, gradient, q, k, v, weights)
        query.add_grad(for_q)
        key.add_grad(for_k)
        value.add_grad(for_v)

    return result(out, (query, key, value), rule)


def _value(mask: Tensor | Value) -> Value:
    return mask.get_value() if isinstance(mask, Tensor) else mask


def _scores(q: Array, k: Array, scale: np.float32, mask: Array | None) -> Array:
    scores = gemm.matmul(q, np.swapaxes(k, -1, -2))
    scores *= scale
    if mask is not None:
        # Without their shards in front.
        *_, length, width = scores.shape
        if mask.shape[-2] not in (1, length) or mask.shape[-1] not in (1, width):
            raise RuntimeError(
                f"scaled_dot_product_attention: a mask of shape {list(mask.shape[1:])} does not fit {length} queries and {width} keys; "
                f"help: [1, 1, {length}, {width}]"
            )
        np.copyto(scores, HIDDEN, where=np.broadcast_to(mask == 0, scores.shape))
    return scores


def _softmax(scores: Array) -> Array:
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True, dtype=np.float32)
    return scores


def _spread(stack: Array, shared: int) -> Array:
    """Every group's heads see the group's keys: (shards, B, G, T, E) -> (shards, B, G * shared, T, E)."""
    if shared == 1:
        return stack
    shards, batch, groups, *each = stack.shape
    heads = empty((shards, batch, groups, shared, *each), stack.dtype)
    np.copyto(heads, stack[:, :, :, None])
    return heads.reshape(shards, batch, groups * shared, *each)


def _gather(stack: Array, shared: int) -> Array:
    """Gradients of a group summed over its heads."""
    if shared == 1:
        return stack
    shards, batch, heads, length, width = stack.shape
    groups = stack.reshape(shards, batch, heads // shared, shared, length, width)
    total = empty((shards, batch, heads // shared, length, width), np.float32)
    return groups.sum(axis=3, dtype=np.float32, out=total)
