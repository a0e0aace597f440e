"""Unary operations: one function of every element.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, NamedEnum
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels.activations import (
    FUNCTIONS,
    IN_BFLOAT16,
    INTEGER_FUNCTIONS,
    QUESTIONS,
    Applied,
    Function,
    check_vector_mode,
    is_closed,
)
from tt_run.runtime.kernels.elementwise import evaluate
from tt_run.runtime.kernels.short_stacks import of_several
from tt_run.runtime.kernels.torch_float32 import OF_ONE
from tt_run.runtime.native.classes import native
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import Operation, operation
from tt_run.runtime.ops.declaration.element_types import check_unary
from tt_run.runtime.ops.declaration.layouts import check_unary_room
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.declaration.places import like_operand
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.dtypes import stored_dtype
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


@native("ttnn._ttnn.operations.unary.GeluVariant")
class GeluVariant(NamedEnum):
    """Form of GELU: by the error function, a device's table of that one, which is computed exactly here, or by tanh."""

    Accurate = 0
    FastLut = 1
    Tanh = 2


@native("ttnn._ttnn.operations.unary.SigmoidMode")
class SigmoidMode(NamedEnum):
    """Precision of the device's sigmoid; the emulation computes the accurate one always."""

    Accurate = 2
    AccurateWithFastExp = 1
    FastApproximate = 0


def apply(
    input_tensor: Tensor,
    function: Function,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    *,
    name: str,
    integers: bool = False,
) -> Tensor:
    """`function` of every element, dtype and placement of the input. `integers`: the function takes integer arrays as they are.

    Raises RuntimeError for integers where it does not.
    """
    on_device(input_tensor, kind="unary")
    shards, dtype = input_tensor.shards, input_tensor.dtype
    check_unary_room(input_tensor, output_tensor)
    result = None
    another = isinstance(output_tensor, Tensor) and output_tensor.dtype is not dtype
    if dtype in OF_ONE and not another:
        result = OF_ONE[dtype](function, shards)
        if result is None and function in QUESTIONS and dtype is DataType.BFLOAT16:
            result = of_several(function, (shards,))
    if result is None:
        data = shards.data
        if data.dtype != np.float32:
            check_unary(name, dtype, integers)
        if another:
            dtype = output_tensor.dtype  # type: ignore[union-attr]
        rounds = another or not is_closed(function)
        result = Shards(evaluate(function, dtype, data, rounds=rounds), shards.index)
    place = like_operand(input_tensor, memory_config)
    return settle((input_tensor,), result, dtype, memory_config=place, output_tensor=output_tensor)


_TOLD = {
    "abs": "The magnitude of every element",
    "ceil": "Every element rounded up to a whole number",
    "deg2rad": "Every element from degrees to radians",
    "eqz": "1 where an element is 0, else 0",
    "expm1": "exp(x) - 1 of every element x",
    "floor": "Every element rounded down to a whole number",
    "frac": "What is behind the point of every element",
    "gez": "1 where an element is 0 or more, else 0",
    "gtz": "1 where an element is more than 0, else 0",
    "isfinite": "1 where an element is finite, else 0",
    "isinf": "1 where an element is infinite, else 0",
    "isnan": "1 where an element is no number, else 0",
    "isneginf": "1 where an element is minus infinity, else 0",
    "isposinf": "1 where an element is plus infinity, else 0",
    "lez": "1 where an element is 0 or less, else 0",
    "logical_not": "1 where an element is 0, else 0",
    "ltz": "1 where an element is less than 0, else 0",
    "neg": "Every element with the other sign",
    "nez": "1 where an element is not 0, else 0",
    "rad2deg": "Every element from radians to degrees",
    "reciprocal": "1 / x of every element x",
    "sign": "1, 0 or -1 as every element is above, at or below 0",
    "signbit": "1 where the sign of an element is minus, of -0 too, else 0",
    "square": "Every element times itself",
    "trunc": "Every element rounded towards 0 to a whole number",
}
"""What functions give whose name does not say it."""


