"""Operations of two or three operands that have parameters of their own: divide, pow, maximum, where, clamp, addcmul and kin.

Source: ttnn specification, section 8, and the signatures of 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops import functions as f
from tt_run.runtime.ops import unary
from tt_run.runtime.ops.activations import Activation
from tt_run.runtime.ops.binary import Operand, Rule, add, align, apply, check_broadcast, multiply, subtract
from tt_run.runtime.ops.dispatch import ArgumentMismatch, Operation, operation, registry
from tt_run.runtime.ops.elementwise import evaluate
from tt_run.runtime.ops.operands import on_device, settle
from tt_run.runtime.tensor.dtypes import is_float, stored_dtype
from tt_run.runtime.tensor.memory import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.shards import combine
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]

_DIVISIONS = {
    None: Rule("divide", np.divide, "a / b.", real=True, widens=True),
    "floor": Rule("floor_div", lambda a, b: np.floor(np.divide(a, b)), "The floor of a / b.", real=True),
    "trunc": Rule("div_trunc", lambda a, b: np.trunc(np.divide(a, b)), "a / b cut towards zero.", real=True),
}
_RSUB = Rule("rsub", lambda a, b: np.subtract(b, a), "b - a.")
_MAXIMUM = Rule("maximum", np.maximum, "The larger of a and b.")
_MINIMUM = Rule("minimum", np.minimum, "The smaller of a and b.")
_POWER = Rule("pow", np.power, "a to the power of b.", real=True)


@operation("ttnn.divide")
def divide(
    input_tensor_a: Operand,
    input_tensor_b: Operand | None = None,
    *,
    value: float | None = None,
    fast_and_approximate_mode: bool = False,
    rounding_mode: str | None = None,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    activations: Sequence[Activation] = (),
    input_tensor_a_activations: Sequence[Activation] = (),
    input_tensor_b_activations: Sequence[Activation] = (),
    sub_core_grids: CoreRangeSet | None = None,
    sub_device_id: object = None,
) -> Tensor:
    """a / b; rounding_mode `floor` or `trunc` rounds the quotient. Two int32 tensors give float32 without one."""
    if rounding_mode not in _DIVISIONS:
        raise fatal(f"Incorrect rounding mode (expected None, 'trunc', or 'floor'), got '{rounding_mode}'")
    divisor = _either(input_tensor_b, value, "input_tensor_b", "value")
    fused = (activations, input_tensor_a_activations, input_tensor_b_activations)
    return apply(
        _DIVISIONS[rounding_mode], input_tensor_a, divisor, dtype, memory_config, output_tensor, *fused
    )


registry["ttnn.div"] = divide
registry["ttnn.sub"] = subtract
registry["ttnn.mul"] = multiply


def _in_place(name: str, plain: Operation) -> Operation:
    """An operation that writes its result over its first operand."""

    def compute(input_a: Tensor, input_b: Operand, *, activations: Sequence[Activation] = ()) -> Tensor:
        result: Tensor = plain.compute(input_a, input_b, activations=activations, output_tensor=input_a)
        return result

    compute.__doc__ = f"`{plain.name}` written over its first operand; returns that."
    return operation(f"ttnn.{name}")(compute)


IN_PLACE: dict[str, Operation] = {
    f"{plain.__name__}_": _in_place(f"{plain.__name__}_", plain)
    for plain in (add, subtract, multiply, divide)
}


@operation("ttnn.floor_div")
def floor_div(
    input_tensor_a: Operand,
    input_tensor_b: Operand,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """The floor of a / b."""
    return apply(_DIVISIONS["floor"], input_tensor_a, input_tensor_b, None, memory_config, output_tensor)


def _with_second(rule: Rule) -> Operation:
    """An operation whose second operand has a name for a number and one for a tensor."""

    def compute(
        input_tensor_a: Operand,
        input_tensor_b: Operand | None = None,
        *,
        input_b: Operand | None = None,
        dtype: DataType | None = None,
        memory_config: MemoryConfig | None = None,
        output_tensor: Tensor | None = None,
        activations: Sequence[Activation] = (),
        input_tensor_a_activations: Sequence[Activation] = (),
        input_tensor_b_activations: Sequence[Activation] = (),
        fast_and_approximate_mode: bool | None = True,
    ) -> Tensor:
        second = _either(input_tensor_b, input_b, "input_tensor_b", "input_b")
        fused = (activations, input_tensor_a_activations, input_tensor_b_activations)
        return apply(rule, input_tensor_a, second, dtype, memory_config, output_tensor, *fused)

    compute.__doc__ = f"{rule.doc} Tensors broadcast; the second operand may be a number."
    return operation(f"ttnn.{rule.name}")(compute)


rsub, maximum, minimum = _with_second(_RSUB), _with_second(_MAXIMUM), _with_second(_MINIMUM)


@operation("ttnn.pow")
def pow(
    input_tensor: Operand,
    exponent: Operand,
    *,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    activations: Sequence[Activation] = (),
    input_tensor_a_activations: Sequence[Activation] = (),
    input_tensor_b_activations: Sequence[Activation] = (),
) -> Tensor:
    """input_tensor to the power of exponent; either may be a number."""
    fused = (activations, input_tensor_a_activations, input_tensor_b_activations)
    return apply(_POWER, input_tensor, exponent, dtype, memory_config, output_tensor, *fused)


def ternary(
    kernel: Callable[..., Array],
    operands: Sequence[Operand],
    dtype: DataType,
    memory_config: MemoryConfig | None,
    output_tensor: Tensor | None,
) -> Tensor:
    """A kernel of several operands, tensors or numbers, that broadcast against each other; computed in the stored form of `dtype`."""
    tensors = [t for t in operands if isinstance(t, Tensor)]
    on_device(*tensors, kind="eltwise ternary")
    for other in tensors[1:]:
        check_broadcast(tensors[0].shape, other.shape)
    rank = max(len(t.shape) for t in tensors)
    compute = stored_dtype(dtype)

    def on_stacks(*stacks: Array) -> Array:
        arrays = iter([align(s.astype(compute, copy=False), rank) for s in stacks])
        given = [next(arrays) if isinstance(o, Tensor) else compute.type(o) for o in operands]
        return evaluate(kernel, dtype, *given)

    shards = combine(on_stacks, *(t.shards for t in tensors))
    return settle(tensors, shards, dtype, memory_config=memory_config, output_tensor=output_tensor)


@operation("ttnn.addcmul")
def addcmul(
    input_a: Tensor,
    input_b: Tensor,
    input_c: Tensor,
    *,
    value: float = 1.0,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """a + value * b * c."""
    on_device(input_a, input_b, input_c, kind="eltwise ternary")
    factor = stored_dtype(input_a.dtype).type(value)
    return ternary(
        lambda a, b, c: a + factor * b * c,
        (input_a, input_b, input_c),
        input_a.dtype,
        memory_config,
        output_tensor,
    )


@operation("ttnn.addcdiv")
def addcdiv(
    input_a: Tensor,
    input_b: Tensor,
    input_c: Tensor,
    *,
    value: float = 1.0,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """a + value * b / c."""
    on_device(input_a, input_b, input_c, kind="eltwise ternary")
    if not is_float(input_a.dtype):
        raise fatal(f"addcdiv needs floating-point tensors, got {input_a.dtype}")
    factor = np.float32(value)
    return ternary(
        lambda a, b, c: a + factor * b / c,
        (input_a, input_b, input_c),
        input_a.dtype,
        memory_config,
        output_tensor,
    )


@operation("ttnn.where")
def where(
    predicate: Tensor,
    true_value: Operand,
    false_value: Operand,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """true_value where predicate is not zero, else false_value; dtype of the values, or of the predicate when both are numbers."""
    on_device(predicate, kind="eltwise ternary")
    typed = next((v for v in (true_value, false_value) if isinstance(v, Tensor)), predicate)
    return ternary(
        _select,
        (predicate, true_value, false_value),
        typed.dtype,
        memory_config,
        output_tensor,
    )


def _select(predicate: Any, true_value: Any, false_value: Any) -> Array:
    chosen: Array = np.where(predicate != 0, true_value, false_value)
    return chosen


@operation("ttnn.lerp")
def lerp(
    input: Tensor,
    end: Tensor,
    weight: Operand,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """input + weight * (end - input)."""
    on_device(input, end, kind="eltwise ternary")
    return ternary(
        lambda a, b, w: a + w * (b - a), (input, end, weight), input.dtype, memory_config, output_tensor
    )


@operation("ttnn.clamp")
def clamp(
    input_tensor: Tensor,
    min: Operand | None = None,
    max: Operand | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """Elements limited to [min, max], numbers or tensors; one of them may be left out."""
    if min is None and max is None:
        raise fatal("Only one of 'min' or 'max' can be None. Please provide one value")
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        return unary.apply(
            input_tensor, lambda x: _limited(x, min, max), memory_config, output_tensor, integers=True
        )
    limits = [m for m in (min, max) if m is not None]
    kernel: Callable[..., Array] = _between
    if len(limits) == 1:
        kernel = np.maximum if max is None else np.minimum
    on_device(input_tensor, kind="eltwise ternary")
    return ternary(kernel, (input_tensor, *limits), input_tensor.dtype, memory_config, output_tensor)


@operation("ttnn.clip")
def clip(
    input_tensor: Tensor,
    min: Operand | None = None,
    max: Operand | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """Elements limited to [min, max], numbers or tensors; one of them may be left out."""
    result: Tensor = clamp.compute(
        input_tensor, min, max, memory_config=memory_config, output_tensor=output_tensor
    )
    return result


def _between(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)


def _limited(x: Array, low: Any, high: Any) -> Array:
    """NaN stays NaN; where the limits cross, the upper one wins, as in torch."""
    low, high = (None if limit is None else _as(limit, x.dtype) for limit in (low, high))
    if low is not None:
        x = f.at_least(x, low)
    return x if high is None else f.at_most(x, high)


def _as(limit: float, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return dtype.type(limit)
    bounds = np.iinfo(dtype)
    return dtype.type(bounds.min if limit < bounds.min else bounds.max if limit > bounds.max else int(limit))


def _either(one: Any, other: Any, name: str, alias: str) -> Any:
    """The value of a parameter that goes by two names."""
    if (one is None) == (other is None):
        raise ArgumentMismatch(f"expected one of {name!r} and {alias!r}")
    return other if one is None else one
