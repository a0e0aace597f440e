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
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import along, shapes

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]
_CACHE = 1 << 18  # bytes of states that a core keeps close
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
        out = _forward(*opened(*stack))
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


def _forward(q: Array, k: Array, v: Array, decay: Array, beta: Array) -> Array:
    """The outputs of heads (…, T, features)."""
    given = [_flat(array) for array in (q, k, v, decay, beta)]
    out = np.empty(given[2].shape, np.float32)
    for part in _parts(*given[1:3]):
        _outputs(*(array[part] for array in given), out=out[part])
    return out.reshape(v.shape)


def _outputs(q: Array, k: Array, v: Array, decay: Array, beta: Array, *, out: Array) -> None:
    """The outputs of some heads, into `out`."""
    state = np.zeros((len(k), k.shape[-1], v.shape[-1]), np.float32)
    room = np.empty_like(state)
    for t in range(v.shape[1]):
        _step(state, room, k, v, decay, beta, t)
        np.multiply(state, q[:, t, :, None], out=room)
        np.add.reduce(room, axis=-2, out=out[:, t])


def _step(state: Array, room: Array, k: Array, v: Array, decay: Array, beta: Array, t: int) -> Array:
    """Bring a state to the next token, in place; returns what the token's value missed of the decayed one."""
    state *= decay[:, t, :, None]
    missed: Array = v[:, t] - _read_by_keys(state, k[:, t], room)
    np.multiply(k[:, t, :, None], (beta[:, t] * missed)[:, None, :], out=room)
    state += room
    return missed


def _read_by_keys(state: Array, key: Array, room: Array) -> Array:
    """state^T key."""
    np.multiply(state, key[..., None], out=room)
    found: Array = np.add.reduce(room, axis=-2)
    return found


def _read_by_values(state: Array, value: Array, room: Array) -> Array:
    """state value."""
    np.multiply(state, value[..., None, :], out=room)
    found: Array = np.add.reduce(room, axis=-1)
    return found


def _flat(array: Array) -> Array:
    """(heads, tokens, features)."""
    return array.reshape(-1, *array.shape[-2:])


def _parts(k: Array, v: Array) -> list[slice]:
    """As many heads at a time as have their states in a core's cache: every token reads and writes all of them, and heads do not meet."""
    each = max(1, _CACHE // max(4 * k.shape[-1] * v.shape[-1], 1))
    return [slice(start, start + each) for start in range(0, len(k), each)]


def _backward(
    gradient: Array, q: Array, k: Array, v: Array, decay: Array, beta: Array, *, chunk: int
) -> tuple[Array, ...]:
    """The gradients of queries, keys, values, logarithms of decays and write strengths."""
    given = [_flat(array) for array in (gradient, q, k, v, decay, beta)]
    slopes = [np.zeros(array.shape, np.float32) for array in given[1:]]
    for part in _parts(*given[2:4]):
        _slopes(*(array[part] for array in given), into=[slope[part] for slope in slopes], chunk=chunk)
    return tuple(
        slope.reshape(like.shape) for slope, like in zip(slopes, (q, k, v, decay, beta), strict=True)
    )


def _slopes(
    gradient: Array, q: Array, k: Array, v: Array, decay: Array, beta: Array, *, into: list[Array], chunk: int
) -> None:
    """The gradients of some heads, `into` those of queries, keys, values, logarithms and strengths."""
    for_q, for_k, for_v, for_g, for_beta = into
    tokens = v.shape[1]
    state = np.zeros((len(k), k.shape[-1], v.shape[-1]), np.float32)
    room, faded, pull, kept = np.empty_like(state), np.empty_like(state), np.zeros_like(state), []
    for t in range(tokens):
        if t % chunk == 0:
            kept.append(state.copy())
        _step(state, room, k, v, decay, beta, t)
    for number in reversed(range(len(kept))):
        first = number * chunk
        last = min(first + chunk, tokens)
        # The state before each token, and behind the last one.
        states = np.empty((last - first + 1, *state.shape), np.float32)
        states[0], missing = kept[number], []
        for t in range(first, last):
            after = states[t - first + 1]
            np.copyto(after, states[t - first])
            missing.append(_step(after, room, k, v, decay, beta, t))
        for t in reversed(range(first, last)):
            slope, key, strength, missed = gradient[:, t], k[:, t], beta[:, t], missing[t - first]
            np.multiply(q[:, t, :, None], slope[:, None, :], out=room)
            pull += room
            for_q[:, t] = _read_by_values(states[t - first + 1], slope, room)
            np.multiply(states[t - first], decay[:, t, :, None], out=faded)
            wrote = _read_by_keys(pull, key, room)
            for_beta[:, t] = np.add.reduce(wrote * missed, axis=-1, keepdims=True)
            for_v[:, t] = wrote * strength
            for_k[:, t] = _read_by_values(pull, strength * missed, room) - _read_by_values(
                faded, wrote * strength, room
            )
            np.multiply(key[..., None], (wrote * strength)[:, None, :], out=room)
            pull -= room
            np.multiply(pull, faded, out=room)
            for_g[:, t] = np.add.reduce(np.add.reduce(room, axis=-1), axis=-1, keepdims=True)
            pull *= decay[:, t, :, None]


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
