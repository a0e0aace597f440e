"""Activations that the program of a product computes. Source: refusals and defaults of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from tt_run.runtime.errors import fatal, throw
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels.activations import FUNCTIONS, Activation, Applied, Function, name_of
from tt_run.runtime.tuning.activation import UnaryWithParam
from tt_run.runtime.tuning.activation_words import string_to_unary_with_param

_LIMITED: dict[str, tuple[Callable[..., npt.NDArray[Any]], tuple[float, ...]]] = {
    "hardtanh": (f.hardtanh, (-1.0, 1.0)),
    "relu6": (f.relu_max, (6.0,)),
    "selu": (f.selu, (f.SELU_SCALE, f.SELU_ALPHA)),
    "softplus": (f.softplus, (1.0, 20.0)),
}
"""Those with parameters, and what stands for a parameter that is left out."""

_PLAIN = ("gelu", "gelu_tanh", "hardsigmoid", "relu", "sigmoid", "silu", "tanh")
"""Those without; parameters choose how they are computed."""


def in_program(given: Activation) -> Function:
    """The function of an activation that a program computes, which knows fewer of them than the unary operations do.

    Raises RuntimeError for others, a softplus with a beta of 0, and a sigmoid over no part of a tile.
    """
    fused = string_to_unary_with_param(given) if isinstance(given, str) else UnaryWithParam.of(given)
    assert isinstance(fused, UnaryWithParam)
    name, params = name_of(fused.op_type), tuple(fused.params)
    if name in _LIMITED:
        function, defaults = _LIMITED[name]
        if name == "softplus" and params[:1] == (0.0,):
            raise fatal(
                "SOFTPLUS activation beta parameter cannot be zero",
                hint="ttnn.UnaryWithParam(ttnn.UnaryOpType.SOFTPLUS, 1.0, 20.0)",
            )
        return Applied(function, (*params, *defaults[len(params) :])[: len(defaults)])
    if name not in _PLAIN:
        raise throw(
            f"Unsupported UnaryOpType for fused activation: UnaryOpType::{fused.op_type.name}",
            hint=f"one of {', '.join(sorted((*_LIMITED, *_PLAIN)))}, or the activation as an operation after the product",
        )
    if name == "sigmoid" and params and not 0 <= int(params[0]) <= 4:
        raise fatal(
            f"Invalid Vector mode value: {int(params[0]) % (1 << 32)}",
            hint="ttnn.UnaryWithParam(ttnn.UnaryOpType.SIGMOID) without parameters",
        )
    return FUNCTIONS[name]
