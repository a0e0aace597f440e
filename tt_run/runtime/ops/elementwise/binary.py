"""Binary operations: two tensors that broadcast against each other, or a tensor and a scalar.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.kernels.activations import Activation, Function, chain, counted
from tt_run.runtime.kernels.bfloat16_tables import Unrounded
from tt_run.runtime.ops.declaration import families, small_tiles
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, Golden, Operation, no_tensor, operation
from tt_run.runtime.ops.declaration.element_types import (
    check_bits,
    check_divisor,
    check_nearest,
    check_pair,
    scalar_among_integers,
)
from tt_run.runtime.ops.declaration.layouts import check_room
from tt_run.runtime.ops.declaration.operands import in_rank_of, on_device, settle
from tt_run.runtime.ops.declaration.places import check_cores
from tt_run.runtime.ops.declaration.signatures import with_signature
from tt_run.runtime.ops.elementwise.binary_functions import RULES, WIDE, BinaryFunction, Kernel
from tt_run.runtime.ops.elementwise.binary_stacks import Operand, computed
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement import larger_shards
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, convert, is_float, stored_dtype
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
_FLOAT32 = np.dtype(np.float32)


_ALONE = frozenset({"maximum", "minimum"})
"""Which with a number are of one operand."""
_OF_ONE_TILE = _ALONE | {"pow", "fmod", "remainder"}
"""Which with a number take tiles of any size."""
_NUMBER_FIRST = frozenset({"add", "subtract", "multiply", "divide", "floor_div", "div_trunc", "pow"})
"""Rules whose first operand may be a number; those of floors and cut quotients are `divide`'s too."""

_TENSORS = frozenset({"atan2", "hypot"})
"""Rules of two tensors alone."""


def check_tensor(name: str, operand: Operand) -> None:
    """Raises TypeError for a number where operation `name` takes a tensor alone."""
    if not isinstance(operand, Tensor):
        raise ArgumentMismatch(
            f"{name} takes a tensor there, not {operand!r}\nhelp: ttnn.full_like(tensor, {operand!r})"
        )


class Outcome(NamedTuple):
    """What follows from the specs of two operands: the result's element type, the one computed in, and its layout and place where they are its own."""

    dtype: DataType
    compute: np.dtype[Any]
    layout: Layout | None
    memory_config: MemoryConfig | None


def apply(
    rule: BinaryFunction,
    a: Operand,
    b: Operand,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    activations: Sequence[Activation] = (),
    a_activations: Sequence[Activation] = (),
    b_activations: Sequence[Activation] = (),
    nearest: bool = False,
) -> Tensor:
    """One binary operation, at least one operand a device tensor. dtype: that of the first tensor unless given. `nearest`: as a device rounds on request."""
    tensors = _tensors(rule.name, a, b)
    on_device(*tensors)
    if rule.narrows and len(tensors) == 1 and tensors[0].dtype is DataType.BFLOAT16:
        a, b = (a if isinstance(a, Tensor) else _narrowed(a)), (b if isinstance(b, Tensor) else _narrowed(b))
    kernel = rule.kernel
    if rule.stepwise is not None and all(tensor.dtype is DataType.BFLOAT16 for tensor in tensors):
        kernel = rule.stepwise
    if activations or a_activations or b_activations:
        whole = tensors[0].dtype if rule.integer else None
        on_a, on_b = _on_operand(a_activations, a, whole), _on_operand(b_activations, b, whole)
        kernel = _fused(kernel, chain(_packed(activations)), on_a, on_b)
    place = None if memory_config is None else memory_config.known_by()
    asked = dtype, place
    plain = output_tensor is None and not nearest and (place is None) is (memory_config is None)
    plain = plain and _says_all(tensors)
    if plain:
        known = _outcomes.get((id(rule), id(tensors[0].spec), id(tensors[-1].spec), len(tensors), *asked))
        if known is not None:
            outcome = known[0]
            return _settled(outcome, tensors, computed(kernel, outcome.dtype, outcome.compute, a, b), None)
    if len(tensors) == 2 or rule.name not in _OF_ONE_TILE:
        small_tiles.check_pair(*tensors)
    if output_tensor is not None:
        if dtype is not None and isinstance(output_tensor, Tensor) and output_tensor.dtype is not dtype:
            raise fatal(
                "If both output dtype and output tensor are provided, their dtypes should match",
                hint=f"leave dtype out: the output tensor is {cpp(output_tensor.dtype)}",
            )
        check_room(rule.name, tensors, output_tensor, by_number=not isinstance(b, Tensor))
    dtype, compute, a, b = _typed(rule, tensors, a, b, dtype, output_tensor)
    check_nearest(rule.name, dtype, nearest)
    made = _layout(rule.name, tensors, dtype, output_tensor)
    shards = computed(kernel, dtype, compute, a, b)
    if len(tensors) == 2 or rule.name not in _ALONE:
        shards = in_rank_of(output_tensor, shards)
    memory_config = larger_shards.of_pair(tensors, shards.shape, made, memory_config, output_tensor)
    in_rows = made is Layout.ROW_MAJOR and dtype in BLOCK_FLOATS and output_tensor is None
    layout = None if made is tensors[0].layout else made
    outcome = Outcome(DataType.BFLOAT16 if in_rows else dtype, compute, layout, memory_config)
    if plain and not in_rows:
        _remember(outcome, rule, tensors, asked)
    return _settled(outcome, tensors, shards, output_tensor)


