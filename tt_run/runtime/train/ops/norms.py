"""`ttml.ops.layernorm` and `ttml.ops.rmsnorm`, over the last dimension.

The composite forms are other kernels on a device; they compute the same values here (the composite layer norm's E[x^2] - E[x]^2 is the
worse-conditioned form of the same variance).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.values.copying import lines
from tt_run.runtime.values.recycled_arrays import empty

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]

LAYERNORM_EPSILON = 1e-6


@recorded
def layernorm(
    tensor: Tensor, gamma: Tensor, beta: Tensor | None = None, eps: float = LAYERNORM_EPSILON
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * gamma + beta with the biased variance; gamma and beta [1, 1, 1, features]."""
    return layernorm_of(tensor, gamma, beta, eps)


def layernorm_of(tensor: Tensor, gamma: Tensor, beta: Tensor | None, epsilon: float) -> Tensor:
    """`layernorm` with an epsilon of the caller's."""
    x, scale = tensor.get_value(), gamma.get_value()
    _check_features("layernorm", x, gamma, beta)
    width = x.shape[-1]

    def forward(u: Array, g: Array, b: Array | None = None) -> Array:
        out, _ = _normalised(_flat(u), epsilon)
        out *= _row(g, width)
        if b is not None:
            out += _row(b, width)
        return out.reshape(u.shape)

    def backward(d: Array, u: Array, g: Array) -> tuple[Array, Array, Array]:
        """Gradients of the input, gamma and beta; the normalised rows are found once for all three."""
        centred, inverse = _normalised(_flat(u), epsilon)
        flat = _flat(d)
        for_gamma = np.einsum("...ij,...ij->...j", flat, centred)
        slope = np.multiply(flat, _row(g, width), out=empty(flat.shape, np.float32))
        shift = slope.mean(axis=-1, keepdims=True, dtype=np.float32)
        pull = np.einsum("...i,...i->...", slope, centred)[..., None] / np.float32(width)
        slope -= shift
        centred *= pull
        slope -= centred
        slope *= inverse
        for_beta = flat.sum(axis=1, dtype=np.float32)
        return slope.reshape(u.shape), for_gamma.reshape(g.shape), for_beta.reshape(g.shape)

    def rule(gradient: Value) -> None:
        found = stacks.compute_several(backward, gradient, x, scale)
        for target, own in zip((tensor, gamma, beta), found, strict=True):
            if target is not None:
                target.add_grad(own)

    operands = (x, scale) if beta is None else (x, scale, beta.get_value())
    inputs = (tensor, gamma) if beta is None else (tensor, gamma, beta)
    return result(stacks.compute(forward, *operands), inputs, rule)


@recorded
def rmsnorm(tensor: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> Tensor:
    """x / sqrt(mean(x^2) + epsilon) * gamma."""
    x, scale = tensor.get_value(), gamma.get_value()
    _check_features("rmsnorm", x, gamma, None)
    width, small = x.shape[-1], np.float32(epsilon)

    def forward(u: Array, g: Array) -> Array:
        flat = _flat(u)
        out = np.multiply(flat, _inverse_rms(flat, small), out=empty(flat.shape, np.float32))
        out *= _row(g, width)
        return out.reshape(u.shape)

    def backward(d: Array, u: Array, g: Array) -> tuple[Array, Array]:
        """Gradients of the input and gamma."""
        flat, slope = _flat(u), _flat(d)
        inverse = _inverse_rms(flat, small)
        normal = np.multiply(flat, inverse, out=empty(flat.shape, np.float32))
        for_gamma = np.einsum("...ij,...ij->...j", slope, normal)
        slope = np.multiply(slope, _row(g, width), out=empty(flat.shape, np.float32))
        pull = np.einsum("...i,...i->...", slope, normal)[..., None] / np.float32(width)
        normal *= pull
        slope -= normal
        slope *= inverse
        return slope.reshape(u.shape), for_gamma.reshape(g.shape)

    def rule(gradient: Value) -> None:
        for_input, for_gamma = stacks.compute_several(backward, gradient, x, scale)
        tensor.add_grad(for_input)
        gamma.add_grad(for_gamma)

    return result(stacks.compute(forward, x, scale), (tensor, gamma), rule)


composite_layernorm = layernorm
rmsnorm_composite = rmsnorm


def _normalised(flat: Array, epsilon: float) -> tuple[Array, Array]:
    """((x - mean) / deviation, 1 / deviation) of rows."""
    means = flat.mean(axis=-1, keepdims=True, dtype=np.float32)
    centred = np.subtract(flat, means, out=empty(flat.shape, np.float32))
    variance = np.einsum("...i,...i->...", centred, centred)[..., None] / np.float32(flat.shape[-1])
    inverse = np.float32(1) / np.sqrt(variance + np.float32(epsilon))
    centred *= inverse
    return centred, inverse


def _inverse_rms(flat: Array, epsilon: np.float32) -> Array:
    square = np.einsum("...i,...i->...", flat, flat)[..., None] / np.float32(flat.shape[-1])
    return np.float32(1) / np.sqrt(square + epsilon)


def _flat(stack: Array) -> Array:
    """(shards, rows, features)."""
    return lines(stack, stack.shape[-1])


def _row(stack: Array, width: int) -> Array:
    return stack.reshape(len(stack), 1, width)


def _check_features(name: str, x: Value, gamma: Tensor, beta: Tensor | None) -> None:
    for label, parameter in (("gamma", gamma), ("beta", beta)):
        if parameter is not None and math.prod(parameter.shape()) != x.shape[-1]:
            raise RuntimeError(
                f"{name}: {label} of shape {parameter.shape()} does not fit an input of shape {list(x.shape)}; "
                f"help: [1, 1, 1, {x.shape[-1]}]"
            )
