"""The `moreh` family: sums, norms, products, losses and optimizer steps with their backward forms, as one client of the reference
brought them. Source: reference library 0.81.1.

PyTorch computes them, since their definitions are PyTorch functions. Results go into the tensors that a call makes room for; results
that a call may leave out are None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.kernels.torch_cpu import gradients, library, named, on_each
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.declaration.rows import Row, declare
from tt_run.runtime.ops.goldens import creation_goldens, step_goldens
from tt_run.runtime.tensor.creation import from_shape
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine_all

_TUNED = "memory_config: MemoryConfig | None = None, compute_kernel_config: object = None"
_OUT = f"output: Tensor | None = None, {_TUNED}"
_DIM = "dim: int | Sequence[int] | None = None"


def _row(name: str, signature: str, function: Callable[..., Any], doc: str, **more: Any) -> Row:
    """A row of the family, published below `ttnn.operations.moreh` too."""
    return Row(
        f"moreh_{name}", signature, function, doc, aliases=[f"operations.moreh.{_short(name)}"], **more
    )


def _short(name: str) -> str:
    return "abs" if name == "abs_pow" else name


def _dims(rank: int, dim: int | Sequence[int] | None) -> tuple[int, ...]:
    wanted = range(rank) if dim is None else ((dim,) if isinstance(dim, int) else dim)
    return tuple(sorted({d % rank for d in wanted}))


def _kept(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> list[int]:
    """The shape after a reduction: the last two dimensions stay as ones, since tiles have them."""
    left = list(shape)
    for d in reversed(dims):
        if keepdim or d >= len(left) - 2:
            left[d] = 1
        else:
            del left[d]
    return left


def _reduced(function: Callable[[Any, tuple[int, ...]], Any], x: Any, dim: Any, keepdim: bool) -> Any:
    dims = _dims(x.dim(), dim)
    return function(x, dims).reshape(_kept(x.shape, dims, keepdim))


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
    dims = _dims(len(shape), dim)
    whole = [1 if d in dims else size for d, size in enumerate(shape)]
    return gradient.reshape(whole).expand(*shape).contiguous()


def _sum_backward(gradient: Any, given: Any, dim: Any, keepdim: bool, room: Any = None) -> Any:
    like = given if given is not None else room
    return gradient.clone() if like is None else _spread(gradient, like.shape, dim)


def _mean_backward(gradient: Any, dim: Any, keepdim: bool, input_grad_shape: Any, room: Any = None) -> Any:
    shape = tuple(input_grad_shape) if input_grad_shape is not None else tuple((room if room is not None else gradient).shape)  # fmt: skip
    count = math.prod(shape[d] for d in _dims(len(shape), dim))
    return _spread(gradient, shape, dim) / count


def _norm_backward(x: Any, y: Any, gradient: Any, p: float, dim: Any = None, keepdim: bool = False) -> Any:
    dims = _dims(x.dim(), dim)
    whole = [1 if d in dims else size for d, size in enumerate(x.shape)]
    forward = gradients(lambda v: library().linalg.vector_norm(v, ord=p, dim=dims, keepdim=True))
    return forward(gradient.reshape(whole), x)[0]


def _layer_norm(x: Any, normalized_dims: int, eps: float, gamma: Any, beta: Any) -> list[Any]:
    shape = tuple(x.shape[-normalized_dims:])
    weight, bias = (None if v is None else v.reshape(shape) for v in (gamma, beta))
    out = named("nn.functional.layer_norm")(x, shape, weight, bias, eps)
    dims = tuple(range(x.dim() - normalized_dims, x.dim()))
    mean = x.mean(dims, keepdim=True)
    rstd = ((x - mean).square().mean(dims, keepdim=True) + eps).rsqrt()
    left = _kept(x.shape, dims, False) if normalized_dims == x.dim() else list(x.shape[:-normalized_dims])
    return [out, mean.reshape(left), rstd.reshape(left)]


def _normalised_gradient(gradient: Any, normal: Any, rstd: Any, dims: tuple[int, ...]) -> Any:
    """The gradient of what was normalised over some dimensions."""
    mean = gradient.mean(dims, keepdim=True)
    return rstd * (gradient - mean - normal * (gradient * normal).mean(dims, keepdim=True))


def _layer_norm_backward(gradient: Any, x: Any, mean: Any, rstd: Any, normalized_dims: int, gamma: Any) -> list[Any]:  # fmt: skip
    shape = tuple(x.shape[-normalized_dims:])
    spread = (*x.shape[:-normalized_dims], *([1] * normalized_dims))
    scale = rstd.reshape(spread)
    normal = (x - mean.reshape(spread)) * scale
    weighted = gradient if gamma is None else gradient * gamma.reshape(shape)
    dims = tuple(range(x.dim() - normalized_dims, x.dim()))
    outer = tuple(range(x.dim() - normalized_dims))
    sums = [v.sum(outer) if outer else v for v in (gradient * normal, gradient)]
    return [_normalised_gradient(weighted, normal, scale, dims), *(v.reshape(shape) for v in sums)]


def _groups(shape: str, x: Any, num_groups: int) -> None:
    """Raises RuntimeError unless the channels fall into so many groups."""
    if num_groups < 1:
        raise fatal("num_groups must be greater than 0.", "num_groups > 0")
    if x.shape[1] % num_groups:
        raise fatal(f"{shape}[1] must be divisible by num_groups.", "C % num_groups == 0")


def _fold(x: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    for name, value in (("output_size", size), ("kernel_size", kernel)):
        if len(value) != 2:
            raise fatal(f"Fold: {name} takes 2 elements")
    for name, value in (("stride", stride), ("kernel_size", kernel)):
        if min(value, default=1) < 1:
            raise fatal(f"Fold: {name} must be greater than 0")
    return named("nn.functional.fold")(
        x, tuple(size), tuple(kernel), tuple(dilation), tuple(padding), tuple(stride)
    )


def _group_norm(x: Any, num_groups: int, eps: float, gamma: Any, beta: Any) -> list[Any]:
    _groups("input_shape", x, num_groups)
    weight, bias = (None if v is None else v.reshape(-1) for v in (gamma, beta))
    out = named("nn.functional.group_norm")(x, num_groups, weight, bias, eps)
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


def _softmax_backward(y: Any, gradient: Any, dim: int) -> Any:
    return y * (gradient - (gradient * y).sum(dim, keepdim=True))


def _log_softmax_backward(y: Any, gradient: Any, dim: int) -> Any:
    return gradient - y.exp() * gradient.sum(dim, keepdim=True)


def _matmul(a: Any, b: Any, transpose_input: bool = False, transpose_other: bool = False, bias: Any = None) -> Any:  # fmt: skip
    left = a.transpose(-1, -2) if transpose_input else a
    out = left @ (b.transpose(-1, -2) if transpose_other else b)
    return out if bias is None else out + bias


def _linear_backward(gradient: Any, x: Any, weight: Any, bias: Any = None) -> list[Any]:
    found = gradients("matmul", 2)(gradient, x, weight.transpose(-1, -2))
    sums = gradient.reshape(-1, gradient.shape[-1]).sum(0)
    shape = (1, 1, 1, sums.numel()) if bias is None else bias.shape
    total = sums if bias is None or bias.numel() == sums.numel() else sums.sum()
    return [found[0], found[1].transpose(-1, -2).contiguous(), total.reshape(shape)]


def _nll(x: Any, target: Any, reduction: str, weight: Any, divisor: Any = None, ignore_index: int = -100) -> Any:  # fmt: skip
    loss = named("nn.functional.nll_loss")
    weights = None if weight is None else weight.reshape(-1)
    found = loss(x, target.long(), weight=weights, reduction=reduction, ignore_index=ignore_index)
    return found if reduction == "none" else found.reshape(1)


def _nll_backward(
    target: Any, gradient: Any, reduction_mean: bool, weight: Any, room: Any, divisor: Any, ignore_index: int
) -> Any:
    torch = library()
    batch, classes = room.shape[:2]
    flat = target.long().reshape(batch, -1)
    spread = gradient.reshape(-1).expand(flat.numel()).reshape(flat.shape)
    valid, known = flat != ignore_index, flat.clamp(0, classes - 1)
    weights = torch.ones(classes, dtype=room.dtype) if weight is None else weight.reshape(-1)
    parts = -spread * weights[known] * valid
    out = torch.zeros(batch, classes, flat.shape[1], dtype=room.dtype).scatter_(
        1, known[:, None], parts[:, None]
    )
    if reduction_mean:
        out = out / (divisor.reshape(-1)[0] if divisor is not None else (weights[known] * valid).sum())
    return out.reshape(room.shape)


def _picked(x: Any, index_tensors: Sequence[Any], index_dims: Sequence[int]) -> Any:
    torch = library()
    lists = [i.reshape(-1).long() for i in index_tensors]
    lists = [torch.where(i < 0, i + x.shape[d], i) for i, d in zip(lists, index_dims, strict=True)]
    if len(index_dims) == 1:
        return x.index_select(index_dims[0], lists[0])
    places: list[Any] = [slice(None)] * x.dim()
    for d, i in zip(index_dims, lists, strict=True):
        places[d] = i
    return x[tuple(places)]


def _adam(
    p: Any, g: Any, m: Any, v: Any, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, step: int,
    amsgrad: bool, largest: Any = None, *, decoupled: bool = False,
) -> list[Any]:  # fmt: skip
    torch = library()
    if weight_decay:
        p, g = (p * (1 - lr * weight_decay), g) if decoupled else (p, g + weight_decay * p)
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    top = v if not amsgrad or largest is None else torch.maximum(largest, v)
    p = p - lr * (m / (1 - beta1**step)) / ((top / (1 - beta2**step)).sqrt() + eps)
    return [p, m, v, top]


def _adamw(*values: Any) -> list[Any]:
    return _adam(*values, decoupled=True)


_SOFT = "input_tensor: Tensor, dim: int, *, output_tensor: Tensor | None = None, op: object = None, strategy: object = None"
_BACK = "output_tensor: Tensor, output_grad_tensor: Tensor, dim: int, *, input_grad_tensor: Tensor | None = None, op: object = None, strategy: object = None"  # fmt: skip
_MOMENTS = "max_exp_avg_sq_in: Tensor | None = None, param_out: Tensor | None = None, exp_avg_out: Tensor | None = None, exp_avg_sq_out: Tensor | None = None, max_exp_avg_sq_out: Tensor | None = None"  # fmt: skip
_RATES = "lr: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, weight_decay: float = {decay}, step: int = 0, amsgrad: bool = False"  # fmt: skip
_PARAMETERS = "param_in: Tensor, grad: Tensor, exp_avg_in: Tensor, exp_avg_sq_in: Tensor"
_STEPPED = ("param_out", "exp_avg_out", "exp_avg_sq_out", "max_exp_avg_sq_out")

REDUCTIONS = declare(
    families.MOREH,
    _row("sum", f"(input: Tensor, {_DIM}, *, keepdim: bool = False, {_OUT})", _sum, "Sums over dimensions; the last two stay as ones."),
    _row("mean", f"(input: Tensor, *, {_DIM}, keepdim: bool = False, divisor: int | None = None, {_OUT})", _mean,
         "Means over dimensions, or sums divided by a divisor; the last two dimensions stay as ones.", integers=False),
    _row("norm", f"(input: Tensor, p: float, *, {_DIM}, keepdim: bool = False, {_OUT})", _norm,
         "Norms of order p over dimensions; the last two stay as ones.", integers=False),
    _row("sum_backward", f"(output_grad: Tensor, *, input: Tensor | None = None, {_DIM}, keepdim: bool = False, input_grad: Tensor | None = None, {_TUNED})",
         _sum_backward, "The gradient of a sum, repeated over its input.", rooms=("input_grad",), seen=("input_grad",)),
    _row("mean_backward",
         f"(output_grad: Tensor, *, {_DIM}, keepdim: bool = False, input_grad_shape: Sequence[int] | None = None, input_grad: Tensor | None = None, {_TUNED})",
         _mean_backward, "The gradient of a mean, shared over its input.", integers=False, rooms=("input_grad",), seen=("input_grad",)),
    _row("norm_backward",
         f"(input: Tensor, output: Tensor, output_grad: Tensor, p: float, *, {_DIM}, keepdim: bool = False, input_grad: Tensor | None = None, {_TUNED})",
         _norm_backward, "The gradient of a norm.", integers=False, rooms=("input_grad",), seen=("output",)),
    _row("cumsum", f"(input: Tensor, dim: int, *, {_OUT})", lambda x, dim: x.cumsum(dim), "Running sums along a dimension."),
    _row("cumsum_backward", f"(output_grad: Tensor, dim: int, *, input_grad: Tensor | None = None, {_TUNED})",
         lambda g, dim: g.flip(dim).cumsum(dim).flip(dim), "The gradient of running sums: running sums from the end.", rooms=("input_grad",)),
    _row("abs_pow", f"(input: Tensor, p: float, *, {_OUT})", lambda x, p: x.abs() ** p, "Absolute values to a power.", integers=False),
)  # fmt: skip

SOFTMAX = declare(
    families.MOREH,
    _row("softmax", f"({_SOFT}, {_TUNED})", lambda x, dim, op, strategy: x.softmax(dim), "Softmax along a dimension.", integers=False),
    _row("logsoftmax", f"({_SOFT}, {_TUNED})", lambda x, dim, op, strategy: x.log_softmax(dim), "The logarithm of softmax.", integers=False),
    _row("softmin", f"({_SOFT}, {_TUNED})", lambda x, dim, op, strategy: (-x).softmax(dim), "Softmax of the negative.", integers=False),
    *(_row(f"{name}_backward", f"({_BACK}, {_TUNED})", lambda y, g, dim, op, strategy, function=function: function(y, g, dim),
           f"The gradient of {name}, from its result.", integers=False, rooms=("input_grad_tensor",), seen=("output_tensor",))
      for name, function in (("softmax", _softmax_backward), ("logsoftmax", _log_softmax_backward),
                             ("softmin", lambda y, g, dim: -_softmax_backward(y, g, dim)))),
)  # fmt: skip

PRODUCTS = declare(
    families.MOREH,
    _row("matmul",
         f"(input: Tensor, other: Tensor, *, transpose_input: bool = False, transpose_other: bool = False, output: Tensor | None = None, bias: Tensor | None = None, {_TUNED})",
         _matmul, "A product of matrices, either turned, with a bias.", integers=False),
    _row("bmm", f"(input: Tensor, mat2: Tensor, *, {_OUT})", lambda a, b: a @ b, "Products of batches of matrices.", integers=False),
    _row("linear", f"(input: Tensor, weight: Tensor, *, bias: Tensor | None = None, {_OUT})",
         lambda x, w, bias=None: _matmul(x, w, transpose_other=True, bias=bias), "input @ weight transposed + bias.", integers=False),
    _row("dot", f"(input_tensor_a: Tensor, input_tensor_b: Tensor, *, output: Tensor | None = None, dtype: DataType | None = None, {_TUNED})",
         lambda a, b: (a.reshape(-1) @ b.reshape(-1)).reshape(1, 1, 1, 1), "The product of two vectors.", integers=False),
    _row("matmul_backward",
         "(output_grad: Tensor, input_a: Tensor, input_b: Tensor, *, are_required_outputs: Sequence[bool] = (True, True), "
         f"input_a_grad: Tensor | None = None, input_b_grad: Tensor | None = None, {_TUNED})",
         gradients("matmul", 2), "The gradients of a product's operands.", integers=False),
    _row("bmm_backward",
         "(output_grad: Tensor, input: Tensor, mat2: Tensor, *, are_required_outputs: Sequence[bool] = (True, True), input_grad: Tensor | None = None, "
         f"mat2_grad: Tensor | None = None, input_grad_memory_config: object = None, mat2_grad_memory_config: object = None, {_TUNED})",
         lambda g, a, b, *tuning: gradients("matmul", 2)(g, a, b), "The gradients of the operands of batches of products.",
         integers=False, rooms=("input_grad", "mat2_grad")),
    _row("linear_backward",
         "(output_grad: Tensor, input: Tensor, weight: Tensor, *, are_required_outputs: Sequence[bool] = (True, True, True), bias: Tensor | None = None, "
         "input_grad: Tensor | None = None, weight_grad: Tensor | None = None, bias_grad: Tensor | None = None, "
         f"input_grad_memory_config: object = None, weight_grad_memory_config: object = None, bias_grad_memory_config: object = None, {_TUNED})",
         lambda g, x, w, bias=None, *tuning: _linear_backward(g, x, w, bias), "The gradients of a linear layer's operands.",
         integers=False, rooms=("input_grad", "weight_grad", "bias_grad"), on_request=0),
    _row("dot_backward",
         f"(output_grad: Tensor, input: Tensor, other: Tensor, *, input_grad: Tensor | None = None, other_grad: Tensor | None = None, {_TUNED})",
         lambda g, a, b: [g * b, g * a], "The gradients of a product of vectors, those that have room.",
         integers=False, rooms=("input_grad", "other_grad"), on_request=0),
)  # fmt: skip

NORMS = declare(
    families.MOREH,
    _row("layer_norm",
         "(input: Tensor, normalized_dims: int, eps: float = 1e-5, gamma: Tensor | None = None, beta: Tensor | None = None, *, "
         f"output: Tensor | None = None, mean: Tensor | None = None, rstd: Tensor | None = None, {_TUNED})",
         _layer_norm, "A layer norm over the last dimensions; its means and reciprocal deviations where there is room.",
         integers=False, rooms=("output", "mean", "rstd"), on_request=1),
    _row("layer_norm_backward",
         "(output_grad: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, normalized_dims: int, *, gamma: Tensor | None = None, "
         f"input_grad: Tensor | None = None, gamma_grad: Tensor | None = None, beta_grad: Tensor | None = None, {_TUNED})",
         _layer_norm_backward, "The gradients of a layer norm's operands, those that have room.",
         integers=False, rooms=("input_grad", "gamma_grad", "beta_grad"), on_request=0),
    _row("group_norm",
         "(input: Tensor, num_groups: int, eps: float = 1e-5, gamma: Tensor | None = None, beta: Tensor | None = None, *, "
         "are_required_outputs: Sequence[bool] = (True, False, False), output: Tensor | None = None, mean: Tensor | None = None, "
         f"rstd: Tensor | None = None, mean_memory_config: object = None, rstd_memory_config: object = None, {_TUNED})",
         lambda x, groups, eps, gamma, beta, *tuning: _group_norm(x, groups, eps, gamma, beta),
         "A group norm; its means and reciprocal deviations where they are asked for.",
         integers=False, rooms=("output", "mean", "rstd"), on_request=1),
    _row("group_norm_backward",
         "(output_grad: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, num_groups: int, *, "
         "are_required_outputs: Sequence[bool] = (True, False, False), gamma: Tensor | None = None, input_grad: Tensor | None = None, "
         "gamma_grad: Tensor | None = None, beta_grad: Tensor | None = None, input_grad_memory_config: object = None, "
         f"gamma_grad_memory_config: object = None, beta_grad_memory_config: object = None, {_TUNED})",
         lambda g, x, mean, rstd, groups, gamma, *tuning: _group_norm_backward(g, x, mean, rstd, groups, gamma),
         "The gradients of a group norm's operands, those that are asked for.",
         integers=False, rooms=("input_grad", "gamma_grad", "beta_grad"), on_request=0),
)  # fmt: skip

LOSSES = declare(
    families.MOREH,
    _row("nll_loss",
         "(input_tensor: Tensor, target_tensor: Tensor, reduction: str, *, weight_tensor: Tensor | None = None, divisor_tensor: Tensor | None = None, "
         f"output_tensor: Tensor | None = None, ignore_index: int = -100, {_TUNED})",
         _nll, "The negative log-likelihood of targets: each, or their sum or mean."),
    _row("nll_loss_backward",
         "(target_tensor: Tensor, output_grad_tensor: Tensor, reduction_mean: bool, *, weight_tensor: Tensor | None = None, "
         f"input_grad_tensor: Tensor, divisor_tensor: Tensor | None = None, ignore_index: int = -100, {_TUNED})",
         _nll_backward, "The gradient of a negative log-likelihood, written into input_grad_tensor.",
         like=1, rooms=("input_grad_tensor",), seen=("input_grad_tensor",)),
    _row("nll_loss_unreduced_backward",
         "(target_tensor: Tensor, output_grad_tensor: Tensor, *, weight_tensor: Tensor | None = None, input_grad_tensor: Tensor, "
         f"ignore_index: int = -100, {_TUNED})",
         lambda t, g, weight, room, ignore: _nll_backward(t, g, False, weight, room, None, ignore),
         "The gradient of each negative log-likelihood, written into input_grad_tensor.",
         like=1, rooms=("input_grad_tensor",), seen=("input_grad_tensor",)),
)  # fmt: skip

STEPS = declare(
    families.MOREH,
    _row("adam", f"({_PARAMETERS}, *, {_RATES.format(decay='0.0')}, {_MOMENTS}, {_TUNED})", _adam,
         "A step of Adam: parameter, first and second moments, and with amsgrad the largest second moments.",
         integers=False, rooms=_STEPPED, on_request=3, asked_by="amsgrad"),
    _row("adamw", f"({_PARAMETERS}, {_RATES.format(decay='0.01')}, *, {_MOMENTS}, {_TUNED})", _adamw,
         "A step of AdamW: as Adam, with the decay applied to the parameter itself.",
         integers=False, rooms=_STEPPED, on_request=3, asked_by="amsgrad"),
)  # fmt: skip

MOVEMENT = declare(
    families.MOREH,
    _row("getitem", f"(input: Tensor, index_tensors: Sequence[Tensor], index_dims: Sequence[int], *, output: Tensor | None = None, {_TUNED})",
         _picked, "The elements at lists of indices along dimensions; negative ones count from the end."),
    _row("fold",
         "(input: Tensor, output: Tensor | None = None, output_size: Sequence[int] = (), kernel_size: Sequence[int] = (), "
         f"dilation: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), stride: Sequence[int] = (1, 1), {_TUNED})",
         _fold, "Columns of patches put together to images, overlaps summed.", integers=False, layout=Layout.ROW_MAJOR),
)  # fmt: skip


@operation("ttnn.moreh_full", family=families.CREATION, golden=creation_goldens.full)
def moreh_full(
    shape: Sequence[int],
    fill_value: float,
    device: MeshDevice,
    *,
    dtype: DataType = DataType.BFLOAT16,
    layout: Layout = Layout.TILE,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A tensor with one value everywhere."""
    return from_shape.full(shape, fill_value, dtype, layout, device, memory_config)


