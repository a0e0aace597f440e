"""A training step's pieces as functions of torch tensors. Source: the golden functions of the reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library


def descended(
    p: Any,
    g: Any,
    held: Any,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
) -> list[Any]:
    """The parameter after a step of gradient descent, and its momentum unless that is zero; `held` None starts one."""
    g = g + weight_decay * p if weight_decay else g
    if not momentum:
        return [p - lr * g]
    kept = g.clone() if held is None else momentum * held + (1 - dampening) * g
    return [p - lr * (g + momentum * kept if nesterov else kept), kept]


def sgd(
    param_in: Any,
    grad: Any,
    momentum_buffer_in: Any = None,
    param_out: Any = None,
    momentum_buffer_out: Any = None,
    lr: float = 0.001,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    *,
    momentum_initialized: bool = False,
    **_: Any,
) -> list[Any]:
    """`moreh_sgd`: the parameter and its momentum, None without one; the tensors given for results stay as they are."""
    held = momentum_buffer_in if momentum_initialized else None
    made = descended(param_in, grad, held, lr, momentum, dampening, weight_decay, nesterov)
    return [*made, None][:2]


def clipped(parts: Sequence[Any], max_norm: float, norm_type: float, error_if_nonfinite: bool) -> list[Any]:
    """The joint norm of gradients, (1, 1), then each gradient scaled so that the norm is at most `max_norm`."""
    torch = library()
    measure = torch.linalg.vector_norm
    total = measure(torch.stack([measure(g, ord=norm_type) for g in parts]), ord=norm_type)
    if error_if_nonfinite and not bool(torch.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients is non-finite, so it cannot be clipped."
        )
    factor = torch.clamp(max_norm / (total + 1e-6), max=1.0)
    return [total.reshape(1, 1), *(g * factor for g in parts)]


def clip_grad_norm(
    inputs: Sequence[Any], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, **_: Any
) -> Any:
    """`moreh_clip_grad_norm`: the joint norm from before, (1, 1); the gradients stay as they are."""
    return clipped(inputs, max_norm, norm_type, error_if_nonfinite)[0]