def _plain(name: str, function: Function) -> Operation:
    integers, in_bfloat16 = name in INTEGER_FUNCTIONS, IN_BFLOAT16.get(name, function)

    def compute(
        input_tensor: Tensor,
        *,
        memory_config: MemoryConfig | None = None,
        output_tensor: Tensor | None = None,
        sub_core_grids: CoreRangeSet | None = None,
    ) -> Tensor:
        narrow = isinstance(input_tensor, Tensor) and input_tensor.dtype is DataType.BFLOAT16
        chosen = in_bfloat16 if narrow else function
        return apply(input_tensor, chosen, memory_config, output_tensor, name=name, integers=integers)

    told = _TOLD.get(name, f"{name} of every element")
    compute.__doc__ = f"{told}; dtype, shape and placement of the input."
    return operation(f"ttnn.{name}", family=families.UNARY, golden=goldens.UNARY.get(name, name))(compute)


def _with_mode(name: str, function: Function) -> Operation:
    def compute(
        input_tensor: Tensor,
        *,
        fast_and_approximate_mode: bool = False,
        memory_config: MemoryConfig | None = None,
        output_tensor: Tensor | None = None,
        sub_core_grids: CoreRangeSet | None = None,
    ) -> Tensor:
        return apply(input_tensor, function, memory_config, output_tensor, name=name)

    compute.__doc__ = f"{name} of every element. The approximate mode of a device is computed exactly here."
    return operation(f"ttnn.{name}", family=families.UNARY, golden=goldens.UNARY.get(name, name))(compute)


_MODED = ("exp", "log", "sqrt", "rsqrt", "mish", "log2", "log10", "log1p", "erf")
_OTHERS = frozenset(
    [
        "gelu",
        "gelu_approx",
        "gelu_tanh",
        "sigmoid",
        "sigmoid_approx",
        "tanh",
        "softplus",
        "recip",
        "round",
        "leaky_relu",
        "elu",
        "celu",
        "selu",
        "softshrink",
        "hardshrink",
        "hardtanh",
        "identity",
        "hardmish",
        "erfinv",
        "i0",
        "i1",
        "lgamma",
        "digamma",
    ]
)

PLAIN: dict[str, Operation] = {
    name: (_with_mode if name in _MODED else _plain)(name, function)
    for name, function in FUNCTIONS.items()
    if name not in _OTHERS
}
"""The operations that are one entry of the table of functions each."""


