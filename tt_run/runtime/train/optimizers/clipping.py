"""`ttml.core.clip_grad_norm`, with the semantics of torch.nn.utils.clip_grad_norm_."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl.collectives import all_gather, all_reduce
from tt_run.runtime.tensor.shards import Shards
from tt_run.runtime.train import values
from tt_run.runtime.train.context import AutoContext
from tt_run.runtime.train.distributed import is_replicated
from tt_run.runtime.train.tensor import Tensor

Array = npt.NDArray[Any]


def clip_grad_norm(
    parameters: Mapping[str, Tensor],
    max_norm: float,
    p_norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale all gradients so that their common norm is at most `max_norm`; returns the norm before, shape [1, 1, 1, 1].

    Gradients that are cut over the tensor-parallel axis count with all their parts. Raises RuntimeError for a norm that is not finite
    when `error_if_nonfinite`, and without any gradient.
    """
    given = [tensor for _, tensor in sorted(parameters.items()) if tensor.is_grad_initialized()]
    if not given:
        raise RuntimeError("clip_grad_norm: no parameter has a gradient; call backward() first")
    total = (
        sum(_powers(tensor, p_norm_type) for tensor in given)
        if math.isfinite(p_norm_type)
        else max(_powers(tensor, p_norm_type) for tensor in given)
    )
    norm = float(total) ** (1.0 / p_norm_type) if math.isfinite(p_norm_type) else float(total)
    if error_if_nonfinite and not math.isfinite(norm):
        raise RuntimeError(
            f"clip_grad_norm: the total norm of order {p_norm_type} of the gradients is {norm}"
        )
    factor = np.float32(min(1.0, max_norm / (norm + 1e-6)))
    if factor < 1.0:
        for tensor in given:
            tensor.set_grad(values.compute(lambda stack: stack * factor, tensor.get_grad()))
    first = given[0].get_grad()
    index = tuple(-1 if row < 0 else 0 for row in first.shards.index)
    whole = Shards(np.full((1, 1, 1, 1, 1), norm, np.float32), index)
    return Tensor(first.derive(whole, dtype=values.DataType.FLOAT32), requires_grad=False)


def _powers(tensor: Tensor, order: float) -> float:
    """Sum of |g|^order over the whole parameter, or the largest |g| for an infinite order."""
    gradient = tensor.get_grad()
    context = AutoContext.get_instance()
    axis = (
        context.get_parallelism_context().get_tp_axis()
        if context.is_parallelism_context_initialized()
        else None
    )
    if not math.isfinite(order):
        own = values.compute(
            lambda g: np.abs(g).reshape(len(g), -1).max(axis=1).reshape(-1, 1, 1, 1, 1), gradient
        )
        if axis is not None and not is_replicated(gradient, axis):
            own = all_gather(own, 0, cluster_axis=axis)
        return float(np.max(own.shards.data[0]))
    power = values.compute(
        lambda g: (
            (np.abs(g.astype(np.float32)) ** np.float32(order))
            .reshape(len(g), -1)
            .sum(axis=1)
            .reshape(-1, 1, 1, 1, 1)
        ),
        values.as_dtype(gradient, values.DataType.FLOAT32),
    )
    if axis is not None and not is_replicated(gradient, axis):
        power = all_reduce(power, cluster_axis=axis)
    return float(power.shards.data[0].reshape(-1)[0])
