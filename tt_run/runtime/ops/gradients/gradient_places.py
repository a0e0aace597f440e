"""Types, places and layouts of the results of backward operations: measured on reference library 0.81.1.

Numbers are those of the call's tensors: the gradient, then the operands. What is not named here has both from the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.ops.declaration.carriers import Carrier, OfTwo

Like = Sequence[tuple[int, int]]
Carried = Sequence[Carrier]
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
    **dict.fromkeys(["max", "min"], (OfTwo(OfTwo(_B, _A), _G, chosen=True),) * 2),
    "atan2": (OfTwo(_B, OfTwo(_G, _A)), OfTwo(_A, OfTwo(_G, _B))),
    "logaddexp": (OfTwo(_G, OfTwo(_B, _A)), OfTwo(_G, OfTwo(_A, _B))),
    "squared_difference": (OfTwo(_G, OfTwo(_A, _B)),) * 2,
    "bias_gelu": (OfTwo(_A, _B),) * 2,
    **dict.fromkeys(["erf", "erfc"], (OfTwo(_A, _G),)),
    "lerp": (OfTwo(_G, _C), OfTwo(_G, _C), OfTwo(_G, OfTwo(_B, _A))),
    **dict.fromkeys(["fmod", "remainder"], (_G, OfTwo(_G, OfTwo(_A, _B)))),
    "xlogy": (OfTwo(_G, _B), OfTwo(_G, OfTwo(_A, _B))),
    **dict.fromkeys(
        ["abs", "asinh", "atan", "atanh", "cos", "cosh", "digamma", "exp2", "expm1", "i0", "lgamma", "log_sigmoid", "multigammaln", "polygamma", "rdiv", "rpow", "sin", "sinh", "softsign", "square", "tan", "tanhshrink"],
        (OfTwo(_G, _A),),
    ),
    **dict.fromkeys(
        ["acos", "acosh", "asin", "celu", "elu", "erfinv", "hardswish", "leaky_relu", "log", "log10", "log1p", "log2", "logit", "logiteps", "reciprocal", "selu", "softplus"],
        (OfTwo(_A, _G, chosen=True),),
    ),
}  # fmt: skip
"""The tensors of which one on cores is what a gradient lies like."""

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
