"""Types and places of the results of backward operations: measured on reference library 0.81.1.

Numbers are those of the call's tensors: the gradient, then the operands. What is not named here has both from the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

Like = Sequence[tuple[int, int]]
Carried = Sequence[tuple[int, ...]]

_G, _A, _B = 0, 1, 2
_LIKE: dict[str, Like] = {
    **dict.fromkeys(["add", "sub", "mul", "div", "addalpha", "subalpha", "assign", "concat"], ((_A, _A), (_B, _B))),
    **dict.fromkeys(["hypot", "logaddexp2"], ((_G, _A), (_G, _A))),
    **dict.fromkeys(["max", "min"], ((_G, _B), (_G, _B))),
    "atan2": ((_A, _B), (_A, _A)),
    "ldexp": ((_G, _A), (_A, _A)),
    "bias_gelu": ((_A, _A), (_A, _A)),
    **dict.fromkeys(["sqrt", "exp", "tanh", "sigmoid", "gelu", "neg", "silu"], ((_A, _A),)),
    **dict.fromkeys(
        ["acos", "acosh", "asin", "celu", "elu", "erf", "erfc", "erfinv", "hardswish", "leaky_relu", "log", "log10", "log1p", "log2", "logit", "logiteps", "prod", "reciprocal", "selu", "softplus"],
        ((_G, _A),),
    ),
}  # fmt: skip
"""Which tensor each gradient has its type from, and which its place."""

_CARRIED: dict[str, Carried] = {
    **dict.fromkeys(["atan2", "max", "min", "logaddexp", "squared_difference"], ((_G, _A, _B), (_G, _A, _B))),
    "bias_gelu": ((_A, _B), (_A, _B)),
    **dict.fromkeys(["fmod", "remainder"], ((_G,), (_G, _A, _B))),
    "xlogy": ((_G, _B), (_G, _A, _B)),
    **dict.fromkeys(
        ["abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "celu", "cos", "cosh", "digamma", "elu", "erf", "erfc", "erfinv", "exp2", "expm1", "hardswish", "i0", "leaky_relu", "lgamma", "log", "log10", "log1p", "log2", "log_sigmoid", "logit", "logiteps", "multigammaln", "reciprocal", "selu", "sin", "sinh", "softplus", "softsign", "square", "tan", "tanhshrink"],
        ((_G, _A),),
    ),
}  # fmt: skip
"""The tensors on cores that a gradient lies like, the first of them, wherever others lie."""


def of(name: str) -> tuple[Like, Carried]:
    """Which tensors the gradients of an operation have their types and places from, and on whose cores they lie."""
    return _LIKE.get(name, ()), _CARRIED.get(name, ())
