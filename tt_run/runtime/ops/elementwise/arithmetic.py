"""Binary operations with parameters of their own: divide, pow, maximum and kin, and those that write over an operand.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import replace
from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import short_functions as short
from tt_run.runtime.kernels.activations import Activation
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, Operation, operation
from tt_run.runtime.ops.declaration.element_types import check_nearest, check_unary
from tt_run.runtime.ops.declaration.places import check_cores, like_operand
from tt_run.runtime.ops.elementwise.binary import BINARY, apply, check_tensor
from tt_run.runtime.ops.elementwise.binary_functions import WIDE, BinaryFunction
from tt_run.runtime.ops.elementwise.binary_stacks import Operand
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import float_text, is_float

Array = npt.NDArray[Any]

_SIGNED = (DataType.INT32,)
_DIVISIONS = {
    None: BinaryFunction(
        "divide", np.divide, "a / b.", real=True, widens=_SIGNED, promotes=WIDE, follows=True
    ),
    "floor": BinaryFunction(
        "floor_div",
        f.floor_divide,
        "The floor of a / b.",
        promotes=WIDE,
        follows=True,
        stepwise=short.floor_divide,
    ),
    "trunc": BinaryFunction(
        "div_trunc", f.trunc_divide, "a / b cut towards zero.", promotes=WIDE, follows=True
    ),
}
_FLOOR = replace(_DIVISIONS["floor"], widens=WIDE)
_RSUB = BinaryFunction("rsub", f.subtract_from, "b - a.", narrows=True)
_MAXIMUM = BinaryFunction("maximum", np.maximum, "The larger of a and b.")
_MINIMUM = BinaryFunction("minimum", np.minimum, "The smaller of a and b.")
_POWER = BinaryFunction("pow", f.power, "a to the power of b.", real=True, narrows=True)
_WHOLE_POWER = BinaryFunction("pow", f.whole_power, "a to the power of b, integers, which wrap.")


@operation("ttnn.divide", family=families.BINARY, golden=goldens.divide)
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
        raise fatal(
            f"Incorrect rounding mode (expected None, 'trunc', or 'floor'), got '{rounding_mode}'",
            hint="rounding_mode='floor', 'trunc' or None",
        )
    check_cores(sub_core_grids, sub_device_id)
    divisor = _either(input_tensor_b, value, "input_tensor_b", "value")
    if rounding_mode is None:
        _check_quotient(input_tensor_a, divisor, dtype, output_tensor)
    fused = (activations, input_tensor_a_activations, input_tensor_b_activations)
    return apply(
        _DIVISIONS[rounding_mode], input_tensor_a, divisor, dtype, memory_config, output_tensor, *fused
    )


def _check_quotient(a: Operand, b: Operand, dtype: DataType | None, room: Tensor | None) -> None:
    """Raises RuntimeError for quotients of integers that are to be anything but float32; a number written as a float is none."""
    tensors = [t for t in (a, b) if isinstance(t, Tensor)]
    if not tensors or any(t.dtype is not DataType.INT32 for t in tensors):
        return
    whole = all(isinstance(o, (Tensor, numbers.Integral)) for o in (a, b))
    if whole and dtype not in (None, DataType.FLOAT32):
        raise fatal(
            "Incorrect output_dtype value for Integer Division(rounding_mode=None) ; valid input values are None or ttnn.float32",
            hint="dtype=ttnn.float32, or rounding_mode='floor' or 'trunc'",
        )
    if whole and room is not None and room.dtype is not DataType.FLOAT32:
        raise fatal(
            "For integer division, supported output dtype is FLOAT32",
            hint="leave output_tensor out, or rounding_mode='floor' or 'trunc'",
        )


div = operation("ttnn.div", family=families.BINARY, golden=goldens.divide)(divide.compute)


def _in_place(plain: Operation) -> Operation:
    """An operation that writes its result over its first operand."""
    name = plain.name.removesuffix("_") + "_"

    def compute(
        input_a: Tensor,
        input_b: Operand,
        *,
        activations: Sequence[Activation] = (),
        input_tensor_a_activations: Sequence[Activation] = (),
        input_tensor_b_activations: Sequence[Activation] = (),
        sub_core_grids: CoreRangeSet | None = None,
        sub_device_id: object = None,
    ) -> Tensor:
        check_cores(sub_core_grids, sub_device_id)
        result: Tensor = plain.compute(
            input_a,
            input_b,
            activations=activations,
            input_tensor_a_activations=input_tensor_a_activations,
            input_tensor_b_activations=input_tensor_b_activations,
            output_tensor=input_a,
        )
        return result

    def in_a_mode(
        input_a: Tensor,
        input_b: Operand,
        *,
        activations: Sequence[Activation] = (),
        input_tensor_a_activations: Sequence[Activation] = (),
        input_tensor_b_activations: Sequence[Activation] = (),
        fast_and_approximate_mode: bool | None = _FAST.get(name),
        sub_core_grids: CoreRangeSet | None = None,
        sub_device_id: object = None,
    ) -> Tensor:
        check_nearest(plain.short_name, input_a.dtype, _FAST[name] and fast_and_approximate_mode is False)
        return compute(
            input_a,
            input_b,
            activations=activations,
            input_tensor_a_activations=input_tensor_a_activations,
            input_tensor_b_activations=input_tensor_b_activations,
            sub_core_grids=sub_core_grids,
            sub_device_id=sub_device_id,
        )

    compute.__doc__ = in_a_mode.__doc__ = f"`{plain.name}` written over its first operand; returns that."
    aliases = [f"ttnn.{_SHORT[name]}"] if name in _SHORT else ()
    declared = operation(name, family=families.BINARY, golden=plain.golden, aliases=aliases)
    return declared(in_a_mode if name in _FAST else compute)


_FAST = {
    "ttnn.add_": True,
    "ttnn.subtract_": True,
    "ttnn.multiply_": False,
    "ttnn.divide_": False,
    "ttnn.rsub_": True,
}
"""The operations with a fast mode, which is computed exactly too, and whether a device takes it unless told otherwise."""


_SHORT = {"ttnn.subtract_": "sub_", "ttnn.multiply_": "mul_", "ttnn.divide_": "div_"}
_OVERWRITING = [
    "add",
    "subtract",
    "multiply",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "ldexp",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "squared_difference",
    "bias_gelu",
]


@operation("ttnn.floor_div", family=families.BINARY, golden=goldens.comparison("floor_divide"))
def floor_div(
    input_tensor_a: Tensor,
    input_tensor_b: Operand,
    *,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """The floor of a / b."""
    check_tensor("floor_div", input_tensor_a)
    tensors = [t for t in (input_tensor_a, input_tensor_b) if isinstance(t, Tensor)]
    cut = [t for t in tensors if t.is_sharded()]
    if (
        memory_config is not None and cut and tensors[0].shape == tensors[-1].shape
    ):  # the floor is taken where a / b lies
        memory_config = like_operand(cut[0], memory_config)
    return apply(_FLOOR, input_tensor_a, input_tensor_b, None, memory_config)


def _with_second(rule: BinaryFunction) -> Operation:
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
    ) -> Tensor:
        second = _either(input_tensor_b, input_b, "input_tensor_b", "input_b")
        fused = (activations, input_tensor_a_activations, input_tensor_b_activations)
        return apply(rule, input_tensor_a, second, dtype, memory_config, output_tensor, *fused)

    compute.__doc__ = f"{rule.doc} Tensors broadcast; the second operand may be a number."
    return operation(f"ttnn.{rule.name}", family=families.BINARY, golden=goldens.exact(rule.name))(compute)


maximum, minimum = _with_second(_MAXIMUM), _with_second(_MINIMUM)


@operation("ttnn.rsub", family=families.BINARY, golden=goldens.BINARY["rsub"])
def rsub(
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
    """b - a. Tensors broadcast; the second operand may be a number. Computed exactly in every mode."""
    second = _either(input_tensor_b, input_b, "input_tensor_b", "input_b")
    fused = (activations, input_tensor_a_activations, input_tensor_b_activations)
    nearest = fast_and_approximate_mode is False
    return apply(_RSUB, input_tensor_a, second, dtype, memory_config, output_tensor, *fused, nearest)


IN_PLACE: dict[str, Operation] = {
    f"{plain.short_name}_": _in_place(plain) for plain in (*(BINARY[n] for n in _OVERWRITING), divide, rsub)
}
"""The operations that write over their first operand."""


def _check_exponent(dtype: DataType, exponent: float) -> None:
    """Raises RuntimeError for a number that integers have no power of: one with a fraction or beyond 32 bits, and one below 0."""
    whole = math.isfinite(exponent) and float(exponent).is_integer() and -(1 << 31) <= exponent < 1 << 31
    if not whole:
        raise fatal(
            f"pow: {cpp(dtype)} input requires an integral exponent, got {float_text(exponent)}",
            hint="ttnn.typecast(tensor, ttnn.float32)",
        )
    if exponent < 0:
        raise fatal(
            f"pow: integers to negative integer powers are not allowed, got {int(exponent)}",
            hint="ttnn.typecast(tensor, ttnn.float32)",
        )


@operation("ttnn.pow", family=families.BINARY, golden=goldens.comparison("pow"))
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
    """input_tensor to the power of exponent; either may be a number. Integers wrap, and take a whole number of at least 0.

    Raises RuntimeError for an exponent of integers. To the power of a number it has neither `dtype` nor activations.
    """
    fused = (activations, input_tensor_a_activations, input_tensor_b_activations)
    if not isinstance(exponent, Tensor) and (dtype is not None or any(fused)):
        raise ArgumentMismatch(
            "dtype and activations go with an exponent that is a tensor\nhelp: ttnn.typecast(ttnn.pow(tensor, exponent), dtype)"
        )
    whole = isinstance(input_tensor, Tensor) and not is_float(input_tensor.dtype)
    if whole and isinstance(input_tensor, Tensor) and isinstance(exponent, Tensor):
        raise fatal(
            f"Input tensor A dtype {cpp(input_tensor.dtype)} is not supported for binary operation POWER: tensor exponents are not "
            "supported for integer inputs, use a scalar integer exponent",
            hint="ttnn.typecast(tensor, ttnn.float32)",
        )
    if whole and isinstance(input_tensor, Tensor) and not isinstance(exponent, Tensor):
        _check_exponent(input_tensor.dtype, exponent)
    if whole and isinstance(input_tensor, Tensor):
        check_unary("power_iterative", input_tensor.dtype)
        if exponent not in (0, 1):
            _check_whole_power(input_tensor, output_tensor)
    if isinstance(exponent, Tensor) and not (is_float(exponent.dtype) or isinstance(input_tensor, Tensor)):
        raise fatal(
            f"Input tensor A dtype {cpp(exponent.dtype)} is not supported for binary operation POWER: tensor exponents are not supported "
            "for integer inputs, use a scalar integer exponent",
            hint="exponent=ttnn.typecast(exponent, ttnn.float32)",
        )
    if memory_config is None and output_tensor is None and not isinstance(exponent, Tensor):
        held = input_tensor.memory_config() if isinstance(input_tensor, Tensor) else None
        memory_config = (
            held
            if held is not None
            and held.created_with_nd_shard_spec
            and (held.shard_spec is None or isinstance(exponent, int))
            else None
        )
    rule = _WHOLE_POWER if whole else _POWER
    return apply(rule, input_tensor, exponent, dtype, memory_config, output_tensor, *fused)


def _check_whole_power(given: Tensor, output: Tensor | None) -> None:
    """Integers are multiplied tile by tile, into a tensor like the one that comes."""
    if given.layout is not Layout.TILE:
        raise fatal(
            f"pow_int: input must be in TILE layout, got {cpp(given.layout)}", hint=in_tiles("tensor")
        )
    if output is None:
        return
    for word, there, wanted in (
        ("dtype", cpp(output.dtype), cpp(given.dtype)),
        ("shape", output.shape, given.shape),
        ("tile", output.tile, given.tile),
    ):
        if there != wanted:
            raise fatal(
                f"pow_int: output {word} {there} must match input {word} {wanted}",
                hint="ttnn.empty_like(tensor)",
            )


def _either(one: Any, other: Any, name: str, alias: str) -> Any:
    """The value of a parameter that goes by two names."""
    if (one is None) == (other is None):
        raise ArgumentMismatch(f"expected one of {name!r} and {alias!r}")
    return other if one is None else one
