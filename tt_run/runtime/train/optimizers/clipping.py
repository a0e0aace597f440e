"""`ttml.core.clip_grad_norm`, with the semantics of torch.nn.utils.clip_grad_norm_."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl.collectives import all_gather, all_reduce
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.axis_placement import is_replicated
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.parallel.sharded_parameters import cuts
from tt_run.runtime.values import shapes
from tt_run.runtime.values.copying import lines

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]

_SMALL = np.float32(1e-6)


def clip_grad_norm(
    parameters: Mapping[str, Tensor],
    max_norm: float,
    p_norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale all gradients so that their common norm is at most `max_norm`; returns the norm before, shape [1, 1, 1, 1].

    Every device takes the norm of its own gradients, of which those of parameters that are cut over an axis count with all their parts:
    with data parallelism synchronise first. Raises RuntimeError for a norm that is not finite when `error_if_nonfinite`, and without any
    gradient; ValueError for a bound below 0 and an order that is not above it.
    """
    if not _real("max_norm", max_norm) >= 0:
        raise ValueError(f"clip_grad_norm: max_norm is at least 0, not {max_norm}; help: max_norm=1.0")
    if not _real("p_norm_type", p_norm_type) > 0:
        raise ValueError(f"clip_grad_norm: p_norm_type is above 0, not {p_norm_type}; help: p_norm_type=2.0")
    if not isinstance(parameters, Mapping):
        raise TypeError(
            f"clip_grad_norm takes model.parameters(), a dict of names and tensors, not {type_name(parameters)}; help: clip_grad_norm(model.parameters(), 1.0)"
        )
    given = [tensor for _, tensor in sorted(parameters.items()) if tensor.is_grad_initialized()]
    if not given:
        raise RuntimeError("clip_grad_norm: no parameter has a gradient; help: loss.backward(False) first")
    finite = math.isfinite(p_norm_type)
    join = np.add if finite else np.maximum
    total = functools.reduce(
        lambda a, b: stacks.compute(join, a, b), (_powers(tensor, p_norm_type) for tensor in given)
    )
    root = np.float32(1.0 / p_norm_type if finite else 1.0)
    norm = stacks.compute(lambda sums: sums**root, total)
    if error_if_nonfinite and not np.isfinite(norm.shards.data).all():
        raise RuntimeError(
            f"clip_grad_norm: the total norm of order {p_norm_type} of the gradients is {norm.shards.data.max()}; help: a lower lr, or error_if_nonfinite=False to go on"
        )
    factor = stacks.compute(
        lambda own: np.minimum(np.float32(1), np.float32(max_norm) / (own + _SMALL)), norm
    )
    if shapes.active() or float(factor.shards.data.min(initial=1.0)) < 1.0:
        for tensor in given:
            gradient = tensor.get_grad()
            tensor.set_grad(stacks.compute(_scaled, gradient, factor, dtype=gradient.dtype))
    return Tensor(norm, requires_grad=False)


def _real(name: str, value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"clip_grad_norm: {name} is a number, not {value!r}; help: {name}=1.0") from None


def _scaled(gradient: Array, factor: Array) -> Array:
    return gradient * factor.reshape(-1, *(1,) * (gradient.ndim - 1))


def _powers(tensor: Tensor, order: float) -> Value:
    """Sum of |g|^order over a whole parameter, or the largest |g| for an infinite order, as float32 [1, 1, 1, 1]."""
    found = stacks.compute(
        lambda g: _power(lines(g), order).reshape(-1, 1, 1, 1, 1),
        stacks.as_dtype(tensor.get_grad(), stacks.DataType.FLOAT32),
    )
    for axis in _cut_axes(tensor):
        if math.isfinite(order):
            found = all_reduce(found, cluster_axis=axis)
        else:
            every = all_gather(found, 0, cluster_axis=axis)
            found = stacks.compute(lambda g: g.max(axis=1, keepdims=True), every)
    return found


def _power(rows: Array, order: float) -> Array:
    if math.isfinite(order):
        return (np.abs(rows) ** np.float32(order)).sum(axis=1)
    most: Array = np.abs(rows).max(axis=1)
    return most


def _cut_axes(tensor: Tensor) -> list[int]:
    """The mesh axes over which a parameter is cut, and its norm therefore summed; along that of data parallelism each device has its own."""
    context = AutoContext.get_instance()
    axes = context.get_parallelism_context() if context.is_parallelism_context_initialized() else None
    found = set(cuts(tensor.get_value(PreferredPrecision.FULL)))
    if axes is not None:
        found.discard(axes.get_ddp_axis())
        tensor_parallel = axes.get_tp_axis()
        if tensor_parallel is not None and not is_replicated(tensor.get_grad(), tensor_parallel):
            found.add(tensor_parallel)
    return sorted(found if tensor.fsdp_axis is None else found | {tensor.fsdp_axis})
