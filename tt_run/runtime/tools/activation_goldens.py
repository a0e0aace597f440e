"""Golden functions of fused activations, by their names and types. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt_run.runtime.catalog import find
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.activations import MODES, name_of
from tt_run.runtime.ops.goldens import creation_goldens
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam

Golden = Callable[..., Any]
Fused = str | UnaryOpType | UnaryWithParam | tuple[UnaryOpType, float]

# Functions that are fused under another name than that of the operation which computes them.
_OPERATIONS = {
    "recip": "reciprocal",
    "power": "pow",
    "prelu_sfpu": "prelu",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}


_OVER: dict[object, Golden] = {
    UnaryOpType.TYPECAST: creation_goldens.of_type,
    UnaryOpType.BITCAST: creation_goldens.bitcast,
}
"""Steps of a chain into another type, the second of their parameters."""


def get_golden_function_for_activation(activation: Fused | None) -> Golden | None:
    """The function of torch tensors that a fused activation computes: `"gelu_approx"`, `UnaryOpType.RELU`, or one with parameters.

    None for None. Raises RuntimeError for an activation that is none.
    """
    if activation is None:
        return None
    kind: object = activation
    params: tuple[float, ...] = ()
    if isinstance(activation, UnaryWithParam):
        kind, params = activation.op_type, tuple(activation.params)
    elif isinstance(activation, tuple) and len(activation) == 2:
        kind, params = activation[0], tuple(activation[1:])
    if not isinstance(kind, (str, UnaryOpType)):
        raise RuntimeError(f"{activation} is not supported as activation function")
    if kind in _OVER:
        target = DataType(int(params[1]))
        return lambda x, **_: _OVER[kind](x, target)
    word = kind if isinstance(kind, str) else name_of(kind)
    if word == "gelu_tanh":
        return lambda x, **_: torch_cpu.torch_function("nn.functional.gelu")(x, approximate="tanh")
    operation = find(f"ttnn.{_operation_of(word)}")
    if operation is None or operation.golden is None:
        raise RuntimeError(f"Unsupported activation: {kind}")
    golden = operation.golden
    function: Golden = torch_cpu.torch_function(golden) if isinstance(golden, str) else golden
    if not params or word in MODES:
        return function
    return lambda x, **_: function(x, *params)


class FusedGoldens:
    """What golden functions of operations with fused activations take from here."""

    def after(self: Any, values: Any, activations: Sequence[Fused]) -> Any:
        """`activated`."""
        return activated(values, activations)


def _operation_of(word: str) -> str:
    """The operation that computes a function: `add` for `add_unary_sfpu`, `eq` for `unary_eq`."""
    if word in _OPERATIONS:
        return _OPERATIONS[word]
    return (
        word.removesuffix("_approx").removesuffix("_unary_sfpu").removesuffix("_tss").removeprefix("unary_")
    )


def activated(values: Any, activations: Sequence[Fused]) -> Any:
    """Values after activations in turn; truth values count as the numbers 1 and 0."""
    torch = torch_cpu.library()
    for activation in activations:
        function = get_golden_function_for_activation(activation)
        if function is not None:
            values = function(values.float() if values.dtype == torch.bool else values)
    return values
