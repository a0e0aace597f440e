"""The gated delta rule of linear attention, with gradients: a state that decays, is corrected towards each value, and is asked by each query.

For a head with queries and keys of K features and values of V, the state S is [K, V] and goes from token to token:

    S' = exp(g) S        u = beta (v - S'^T k)        S = S' + k u^T        out = S^T q

A device goes by chunks of tokens and inverts a triangle for each; here it goes token by token in float32, which gives the same values, and
the backward pass comes back with one state kept for each chunk.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels import gemm
from tt_run.runtime.train import stacks
from tt_run.runtime.train.operation import recorded, result
from tt_run.runtime.train.ops import along, shapes
from tt_run.runtime.train.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]
MAX_HEADS = 32
"""Heads of a device that the kernels take, which address a head's rows within one row of tiles."""


@recorded
def chunk_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    chunk_size: int = 64,
    scale: float | None = None,
    use_qk_l2norm: bool = True,
) -> Tensor:
    """The rule for sequences of one head each: q, k [N, 1, T, K], v [N, 1, T, V], g and beta [N, 1, T, 1] -> [N, 1, T, V].

    `g` is the logarithm of the decay; queries are times `scale`, 1 / sqrt(K) unless given. Raises ValueError for sizes that do not fit, and
    for a length that is no multiple of `chunk_size`.
    """
    if use_qk_l2norm:
        q, k = along.l2_norm(q), along.l2_norm(k)
    return _rule(q, k, v, g, beta, (1, 1), chunk_size, scale)


@recorded
def fused_chunk_gated_delta_rule(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, chunk_size: int = 64, scale: float | None = None
) -> Tensor:
    """The rule for tokens of H heads: q, k [B, T, H, K] of length 1, v [B, T, H, V], g and beta [B, 1, T, H] -> [B, 1, T * H, V].

    Raises ValueError as `chunk_gated_delta_rule`, and for more than 32 heads on a device.
    """
    batch, length, heads, _ = q.shape()
    flat = _rule(q, k, v, g, beta, (heads, heads), chunk_size, scale, most=MAX_HEADS, length=length)
    return shapes.reshape(flat, [batch, 1, length * heads, v.shape()[-1]])


@recorded
def fused_chunk_gated_delta_rule_flat(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    num_k_heads: int,
    num_v_heads: int,
    key_dim: int,
    chunk_size: int = 64,
    scale: float | None = None,
) -> Tensor:
    """The rule for heads side by side, each key head serving `num_v_heads / num_k_heads` value heads in order.

    q, k [B, 1, T, HK * K] with heads of length 1, v [B, 1, T, HV * V], g and beta [B, 1, T, HV] -> [B, 1, T, HV * V]. Raises ValueError as
    `fused_chunk_gated_delta_rule`.
    """
    if q.shape()[-1] != num_k_heads * key_dim:
        raise ValueError(f"gated delta rule: q {q.shape()} has not {num_k_heads} heads of {key_dim} features")
    return _rule(q, k, v, g, beta, (num_k_heads, num_v_heads), chunk_size, scale, most=MAX_HEADS)


def wy_inverse(a: Tensor, chunk_size: int, batch_shape: tuple[int, ...]) -> Tensor:
    """(I - a)^-1 of strictly lower triangular matrices [*batch_shape, C, C], C = `chunk_size`. Raises ValueError for a C that is no power of 2."""
    if chunk_size < 1 or chunk_size & (chunk_size - 1):
        raise ValueError(f"chunk_size must be a power of two, got {chunk_size}")
    if a.shape() != [*batch_shape, chunk_size, chunk_size]:
        raise ValueError(f"wy_inverse: {a.shape()} is not {[*batch_shape, chunk_size, chunk_size]}")
    return _inverse(a)


@recorded
def _inverse(a: Tensor) -> Tensor:
    def forward(stack: Array) -> Array:
        out = np.zeros(stack.shape, np.float32)
        for row in range(stack.shape[-1]):
            # Row by row: each is its own of the identity and what of the earlier rows it takes.
            taken = stack[..., row, :row, None] * out[..., :row, :]
            out[..., row, :] = np.add.reduce(taken, axis=-2)
            out[..., row, row] += np.float32(1)
        return out

    inverse = stacks.compute(forward, a.get_value())

    def backward(gradient: Array, made: Array) -> Array:
        turned = np.swapaxes(made, -1, -2)
        return gemm.matmul(gemm.matmul(turned, gradient), turned)

    return result(inverse, (a,), lambda gradient: a.add_grad(stacks.compute(backward, gradient, inverse)))


