"""Golden functions of fused activations, by their names and types. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_run.runtime.catalog import find
from tt_run.runtime.tools.golden import get_golden_function
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam


def get_golden_function_for_activation(
    activation: str | UnaryOpType | UnaryWithParam | None,
) -> Callable[..., Any] | None:
    """The function of torch tensors that a fused activation computes: `"gelu_approx"`, `UnaryOpType.RELU`, or one with parameters.

    None for None. Raises RuntimeError for an activation that is none.
    """
    if activation is None:
        return None
    kind = getattr(activation, "op_type", activation)
    if not isinstance(kind, (str, UnaryOpType)):
        raise RuntimeError(f"{activation} is not supported as activation function")
    word = kind if isinstance(kind, str) else kind.name.lower()
    operation = find(f"ttnn.{word.removesuffix('_approx')}")
    if operation is None:
        raise RuntimeError(f"Unsupported activation: {kind}")
    return get_golden_function(operation)
