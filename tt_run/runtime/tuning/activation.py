"""Fused activations as data: which function, with which parameters. What computes them is in `kernels`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.enums import NamedEnum, cpp
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.values.dtypes import float_text


@native("ttnn._ttnn.activation.UnaryOpType")
class UnaryOpType(NamedEnum):
    """The functions of one element that can be fused into other operations."""

    EXP = 0
    RECIP = 1
    GELU = 2
    GELU_TANH = 3
    RELU = 4
    SQRT = 5
    SIGMOID = 6
    LOG = 7
    LOG1P = 8
    TANH = 9
    LOG2 = 10
    LOG10 = 11
    SIN = 12
    COS = 13
    COSH = 14
    SINH = 15
    ABS = 16
    ABS_INT32 = 17
    SIGN = 18
    SQUARE = 19
    EQZ = 20
    NEZ = 21
    GTZ = 22
    LTZ = 23
    GEZ = 24
    LEZ = 25
    RELU_MAX = 26
    RELU_MIN = 27
    POWER = 28
    POWER_ITERATIVE = 29
    LEAKY_RELU = 30
    ELU = 31
    EXP2 = 32
    HEAVISIDE = 33
    EXPM1 = 34
    SIGNBIT = 35
    ASIN = 36
    ACOS = 37
    ACOSH = 38
    RSQRT = 39
    RELU6 = 40
    ATAN = 41
    ASINH = 42
    ATANH = 43
    ERF = 44
    ERFC = 45
    ISINF = 46
    ISPOSINF = 47
    ISNEGINF = 48
    ISNAN = 49
    LOGICAL_NOT_UNARY = 50
    ISFINITE = 51
    ERFINV = 52
    I0 = 53
    I1 = 54
    TAN = 55
    RSUB = 56
    RDIV = 57
    SILU = 58
    SOFTPLUS = 59
    IDENTITY = 60
    NEG = 61
    ADD_UNARY_SFPU = 62
    SUB_UNARY_SFPU = 63
    MUL_UNARY_SFPU = 64
    DIV_UNARY_SFPU = 65
    UNARY_NE = 66
    UNARY_EQ = 67
    UNARY_GT = 68
    UNARY_LT = 69
    UNARY_GE = 70
    UNARY_LE = 71
    TILED_PROD = 72
    TYPECAST = 73
    BITCAST = 74
    BITWISE_XOR = 75
    BITWISE_NOT = 76
    BITWISE_AND = 77
    BITWISE_OR = 78
    RIGHT_SHIFT = 79
    FLOOR = 80
    CEIL = 81
    TRUNC = 82
    FRAC = 83
    ROUND = 84
    LEFT_SHIFT = 85
    REMAINDER = 86
    FMOD = 87
    DROPOUT = 88
    FILL = 89
    PRELU_SFPU = 90
    ZERO_POINT = 91
    ALT_COMPLEX_ROTATE90 = 92
    MISH = 93
    HARDMISH = 94
    MAXIMUM = 95
    MINIMUM = 96
    TANHSHRINK = 97
    THRESHOLD = 98
    SOFTSHRINK = 99
    HARDSHRINK = 100
    HARDTANH = 101
    HARDSIGMOID = 102
    HARDSWISH = 103
    WHERE_TSS = 104
    MAC_TSS = 105
    SOFTSIGN = 106
    CELU = 107
    CLAMP_TSS = 108
    SELU = 109
    RPOW = 110
    CBRT = 111
    LOGSIGMOID = 112
    LOGIT = 113
    XIELU = 114
    LGAMMA = 115
    DIGAMMA = 116
    POLYGAMMA = 117
    SOFTCAP = 118


OF_INTEGERS = frozenset(
    UnaryOpType[name]
    for name in [
        "ABS_INT32",
        "ADD_UNARY_SFPU",
        "BITCAST",
        "BITWISE_AND",
        "BITWISE_NOT",
        "BITWISE_OR",
        "BITWISE_XOR",
        "CLAMP_TSS",
        "EQZ",
        "FILL",
        "GEZ",
        "GTZ",
        "IDENTITY",
        "LEFT_SHIFT",
        "LEZ",
        "LOGICAL_NOT_UNARY",
        "LTZ",
        "MAXIMUM",
        "MINIMUM",
        "NEG",
        "NEZ",
        "RELU",
        "RELU6",
        "RELU_MAX",
        "RELU_MIN",
        "RIGHT_SHIFT",
        "RSUB",
        "SIGNBIT",
        "SQUARE",
        "SUB_UNARY_SFPU",
        "TYPECAST",
        "UNARY_EQ",
        "UNARY_GE",
        "UNARY_GT",
        "UNARY_LE",
        "UNARY_LT",
        "UNARY_NE",
        "WHERE_TSS",
    ]
)
"""Those that take INT32."""


@native_class("ttnn._ttnn.activation.UnaryWithParam")
class UnaryWithParam(metaclass=Native):
    """A fused activation: the function and its parameters, `UnaryWithParam(UnaryOpType.LEAKY_RELU, 0.1)`."""

    __slots__ = ("_op_type", "_params")

    def __init__(self, op_type: UnaryOpType, *params: float | Sequence[float]) -> None:
        """`UnaryWithParam(op)`, `UnaryWithParam(op, 0.1)`, `UnaryWithParam(op, 1.0, 2.0)` or `UnaryWithParam((op, 0.1))`."""
        function: Any = op_type
        if isinstance(function, tuple) and len(function) == 2 and not params:
            function, params = function[0], (function[1],)
        if isinstance(function, int) and not isinstance(function, bool):
            function = UnaryOpType(function)
        if not isinstance(function, UnaryOpType):
            raise TypeError(f"UnaryWithParam(): op_type must be a UnaryOpType, not {op_type!r}")
        given = params[0] if len(params) == 1 and isinstance(params[0], Sequence) else params
        self._op_type = function
        self._params: list[float] = [float(p) for p in given]  # type: ignore[arg-type]

    @property
    def op_type(self) -> UnaryOpType:
        """The function."""
        return self._op_type

    @property
    def params(self) -> list[float]:
        """Its parameters."""
        return self._params

    @classmethod
    def _implicit(cls, given: object) -> UnaryWithParam | None:
        if isinstance(given, int) and not isinstance(given, bool):
            given = next((each for each in UnaryOpType if each.value == given), given)
        made = cls.of(given)
        return made if isinstance(made, cls) else None

    @classmethod
    def of(cls, given: object) -> object:
        """The activation that a function of the enumeration, or a pair of one and its parameters, stands for; anything else as it is."""
        if isinstance(given, UnaryOpType):
            return cls(given)
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], UnaryOpType):
            return cls(*given)
        return given

    def __repr__(self) -> str:
        shown = ", ".join(map(float_text, self.params))
        return f"UnaryWithParam(op_type={cpp(self.op_type)}{f', params=[{shown}]' if shown else ''})"