def _rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    heads: tuple[int, int],
    chunk: int,
    scale: float | None,
    *,
    most: int | None = None,
    length: int | None = None,
) -> Tensor:
    """The rule for key and value heads side by side in the last dimension, or in the last two where `length` names the tokens."""
    keys, values = heads
    given = q, k, v, g, beta
    batch = q.shape()[0]
    tokens = q.shape()[2] if length is None else length
    _check(given, heads, tokens, chunk, most)
    width = math.prod(q.shape()[1:]) // tokens // keys
    factor = np.float32(width**-0.5 if scale is None else scale)
    operands = [tensor.get_value() for tensor in given]

    def apart(stack: Array, count: int) -> Array:
        """Heads before tokens: (shards, batch, heads, tokens, features)."""
        each = math.prod(stack.shape[1:]) // (batch * tokens * count)
        return stack.reshape(len(stack), batch, tokens, count, each).transpose(0, 1, 3, 2, 4)

    def together(array: Array, like: Array) -> Array:
        return array.transpose(0, 1, 3, 2, 4).reshape(like.shape)

    def opened(u: Array, w: Array, x: Array, decay: Array, write: Array) -> tuple[Array, ...]:
        share = values // keys
        return (
            np.repeat(apart(u, keys), share, axis=2) * factor,
            np.repeat(apart(w, keys), share, axis=2),
            apart(x, values),
            np.exp(apart(decay, values)),
            apart(write, values),
        )

    def forward(*stack: Array) -> Array:
        out, _ = _forward(*opened(*stack), chunk=chunk)
        return out.transpose(0, 1, 3, 2, 4).reshape(len(out), batch, 1, tokens, values * out.shape[-1])

    def backward(gradient: Array, *stack: Array) -> tuple[Array, ...]:
        for_q, for_k, for_v, for_g, for_beta = _backward(
            apart(gradient, values), *opened(*stack), chunk=chunk
        )
        form = (len(gradient), batch, keys, values // keys, tokens)
        for_q, for_k = (
            slope.reshape(*form, slope.shape[-1]).sum(axis=3, dtype=np.float32)
            for slope in (for_q * factor, for_k)
        )
        slopes = for_q, for_k, for_v, for_g, for_beta
        return tuple(together(slope, like) for slope, like in zip(slopes, stack, strict=True))

    def rule(gradient: Value) -> None:
        for tensor, slope in zip(given, stacks.compute_several(backward, gradient, *operands), strict=True):
            tensor.add_grad(slope)

    return result(stacks.compute(forward, *operands), given, rule)


def _forward(
    q: Array, k: Array, v: Array, decay: Array, beta: Array, *, chunk: int
) -> tuple[Array, list[Array]]:
    """The outputs, and the state before each chunk, of heads (…, T, features)."""
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]), np.float32)
    out, kept = np.empty(v.shape, np.float32), []
    for t in range(v.shape[-2]):
        if t % chunk == 0:
            kept.append(state)
        state, _, _ = _step(state, k, v, decay, beta, t)
        out[..., t, :] = _asked(state, q[..., t, :])
    return out, kept


def _step(state: Array, k: Array, v: Array, decay: Array, beta: Array, t: int) -> tuple[Array, Array, Array]:
    """The state after a token, the decayed one before its key was written, and what its value missed."""
    faded = state * decay[..., t, :, None]
    missed = v[..., t, :] - _asked(faded, k[..., t, :])
    return faded + k[..., t, :, None] * (beta[..., t, :] * missed)[..., None, :], faded, missed


def _asked(state: Array, key: Array) -> Array:
    """state^T key."""
    found: Array = np.add.reduce(state * key[..., None], axis=-2)
    return found


def _told(state: Array, value: Array) -> Array:
    """state value."""
    found: Array = np.add.reduce(state * value[..., None, :], axis=-1)
    return found


def _backward(
    gradient: Array, q: Array, k: Array, v: Array, decay: Array, beta: Array, *, chunk: int
) -> tuple[Array, ...]:
    """The gradients of queries, keys, values, logarithms of decays and write strengths."""
    _, kept = _forward(q, k, v, decay, beta, chunk=chunk)
    slopes = tuple(np.zeros(a.shape, np.float32) for a in (q, k, v, decay, beta))
    for_q, for_k, for_v, for_g, for_beta = slopes
    pull = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]), np.float32)
    for number in reversed(range(len(kept))):
        state, steps = kept[number], []
        for t in range(number * chunk, min((number + 1) * chunk, v.shape[-2])):
            after = _step(state, k, v, decay, beta, t)
            steps.append((t, *after))
            state = after[0]
        for t, state, faded, missed in reversed(steps):
            slope, key, strength = gradient[..., t, :], k[..., t, :], beta[..., t, :]
            pull = pull + q[..., t, :, None] * slope[..., None, :]
            for_q[..., t, :] = _told(state, slope)
            wrote = _asked(pull, key)
            for_beta[..., t, :] = np.add.reduce(wrote * missed, axis=-1, keepdims=True)
            for_v[..., t, :] = wrote * strength
            for_k[..., t, :] = _told(pull, strength * missed) - _told(faded, wrote * strength)
            pull = pull - key[..., None] * (wrote * strength)[..., None, :]
            for_g[..., t, :] = np.add.reduce(np.add.reduce(pull * faded, axis=-1), axis=-1, keepdims=True)
            pull = pull * decay[..., t, :, None]
    return slopes


def _check(
    given: tuple[Tensor, ...], heads: tuple[int, int], tokens: int, chunk: int, most: int | None
) -> None:
    q, k, v, g, beta = (tensor.shape() for tensor in given)
    keys, values = heads
    name = "gated delta rule"
    if q != k or q[0] != v[0] or math.prod(v) % (q[0] * tokens * values):
        raise ValueError(f"{name}: q {q}, k {k} and v {v} do not fit together")
    if keys < 1 or values % keys:
        raise ValueError(f"{name}: {values} value heads are no multiple of {keys} key heads")
    if g != beta or math.prod(g) != q[0] * tokens * values:
        raise ValueError(
            f"{name}: g {g} and beta {beta} have not one number for each of {values} heads and {tokens} tokens"
        )
    if chunk < 1 or tokens % chunk:
        raise ValueError(
            f"sequence length {tokens} must be a multiple of chunk_size {chunk}; help: pad the sequence, or chunk_size={math.gcd(tokens, chunk) if chunk > 0 else 32}"
        )
    if most is not None and values > most:
        raise ValueError(
            f"fused delta rule supports at most {most} heads per chip, got {values}; "
            "use tensor parallelism to shard the heads, or delta_rule_impl='composite'"
        )
