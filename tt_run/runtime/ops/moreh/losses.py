"""The negative log-likelihood and its gradient. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.kernels.torch_cpu import library, torch_function
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import declare
from tt_run.runtime.ops.moreh.declaring import TUNED, by_tiles, row
from tt_run.runtime.tensor.tensor import Tensor


def _nll(
    x: Any, target: Any, reduction: str, weight: Any = None, room: Any = None, ignore_index: int = -100
) -> list[Any]:
    """The loss, and of a mean what it is divided by: the weights of the targets that count.

    One loss is [1, 1], or of whichever shape the one element has that it is written into.
    """
    loss = torch_function("nn.functional.nll_loss")
    weights = None if weight is None else weight.reshape(-1)
    found = loss(x, target.long(), weight=weights, reduction=reduction, ignore_index=ignore_index)
    if reduction == "none":
        return [found.reshape(1, -1) if x.dim() == 2 and room is None else found]
    one = tuple(room.shape) if room is not None and room.numel() == 1 else (1, 1)
    if reduction != "mean":
        return [found.reshape(one)]
    counted = target.long()[target != ignore_index]
    divisor = library().tensor(float(counted.numel())) if weights is None else weights[counted].sum()
    return [found.reshape(one), divisor.reshape(1).to(found.dtype)]


def _check_rooms(name: str, _: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for a sum that is to go into rows, and for a mean without a tensor for its divisor."""
    room = arguments["output_tensor"]
    if arguments["reduction"] != "none" and room is not None and room.layout is not Layout.TILE:
        raise fatal("moreh_sum output only supports TILE layout.", hint=in_tiles("output_tensor"))
    if arguments["reduction"] == "mean" and arguments["divisor_tensor"] is None:
        raise fatal(
            "Divisor tensor must not be empty",
            "divisor_tensor.has_value()",
            hint="divisor_tensor=ttnn.zeros([1, 1], …) is filled with the divisor; reduction='sum' needs none",
        )


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
         _nll, "The negative log-likelihood of targets: each, their sum, or their mean, which leaves what it divided by in divisor_tensor.",
        rooms=("output_tensor", "divisor_tensor"), seen=("output_tensor",), first_only=True, fitted=by_tiles, check=_check_rooms),
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
