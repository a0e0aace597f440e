"""Elementwise functions of two and three tensors with parameters of their own. Source: reference library 0.81.1. NumPy computes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.broadcast import align, check_all_broadcast
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.ops.declaration.element_types import check_pair, check_unary, scalar_among_integers
from tt_run.runtime.ops.declaration.layouts import check_room
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.ops.declaration.places import like_operand
from tt_run.runtime.ops.declaration.rows import PLACED, WRITTEN, Row, declare, elements, in_bfloat16, stacks
from tt_run.runtime.ops.elementwise.binary_functions import WIDE
from tt_run.runtime.ops.elementwise.ternary import ternary
from tt_run.runtime.ops.elementwise.triple_checks import check_tiled_room, summed_type
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement import fitted_shards, larger_shards
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import spec_of
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.dtypes import is_float

Array = npt.NDArray[Any]
_PAIR = "(input_tensor_a: Tensor, input_tensor_b: Tensor"
_GATED = "(gate: Tensor, up: Tensor"
_GATED_TAIL = f"*, {PLACED}, sub_core_grids: CoreRangeSet | None = None, sub_device_id: Any = None)"


def _isclose(a: Array, b: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    if a.dtype.kind != "f" or b.dtype.kind != "f":
        a, b = (
            a.astype(np.float32),
            b.astype(np.float32),
        )  # the difference of two integers may not fit into one
    near = np.abs(a - b) <= np.float32(atol) + np.float32(rtol) * np.abs(b)
    close = np.where(np.isfinite(a) & np.isfinite(b), near, a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


def _no_nan(a: Array, b: Any, value: float | None) -> Array:
    if (b is None) is (value is None):
        raise ArgumentMismatch("div_no_nan divides by input_tensor_b or by value, not both")
    divisor = np.asarray(b if value is None else value, np.float32)
    found = np.asarray(a / divisor)
    np.copyto(found, np.float32(0), where=divisor == 0)
    return found


def _no_nan_golden(a: Any, b: Any = None, value: float | None = None, **_: Any) -> Any:
    divisor = b if value is None else value
    if not hasattr(divisor, "dtype"):
        return a / divisor if divisor else a.new_zeros(a.shape)
    return (a / divisor).masked_fill(divisor == 0, 0)


def _clamped(gate: Array, up: Array, limit: float) -> Array:
    return f.silu(f.at_most(gate, limit)) * f.limited(up, -limit, limit)


def _situ(gate: Array, up: Array, beta1: float, beta2: float) -> Array:
    one, two = np.float32(beta1), np.float32(beta2)
    return one * np.tanh(gate / one) * f.sigmoid(gate) * (two * np.tanh(up / two))


def _situ_golden(gate: Any, up: Any, beta1: float, beta2: float, **_: Any) -> Any:
    return beta1 * (gate / beta1).tanh() * gate.sigmoid() * beta2 * (up / beta2).tanh()


def _clamped_golden(gate: Any, up: Any, limit: float, **_: Any) -> Any:
    gate, up = goldens.widened(gate).clamp(max=limit), goldens.widened(up)
    return gate * gate.sigmoid() * up.clamp(-limit, limit)


def _check_gates(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for limits and divisors of gates that are not there."""
    if name == "clamped_silu_glu" and not arguments["limit"] > 0:
        raise fatal(f"clamped_silu_glu: limit must be positive, got {arguments['limit']:g}", hint="limit=7.0")
    if name == "situ_glu" and 0 in (arguments["beta1"], arguments["beta2"]):
        raise fatal("situ_glu: beta1 and beta2 must be non-zero", hint="beta1=1.0, beta2=1.0")