def _typed(
    rule: BinaryFunction,
    tensors: Sequence[Tensor],
    a: Operand,
    b: Operand,
    dtype: DataType | None,
    output_tensor: Tensor | None,
) -> tuple[DataType, np.dtype[Any], Operand, Operand]:
    """The element type of a result, the one that is computed in, and the operands, of which a number may be another one among integers.

    Raises RuntimeError for types that the rule does not take, or not together.
    """
    own, other = tensors[0].dtype, tensors[-1].dtype
    real = rule.real or is_float(own) or is_float(other)
    if len(tensors) == 2:
        check_pair(rule.name, own, other, joins=rule.follows)
    promoted = False
    number = b if isinstance(a, Tensor) else a
    if len(tensors) == 1 and rule.integer:
        check_bits(rule.name, own, number)
    if len(tensors) == 1 and not is_float(own):
        paired = rule.name == "remainder" and dtype is not None
        if rule.name == "remainder" and own is DataType.UINT32 and not paired:
            check_divisor(number)
        promoted = own in rule.promotes and _leaves_integers(number)
        leaves = promoted or own in rule.widens
        number = scalar_among_integers(rule.name, own, number, rule.real or promoted, leaves, paired)
        a, b = (a, number) if isinstance(a, Tensor) else (number, b)
        real = real or promoted or isinstance(number, float)
    if dtype is None:
        dtype = own
        if isinstance(output_tensor, Tensor):
            dtype = output_tensor.dtype
        elif rule.follows and own in WIDE and is_float(other):
            dtype = DataType.BFLOAT16 if other in BLOCK_FLOATS else other
        elif promoted or own in rule.widens:
            dtype = DataType.FLOAT32
        elif rule.compares and own is DataType.UINT8:
            dtype = DataType.UINT16
    return dtype, _FLOAT32 if real else stored_dtype(own), a, b


_Asked = tuple[DataType | None, tuple[object, ...] | None]
_outcomes: dict[
    tuple[int, int, int, int, DataType | None, tuple[object, ...] | None],
    tuple[Outcome, BinaryFunction, TensorSpec, TensorSpec],
] = {}
"""Of rules and specs, by their identities, which an entry keeps, and of what is asked for: programs make the same calls over and over."""


def _says_all(tensors: Sequence[Tensor]) -> bool:
    """Whether the outcome of a call follows from the specs and from what it asks for: with a number, where it cannot leave the integers."""
    first = tensors[0]
    if type(first) is not Tensor:
        return False
    return type(tensors[1]) is Tensor if len(tensors) == 2 else is_float(first.dtype)


def _remember(outcome: Outcome, rule: BinaryFunction, tensors: Sequence[Tensor], asked: _Asked) -> None:
    one, other = tensors[0].spec, tensors[-1].spec
    if len(_outcomes) >= 4096:
        _outcomes.clear()
    key = (id(rule), id(one), id(other), len(tensors), *asked)
    _outcomes[key] = outcome, rule, one, other