@operation("ttnn.moreh_full_like", family=families.CREATION, golden=creation_goldens.full_like)
def moreh_full_like(
    input: Tensor,
    fill_value: float,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """One value in the shape of a tensor."""
    return from_shape.full_like(input, fill_value, dtype, layout, None, memory_config)


@operation(
    "ttnn.moreh_arange",
    family=families.CREATION,
    golden=creation_goldens.moreh_arange,
    aliases=["ttnn.operations.moreh.arange"],
)
def moreh_arange(
    start: float = 0,
    end: float = 0,
    step: float = 1,
    device: MeshDevice | None = None,
    *,
    output: Tensor | None = None,
    untilize_out: bool = False,
    dtype: DataType = DataType.BFLOAT16,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Numbers from start to end, in tiles unless untilize_out says otherwise."""
    layout = Layout.ROW_MAJOR if untilize_out else Layout.TILE
    where = device if device is not None or output is None else output.device()
    made: Tensor = from_shape.arange(
        int(start), int(end), int(step), dtype=dtype, device=where, layout=layout
    )
    if output is None:
        return made
    output.overwrite(made.shards)
    return output


@operation(
    "ttnn.moreh_clip_grad_norm",
    family=families.MOREH,
    aliases=["ttnn.operations.moreh.clip_grad_norm"],
    golden=step_goldens.clip_grad_norm,
)
def moreh_clip_grad_norm(
    inputs: Sequence[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    *,
    total_norm: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """Gradients scaled in place so that their joint norm is at most max_norm; returns that norm from before, (1, 1).

    Raises RuntimeError for a norm that is not finite, where that is asked for.
    """
    on_device(*inputs, kind="clip_grad_norm")

    def clip(*parts: Any) -> list[Any]:
        return step_goldens.clipped(parts, max_norm, norm_type, error_if_nonfinite)

    found, *scaled = combine_all(lambda *stacks: on_each(clip, stacks), *(t.shards for t in inputs))
    dtype = inputs[0].dtype
    norm = settle(inputs, Shards(finish(found.data, dtype), found.index), dtype, memory_config=memory_config)
    for tensor, values in zip(inputs, scaled, strict=True):
        tensor.overwrite(Shards(finish(values.data, tensor.dtype), values.index))
    if total_norm is None:
        return norm
    total_norm.overwrite(norm.shards)
    return total_norm


@operation(
    "ttnn.moreh_sgd",
    family=families.MOREH,
    aliases=["ttnn.operations.moreh.sgd"],
    golden=step_goldens.sgd,
)
def moreh_sgd(
    param_in: Tensor,
    grad: Tensor,
    momentum_buffer_in: Tensor | None = None,
    param_out: Tensor | None = None,
    momentum_buffer_out: Tensor | None = None,
    lr: float = 0.001,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    *,
    momentum_initialized: bool,
    param_out_memory_config: MemoryConfig | None = None,
    momentum_buffer_out_memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> list[Tensor | None]:
    """A step of stochastic gradient descent: the parameter, and its momentum unless that is zero."""
    held = momentum_buffer_in if momentum_initialized else None
    given = [tensor for tensor in (param_in, grad, held) if tensor is not None]
    on_device(*given, kind="sgd")

    def step(p: Any, g: Any, kept: Any = None) -> list[Any]:
        return step_goldens.descended(p, g, kept, lr, momentum, dampening, weight_decay, nesterov)

    rooms = (
        (param_out, param_out_memory_config),
        (momentum_buffer_out, momentum_buffer_out_memory_config),
    )
    found = combine_all(lambda *stacks: on_each(step, stacks), *(t.shards for t in given))
    dtype = param_in.dtype
    made: list[Tensor | None] = [
        settle(given, Shards(finish(s.data, dtype), s.index), dtype, memory_config=place, output_tensor=room)
        for s, (room, place) in zip(found, rooms, strict=False)
    ]
    return [*made, None][:2]
