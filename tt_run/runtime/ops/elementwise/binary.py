"""Binary operations: two tensors that broadcast against each other, or a tensor and a scalar.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels.activations import Activation, Applied, chain, counted
from tt_run.runtime.kernels.elementwise import ANSWERS, CLOSED, SUMS, evaluate
from tt_run.runtime.kernels.torch_bfloat16 import of_number, of_one, of_pair
from tt_run.runtime.ops.declaration import families, small_tiles
from tt_run.runtime.ops.declaration.broadcast import align, check_broadcast
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
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement import larger_shards
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam
from tt_run.runtime.values.bfloat16 import BFLOAT16, round_bfloat16
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, is_float, stored_dtype
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards, combine

Array = npt.NDArray[Any]
Kernel = Callable[[Any, Any], Array]
Operand = Tensor | float | int
_FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True)
class BinaryFunction:
    """A binary function: the NumPy kernel, and what it needs of integers."""

    name: str
    kernel: Kernel
    doc: str
    # Integers go through float32: the function leaves the integers.
    real: bool = False
    # Integers whose quotients are float32, as the reference's division makes them.
    widens: tuple[DataType, ...] = ()
    # The function is one of bits: floating-point tensors are refused.
    integer: bool = False
    # Element types of tensors that a float scalar takes to float32.
    promotes: tuple[DataType, ...] = ()
    # A tensor of 32-bit integers goes over to the type of a floating-point one after it.
    follows: bool = False
    # Comparisons answer in 16 bits where the operands have 8.
    compares: bool = False
    # A number beside a BFLOAT16 tensor is rounded to it first, as the golden function and a device have it.
    narrows: bool = False
    # The kernel of BFLOAT16: where golden functions and a device round the first step of several, or where 16 bits allow a quicker one.
    stepwise: Kernel | None = None


WIDE = (DataType.INT32, DataType.UINT32)
"""The integers of 32 bits."""


def squared_difference(a: Any, b: Any) -> Array:
    """(a - b) squared."""
    difference = np.subtract(a, b)
    return np.multiply(difference, difference)


def _squared_in_steps(a: Any, b: Any) -> Array:
    difference = round_bfloat16(np.subtract(a, b))
    return np.multiply(difference, difference)


def _xlogy(a: Any, b: Any) -> Array:
    return np.where((a == 0) & ~np.isnan(b), np.float32(0), np.log(b) * a)


def _xlogy_in_steps(a: Any, b: Any) -> Array:
    with np.errstate(all="ignore"):
        logarithm = round_bfloat16(np.log(np.asarray(b)))
    return np.where((a == 0) & ~np.isnan(b), np.float32(0), logarithm * a)


def _gelu_of_sum(a: Any, b: Any) -> Array:
    return f.gelu(np.add(a, b))


def _gelu_in_steps(a: Any, b: Any) -> Array:
    return f.gelu(round_bfloat16(np.add(a, b)))


def _shifted_down(a: Any, b: Any) -> Array:
    """A shift down that keeps the sign: counts end at 31, and a negative one is as many.

    A device has the same one for the 32 bits of UINT32, of which the highest is a sign to it.
    """
    first, amount = np.asarray(a), np.asarray(b)
    if first.dtype == np.uint32:
        return _shifted_down(first.view(np.int32), amount.view(np.int32)).view(np.uint32)
    if amount.dtype == first.dtype and _all_below(amount, 32):
        return np.asarray(np.right_shift(first, amount))
    if first.dtype.kind == "u":
        return np.asarray(np.right_shift(first, np.minimum(amount, first.dtype.type(31))))
    return np.asarray(np.right_shift(first, np.where((amount >= 0) & (amount < 32), amount, 31)))


def _all_below(amount: Array, bits: int) -> bool:
    """Whether counts are from 0 to `bits`, without it, as they mostly are."""
    return bool(amount.size) and int(amount.view(f"u{amount.dtype.itemsize}").max()) < bits


def _shifted(shift: Kernel) -> Kernel:
    """A shift of the bits as they are, without a sign; none are left when it is as wide as the element."""

    def compute(a: Any, b: Any) -> Array:
        first, amount = np.asarray(a), np.asarray(b)
        bits = first.dtype.itemsize * 8
        unsigned = first.view(f"u{first.dtype.itemsize}")
        if amount.dtype == first.dtype and _all_below(amount, bits):
            return np.asarray(shift(unsigned, amount.view(unsigned.dtype))).view(first.dtype)
        moved = shift(unsigned, amount.astype(unsigned.dtype) % unsigned.dtype.type(bits))
        inside = (amount >= 0) & (amount < bits)
        return np.where(inside, moved, unsigned.dtype.type(0)).view(first.dtype)

    return compute


RULES = {
    rule.name: rule
    for rule in (
        BinaryFunction("add", np.add, "a + b.", narrows=True),
        BinaryFunction("subtract", np.subtract, "a - b.", narrows=True),
        BinaryFunction("multiply", np.multiply, "a * b.", promotes=WIDE, follows=True),
        BinaryFunction("eq", np.equal, "1 where a = b, else 0.", compares=True, narrows=True),
        BinaryFunction("ne", np.not_equal, "1 where a differs from b, else 0.", compares=True, narrows=True),
        BinaryFunction("lt", np.less, "1 where a < b, else 0.", compares=True, narrows=True),
        BinaryFunction("le", np.less_equal, "1 where a <= b, else 0.", compares=True, narrows=True),
        BinaryFunction("gt", np.greater, "1 where a > b, else 0.", compares=True, narrows=True),
        BinaryFunction("ge", np.greater_equal, "1 where a >= b, else 0.", compares=True, narrows=True),
        BinaryFunction("logical_and", np.logical_and, "1 where both are not zero, else 0."),
        BinaryFunction("logical_or", np.logical_or, "1 where one is not zero, else 0."),
        BinaryFunction("logical_xor", np.logical_xor, "1 where exactly one is not zero, else 0."),
        BinaryFunction(
            "squared_difference",
            squared_difference,
            "(a - b) squared.",
            narrows=True,
            stepwise=_squared_in_steps,
        ),
        BinaryFunction("ldexp", lambda a, b: np.exp2(b) * a, "a * 2**b.", real=True),
        BinaryFunction(
            "logaddexp",
            np.logaddexp,
            "log(exp(a) + exp(b)).",
            real=True,
            narrows=True,
            stepwise=f.log_of_sum,
        ),
        BinaryFunction(
            "logaddexp2",
            np.logaddexp2,
            "log2(2**a + 2**b).",
            real=True,
            narrows=True,
            stepwise=f.log2_of_sum,
        ),
        BinaryFunction("hypot", np.hypot, "sqrt(a*a + b*b).", real=True),
        BinaryFunction("atan2", np.arctan2, "The angle of the point (b, a).", real=True),
        BinaryFunction(
            "xlogy",
            _xlogy,
            "a * log(b), 0 where a is 0 and b a number.",
            real=True,
            narrows=True,
            stepwise=_xlogy_in_steps,
        ),
        BinaryFunction("bitwise_and", np.bitwise_and, "The bits that both have.", integer=True),
        BinaryFunction("bitwise_or", np.bitwise_or, "The bits that one has.", integer=True),
        BinaryFunction("bitwise_xor", np.bitwise_xor, "The bits that exactly one has.", integer=True),
        BinaryFunction(
            "bitwise_left_shift", _shifted(np.left_shift), "a moved b bits up; 0 from 32 on.", integer=True
        ),
        BinaryFunction(
            "bitwise_right_shift",
            _shifted_down,
            "a moved b bits down, the sign coming in; counts end at 31.",
            integer=True,
        ),
        BinaryFunction(
            "logical_left_shift", _shifted(np.left_shift), "a moved b bits up; 0 from 32 on.", integer=True
        ),
        BinaryFunction(
            "logical_right_shift",
            _shifted(np.right_shift),
            "a moved b bits down, zeros coming in; 0 from 32 on.",
            integer=True,
        ),
        BinaryFunction("gcd", np.gcd, "The greatest common divisor.", integer=True),
        BinaryFunction("lcm", lambda a, b: np.abs(np.lcm(a, b)), "The least common multiple.", integer=True),
        BinaryFunction(
            "bias_gelu", _gelu_of_sum, "GELU of a + b.", real=True, narrows=True, stepwise=_gelu_in_steps
        ),
        BinaryFunction(
            "remainder",
            np.remainder,
            "What is left of a after the floor of a / b times b.",
            promotes=(DataType.INT32,),
            stepwise=f.short_remainder,
        ),
        BinaryFunction(
            "fmod",
            np.fmod,
            "What is left of a after a / b cut towards zero times b.",
            promotes=(DataType.INT32,),
            stepwise=f.short_fmod,
        ),
    )
}


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
        kernel = _fused(kernel, chain(_packed(activations)), chain(a_activations), chain(b_activations))
    plain = dtype is memory_config is output_tensor is None and not nearest and _says_all(tensors)
    if plain:
        known = _outcomes.get((id(rule), id(tensors[0].spec), id(tensors[-1].spec), len(tensors)))
        if known is not None:
            outcome = known[0]
            return _settled(outcome, tensors, _computed(kernel, outcome.dtype, outcome.compute, a, b), None)
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
    shards = _computed(kernel, dtype, compute, a, b)
    if len(tensors) == 2 or rule.name not in _ALONE:
        shards = in_rank_of(output_tensor, shards)
    memory_config = larger_shards.of_pair(tensors, shards.shape, made, memory_config, output_tensor)
    in_rows = made is Layout.ROW_MAJOR and dtype in BLOCK_FLOATS and output_tensor is None
    layout = None if made is tensors[0].layout else made
    outcome = Outcome(DataType.BFLOAT16 if in_rows else dtype, compute, layout, memory_config)
    if plain:
        _remember(outcome, rule, tensors)
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


_outcomes: dict[tuple[int, int, int, int], tuple[Outcome, BinaryFunction, TensorSpec, TensorSpec]] = {}
"""Of rules and specs, by their identities, which an entry keeps: programs make calls of the same ones over and over."""


def _says_all(tensors: Sequence[Tensor]) -> bool:
    """Whether the outcome of a call that asks for nothing follows from the specs: with a number, where it cannot leave the integers."""
    first = tensors[0]
    if type(first) is not Tensor:
        return False
    return type(tensors[1]) is Tensor if len(tensors) == 2 else is_float(first.dtype)


def _remember(outcome: Outcome, rule: BinaryFunction, tensors: Sequence[Tensor]) -> None:
    one, other = tensors[0].spec, tensors[-1].spec
    if len(_outcomes) >= 4096:
        _outcomes.clear()
    _outcomes[id(rule), id(one), id(other), len(tensors)] = outcome, rule, one, other


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


_EITHER_WAY = frozenset({np.add, np.multiply})
"""Kernels of two operands in any order."""
_COSTLY = frozenset(
    {
        *(f.power, f.short_floor_divide, f.trunc_divide, f.short_remainder, f.short_fmod),
        *(f.log_of_sum, f.log2_of_sum, _xlogy_in_steps),
    }
)
"""Kernels of bfloat16 that take longer than reading a table, which has all of them beside one number."""


@dataclass(frozen=True)
class _After:
    """A kernel whose number comes first."""

    kernel: Kernel

    def __call__(self, x: Array, number: Any) -> Array:
        return self.kernel(number, x)


def _computed(kernel: Kernel, dtype: DataType, compute: np.dtype[Any], a: Operand, b: Operand) -> Shards:
    if not isinstance(b, Tensor):
        value, left = _scalar(b, compute), a.shards  # type: ignore[union-attr]
        if left.bfloat16 is not None or left.data.size > BLOCK:
            made = _beside(kernel, dtype, a, value, first=False)  # type: ignore[arg-type]
            if made is not None:
                return made
        return left.holding(
            evaluate(kernel, dtype, _cast(left.data, compute), value, rounds=kernel not in ANSWERS)
        )
    if not isinstance(a, Tensor):
        value, right = _scalar(a, compute), b.shards
        if right.bfloat16 is not None or right.data.size > BLOCK:
            made = _beside(kernel, dtype, b, value, first=True)
            if made is not None:
                return made
        return right.holding(
            evaluate(kernel, dtype, value, _cast(right.data, compute), rounds=kernel not in ANSWERS)
        )
    left, right = a.shards, b.shards
    ours, theirs = left.shape, right.shape
    if ours != theirs:
        check_broadcast(ours, theirs)
    short = a.dtype is b.dtype is DataType.BFLOAT16
    rounds, whole = not (kernel in ANSWERS or (short and kernel in CLOSED)), short and kernel in SUMS
    if len(ours) == len(theirs):
        if left.index is right.index or left.index == right.index:
            if short and dtype is DataType.BFLOAT16 and left.stack.size > BLOCK:
                made = of_pair(kernel, left, right)
                if made is not None:
                    return made
            first, second = _cast(left.data, compute), _cast(right.data, compute)
            return left.holding(evaluate(kernel, dtype, first, second, rounds=rounds, whole_units=whole))
        rank = None
    else:
        rank = max(len(ours), len(theirs))

    def on_stacks(x: Array, y: Array) -> Array:
        x, y = _cast(x, compute), _cast(y, compute)
        if rank is not None:
            x, y = align(x, rank), align(y, rank)
        return evaluate(kernel, dtype, x, y, rounds=rounds, whole_units=whole)

    return combine(on_stacks, left, right)


def _beside(kernel: Kernel, dtype: DataType, tensor: Tensor, value: Any, *, first: bool) -> Shards | None:
    """A kernel of a large tensor and a number, which comes `first` or second; None where to compute every element takes less."""
    if not tensor.dtype is dtype is DataType.BFLOAT16:
        return None
    shards = tensor.shards
    made = of_number(kernel, shards, value) if not first or kernel in _EITHER_WAY else None
    if made is None and kernel in _COSTLY:
        return of_one(Applied(_After(kernel) if first else kernel, (value,)), shards)
    return made


def _cast(values: Array, dtype: np.dtype[Any]) -> Array:
    return values if values.dtype == dtype else values.astype(dtype)


def _check_scalar(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise no_tensor("an operand", value)


def _scalar(value: Operand, dtype: np.dtype[Any]) -> Any:
    """A scalar operand in the type that the operation computes in; integers wrap."""
    if dtype.kind == "f":
        return dtype.type(value)
    return np.array(int(value)).astype(dtype)[()]  # type: ignore[arg-type]


def _narrowed(value: float) -> float:
    """A number in BFLOAT16."""
    return float(BFLOAT16.type(float(value)))


def _packed(activations: Sequence[Activation]) -> Sequence[Activation]:
    """A RELU alone is applied where results are packed, which has no use for parameters."""
    fused = UnaryWithParam.of(activations[0]) if len(activations) == 1 else None
    alone = isinstance(fused, UnaryWithParam) and fused.op_type is UnaryOpType.RELU
    return [UnaryOpType.RELU] if alone else activations


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