def _settled(
    outcome: Outcome, tensors: tuple[Tensor, ...], shards: Shards, output_tensor: Tensor | None
) -> Tensor:
    return settle(
        tensors,
        shards,
        outcome.dtype,
        memory_config=outcome.memory_config,
        output_tensor=output_tensor,
        layout=outcome.layout,
    )


def _layout(name: str, tensors: Sequence[Tensor], dtype: DataType, room: Tensor | None) -> Layout:
    """Row-major only where all are; one tile operand makes tiles of the result. Raises RuntimeError for block floats in rows.

    On cores rows go through tiles, in which they may be BFLOAT8_B.
    """
    rows = all(tensor.layout is Layout.ROW_MAJOR for tensor in tensors)
    alone = len(tensors) == 1 and name in _ALONE
    through = dtype is DataType.BFLOAT8_B and not alone and any(tensor.is_sharded() for tensor in tensors)
    if rows and dtype in BLOCK_FLOATS and room is None and not through:
        raise fatal("Only TILE layout is supported for BFLOAT8_B dtype!", hint=in_tiles("tensor"))
    return Layout.ROW_MAJOR if rows else Layout.TILE


def _leaves_integers(scalar: Any) -> bool:
    """Whether a scalar takes a tensor to float32: a float does by its type, not its value."""
    return not isinstance(scalar, numbers.Integral) or not -(1 << 31) <= int(scalar) < 1 << 32