@operation("ttnn.logical_not_", family=families.UNARY, golden="logical_not")
def logical_not_(input_tensor: Tensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    """`ttnn.logical_not` written over its operand; returns that."""
    result: Tensor = PLAIN["logical_not"].compute(input_tensor, output_tensor=input_tensor)
    return result


@operation("ttnn.identity", family=families.UNARY, golden="clone")
def identity(
    input_tensor: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """A copy."""
    return apply(input_tensor, np.copy, memory_config, output_tensor, name="identity", integers=True)


@operation("ttnn.gelu", family=families.UNARY, golden=goldens.gelu)
def gelu(
    input_tensor: Tensor,
    *,
    variant: GeluVariant = GeluVariant.Accurate,
    fast_and_approximate_mode: bool = False,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """x times the normal distribution function of x, computed exactly in approximate mode too; the tanh form for that variant."""
    function = f.gelu_tanh if variant is GeluVariant.Tanh else f.gelu
    return apply(input_tensor, function, memory_config, output_tensor, name="gelu")


@operation("ttnn.sigmoid", family=families.UNARY, golden="sigmoid")
def sigmoid(
    input_tensor: Tensor,
    *,
    vector_mode: int = 4,
    mode: SigmoidMode = SigmoidMode.Accurate,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """1 / (1 + exp(-x)), computed accurately in every mode."""
    check_vector_mode(vector_mode)
    return apply(input_tensor, f.sigmoid, memory_config, output_tensor, name="sigmoid")


@operation("ttnn.tanh", family=families.UNARY, golden="tanh")
def tanh(
    input_tensor: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    fast_and_approximate_mode: bool = False,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """Hyperbolic tangent, computed accurately in every mode."""
    return apply(input_tensor, np.tanh, memory_config, output_tensor, name="tanh")


@operation("ttnn.softplus", family=families.UNARY, golden="nn.functional.softplus")
def softplus(
    input_tensor: Tensor,
    *,
    beta: float = 1.0,
    threshold: float = 20.0,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold."""
    function = f.softplus if (beta, threshold) == (1.0, 20.0) else Applied(f.softplus, (beta, threshold))
    return apply(input_tensor, function, memory_config, output_tensor, name="softplus")


@operation("ttnn.round", family=families.UNARY, golden="round")
def round(
    input_tensor: Tensor,
    *,
    decimals: int = 0,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """x rounded to `decimals` places, ties to even; what is whole already (2**23 and more) stays, and is not scaled past the largest."""
    function = Applied(f.rounded, (decimals,)) if decimals else np.rint
    return apply(input_tensor, function, memory_config, output_tensor, name="round")


@operation("ttnn.leaky_relu", family=families.UNARY, golden=goldens.leaky_relu)
def leaky_relu(
    input_tensor: Tensor,
    negative_slope: float,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """x, times the slope below zero; unsigned integers are as they are."""
    return apply(
        input_tensor,
        Applied(f.leaky_relu, (negative_slope,)),
        memory_config,
        output_tensor,
        name="leaky_relu",
        integers=stored_dtype(input_tensor.dtype).kind == "u",
    )


@operation("ttnn.elu", family=families.UNARY, golden="nn.functional.elu")
def elu(
    input_tensor: Tensor,
    *,
    alpha: float = 1.0,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """x above zero, alpha (exp(x) - 1) below."""
    return apply(input_tensor, Applied(f.elu, (alpha,)), memory_config, output_tensor, name="elu")


@operation("ttnn.celu", family=families.UNARY, golden="nn.functional.celu")
def celu(
    input_tensor: Tensor,
    *,
    alpha: float = 1.0,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    return apply(input_tensor, Applied(f.celu, (alpha,)), memory_config, output_tensor, name="celu")


@operation("ttnn.selu", family=families.UNARY, golden=goldens.selu)
def selu(
    input_tensor: Tensor,
    *,
    scale: float = f.SELU_SCALE,
    alpha: float = f.SELU_ALPHA,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """scale times ELU; by default with the scale and alpha that keep means and variances."""
    usual = (scale, alpha) == (f.SELU_SCALE, f.SELU_ALPHA)
    function = f.selu if usual else Applied(f.selu, (scale, alpha))
    return apply(input_tensor, function, memory_config, output_tensor, name="selu")


@operation("ttnn.softshrink", family=families.UNARY, golden="nn.functional.softshrink")
def softshrink(
    input_tensor: Tensor,
    *,
    lambd: float = 0.5,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """x moved towards zero by lambd."""
    return apply(
        input_tensor, Applied(f.softshrink, (lambd,)), memory_config, output_tensor, name="softshrink"
    )


@operation("ttnn.hardshrink", family=families.UNARY, golden="nn.functional.hardshrink")
def hardshrink(
    input_tensor: Tensor,
    *,
    lambd: float = 0.5,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """x, zero within lambd of zero; in BFLOAT16 within the lambd that it holds, as torch has it."""
    if isinstance(input_tensor, Tensor) and input_tensor.dtype is DataType.BFLOAT16:
        lambd = float(BFLOAT16.type(float(lambd)))
    return apply(
        input_tensor, Applied(f.hardshrink, (lambd,)), memory_config, output_tensor, name="hardshrink"
    )


@operation("ttnn.hardtanh", family=families.UNARY, golden="nn.functional.hardtanh")
def hardtanh(
    input_tensor: Tensor,
    *,
    min_val: float = -1.0,
    max_val: float = 1.0,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """x limited to [min_val, max_val]."""
    return apply(
        input_tensor, Applied(f.hardtanh, (min_val, max_val)), memory_config, output_tensor, name="hardtanh"
    )
