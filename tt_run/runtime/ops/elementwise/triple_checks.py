"""What operations of three operands refuse of their element types, and the types of their results. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import as_type, fatal, in_tiles
from tt_run.runtime.ops.declaration.element_types import check_pair
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, is_float

_WIDE = (DataType.INT32, DataType.UINT32)


def check_addcmul(types: Sequence[DataType]) -> None:
    """Raises RuntimeError unless all three have one type."""
    if len(set(types)) > 1:
        names = (f"input_{letter}={cpp(dtype)}" for letter, dtype in zip("abc", types, strict=True))
        raise fatal(
            f"Addcmul TTT requires all input tensors to have the same dtype. Got {', '.join(names)}",
            hint=as_type("tensor", types[0].name.lower()),
        )


def quotient_type(types: Sequence[DataType]) -> DataType:
    """The type of a + value b / c. Beside blocks, b / c is divided on its own, and the sum has the type of `b`, or float32. Raises RuntimeError for what does not go together."""
    first, above, below = types
    if first is above is below is DataType.INT32:
        raise fatal(
            "Addcdiv TTT does not support INT32 inputs.", hint=as_type("tensor", "float32", "bfloat16")
        )
    if not any(dtype in BLOCK_FLOATS for dtype in types):
        return first
    for letter, dtype in (("A", above), ("B", below)):
        if dtype in (DataType.UINT16, DataType.UINT8):
            raise fatal(
                f"Input tensor {letter} dtype {cpp(dtype)} is not supported for binary operation BinaryOpType::DIV",
                hint=as_type("tensor", "bfloat16"),
            )
    if first is DataType.FLOAT32:
        return first
    if not is_float(first):
        check_pair("add", first, above if is_float(above) else DataType.FLOAT32)
    if not is_float(above):
        raise fatal(
            f"Unary: UnaryOpType::SIGN does not support integer input dtype {cpp(above)}",
            hint=as_type("input_b", "bfloat16"),
        )
    return above


def check_choice(predicate: DataType, chosen: DataType, tensor_first: bool) -> None:
    """Raises RuntimeError for a choice between a tensor and a number whose tensor does not go with the predicate."""
    name = f"BinaryOpType::WHERE_{'TTS' if tensor_first else 'TST'}"
    narrow = [
        letter
        for letter, dtype in (("A", predicate), ("B", chosen))
        if not is_float(dtype) and dtype not in _WIDE
    ]
    if is_float(chosen) and not is_float(predicate):
        return
    if narrow:
        dtype = predicate if narrow[0] == "A" else chosen
        raise fatal(
            f"Input tensor {narrow[0]} dtype {cpp(dtype)} is not supported for binary operation {name}",
            hint=as_type("tensor", "int32"),
        )
    if predicate is not chosen:
        raise fatal(
            f"Mixed dtype is not supported for binary operation {name}, dtype A: {cpp(predicate)}, dtype B: {cpp(chosen)}",
            hint=as_type("predicate", chosen.name.lower()),
        )


def check_between(start: Tensor, end: Tensor, weight: Any) -> None:
    """Raises RuntimeError for unsigned integers, for blocks that are spread beside other types, and for integers with a number between them."""
    named = [("input", start), ("end", end)]
    if isinstance(weight, Tensor):
        named.append(("weight", weight))
    if any(tensor.dtype is DataType.UINT32 for _, tensor in named):
        told = ", ".join(f"{name}={cpp(tensor.dtype)}" for name, tensor in named)
        raise fatal(
            f"lerp does not support UINT32 inputs. Got {told}", hint=as_type("tensor", "int32", "float32")
        )
    spread = len({tuple(tensor.shape) for _, tensor in named}) > 1
    blocks = spread and len(named) == 3 and any(tensor.dtype in BLOCK_FLOATS for _, tensor in named)
    for name, tensor in named[1:]:
        if blocks and tensor.dtype is not start.dtype:
            raise fatal(
                f"Expected the same dtype as start (input), for {name}",
                hint=as_type(name, start.dtype.name.lower()),
            )
    if len(named) == 2 and start.dtype is end.dtype is DataType.INT32:
        check_pair("add", DataType.INT32, DataType.FLOAT32)


def summed_type(first: Tensor, times: Any, plus: Any) -> DataType:
    """The type of a b + c, one operation after the other. Raises RuntimeError for types that either of them does not take."""
    product = first.dtype
    if not isinstance(times, Tensor):
        product = DataType.FLOAT32 if product in _WIDE else product
    else:
        check_pair("multiply", product, times.dtype, joins=product in _WIDE or times.dtype in _WIDE)
        if product in _WIDE and is_float(times.dtype):
            product = DataType.BFLOAT16 if times.dtype in BLOCK_FLOATS else times.dtype
    if isinstance(plus, Tensor):
        check_pair("add", product, plus.dtype)
    return product


def check_tiled_room(operands: Sequence[Tensor], room: Tensor) -> None:
    """Raises RuntimeError for rows as the tensor of a result, which are written on cores alone, its own or those of `operands`."""
    if room.layout is Layout.TILE or any(tensor.is_sharded() for tensor in (*operands, room)):
        return
    raise fatal(
        "Ternary operation requires output tensor to be in Tile layout when working with non-sharded tensor.",
        hint=in_tiles("output_tensor"),
    )
