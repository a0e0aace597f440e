"""Activations by their names: what `string_to_unary_with_param` makes of the word of a model's configuration. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.errors import incompatible, throw
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam

_SIGNATURE = "string_to_unary_with_param(arg: str, /) -> ttnn._ttnn.activation.UnaryWithParam"
_PLAIN = [
    "abs",
    "abs_int32",
    "alt_complex_rotate90",
    "cos",
    "cosh",
    "gelu_tanh",
    "hardsigmoid",
    "recip",
    "relu",
    "relu6",
    "sign",
    "silu",
    "sin",
    "sinh",
    "square",
]
_PARAMETERS: dict[str, tuple[str, tuple[float, ...]]] = {
    "exp": ("EXP", (1,)),
    "gelu": ("GELU", (0,)),
    "gelu_approx": ("GELU", (1,)),
    "hardmish": ("HARDMISH", (1,)),
    "hardtanh": ("HARDTANH", (-1, 1)),
    "log": ("LOG", (1,)),
    "log10": ("LOG10", (1,)),
    "log1p": ("LOG1P", (1,)),
    "log2": ("LOG2", (1,)),
    "mish": ("MISH", (0,)),
    "mish_approx": ("MISH", (1,)),
    "rsqrt": ("RSQRT", (0,)),
    "selu": ("SELU", (1.0507010221481323, 1.6732631921768188)),
    "sigmoid": ("SIGMOID", (4, 0)),
    "sigmoid_approx": ("SIGMOID", (4, 1)),
    "softplus": ("SOFTPLUS", (1, 20)),
    "sqrt": ("SQRT", (0,)),
    "tanh": ("TANH", (0,)),
    "xielu": ("XIELU", (0.800000011920929, 0.800000011920929)),
}
"""The function and the parameters that a name has; float32 where they are fractions."""

WORDS = frozenset(_PLAIN) | frozenset(_PARAMETERS)
"""All names."""


def string_to_unary_with_param(arg: str, /) -> UnaryWithParam:
    """The activation of a name. Raises RuntimeError for a name that has none."""
    if not isinstance(arg, str):
        raise incompatible("string_to_unary_with_param", (_SIGNATURE,), (arg,))
    if arg not in WORDS:
        raise throw(f"Unknown unary op: {arg}", hint=f"one of {', '.join(sorted(WORDS))}")
    function, parameters = _PARAMETERS.get(arg, (arg.upper(), ()))
    return UnaryWithParam(UnaryOpType[function], *parameters)
