"""Functions of one tensor with parameters, and activations beyond the table of `unary`. Source: reference library 0.81.1.

NumPy computes them: each is a few of its calls on a block in cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels.activations import chain
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.element_types import check_unary
from tt_run.runtime.ops.declaration.rows import PLACED, UNARY_TAIL, Row, declare, elements, in_bfloat16
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.activation import OF_INTEGERS, UnaryOpType, UnaryWithParam
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.casting import BITS, cast, reinterpret
from tt_run.runtime.values.dtypes import convert
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


def polyval(x: Array, coefficients: Sequence[float]) -> Array:
    """The polynomial whose coefficients are given, highest power first, by Horner's rule."""
    if not len(coefficients):
        raise fatal("polyval: coeffs is empty", hint="coeffs=[2.0, 1.0] is 2x + 1")
    value = x * 0 + f.number(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value *= x
        value += f.number(x, coefficient)
    return value


def _short(word: str, x: Array, value: float) -> None:
    """Raises RuntimeError for a number that unsigned integers of less than 32 bits do not hold."""
    if x.dtype.kind == "u" and x.itemsize < 4 and not 0 <= value <= np.iinfo(x.dtype).max:
        raise fatal(
            f"{word} {value} out of range for UInt{x.itemsize * 8}",
            hint=f"give a number from 0 to {np.iinfo(x.dtype).max}, or ttnn.typecast(tensor, ttnn.int32)",
        )


def _filled(x: Array, value: float) -> Array:
    if x.dtype.kind == "f" or np.iinfo(x.dtype).min <= value <= np.iinfo(x.dtype).max:
        return np.full_like(x, value)
    _short("FILL value", x, value)
    whole = {"i": DataType.INT32, "u": DataType.UINT32}[x.dtype.kind]
    return np.full_like(x, convert(np.array([value], np.float64), whole)[0])


def _at_least(x: Array, limit: float) -> Array:
    _short("RELU_MIN lower_limit", x, limit)
    return f.at_least(x, limit)


def _relu_max(x: Array, limit: float) -> Array:
    _short("RELU_MAX upper_limit", x, limit)
    return f.relu_max(x, limit)


def chained(x: Array, activations: Sequence[Any]) -> Array:
    """Activations one after the other."""
    function = chain(activations)
    if function is None:
        raise fatal(
            "unary_chain: ops_chain is empty", hint="ops_chain=[ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)]"
        )
    return function(x)


def _last_type(arguments: Mapping[str, Any]) -> DataType | None:
    """The type into which the last step of a chain goes over; None where the result has that of the operand."""
    types = _types(arguments["ops_chain"][-1]) if arguments["ops_chain"] else None
    return types[1] if types else None


def _check_chain(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for integers of which one of the steps is no function, and for other bits in the midst of a chain."""
    steps = arguments["ops_chain"]
    for step in steps:
        types = _types(step)
        if types and step.op_type is UnaryOpType.BITCAST and len(steps) > 1:
            raise fatal(
                f"Unary: BITCAST cannot share a chain with other ops (chain has {len(steps)} ops)",
                hint="ttnn.bitcast(tensor, dtype) before, and the chain of its result",
            )
        if types:
            return
        fused = UnaryWithParam.of(step)
        if isinstance(fused, UnaryWithParam) and fused.op_type not in OF_INTEGERS:
            check_unary(fused.op_type.name, given[0].dtype, integers=False)


def _types(step: Any) -> tuple[DataType, DataType] | None:
    """From which type to which one a step goes; None for a function."""
    if not isinstance(step, UnaryWithParam) or step.op_type not in (
        UnaryOpType.TYPECAST,
        UnaryOpType.BITCAST,
    ):
        return None
    if len(step.params) != 2:
        raise fatal(
            f"{step.op_type.name} takes the values of two data types, got {step.params}",
            hint="[ttnn.bfloat16.value, ttnn.float32.value], the old type and the new one",
        )
    old, new = (DataType(int(value)) for value in step.params)
    if step.op_type is UnaryOpType.BITCAST and BITS.get(old) != BITS.get(new, 0):
        raise fatal(
            f"bitcast: {old} and {new} are not types of the same size",
            hint="ttnn.typecast converts between sizes",
        )
    return old, new


def _in_steps(
    function: Callable[..., Any], values: Sequence[Any], given: Sequence[Tensor], target: DataType | None
) -> tuple[list[Shards], bool]:
    """`elements`, but of a chain that goes over into other types on its way step by step, rounded where it does."""
    steps = values[1]
    if not any(map(_types, steps)):
        return elements(function, values, given, target)

    def on_stacks(stack: Array) -> Array:
        for step in steps:
            types = _types(step)
            if types is None:
                with np.errstate(all="ignore"):
                    stack = chained(stack, [step])
            elif step.op_type is UnaryOpType.BITCAST:
                stack = reinterpret(convert(stack, types[0]), *types)
            else:
                stack = cast(convert(stack, types[0]), *types)
        return stack if target is None else convert(stack, target)

    return [given[0].shards.map(on_stacks)], False


def _all_alike(
    function: Callable[..., Any], values: Sequence[Any], given: Sequence[Tensor], target: DataType | None
) -> tuple[list[Shards], bool]:
    """`elements`, but of one value everywhere, which large BFLOAT16 tensors hold in their 16 bits."""
    shards, value = given[0].shards, BFLOAT16.type(values[1]) if target is DataType.BFLOAT16 else None
    if value is None or shards.stack.size <= BLOCK or value != value:
        return elements(function, values, given, target)
    whole = empty(shards.stack.shape, BFLOAT16)
    whole.view(np.uint16).fill(value.view(np.uint16))
    return [shards.holding(whole)], False


def _golden_logit(x: Any, eps: float | None = None, **_: Any) -> Any:
    if eps is not None and eps > 0.5:
        x, eps = x.clamp(1 - eps, eps), None
    return x.logit(eps=eps)


@goldens.rounded_once
def _golden_xielu(x: Any, alpha_p: float = 0.8, alpha_n: float = 0.8, **_: Any) -> Any:
    below = alpha_n * x.clamp(max=-1e-6).expm1() - alpha_n * x + 0.5 * x
    return (alpha_p * x * x + 0.5 * x).where(x > 0, below)


def _golden_rdiv(x: Any, value: float, rounding_mode: str | None = None, **_: Any) -> Any:
    return x.new_full(x.shape, value).div(x, rounding_mode=rounding_mode)


def _golden_polyval(x: Any, coefficients: Sequence[float], **_: Any) -> Any:
    value = x * 0
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


PARAMETRIC = declare(
    families.UNARY,
    Row("hardmish", f"(input_tensor: Tensor, {UNARY_TAIL})", f.hardmish, "x times x / 2 + 1 limited to [0, 1].",
        integers=False, golden=lambda x, **_: x * (x * 0.5 + 1).clamp(0, 1)),
    Row("sigmoid_accurate", f"(input_tensor: Tensor, fast_and_approximate_mode: bool = False, {UNARY_TAIL})",
        lambda x, fast: f.sigmoid(x), "1 / (1 + exp(-x)), computed accurately in every mode.",
        integers=False, golden="sigmoid"),
    Row("logit", f"(input_tensor: Tensor, *, eps: float | None = None, {UNARY_TAIL[3:]})", f.logit,
        "log(x / (1 - x)), of x limited to [eps, 1 - eps] if eps is given.", integers=False, golden=_golden_logit),
    Row("xielu", f"(input_tensor: Tensor, *, alpha_p: float = 0.8, alpha_n: float = 0.8, {UNARY_TAIL[3:]})", f.xielu,
        "alpha_p x² + x / 2 above zero, alpha_n (exp(x) - 1 - x) + x / 2 below.", integers=False, golden=_golden_xielu),
    Row("softcap", f"(input_tensor: Tensor, beta: float, {UNARY_TAIL})",
        f.softcap, "beta tanh(x / beta).",
        integers=False, golden=lambda x, beta, **_: beta * (goldens.widened(x) / beta).tanh()),
    Row("heaviside", f"(input_tensor: Tensor, value: float, {UNARY_TAIL})",
        f.heaviside,
        "0 below zero, 1 above, `value` at zero.",
        golden=lambda x, value, **_: x.heaviside(x * 0 + value)),
    Row("threshold", f"(input_tensor: Tensor, threshold: float, value: float, {UNARY_TAIL})",
        f.threshold,
        "x above the threshold, `value` elsewhere.", golden="nn.functional.threshold"),
    Row("relu_max", f"(input_tensor: Tensor, upper_limit: float, {UNARY_TAIL})",
        _relu_max, "x limited to [0, upper_limit].",
        golden=lambda x, upper_limit, **_: x.clamp(max=upper_limit).relu()),
    Row("relu_min", f"(input_tensor: Tensor, lower_limit: float, {UNARY_TAIL})", _at_least,
        "The larger of x and lower_limit.", golden=lambda x, lower_limit, **_: x.clamp(min=lower_limit)),
    Row("rdiv", f"(input_tensor: Tensor, value: float, *, rounding_mode: str | None = None, {UNARY_TAIL[3:]})",
        f.divided, "value / x; rounding_mode `floor` or `trunc` rounds the quotient.", integers=False, golden=_golden_rdiv,
        numbers=in_bfloat16),
    Row("rpow", f"(input_tensor: Tensor, exponent: float, {UNARY_TAIL})",
        f.rpow, "`exponent` to the power of x.",
        golden=lambda x, exponent, **_: x.new_full(x.shape, exponent).pow(x), numbers=in_bfloat16),
    Row("bitwise_not", f"(input_tensor: Tensor, {UNARY_TAIL})", np.invert, "The bits that x has not.",
        golden="bitwise_not"),
    Row("polyval", f"(input_tensor_a: Tensor, coeffs: Sequence[float], *, {PLACED})", polyval,
        "The polynomial with these coefficients, highest power first, of every element.",
        integers=False, golden=_golden_polyval),
    engine=elements,
)  # fmt: skip

PARAMETRIC |= declare(
    families.UNARY,
    Row("fill", f"(input_tensor: Tensor, fill_value: float, {UNARY_TAIL})", _filled,
        "A tensor like the input with one value everywhere.", golden="full_like"),
    engine=_all_alike,
)  # fmt: skip

PARAMETRIC |= declare(
    families.UNARY,
    Row("unary_chain", f"(input_tensor: Tensor, ops_chain: Sequence[Any], {UNARY_TAIL})", chained,
        "The functions of a chain of `UnaryWithParam`, one after the other, rounded once; `TYPECAST` and `BITCAST` go over into another type.", golden=goldens.chain, type_of=_last_type,
        check=_check_chain),
    engine=_in_steps,
)  # fmt: skip
