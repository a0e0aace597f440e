"""Sums, means, norms, running sums and softmax over dimensions, with their backward forms. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tt_run.runtime.kernels.torch_cpu import gradients, library
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import PLACED, declare
from tt_run.runtime.ops.moreh import dimension_checks
from tt_run.runtime.ops.moreh.declaring import DIM, OUT, TUNED, by_kept, by_tiles, dimensions, kept_shape, row


def _reduced(function: Callable[[Any, tuple[int, ...]], Any], x: Any, dim: Any, keepdim: bool) -> Any:
    dims = dimensions(x.dim(), dim)
    return function(x, dims).reshape(kept_shape(x.shape, dims, keepdim))


def _sum(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _reduced(lambda values, dims: values.sum(dims, keepdim=True), x, dim, keepdim)


def _mean(x: Any, dim: Any = None, keepdim: bool = False, divisor: int | None = None) -> Any:
    if divisor is not None:
        return _sum(x, dim, keepdim) / divisor
    return _reduced(lambda values, dims: values.mean(dims, keepdim=True), x, dim, keepdim)


def _norm(x: Any, p: float, dim: Any = None, keepdim: bool = False) -> Any:
    return _reduced(
        lambda values, dims: library().linalg.vector_norm(values, ord=p, dim=dims, keepdim=True), x, dim, keepdim
    )  # fmt: skip


def _spread(gradient: Any, shape: Sequence[int], dim: Any) -> Any:
    """A gradient repeated over the dimensions that were reduced."""
    dims = dimensions(len(shape), dim)
    whole = [1 if d in dims else size for d, size in enumerate(shape)]
    return gradient.reshape(whole).expand(*shape).contiguous()


def _sum_backward(gradient: Any, given: Any, dim: Any, keepdim: bool, room: Any = None) -> Any:
    like = given if given is not None else room
    return gradient.clone() if like is None else _spread(gradient, like.shape, dim)


def _mean_backward(gradient: Any, dim: Any, keepdim: bool, input_grad_shape: Any, room: Any = None) -> Any:
    shape = tuple(input_grad_shape) if input_grad_shape is not None else tuple((room if room is not None else gradient).shape)  # fmt: skip
    count = math.prod(shape[d] for d in dimensions(len(shape), dim))
    return _spread(gradient, shape, dim) / count


def _norm_backward(x: Any, y: Any, gradient: Any, p: float, dim: Any = None, keepdim: bool = False) -> Any:
    dims = dimensions(x.dim(), dim)
    whole = [1 if d in dims else size for d, size in enumerate(x.shape)]
    forward = gradients(lambda v: library().linalg.vector_norm(v, ord=p, dim=dims, keepdim=True))
    return forward(gradient.reshape(whole), x)[0]


def _softmax_backward(y: Any, gradient: Any, dim: int) -> Any:
    return y * (gradient - (gradient * y).sum(dim, keepdim=True))


def _log_softmax_backward(y: Any, gradient: Any, dim: int) -> Any:
    return gradient - y.exp() * gradient.sum(dim, keepdim=True)


_SOFT = "input_tensor: Tensor, dim: int, *, output_tensor: Tensor | None = None, op: object = None, strategy: object = None"


_BACK = "output_tensor: Tensor, output_grad_tensor: Tensor, dim: int, *, input_grad_tensor: Tensor | None = None, op: object = None, strategy: object = None"  # fmt: skip


_SUMMED = dimension_checks.within(8, "dim must be between 0 and 8.")

REDUCTIONS = declare(
    families.MOREH,
    row("sum", f"(input: Tensor, {DIM}, *, keepdim: bool = False, {OUT})", _sum, "Sums over dimensions; the last two stay as ones.",
         check=_SUMMED, fitted=by_kept),
    row("mean", f"(input: Tensor, *, {DIM}, keepdim: bool = False, divisor: int | None = None, {OUT})", _mean,
         "Means over dimensions, or sums divided by a divisor; the last two dimensions stay as ones.", integers=False,
         check=dimension_checks.within(7, "Invalid dimension value: {dim}. Expected a value between 0 and 7."), fitted=by_kept),
    row("norm", f"(input: Tensor, p: float, *, {DIM}, keepdim: bool = False, {OUT})", _norm,
         "Norms of order p over dimensions; the last two stay as ones.", integers=False, check=_SUMMED, fitted=by_tiles),
    row("sum_backward", f"(output_grad: Tensor, *, input: Tensor | None = None, {DIM}, keepdim: bool = False, input_grad: Tensor | None = None, {TUNED})",
         _sum_backward, "The gradient of a sum, repeated over its input.",
         check=dimension_checks.of_gradient("input_rank"), rooms=("input_grad",), seen=("input_grad",)),
    row("mean_backward",
         f"(output_grad: Tensor, *, {DIM}, keepdim: bool = False, input_grad_shape: Sequence[int] | None = None, input_grad: Tensor | None = None, {TUNED})",
         _mean_backward, "The gradient of a mean, shared over its input.", integers=False, fitted=by_tiles,
         check=dimension_checks.of_gradient("rank"), rooms=("input_grad",), seen=("input_grad",)),
    row("norm_backward",
         f"(input: Tensor, output: Tensor, output_grad: Tensor, p: float, *, {DIM}, keepdim: bool = False, input_grad: Tensor | None = None, {TUNED})",
         _norm_backward, "The gradient of a norm.", integers=False, fitted=by_tiles,
         check=dimension_checks.of_gradient("rank"), rooms=("input_grad",), seen=("output",)),
    row("cumsum", f"(input: Tensor, dim: int, *, output: Tensor | None = None, {PLACED})", lambda x, dim: x.cumsum(dim), "Running sums along a dimension.",
         check=dimension_checks.running),
    row("cumsum_backward", f"(output_grad: Tensor, dim: int, *, input_grad: Tensor | None = None, {PLACED})",
         lambda g, dim: g.flip(dim).cumsum(dim).flip(dim), "The gradient of running sums: running sums from the end.",
         check=dimension_checks.running, rooms=("input_grad",)),
    row("abs_pow", f"(input: Tensor, p: float, *, {OUT})", lambda x, p: x.abs() ** p, "Absolute values to a power.", integers=False, fitted=by_tiles),
)  # fmt: skip


SOFTMAX = declare(
    families.MOREH,
    row("softmax", f"({_SOFT}, {TUNED})", lambda x, dim, op, strategy: x.softmax(dim), "Softmax along a dimension.", integers=False, fitted=by_tiles),
    row("logsoftmax", f"({_SOFT}, {TUNED})", lambda x, dim, op, strategy: x.log_softmax(dim), "The logarithm of softmax.", integers=False, fitted=by_tiles),
    row("softmin", f"({_SOFT}, {TUNED})", lambda x, dim, op, strategy: (-x).softmax(dim), "Softmax of the negative.", integers=False, fitted=by_tiles),
    *(row(f"{name}_backward", f"({_BACK}, {TUNED})", lambda y, g, dim, op, strategy, function=function: function(y, g, dim),
           f"The gradient of {name}, from its result.", integers=False, fitted=by_tiles, rooms=("input_grad_tensor",), seen=("output_tensor",))
      for name, function in (("softmax", _softmax_backward), ("logsoftmax", _log_softmax_backward),
                             ("softmin", lambda y, g, dim: -_softmax_backward(y, g, dim)))),
    check=dimension_checks.natural,
)  # fmt: skip