def _check_snake(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError unless alpha and beta are tensors of one shape, the input's own or a row of it."""
    if len(given) != 3:
        raise ArgumentMismatch("alpha and beta must be tensors")
    x, alpha, beta = given
    if len({t.dtype for t in given}) > 1:
        raise fatal(
            "snake_beta requires alpha.dtype == beta.dtype == input.dtype",
            hint="ttnn.typecast them to the input's element type",
        )
    if len(x.shape) < 2:
        raise fatal(
            f"snake_beta requires input rank >= 2, got rank {len(x.shape)} (shape {x.shape})",
            hint="ttnn.reshape(tensor, (1, …))",
        )
    if alpha.shape != beta.shape:
        raise fatal(
            f"snake_beta requires alpha.shape == beta.shape, got {alpha.shape} vs {beta.shape}",
            hint="give both one shape",
        )
    if alpha.shape[-1] != x.shape[-1]:
        raise fatal(
            f"snake_beta requires input.W == alpha.W, got {x.shape[-1]} vs {alpha.shape[-1]}",
            hint=f"alpha and beta of {x.shape[-1]} columns",
        )
    rows = [(place, size) for place, size in enumerate(alpha.shape.dims[:-1]) if size != 1]
    if rows and alpha.shape != x.shape:
        raise fatal(
            "snake_beta v1 requires alpha/beta to either match input shape exactly or have non-1 size only on the last dim (got dim "
            f"{rows[0][0]} = {rows[0][1]})",
            hint="alpha and beta as one row, or in the input's shape",
        )


def _check_types(name: str, tensors: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    first, second = (tensor.dtype for tensor in tensors)
    check_pair(name, first, second, joins=name == "isclose")


def _check_alpha(name: str, tensors: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    _check_types(name, tensors, arguments)
    if arguments.get("output_tensor") is not None:
        check_room(name, tensors, arguments["output_tensor"], by_number=False)


def _check_close(name: str, tensors: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    _check_types(name, tensors, arguments)
    for word in ("rtol", "atol"):
        value = arguments[word]
        if not 0 <= value < math.inf:
            raise fatal(
                f"isclose: {word} must be a finite, non-negative value, got {value}", hint=f"{word}=1e-5"
            )


def _check_situ(name: str, tensors: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    gate, up = tensors
    if not (arguments["beta1"] and arguments["beta2"]):
        raise fatal("situ_glu: beta1 and beta2 must be non-zero", hint="beta1=1.0, beta2=1.0")
    if gate.dtype is not up.dtype:
        raise fatal(
            f"situ_glu: gate and up must share a dtype, got {cpp(gate.dtype)} and {cpp(up.dtype)}",
            hint=f"ttnn.typecast(up, {gate.dtype})",
        )


def _check_no_nan(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    first, second = given[0].dtype, given[-1].dtype
    if first is not second and is_float(first) and is_float(second):
        raise fatal(
            f"Mixed dtype is not supported for binary operation BinaryOpType::WHERE_TST, dtype A: {cpp(second)}, dtype B: {cpp(first)}",
            hint=f"ttnn.typecast(input_tensor_b, {first})",
        )


def _no_nan_place(
    tensors: Sequence[Tensor],
    shape: Sequence[int],
    layout: Layout,
    asked: MemoryConfig | None,
    output: Tensor | None,
) -> MemoryConfig | None:
    """As of any pair; the zeros of b are looked for on its own cores first, in the kind of pieces that is asked for."""
    divisor = tensors[-1]
    if asked is not None and asked.nameless and divisor.is_sharded():
        own = like_operand(divisor, asked) or divisor.memory_config()
        spec_of(tuple(divisor.shape), divisor.dtype, divisor.layout, own, divisor.tile, fits=True)
    return larger_shards.of_pair(tensors, shape, layout, asked, output)


PAIRS = declare(
    families.BINARY,
    Row("addalpha", f"{_PAIR}, alpha: float, *, {WRITTEN})", lambda a, b, alpha: a.dtype.type(alpha) * b + a,
        "a + alpha b.", check=_check_alpha, golden=goldens.scaled("add"), beside=larger_shards.of_pair, any_room=True, numbers=in_bfloat16),
    Row("subalpha", f"{_PAIR}, alpha: float, *, {WRITTEN})", lambda a, b, alpha: a - a.dtype.type(alpha) * b,
        "a - alpha b.", check=_check_alpha, golden=goldens.scaled("sub"), beside=larger_shards.of_pair, any_room=True, numbers=in_bfloat16),
    Row("isclose", f"{_PAIR}, *, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, {PLACED})", _isclose,
        "1 where a and b differ by at most atol + rtol |b|, else 0; NaN equals NaN if equal_nan.", check=_check_close, golden=goldens.close,
        beside=larger_shards.of_pair),
    Row("div_no_nan", f"(input_tensor_a: Tensor, input_tensor_b: Tensor | float | None = None, *, value: float | None = None, {PLACED})", _no_nan,
        "a / b, 0 where b is 0.", integers=False, check=_check_no_nan,
        golden=_no_nan_golden, beside=_no_nan_place),
    Row("clamped_silu_glu", f"{_GATED}, limit: float, {_GATED_TAIL}", _clamped,
        "silu of the gate, at most `limit`, times up limited to [-limit, limit].", integers=False, check=_check_gates, golden=_clamped_golden,
        beside=larger_shards.of_pair),
    Row("situ_glu", f"{_GATED}, beta1: float, beta2: float, {_GATED_TAIL}", _situ,
        "beta1 tanh(gate / beta1) sigmoid(gate) beta2 tanh(up / beta2).", integers=False, golden=_situ_golden, check=_check_situ),
    engine=elements,
)  # fmt: skip


def _check_mac_room(given: Sequence[Tensor], room: Tensor) -> None:
    if any(not is_float(tensor.dtype) for tensor in given):
        raise fatal(
            "ttnn::mac: output_tensor is not supported when the operation falls back to the composite path "
            "(unsupported broadcast shape, block-float subtile broadcast, or integer input dtype).",
            hint="take the result that is returned without output_tensor",
        )
    computed = np.broadcast_shapes(*(tuple(tensor.shape) for tensor in given))
    if tuple(room.shape) != computed:
        raise fatal(
            "When preallocted output tensor is used, Ternary operation requires its shape to match the computed shape. "
            f"Computed shape: Shape({list(computed)}), Shape in preallocated output tensor: {room.shape}",
            hint="ttnn.empty of that shape, or leave output_tensor out",
        )
    check_tiled_room((), room)


def _check_mac(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for shapes that do not fit, a number added to products of integers that is none, and a room the result cannot go into."""
    term = arguments["input_tensor_c"]
    if len(given) < 3 and any(
        arguments.get(word) is not None for word in ("output_tensor", "sub_core_grids")
    ):
        raise ArgumentMismatch("mac takes output_tensor and sub_core_grids beside three tensors alone")
    check_all_broadcast("ttnn.mac", [tensor.shape for tensor in given])
    if isinstance(arguments.get("output_tensor"), Tensor):
        _check_mac_room(given, arguments["output_tensor"])
    if len(given) == 2 and not isinstance(term, Tensor) and given[0].dtype is given[1].dtype in WIDE:
        scalar_among_integers("add", given[0].dtype, float(term))


def _summed(arguments: Mapping[str, Any]) -> DataType:
    return summed_type(*(arguments[f"input_tensor_{letter}"] for letter in "abc"))


TRIPLES = declare(
    families.TERNARY,
    Row("mac", f"(input_tensor_a: Tensor, input_tensor_b: Tensor | float, input_tensor_c: Tensor | float, *, {WRITTEN}, "
        "sub_core_grids: CoreRangeSet | None = None)", f.product_and_sum, "a b + c.",
        type_of=_summed, check=_check_mac, golden=goldens.rounded_once(lambda a, b, c, **_: a * b + c), any_room=True),
    Row("snake_beta", f"(input_tensor: Tensor, alpha: Tensor, beta: Tensor, *, {WRITTEN})",
        lambda x, alpha, beta: np.square(np.sin(alpha * x)) / beta + x, "x + sin(alpha x)² / beta.",
        integers=False, check=_check_snake, golden=lambda x, alpha, beta, **_: x + (alpha * x).sin() ** 2 / beta),
    engine=elements,
)  # fmt: skip


def _outer(a: Array, b: Array) -> Array:
    rank = max(a.ndim, b.ndim) - 1
    return align(a, rank)[..., :, None] * align(b, rank)[..., None, :]


def _of_outer(given: Sequence[Tensor]) -> MemoryConfig | None:
    """Rows of the products on the cores that rows of the first operand are on; interleaved for any other cut."""
    memory, shape = given[0].memory_config(), tuple(given[0].shape)
    if memory.shard_spec is None:
        return None
    if memory.memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED:
        return MemoryConfig(TensorMemoryLayout.INTERLEAVED, memory.buffer_type)
    return fitted_shards.of_part(given[0], (*shape, given[1].shape[-1]))


def _outer_layout(given: Sequence[Tensor]) -> Layout | None:
    """Products of short vectors are tiles; others only where an operand is."""
    vectors = all(
        tensor.dtype is DataType.BFLOAT16 and set(tuple(tensor.shape)[:-1]) <= {1} for tensor in given
    )
    return Layout.TILE if vectors or any(tensor.layout is Layout.TILE for tensor in given) else None


def _check_outer(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for rows without tiles on cores, whose pieces would be of single elements."""
    for tensor, word in zip(given, ("input_tensor_a", "input_tensor_b"), strict=False):
        if (
            tensor.layout is Layout.ROW_MAJOR
            and tensor.memory_config().memory_layout is TensorMemoryLayout.HEIGHT_SHARDED
        ):
            raise fatal("Shard page size must currently have L1 aligned page size", hint=in_tiles(word))
    first, second = given
    if not len(first.shape) or not len(second.shape):
        raise fatal(
            f"ttnn.outer: inputs must be at least 1D, but got shapes {first.shape} and {second.shape}",
            hint="ttnn.multiply takes a single number",
        )
    if first.dtype is not second.dtype:
        raise fatal(
            f"ttnn.outer: inputs must have the same dtype, but got {cpp(first.dtype)} and {cpp(second.dtype)}",
            "input_a.dtype() == input_b.dtype()",
            hint=f"ttnn.typecast(input_tensor_b, {first.dtype})",
        )


def _outer_golden(a: Any, b: Any, **_: Any) -> Any:
    return a.unsqueeze(-1) * b.unsqueeze(-2)


WHOLE = declare(
    families.BINARY,
    Row("outer", f"{_PAIR}, *, {PLACED})", _outer, "The products of every element of a with every one of b, by rows.",
        golden=_outer_golden, layout=_outer_layout, check=_check_outer, place=_of_outer),
    engine=stacks,
)  # fmt: skip


@operation("ttnn.nextafter", family=families.BINARY, golden="nextafter")
def nextafter(
    input_tensor_a: Tensor, input_tensor_b: Tensor, *, memory_config: MemoryConfig | None = None
) -> Tensor:
    """The value of the dtype that comes after a on the way to b."""
    on_device(input_tensor_a, input_tensor_b)
    check_pair("nextafter", input_tensor_a.dtype, input_tensor_b.dtype)
    short = input_tensor_a.dtype is DataType.BFLOAT16
    pair = (input_tensor_a, input_tensor_b)
    if memory_config is not None and memory_config.nameless:
        shape = np.broadcast_shapes(*(t.shape.dims for t in pair))
        memory_config = larger_shards.of_pair(pair, shape, input_tensor_a.layout, memory_config, None)
    elif memory_config is None and input_tensor_a.memory_config() == L1_MEMORY_CONFIG:
        memory_config = L1_MEMORY_CONFIG  # whose place counts, as with other pairs
    return ternary(
        (lambda a, b: np.nextafter(a.astype(BFLOAT16), b.astype(BFLOAT16)).astype(np.float32))
        if short
        else np.nextafter,
        pair,
        input_tensor_a.dtype,
        memory_config,
        None,
    )


@operation("ttnn.prelu", family=families.BINARY, golden=goldens.prelu)
def prelu(
    input_tensor_a: Tensor,
    weight: Tensor | float | list[float],
    *,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """x above zero, weight times x below; a tensor of weights has one value for each channel (dimension 1).

    Raises RuntimeError for another number of them.
    """
    from tt_run.runtime.ops.data_movement.movement import reshape

    on_device(input_tensor_a)
    check_unary("prelu", input_tensor_a.dtype)
    if weight is None:
        raise ArgumentMismatch("weight must be of type Tensor | float | list[float], not NoneType")
    rank = len(input_tensor_a.shape)
    if isinstance(weight, (list, tuple)):
        if len(weight) != 1:
            raise fatal(
                f"prelu takes a list of one weight, got {len(weight)}",
                hint="a tensor of one weight for each channel (dimension 1)",
            )
        weight = float(weight[0])
    elif isinstance(weight, Tensor) and rank > 1 and math.prod(weight.shape) != input_tensor_a.shape[1]:
        raise fatal(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {math.prod(weight.shape)} and channel size = "
            f"{input_tensor_a.shape[1]}.",
            hint=f"a weight of shape [{input_tensor_a.shape[1]}]",
        )
    elif isinstance(weight, Tensor) and len(weight.shape) == 1 and rank > 1:
        weight = reshape.compute(weight, [1, weight.shape[0], *[1] * (rank - 2)])
    slope: Any = weight
    if not isinstance(weight, Tensor):
        (slope,) = in_bfloat16([weight], [input_tensor_a])
    return ternary(
        f.prelu,
        (input_tensor_a, slope),
        input_tensor_a.dtype,
        memory_config,
        None,
    )
