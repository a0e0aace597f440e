"""Shapes that backward operations take beside the gradient. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor

_COPIES = frozenset({"add_bw", "assign_bw", "sub_bw"})
"""They copy the gradient for each operand, whose shape is therefore the gradient's."""

_OF_A_COPY = "Input tensor shape {gradient} does not match output tensor shape {operand}"
_OF_THE_SECOND = {
    "add_bw": "Shape of Output tensor {operand} provided does not match the broadcasted output shape {gradient}",
    "sub_bw": "Unary: Preallocated output shape must match computed shape. Computed: {gradient}, Preallocated: {operand}",
}

_ONE_SHAPE = frozenset({"gelu_bw", "tanh_bw"})


def check(name: str, tensors: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for operands whose shapes do not go with the gradient's, the first of the tensors."""
    gradient, *operands = tensors
    for place, operand in enumerate(operands):
        if name in _COPIES and operand.shape != gradient.shape:
            text = _OF_A_COPY if place == 0 else _OF_THE_SECOND.get(name, _OF_A_COPY)
            raise fatal(
                text.format(gradient=gradient.shape, operand=operand.shape),
                hint=f"{name} gives the gradient as it is: give an operand of its shape",
            )
        if name in _ONE_SHAPE and operand.shape != gradient.shape:
            raise fatal(
                f"{name.upper()} operation requires grad_output and input to have the same logical shape, but got "
                f"{gradient.shape} and {operand.shape}.",
                hint=f"ttnn.reshape or ttnn.repeat grad to {list(operand.shape)}",
            )
        if name == "mul_bw":
            _broadcasts(operand, gradient)


def _broadcasts(operand: Tensor, gradient: Tensor) -> None:
    rank = len(gradient.shape)
    for back, length in enumerate(reversed(tuple(operand.shape)), 1):
        room = gradient.shape[-back] if back <= rank else 1
        if length not in (1, room):
            raise fatal(
                f"binary_backward: operand shape {operand.shape} not broadcastable to grad shape {gradient.shape} at axis "
                f"{rank - back} (operand_dim={length}, grad_dim={room}); expected operand_dim == 1 or == grad_dim.",
                hint=f"ttnn.reshape or ttnn.slice so that axis {rank - back} is 1 or {room}",
            )
