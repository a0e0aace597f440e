"""`ttml.ops.gated_rmsnorm`: the root-mean-square norm of each head times the silu of a gate, and its two passes on mesh tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels import functions
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


@recorded
def gated_rmsnorm(x: Tensor, gate: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """x * gamma / sqrt(mean over V of x^2 + eps) * silu(gate): x and gate [B, 1, T, H * V], gamma [1, 1, 1, V] shared by the heads."""
    values = x.get_value(), gate.get_value(), gamma.get_value()

    def rule(gradient: Value) -> None:
        found = gated_rmsnorm_bw(*values, gradient, eps, gamma.get_requires_grad())
        for tensor, own in zip((x, gate, gamma), found, strict=True):
            if own is not None:
                tensor.add_grad(own)

    return result(gated_rmsnorm_fw(*values, eps), (x, gate, gamma), rule)


def gated_rmsnorm_fw(x: Value, gate: Value, gamma: Value, eps: float = 1e-6) -> Value:
    """The forward pass. Raises RuntimeError for sizes that a device's kernel does not take."""
    _check(x, gate, gamma)

    def forward(u: Array, z: Array, g: Array) -> Array:
        heads, weight = _heads(u, g)
        return (heads * _inverse(heads, eps) * weight).reshape(u.shape) * functions.silu(z)

    return stacks.compute(forward, x, gate, gamma)


def gated_rmsnorm_bw(
    x: Value, gate: Value, gamma: Value, dL_dout: Value, eps: float = 1e-6, compute_dgamma: bool = True
) -> tuple[Value, Value, Value | None]:
    """The gradients of x, gate and gamma; None for gamma's where it is not asked for. Raises RuntimeError as the forward pass."""
    _check(x, gate, gamma)
    if tuple(dL_dout.shape) != tuple(x.shape):
        raise RuntimeError(
            f"gated_rmsnorm: dL_dout shape {list(dL_dout.shape)} is not that of x, {list(x.shape)}"
        )

    def backward(d: Array, u: Array, z: Array, g: Array) -> tuple[Array, ...]:
        heads, weight = _heads(u, g)
        inverse, gates = _inverse(heads, eps), functions.sigmoid(z)
        normal, open_ = heads * inverse, z * gates
        slope = (d * open_).reshape(heads.shape)
        pull = (normal * weight * slope).mean(axis=-1, keepdims=True, dtype=np.float32)
        for_x = (inverse * (weight * slope) - normal * inverse * pull).reshape(u.shape)
        for_gate = d * (normal * weight).reshape(u.shape) * gates * (np.float32(1) + z - open_)
        for_gamma = (normal * slope).sum(axis=(1, 2), dtype=np.float32).reshape(g.shape)
        return for_x, for_gate, for_gamma

    for_x, for_gate, for_gamma = stacks.compute_several(backward, dL_dout, x, gate, gamma)
    return for_x, for_gate, for_gamma if compute_dgamma else None


def _heads(x: Array, gamma: Array) -> tuple[Array, Array]:
    """x as (shards, rows, heads, V) and gamma beside it."""
    width = gamma.shape[-1]
    return x.reshape(len(x), -1, x.shape[-1] // width, width), gamma.reshape(len(gamma), 1, 1, width)


def _inverse(heads: Array, eps: float) -> Array:
    square = (heads * heads).mean(axis=-1, keepdims=True, dtype=np.float32)
    return np.float32(1) / np.sqrt(square + np.float32(eps))


def _check(x: Value, gate: Value, gamma: Value) -> None:
    width = gamma.shape[-1]
    if width % TILE_SIZE:
        raise RuntimeError(f"gated_rmsnorm: gamma's width V = {width} must be a multiple of {TILE_SIZE}")
    if x.shape[-1] % width:
        raise RuntimeError(f"gated_rmsnorm: x's width {x.shape[-1]} must be a multiple of V = {width}")
    if x.shape[-2] % TILE_SIZE:
        raise RuntimeError(f"gated_rmsnorm: T = {x.shape[-2]} must be a multiple of {TILE_SIZE}")
    if tuple(gate.shape) != tuple(x.shape):
        raise RuntimeError(f"gated_rmsnorm: gate shape {list(gate.shape)} is not that of x, {list(x.shape)}")
