"""Steps of optimizers: Adam, AdamW, stochastic gradient descent, and gradients clipped to a norm. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal, in_tiles, throw
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.kernels.torch_cpu import library, on_each
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import in_places_of, on_device, settle
from tt_run.runtime.ops.declaration.rows import declare
from tt_run.runtime.ops.goldens import step_goldens
from tt_run.runtime.ops.moreh.declaring import TUNED, by_tiles, row
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine_all


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


_MOMENTS = "max_exp_avg_sq_in: Tensor | None = None, param_out: Tensor | None = None, exp_avg_out: Tensor | None = None, exp_avg_sq_out: Tensor | None = None, max_exp_avg_sq_out: Tensor | None = None"  # fmt: skip


_RATES = "lr: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, weight_decay: float = {decay}, step: int = 0, amsgrad: bool = False"  # fmt: skip


_PARAMETERS = "param_in: Tensor, grad: Tensor, exp_avg_in: Tensor, exp_avg_sq_in: Tensor"


_STEPPED = ("param_out", "exp_avg_out", "exp_avg_sq_out", "max_exp_avg_sq_out")


STEPS = declare(
    families.MOREH,
    row("adam", f"({_PARAMETERS}, *, {_RATES.format(decay='0.0')}, {_MOMENTS}, {TUNED})", _adam,
         "A step of Adam: parameter, first and second moments, and with amsgrad the largest second moments.",
         integers=False, fitted=by_tiles, rooms=_STEPPED, on_request=3, asked_by="amsgrad"),
    row("adamw", f"({_PARAMETERS}, {_RATES.format(decay='0.01')}, *, {_MOMENTS}, {TUNED})", _adamw,
         "A step of AdamW: as Adam, with the decay applied to the parameter itself.",
         integers=False, fitted=by_tiles, rooms=_STEPPED, on_request=3, asked_by="amsgrad"),
)  # fmt: skip


def _check_gradient(tensor: Tensor) -> None:
    """Raises RuntimeError for rows, and for fewer dimensions than the four that the norm's kernel looks at."""
    rank = len(tensor.shape)
    if tensor.layout is not Layout.TILE:
        raise fatal(
            "moreh_clip_grad_norm_step1 input only supports TILE layout.",
            "tensor.layout() == layout",
            hint=in_tiles("inputs"),
        )
    if rank < 4:
        raise throw(
            f"ShapeBase[] index out of range. {max(rank, 2)} not in [-4, {rank})",
            hint="ttnn.unsqueeze_to_4D(tensor)",
        )


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
    for tensor in inputs:
        _check_gradient(tensor)

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
        settle(
            given,
            in_places_of(room, Shards(finish(s.data, dtype), s.index)),
            dtype,
            memory_config=place,
            output_tensor=room,
        )
        for s, (room, place) in zip(found, rooms, strict=False)
    ]
    return [*made, None][:2]
