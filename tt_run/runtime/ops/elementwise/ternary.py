"""Elementwise operations of three operands, tensors or numbers: where, clamp, addcmul and kin.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles, throw
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels.activations import Applied
from tt_run.runtime.kernels.elementwise import evaluate
from tt_run.runtime.kernels.short_stacks import chosen, of_several
from tt_run.runtime.kernels.torch_float32 import OF_ONE
from tt_run.runtime.ops.declaration import families, small_tiles
from tt_run.runtime.ops.declaration.broadcast import align, check_all_broadcast, check_broadcast
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.ops.declaration.element_types import check_pair, of_bits
from tt_run.runtime.ops.declaration.layouts import check_room_shape
from tt_run.runtime.ops.declaration.operands import in_rank_of, on_device, room_type, settle
from tt_run.runtime.ops.declaration.places import like_operand
from tt_run.runtime.ops.elementwise import triple_checks as checks
from tt_run.runtime.ops.elementwise import unary
from tt_run.runtime.ops.elementwise.binary_stacks import Operand
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement import fitted_shards, larger_shards
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import is_float, stored_dtype
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards, combine

Array = npt.NDArray[Any]
Limit = Tensor | float
_FLOAT32: Any = np.float32


def ternary(
    kernel: Callable[..., Array],
    operands: Sequence[Operand],
    dtype: DataType,
    memory_config: MemoryConfig | None,
    output_tensor: Tensor | None,
    *,
    kept: int = 0,
    real: bool = False,
    in_tiles: bool = False,
    as_pair: bool = False,
    beside_first: bool = False,
    picks: bool = False,
    fused: str = "",
) -> Tensor:
    """A kernel of several operands, tensors or numbers, that broadcast against each other.

    Computed in the stored form of `dtype`, or among integers in float64 where `real`; the first `kept` operands come as they are. `in_tiles`:
    rows on cores are computed in tiles, and their pieces are no smaller than one then. `as_pair`: rows that leave their cores stay rows, as
    those of operations of two operands do. `beside_first`: the result lies where the first operand does, even if others are on cores.
    `picks`: elements of the result are elements of the operands that do not come as they are. `fused`: the operation that has a kernel of
    three operands.
    """
    tensors = [t for t in operands if isinstance(t, Tensor)]
    on_device(*tensors, kind="eltwise ternary")
    first, shape = tensors[0], tensors[0].shape
    if any(other.shape != shape for other in tensors[1:]):
        if fused:
            check_all_broadcast(fused, [tensor.shape for tensor in tensors])
        for other in tensors[1:]:
            check_broadcast(shape, other.shape)
    rank = max(len(t.shape) for t in tensors)
    compute = np.dtype(np.float64) if real and not is_float(dtype) else stored_dtype(dtype)
    chosen = (
        kept > 0 and len(tensors) == 2
    )  # between a tensor and a number, which is an operation of two operands
    if isinstance(output_tensor, Tensor):
        dtype = room_type(dtype, output_tensor) if len(tensors) == 1 else output_tensor.dtype
        if not chosen and len(operands) > 1:
            checks.check_tiled_room(tensors, output_tensor)
            if len(operands) > 2:
                check_room_shape(tensors, output_tensor)

    chosen_as_they_are = picks and all(isinstance(o, Tensor) and o.dtype is dtype for o in operands[kept:])

    def on_stacks(*stacks: Array) -> Array:
        typed = [s if i < kept else s.astype(compute, copy=False) for i, s in enumerate(stacks)]
        arrays = iter([align(s, rank) for s in typed])
        given = [next(arrays) if isinstance(o, Tensor) else compute.type(o) for o in operands]
        return evaluate(kernel, dtype, *given, rounds=not chosen_as_they_are)

    shards = _of_large(kernel, operands, dtype, chosen_as_they_are)
    if shards is None:
        shards = combine(on_stacks, *(t.shards for t in tensors))
    if chosen:
        shards = in_rank_of(output_tensor, shards)
    free = memory_config is None and output_tensor is None
    layout = _layout(tensors, memory_config, chosen=as_pair or (in_tiles and len(tensors) == 2))
    memory_config = _place(tensors, shards.shape, memory_config, free, beside_first)
    if free and in_tiles and len(tensors) > 1:
        memory_config = fitted_shards.at_least_a_tile(first, memory_config)
    return settle(
        tensors, shards, dtype, memory_config=memory_config, output_tensor=output_tensor, layout=layout
    )


def _place(
    tensors: Sequence[Tensor],
    shape: tuple[int, ...],
    asked: MemoryConfig | None,
    free: bool,
    beside_first: bool,
) -> MemoryConfig | None:
    """Where a result of this shape lies; `free`: nothing says so, `beside_first` as in `ternary`."""
    first = tensors[0]
    cut = [t for t in tensors if t.is_sharded()]
    held = first if beside_first or first.is_sharded() or not cut else larger_shards.on_most_cores(cut)
    same = shape == tuple(held.shape)
    if free and beside_first:
        return (like_operand(first, None) if same else None) or first.memory_config()
    if free:
        asked = larger_shards.of_broadcast(tensors, shape, first.layout, any_first=True)
    return like_operand(held, asked) if same else asked


def _of_large(
    kernel: Callable[..., Array], operands: Sequence[Operand], dtype: DataType, picks: bool
) -> Shards | None:
    """A kernel of large tensors and numbers as PyTorch has it, or from 16 bits to 16 bits; None where neither is worth it. `picks`: as `_select` does."""
    large = isinstance(operands[0], Tensor) and operands[0].shards.stack.size > BLOCK
    if not large or dtype not in OF_ONE:
        return None
    if any(isinstance(operand, Tensor) and operand.dtype is not dtype for operand in operands):
        return None
    given = [operand.shards if isinstance(operand, Tensor) else _FLOAT32(operand) for operand in operands]
    if not picks and len(operands) > 1 and not any(isinstance(operand, Tensor) for operand in operands[1:]):
        return OF_ONE[dtype](Applied(kernel, tuple(given[1:])), given[0])
    if dtype is not DataType.BFLOAT16:
        return None
    if picks:
        return chosen(*given) if len(given) == 3 else None
    return of_several(kernel, given)


def _layout(tensors: Sequence[Tensor], asked: MemoryConfig | None, chosen: bool) -> Layout | None:
    """The layout of a result of several tensors, None for the first one's: rows beside tiles become tiles, and rows that leave their cores.

    `chosen`: between a tensor and a number, as which they stay rows.
    """
    first = tensors[0]
    if first.layout is Layout.TILE or len(tensors) == 1:
        return None
    if first.memory_config().shard_spec is not None:
        return None if chosen or asked is None or asked.is_sharded() else Layout.TILE
    return Layout.TILE if any(t.layout is Layout.TILE for t in tensors) else None


def _factor(value: float, dtype: DataType) -> Any:
    """A number as elements of `dtype` hold it: the last 32 bits of whole ones, to which a float comes as a float32."""
    stored = stored_dtype(dtype)
    if is_float(dtype):
        return stored.type(value)
    whole = int(value) if isinstance(value, numbers.Integral) else int(np.float32(value))
    return stored.type(of_bits(whole % 2**32, dtype))


@operation("ttnn.addcmul", family=families.TERNARY, golden="addcmul")
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
    checks.check_addcmul([t.dtype for t in (input_a, input_b, input_c)])
    return ternary(
        f.add_product,
        (input_a, input_b, input_c, _factor(value, input_a.dtype)),
        input_a.dtype,
        memory_config,
        output_tensor,
        in_tiles=True,
        fused="ttnn.addcmul",
    )


@operation("ttnn.addcdiv", family=families.TERNARY, golden="addcdiv")
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
    dtype = checks.quotient_type([t.dtype for t in (input_a, input_b, input_c)])
    return ternary(
        f.add_quotient,
        (input_a, input_b, input_c, np.float32(value)),
        dtype,
        memory_config,
        output_tensor,
        real=True,
        in_tiles=True,
        fused="ttnn.addcdiv",
    )


@operation("ttnn.where", family=families.TERNARY, golden=goldens.where)
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
    numbers = [v for v in (true_value, false_value) if not isinstance(v, Tensor)]
    typed = next((v for v in (true_value, false_value) if isinstance(v, Tensor)), predicate)
    dtype = typed.dtype
    if len(numbers) == 1:
        small_tiles.check_pair(predicate, typed)
        checks.check_choice(predicate.dtype, dtype, typed is true_value)
    if numbers and not is_float(dtype):
        dtype = _chosen_type(dtype, numbers)
    if len(numbers) == 2 and dtype is DataType.INT32:
        true_value, false_value = (of_bits(int(number), dtype) for number in numbers)
    if len(numbers) == 1 and output_tensor is None:
        memory_config = _beside_number(predicate, typed, memory_config)
    return ternary(
        _select,
        (predicate, true_value, false_value),
        dtype,
        memory_config,
        output_tensor,
        kept=1,
        in_tiles=True,
        picks=True,
        fused="ttnn.where",
    )


def _beside_number(predicate: Tensor, value: Tensor, asked: MemoryConfig | None) -> MemoryConfig | None:
    """Where a choice between a tensor in tiles and a number lies: where that tensor does; asked for without cores, on those of the first that
    is cut, as that is cut.
    """
    if predicate.shape != value.shape or not predicate.layout is value.layout is Layout.TILE:
        return asked
    own = value.memory_config()
    if asked is None:
        return None if own == predicate.memory_config() else own
    cut = [t.memory_config() for t in (predicate, value) if t.is_sharded()]
    return cut[0] if asked.nameless and cut else asked


def _chosen_type(dtype: DataType, numbers: Sequence[Any]) -> DataType:
    """The type of a choice with numbers among integers: two of them are chosen as float32, unless 32 bits hold both only without a sign;
    one must be an integer of the type.

    Raises RuntimeError for integers of less than 32 bits, and for a number that is none of the type.
    """
    if dtype not in (DataType.INT32, DataType.UINT32):
        which = "ternary operation WHERE with numbers"
        raise fatal(
            f"Input tensor dtype {cpp(dtype)} is not supported for {which}",
            hint="ttnn.typecast(tensor, ttnn.int32)",
        )
    if len(numbers) == 2:
        bits = all(isinstance(n, Integral) and 0 <= int(n) < 1 << 32 for n in numbers)
        return dtype if bits and max(numbers) >= 1 << 31 else DataType.FLOAT32
    limits = np.iinfo(stored_dtype(dtype))
    for number in numbers:
        if not float(number).is_integer() or not limits.min <= number <= limits.max:
            raise fatal(
                f"ttnn.where with a {cpp(dtype)} tensor cannot represent the scalar {number}: only a finite integer within the range of "
                f"{cpp(dtype)} survives being packed as one",
                hint="ttnn.typecast(tensor, ttnn.float32)",
            )
    return dtype


def _select(predicate: Any, true_value: Any, false_value: Any) -> Array:
    chosen: Array = np.where(predicate != 0, true_value, false_value)
    return chosen


@operation("ttnn.lerp", family=families.TERNARY, golden="lerp")
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
    checks.check_between(input, end, weight)
    mixed = isinstance(weight, Tensor) and not input.dtype is end.dtype is weight.dtype
    return ternary(
        _between_ends,
        (input, end, weight),
        input.dtype,
        memory_config,
        output_tensor,
        real=mixed,
        beside_first=True,
        fused="ttnn.lerp",
    )


def _between_ends(a: Any, b: Any, weight: Any) -> Array:
    """From the nearer end, as torch does: at weight 1 the result is `b` itself."""
    way = b - a
    if not np.ndim(weight):
        return weight * way + a if abs(weight) < 0.5 else b - way * (1 - weight)
    found: Array = b - way * (1 - weight)
    np.copyto(found, weight * way + a, where=np.abs(weight) < 0.5)
    return found


@operation("ttnn.clamp", family=families.TERNARY, golden=goldens.clamp)
def clamp(
    input_tensor: Tensor,
    min: Limit | None = None,
    max: Limit | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """Elements limited to [min, max], numbers or tensors; one of them may be left out."""
    if min is None and max is None:
        raise fatal(
            "Only one of 'min' or 'max' can be None. Please provide one value", hint="min=…, max=… or both"
        )
    given = [limit for limit in (min, max) if limit is not None]
    if len({isinstance(limit, Tensor) for limit in given}) > 1:
        raise ArgumentMismatch("min and max must be two tensors or two numbers")
    if len({isinstance(limit, Integral) for limit in given}) > 1:
        raise throw(
            "std::get: wrong index for variant",
            hint=f"min and max of one kind: {', '.join(repr(float(limit)) for limit in given if not isinstance(limit, Tensor))}",
        )
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        if input_tensor.dtype is DataType.INT32 and not all(map(_of_int32, (min, max))):
            # A limit that is no integer of 32 bits takes integers to float32.
            between = Applied(f.clamped, (min, max))
            return ternary(between, (input_tensor,), DataType.FLOAT32, memory_config, output_tensor)
        return unary.apply(
            input_tensor,
            Applied(f.clamped, (min, max)),
            memory_config,
            output_tensor,
            name="clamp_tss",
            integers=True,
        )
    limits = [m for m in (min, max) if m is not None]
    kernel: Callable[..., Array] = _between
    if len(limits) == 1:
        if input_tensor.layout is not Layout.TILE and not input_tensor.is_sharded():
            raise fatal(
                "Ternary operation requires tensor to be in Tile layout when working with non-sharded input tensor. Input tensor layout: 0",
                hint=in_tiles("input_tensor"),
            )
        kernel = np.maximum if max is None else np.minimum
    on_device(input_tensor, kind="eltwise ternary")
    types = [limit.dtype for limit in limits if isinstance(limit, Tensor)]
    if len(types) == 2:
        for dtype in (types[0], input_tensor.dtype):
            check_pair("minimum", dtype, types[1])
    else:
        check_pair("ge" if max is None else "le", input_tensor.dtype, types[0])
    return ternary(
        kernel,
        (input_tensor, *limits),
        input_tensor.dtype,
        memory_config,
        output_tensor,
        beside_first=len(limits) == 2,
    )


@operation("ttnn.clip", family=families.TERNARY, golden=goldens.clamp)
def clip(
    input_tensor: Tensor,
    min: Limit | None = None,
    max: Limit | None = None,
    *,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Elements limited to [min, max], numbers or tensors; one of them may be left out."""
    # A number is a float here, whatever it is written as.
    low, high = (float(m) if isinstance(m, int) else m for m in (min, max))
    result: Tensor = clamp.compute(input_tensor, low, high, memory_config=memory_config)
    return result


def _of_int32(limit: Any) -> bool:
    return limit is None or (not isinstance(limit, float) and -(1 << 31) <= limit < 1 << 31)


def _between(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)
