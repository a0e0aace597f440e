"""Types, places and layouts of the results of backward operations: measured on reference library 0.81.1.

Numbers are those of the call's tensors: the gradient, then the operands. What is not named here has both from the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Like = Sequence[tuple[int, int]]
Carried = Sequence[tuple[int, ...]]
Laid = Sequence[tuple[int, ...]]

_G, _A, _B, _C = 0, 1, 2, 3
_LAST_BUT_ONE, _LAST = -2, -1
_LIKE: dict[str, Like] = {
    **dict.fromkeys(["add", "sub", "mul", "div", "addalpha", "subalpha", "concat"], ((_A, _A), (_B, _B))),
    **dict.fromkeys(["hypot", "logaddexp2"], ((_G, _A), (_G, _A))),
    **dict.fromkeys(["max", "min"], ((_G, _B), (_G, _B))),
    "assign": ((_LAST_BUT_ONE, _LAST_BUT_ONE), (_LAST, _LAST)),  # beside one operand the gradient itself says it
    **dict.fromkeys(["addcmul", "addcdiv"], ((_G, _G), (_G, _A), (_G, _A))),
    "atan2": ((_A, _B), (_A, _A)),
    "ldexp": ((_G, _A), (_A, _A)),
    "bias_gelu": ((_A, _A), (_A, _A)),
    **dict.fromkeys(["sqrt", "exp", "tanh", "sigmoid", "gelu", "neg", "silu", "erf", "erfc", "pow", "prod", "logiteps"], ((_A, _A),)),
    **dict.fromkeys(
        ["acos", "acosh", "asin", "celu", "clamp", "clip", "elu", "erfinv", "hardswish", "leaky_relu", "log", "log10", "log1p", "log2", "logit", "reciprocal", "selu", "softplus"],
        ((_G, _A),),
    ),
}  # fmt: skip
"""Which tensor each gradient has its type from, and which its place."""

_CARRIED: dict[str, Carried] = {
    **dict.fromkeys(["atan2", "max", "min", "logaddexp", "squared_difference"], ((_G, _A, _B), (_G, _A, _B))),
    "bias_gelu": ((_A, _B), (_A, _B)),
    **dict.fromkeys(["erf", "erfc"], ((_A, _G),)),
    "lerp": ((_G, _C), (_G, _C), (_G, _B, _A)),
    **dict.fromkeys(["fmod", "remainder"], ((_G,), (_G, _A, _B))),
    "xlogy": ((_G, _B), (_G, _A, _B)),
    **dict.fromkeys(
        ["abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "celu", "cos", "cosh", "digamma", "elu", "erfinv", "exp2", "expm1", "hardswish", "i0", "leaky_relu", "lgamma", "log", "log10", "log1p", "log2", "log_sigmoid", "logit", "logiteps", "multigammaln", "polygamma", "rdiv", "reciprocal", "rpow", "selu", "sin", "sinh", "softplus", "softsign", "square", "tan", "tanhshrink"],
        ((_G, _A),),
    ),
}  # fmt: skip
"""The tensors on cores that a gradient lies like, the first of them, unless one before it is in L1."""

_LAID: dict[str, Laid] = {
    **dict.fromkeys(
        ["assign", "bias_gelu", "ceil", "deg2rad", "fill", "fill_zero", "floor", "frac", "rad2deg", "round", "rsub", "sign", "trunc"],
        ((_G,), (_G,)),
    ),
    **dict.fromkeys(["fmod", "remainder"], ((_G,),)),
    **dict.fromkeys(["add", "addalpha", "sub", "subalpha", "div"], ((_A,), (_B,))),
    **dict.fromkeys(
        ["celu", "elu", "erfinv", "exp", "leaky_relu", "log", "logit", "pow", "silu", "softplus", "sqrt"], ((_A,),)
    ),
    "mul": ((_G, _B), (_G, _A)),
    "ldexp": ((_G, _B),),
    "where": ((_G, _A), (_G, _A)),
    "lerp": ((_G, _C), (_G, _C), (_G, _A, _B)),
    "addcmul": ((_G,), (_G, _C), (_G, _B)),
    "addcdiv": ((_G,), (_A, _B, _C), (_A, _B, _C)),
}  # fmt: skip
"""The tensors of which one in tiles makes a gradient be in tiles; all of a call where none are named."""


_STAYS: dict[str, Sequence[int]] = {
    **dict.fromkeys(["assign", "frac"], (2,)),
    **dict.fromkeys(["fmod", "remainder"], (2, 3)),
    **dict.fromkeys(["addcdiv", "addcmul"], (4,)),
}
"""Beside how many tensors the first gradient is the given one itself, or zeros like it: it lies where that does, whatever `memory_config` says."""


_MADE_ALIKE: dict[str, Sequence[int]] = {
    **dict.fromkeys(["add", "addalpha", "assign", "concat", "div", "rsub", "sub", "subalpha"], (2, 3)),
    **dict.fromkeys(["exp", "fmod", "frac", "gelu", "mul", "neg", "pow", "remainder", "rsqrt", "sigmoid", "silu", "sqrt", "tanh"], (2,)),
}  # fmt: skip
"""Beside how many tensors gradients go into tensors made like the operands: pieces of any rank stay such, where others become a matrix's."""


def of(name: str) -> dict[str, Any]:
    """What a row says of the gradients of an operation: where they have their types and places from, and when `memory_config` does not count."""
    return {
        "as_given": _LIKE.get(name, ()),
        "carried": _CARRIED.get(name, ()),
        "laid": _LAID.get(name, ()),
        "stays": _STAYS.get(name, ()),
        "made_alike": _MADE_ALIKE.get(name, ()),
    }
