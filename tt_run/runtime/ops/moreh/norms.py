"""Layer and group norms with their backward forms. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import torch_function
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import declare
from tt_run.runtime.ops.moreh.declaring import KERNELS, TUNED, by_tiles, kept_shape, row


def _normalised_gradient(gradient: Any, normal: Any, rstd: Any, dims: tuple[int, ...]) -> Any:
    """The gradient of what was normalised over some dimensions."""
    mean = gradient.mean(dims, keepdim=True)
    return rstd * (gradient - mean - normal * (gradient * normal).mean(dims, keepdim=True))


def _layer_norm(x: Any, normalized_dims: int, eps: float, gamma: Any, beta: Any) -> list[Any]:
    shape = tuple(x.shape[-normalized_dims:])
    weight, bias = (None if v is None else v.reshape(shape) for v in (gamma, beta))
    out = torch_function("nn.functional.layer_norm")(x, shape, weight, bias, eps)
    dims = tuple(range(x.dim() - normalized_dims, x.dim()))
    mean = x.mean(dims, keepdim=True)
    rstd = ((x - mean).square().mean(dims, keepdim=True) + eps).rsqrt()
    left = (
        kept_shape(x.shape, dims, False) if normalized_dims == x.dim() else list(x.shape[:-normalized_dims])
    )
    return [out, mean.reshape(left), rstd.reshape(left)]


def _layer_norm_backward(gradient: Any, x: Any, mean: Any, rstd: Any, normalized_dims: int, gamma: Any) -> list[Any]:  # fmt: skip
    shape = tuple(x.shape[-normalized_dims:])
    spread = (*x.shape[:-normalized_dims], *([1] * normalized_dims))
    scale = rstd.reshape(spread)
    normal = (x - mean.reshape(spread)) * scale
    weighted = gradient if gamma is None else gradient * gamma.reshape(shape)
    dims = tuple(range(x.dim() - normalized_dims, x.dim()))
    outer = tuple(range(x.dim() - normalized_dims))
    sums = [v.sum(outer) if outer else v for v in (gradient * normal, gradient)]
    like = shape if gamma is None else gamma.shape
    return [_normalised_gradient(weighted, normal, scale, dims), *(v.reshape(like) for v in sums)]


def _groups(shape: str, x: Any, num_groups: int) -> None:
    """Raises RuntimeError unless the channels fall into so many groups."""
    if num_groups < 1:
        raise fatal("num_groups must be greater than 0.", "num_groups > 0", hint="num_groups=1")
    if x.shape[1] % num_groups:
        raise fatal(
            f"{shape}[1] must be divisible by num_groups.",
            "C % num_groups == 0",
            hint=f"num_groups={math.gcd(x.shape[1], num_groups)} divides {x.shape[1]} channels",
        )


def _group_norm(x: Any, num_groups: int, eps: float, gamma: Any, beta: Any) -> list[Any]:
    _groups("input_shape", x, num_groups)
    weight, bias = (None if v is None else v.reshape(-1) for v in (gamma, beta))
    out = torch_function("nn.functional.group_norm")(x, num_groups, weight, bias, eps)
    grouped = x.reshape(x.shape[0], num_groups, -1)
    mean = grouped.mean(-1)
    rstd = ((grouped - mean[..., None]).square().mean(-1) + eps).rsqrt()
    return [out, *(v.reshape(1, 1, x.shape[0], num_groups) for v in (mean, rstd))]


def _group_norm_backward(
    gradient: Any, x: Any, mean: Any, rstd: Any, num_groups: int, gamma: Any
) -> list[Any]:
    _groups("output_grad_shape", x, num_groups)
    batch, channels = x.shape[:2]
    scale = rstd.reshape(batch, num_groups, 1)
    normal = (x.reshape(batch, num_groups, -1) - mean.reshape(batch, num_groups, 1)) * scale
    weight = 1 if gamma is None else gamma.reshape(1, channels, *([1] * (x.dim() - 2)))
    weighted = (gradient * weight).reshape(batch, num_groups, -1)
    dims = (0, *range(2, x.dim()))
    sums = ((gradient * normal.reshape(x.shape)).sum(dims), gradient.sum(dims))
    back = _normalised_gradient(weighted, normal, scale, (2,)).reshape(x.shape)
    return [back, *(v.reshape(1, 1, 1, channels) for v in sums)]


NORMS = declare(
    families.MOREH,
    row("layer_norm",
         "(input: Tensor, normalized_dims: int, eps: float = 1e-5, gamma: Tensor | None = None, beta: Tensor | None = None, *, "
         f"output: Tensor | None = None, mean: Tensor | None = None, rstd: Tensor | None = None, {TUNED})",
         _layer_norm, "A layer norm over the last dimensions; its means and reciprocal deviations where there is room.",
         integers=False, fitted=by_tiles, rooms=("output", "mean", "rstd"), on_request=1, any_room=True),
    row("layer_norm_backward",
         "(output_grad: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, normalized_dims: int, *, gamma: Tensor | None = None, "
         f"input_grad: Tensor | None = None, gamma_grad: Tensor | None = None, beta_grad: Tensor | None = None, {TUNED})",
         _layer_norm_backward, "The gradients of a layer norm's operands, those that have room.",
         integers=False, rooms=("input_grad", "gamma_grad", "beta_grad"), on_request=0),
    row("group_norm",
         "(input: Tensor, num_groups: int, eps: float = 1e-5, gamma: Tensor | None = None, beta: Tensor | None = None, *, "
         "are_required_outputs: Sequence[bool] = (True, False, False), output: Tensor | None = None, mean: Tensor | None = None, "
         f"rstd: Tensor | None = None, mean_memory_config: MemoryConfig | None = None, rstd_memory_config: MemoryConfig | None = None, {TUNED})",
         lambda x, groups, eps, gamma, beta, *tuning: _group_norm(x, groups, eps, gamma, beta),
         "A group norm; its means and reciprocal deviations where they are asked for.",
         integers=False, fitted=by_tiles, rooms=("output", "mean", "rstd"), on_request=1),
    row("group_norm_backward",
         "(output_grad: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, num_groups: int, *, "
         "are_required_outputs: Sequence[bool] = (True, False, False), gamma: Tensor | None = None, input_grad: Tensor | None = None, "
         "gamma_grad: Tensor | None = None, beta_grad: Tensor | None = None, input_grad_memory_config: MemoryConfig | None = None, "
         f"gamma_grad_memory_config: MemoryConfig | None = None, beta_grad_memory_config: MemoryConfig | None = None, {KERNELS})",
         lambda g, x, mean, rstd, groups, gamma, *tuning: _group_norm_backward(g, x, mean, rstd, groups, gamma),
         "The gradients of a group norm's operands, those that are asked for.",
         integers=False, fitted=by_tiles, rooms=("input_grad", "gamma_grad", "beta_grad"), on_request=0),
)  # fmt: skip
