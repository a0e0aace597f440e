"""The negative log-likelihood and its gradient. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.kernels.torch_cpu import library, named
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import declare
from tt_run.runtime.ops.moreh.declaring import TUNED, row


def _nll(x: Any, target: Any, reduction: str, weight: Any, divisor: Any = None, ignore_index: int = -100) -> Any:  # fmt: skip
    loss = named("nn.functional.nll_loss")
    weights = None if weight is None else weight.reshape(-1)
    found = loss(x, target.long(), weight=weights, reduction=reduction, ignore_index=ignore_index)
    return found if reduction == "none" else found.reshape(1, 1)


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


LOSSES = declare(
    families.MOREH,
    row("nll_loss",
         "(input_tensor: Tensor, target_tensor: Tensor, reduction: str, *, weight_tensor: Tensor | None = None, divisor_tensor: Tensor | None = None, "
         f"output_tensor: Tensor | None = None, ignore_index: int = -100, {TUNED})",
         _nll, "The negative log-likelihood of targets: each, or their sum or mean."),
    row("nll_loss_backward",
         "(target_tensor: Tensor, output_grad_tensor: Tensor, reduction_mean: bool, *, weight_tensor: Tensor | None = None, "
         f"input_grad_tensor: Tensor, divisor_tensor: Tensor | None = None, ignore_index: int = -100, {TUNED})",
         _nll_backward, "The gradient of a negative log-likelihood, written into input_grad_tensor.",
         like=1, rooms=("input_grad_tensor",), seen=("input_grad_tensor",)),
    row("nll_loss_unreduced_backward",
         "(target_tensor: Tensor, output_grad_tensor: Tensor, *, weight_tensor: Tensor | None = None, input_grad_tensor: Tensor, "
         f"ignore_index: int = -100, {TUNED})",
         lambda t, g, weight, room, ignore: _nll_backward(t, g, False, weight, room, None, ignore),
         "The gradient of each negative log-likelihood, written into input_grad_tensor.",
         like=1, rooms=("input_grad_tensor",), seen=("input_grad_tensor",)),
)  # fmt: skip
