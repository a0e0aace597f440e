"""Operations on what one product made side by side: gate and up of a gated feed-forward, queries, keys and values of latent attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels import functions
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import pieces

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


@recorded
def swiglu_packed(packed: Tensor) -> Tensor:
    """silu(gate) * up of [..., 2 * I] = [gate | up] -> [..., I]. Raises RuntimeError as `swiglu_packed_fw`."""
    _half(packed.get_value())
    return gated(packed)


def gated(packed: Tensor) -> Tensor:
    """`swiglu_packed` for halves of any width."""
    x = packed.get_value()
    return result(_forward(x), (packed,), lambda gradient: packed.add_grad(_backward(x, gradient)))


def swiglu_packed_fw(packed: Value, preallocated_output: Value | None = None) -> Value:
    """The forward pass on mesh tensors, into a tensor that is there where one is given.

    Raises RuntimeError for a last dimension whose halves are not whole tiles.
    """
    _half(packed)
    return _into(_forward(packed), preallocated_output)


def swiglu_packed_bw(packed: Value, dL_dh: Value, preallocated_grad: Value | None = None) -> Value:
    """The gradient of [gate | up], of its own shape. Raises RuntimeError for a gradient of another width than the halves."""
    expected = [*tuple(packed.shape)[:-1], _half(packed)]
    if [*dL_dh.shape] != expected:
        raise RuntimeError(
            f"swiglu_packed: the gradient has shape {[*dL_dh.shape]}, that of packed with its last dim halved is {expected}"
        )
    return _into(_backward(packed, dL_dh), preallocated_grad)


def _forward(packed: Value) -> Value:
    half = int(packed.shape[-1]) // 2
    return stacks.compute(lambda x: functions.silu(x[..., :half]) * x[..., half:], packed)


def _backward(packed: Value, gradient: Value) -> Value:
    half = int(packed.shape[-1]) // 2

    def backward(x: Array, d: Array) -> Array:
        gate, up = x[..., :half], x[..., half:]
        open_ = functions.sigmoid(gate)
        slope = open_ * (np.float32(1) + gate * (np.float32(1) - open_))
        return np.concatenate([d * up * slope, d * gate * open_], axis=-1)

    return stacks.compute(backward, packed, gradient, dtype=packed.dtype)


def _half(packed: Value) -> int:
    width = int(packed.shape[-1])
    if width % (2 * TILE_SIZE):
        raise RuntimeError(
            f"swiglu_packed: the logical dim of [gate | up] is a multiple of {2 * TILE_SIZE}, so that both halves are whole tiles; got {width}"
        )
    return width // 2


def _into(found: Value, place: Value | None) -> Value:
    if place is None:
        return found
    if [*place.shape] != [*found.shape]:
        raise RuntimeError(
            f"swiglu_packed: the preallocated tensor has shape {[*place.shape]}, the result {[*found.shape]}"
        )
    place.overwrite(found.shards)
    return place


def qkv_assemble_fw(
    q_pre: Tensor,
    kv_up: Tensor,
    k_pe: Tensor,
    n_heads: int,
    qk_nope_dim: int,
    qk_rope_dim: int,
    v_dim: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values [B, H, S, …] of latent attention out of its products; nothing is rounded, gradients flow to all three.

    q_pre [B, 1, S, H * (nope + rope)]; kv_up [B, 1, S, H * (nope + v)]; k_pe [B, 1, S, rope], which all heads share. Raises
    RuntimeError when their widths do not fit.
    """
    wanted = (
        ("q_pre", q_pre, n_heads * (qk_nope_dim + qk_rope_dim)),
        ("kv_up", kv_up, n_heads * (qk_nope_dim + v_dim)),
        ("k_pe", k_pe, qk_rope_dim),
    )
    for name, tensor, width in wanted:
        if tensor.get_rank() != 4 or tensor.shape()[-1] != width:
            raise RuntimeError(f"qkv_assemble_fw: {name} is [B, 1, S, {width}], not {tensor.shape()}")
    joined = pieces.split_heads(kv_up, n_heads)
    key, value = pieces.split(joined, (qk_nope_dim, v_dim), 3)
    turned = pieces.shared_by_heads(k_pe, n_heads)
    return pieces.split_heads(q_pre, n_heads), pieces.concat([key, turned], 3), value