def _tensors(name: str, a: Operand, b: Operand) -> tuple[Tensor, ...]:
    """The operands that are tensors; the other one must be a number, and one that rule `name` takes there."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return (a, b)
    tensor, number = (a, b) if isinstance(a, Tensor) else (b, a)
    _check_scalar(number)
    if name not in _NUMBER_FIRST:
        check_tensor(name, a)
    if name in _TENSORS:
        check_tensor(name, b)
    return (tensor,) if isinstance(tensor, Tensor) else ()


def _check_scalar(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise no_tensor("an operand", value)


def _narrowed(value: float) -> float:
    """A number in BFLOAT16."""
    return float(BFLOAT16.type(float(value)))


def _packed(activations: Sequence[Activation]) -> Sequence[Activation]:
    """A RELU alone is applied where results are packed, which has no use for parameters."""
    fused = UnaryWithParam.of(activations[0]) if len(activations) == 1 else None
    alone = isinstance(fused, UnaryWithParam) and fused.op_type is UnaryOpType.RELU
    return [UnaryOpType.RELU] if alone else activations


def _on_operand(
    activations: Sequence[Activation], operand: Operand, whole: DataType | None
) -> Function | None:
    """What is done to an operand before the kernel sees it, which is of integers `whole` where it has none for fractions."""
    function = chain(activations)
    if function is not None and whole is not None:
        return _without_fractions(function, whole)
    if function is None or len(activations) > 1 or not isinstance(operand, Tensor):
        return function
    return Unrounded(function) if operand.dtype is DataType.BFLOAT16 else function


def _without_fractions(function: Function, dtype: DataType) -> Function:
    return lambda x: convert(counted(function(x), x), dtype)


def _fused(kernel: Kernel, after: Any, on_a: Any, on_b: Any) -> Kernel:
    def fused(a: Any, b: Any) -> Array:
        # Activations work in place on what they are given, which a lone number has none of.
        a, b = (np.atleast_1d(a) if on_a else a), (np.atleast_1d(b) if on_b else b)
        values = kernel(counted(on_a(a), a) if on_a else a, counted(on_b(b), b) if on_b else b)
        return after(counted(values, a)) if after else values

    return fused


def _golden(rule: BinaryFunction) -> Golden:
    """The function on torch tensors or numbers."""
    found = goldens.BINARY.get(rule.name, rule.name)
    return goldens.comparison(found) if isinstance(found, str) else found


_FUSED = {
    f"{place}activations": f"{place}activations: Sequence[UnaryWithParam] = ()"
    for place in ("", "input_tensor_a_", "input_tensor_b_")
}
_CORES = {
    "sub_core_grids": "sub_core_grids: CoreRangeSet | None = None",
    "sub_device_id": "sub_device_id: SubDeviceId | None = None",
}
_OPTIONS = {
    "dtype": "dtype: DataType | None = None",
    "memory_config": "memory_config: MemoryConfig | None = None",
    "output_tensor": "output_tensor: Tensor | None = None",
    **_FUSED,
    **_CORES,
}
_WITHOUT: dict[str, frozenset[str]] = {
    **dict.fromkeys(("atan2", "hypot"), frozenset(_OPTIONS) - {"memory_config"}),
    **dict.fromkeys(("gcd", "lcm"), frozenset(_CORES)),
    **dict.fromkeys(
        [f"bitwise_{name}" for name in ("and", "or", "xor", "left_shift", "right_shift")],
        frozenset({"dtype"}),
    ),
    "logical_left_shift": frozenset({"dtype"}),
    "fmod": frozenset(_OPTIONS) - {"memory_config"} - set(_CORES),
}
"""Keywords of most operations that some do not have."""


def _numbers(name: str) -> str:
    if name in _TENSORS:
        return ""
    return f"; {'either' if name in _NUMBER_FIRST else 'the second'} may be a number"


def _binary(rule: BinaryFunction) -> Operation:
    def compute(given: dict[str, Any]) -> Tensor:
        check_cores(given.get("sub_core_grids"), given.get("sub_device_id"))
        return apply(
            rule,
            given["input_tensor_a"],
            given["input_tensor_b"],
            given.get("dtype"),
            given.get("memory_config"),
            given.get("output_tensor"),
            *(given.get(name, ()) for name in _FUSED),
        )

    without = _WITHOUT.get(rule.name, frozenset())
    options = ", ".join(text for name, text in _OPTIONS.items() if name not in without)
    first = "Tensor | float" if rule.name in _NUMBER_FIRST else "Tensor"
    second = "Tensor" if rule.name in _TENSORS else "Tensor | float"
    signature = f"(input_tensor_a: {first}, input_tensor_b: {second}, *, {options})"
    doc = f"{rule.doc} Tensors broadcast{_numbers(rule.name)}."
    made = with_signature(rule.name, signature, compute, doc)
    return operation(f"ttnn.{rule.name}", family=families.BINARY, golden=_golden(rule))(made)


def _moded(rule: BinaryFunction, approximate: bool) -> Operation:
    def compute(
        input_tensor_a: Tensor | float,
        input_tensor_b: Tensor | float,
        *,
        fast_and_approximate_mode: bool = approximate,
        dtype: DataType | None = None,
        memory_config: MemoryConfig | None = None,
        output_tensor: Tensor | None = None,
        activations: Sequence[Activation] = (),
        input_tensor_a_activations: Sequence[Activation] = (),
        input_tensor_b_activations: Sequence[Activation] = (),
        sub_core_grids: CoreRangeSet | None = None,
        sub_device_id: object = None,
    ) -> Tensor:
        check_cores(sub_core_grids, sub_device_id)
        return apply(
            rule,
            input_tensor_a,
            input_tensor_b,
            dtype,
            memory_config,
            output_tensor,
            activations,
            input_tensor_a_activations,
            input_tensor_b_activations,
            approximate and not fast_and_approximate_mode,
        )

    if rule.name not in _NUMBER_FIRST:
        compute.__annotations__["input_tensor_a"] = "Tensor"
    compute.__doc__ = f"{rule.doc} Tensors broadcast{_numbers(rule.name)}; computed exactly in every mode."
    aliases = [f"ttnn.{_SHORT[rule.name]}"] if rule.name in _SHORT else ()
    return operation(f"ttnn.{rule.name}", family=families.BINARY, golden=_golden(rule), aliases=aliases)(
        compute
    )


_APPROXIMATE = {"add": True, "subtract": True, "multiply": False, "bias_gelu": False}
"""The operations with a fast mode, and whether a device takes it unless told otherwise."""

_SHORT = {"subtract": "sub", "multiply": "mul"}

BINARY: dict[str, Operation] = {
    name: _moded(rule, _APPROXIMATE[name]) if name in _APPROXIMATE else _binary(rule)
    for name, rule in RULES.items()
}
"""The operations that differ in nothing but their kernel."""

add, subtract, multiply = BINARY["add"], BINARY["subtract"], BINARY["multiply"]
