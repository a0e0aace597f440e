"""What the programs of elementwise operations are known by: their kernels learn how many tiles there are when they run.

So tensors of any shape share a program where element types, layouts and memory agree. Kept apart are, of one operand, numbers, and rows by
their shape; of two, along which of the last two dimensions one is repeated, and on cores the elements; of three tensors, the last two
dimensions of each and whether batches are repeated. Source: counts of `num_program_cache_entries` of reference library 0.81.1.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from math import prod
from typing import Any

from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.families import Family
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.activation import UnaryWithParam

FAMILIES = frozenset({families.UNARY, families.BINARY, families.TERNARY, families.QUANTIZATION})
_ONE_NAME = {
    "ttnn.clip": "ttnn.clamp",
    "ttnn.div": "ttnn.divide",
    "ttnn.sigmoid_accurate": "ttnn.sigmoid",
    "ttnn.swish": "ttnn.silu",
}
_OF_ONE_BESIDE_NUMBERS = {
    **{f"ttnn.{word}": float for word in ("clamp", "clip", "fmod", "pow", "prelu", "where")},
    **{f"ttnn.{word}": None for word in ("maximum", "minimum", "remainder")},
    **{f"ttnn.bitwise_{word}": float for word in ("and", "left_shift", "or", "right_shift", "xor")},
}
"""Functions of several tensors that are one of one operand beside numbers, which belong to the program then: as what they are kept."""
_OF_EDGES = frozenset({"ttnn.addcdiv", "ttnn.addcmul", "ttnn.lerp", "ttnn.mac"})
"""Functions of three operands whose programs know the last two dimensions, though numbers stand for tensors."""
_AT_RUN_TIME = frozenset({"output_tensor", "optional_output_tensor", "queue_id", "cq_id", "use_multicore"})


def key_of(
    name: str,
    family: Family,
    function: Callable[..., Any],
    names: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> tuple[object, ...]:
    """The key of a call of a function, whose positional arguments are called `names`; a default given is as none."""
    defaults = _defaults(function)
    given = [(names[place] if place < len(names) else "", value) for place, value in enumerate(args)]
    given += [(word, value) for word, value in kwargs.items() if word not in _AT_RUN_TIME]
    given = [
        (word, value) for word, value in given if isinstance(value, Tensor) or value != defaults.get(word)
    ]
    written = kwargs.get("output_tensor")
    if isinstance(written, Tensor):
        given += [("memory_config", written.memory_config()), ("output", written.dtype)]
    tensors = [value for _word, value in given if isinstance(value, Tensor)]
    alone = family is families.UNARY or (len(tensors) == 1 and name in _OF_ONE_BESIDE_NUMBERS)
    plain = name.removesuffix("_")
    key: list[object] = [_ONE_NAME.get(plain, plain)]
    for word, value in given:
        if isinstance(value, Tensor):
            by_shape = alone and value.layout is not Layout.TILE
            key.append(value.spec.program if by_shape else value.spec.kernel)
        elif not isinstance(value, (int, float)) or isinstance(value, bool):
            _add(key, word, value, tensors)
        elif alone:
            kind = _OF_ONE_BESIDE_NUMBERS.get(name)
            key += (word, value if kind is None else kind(value), kind or type(value))
        elif word != "value":
            key.append(float)
    if plain in _OF_EDGES or (plain == "ttnn.where" and len(tensors) == 3):
        key += (tuple(tensor.shape)[-2:] for tensor in tensors)
        key.append(len({prod(tuple(tensor.shape)[:-2]) for tensor in tensors}) > 1)
    elif len(tensors) > 1:
        key.append(_repeated(*(tuple(tensor.shape)[-2:] for tensor in tensors[:2])))
    if not alone and any(_is_cut(value) for _word, value in given):
        key += (prod(tuple(tensor.padded_shape)) for tensor in tensors)
    return tuple(key)


def _add(key: list[object], word: str, value: Any, tensors: Sequence[Tensor]) -> None:
    """Add an argument that is no tensor and no number to a key, where programs differ by it."""
    if isinstance(value, (MemoryConfig, DataType)):
        first = tensors[0] if tensors else None
        if first is None or value not in (first.memory_config(), first.dtype):
            key += (word, value)
    elif isinstance(value, (str, bool, Enum, CoreRangeSet)):
        key += (word, value)
    elif isinstance(value, UnaryWithParam):
        key += (value.op_type, *value.params)
    elif isinstance(value, Sequence) and value:
        key.append(word)
        for part in value:
            _add(key, "", part, tensors)


@cache
def _defaults(function: Callable[..., Any]) -> Mapping[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def _is_cut(value: Any) -> bool:
    """Whether a tensor, or a place for one, lies in pieces."""
    memory = value.memory_config() if isinstance(value, Tensor) else value
    return isinstance(memory, MemoryConfig) and memory.is_sharded()


def _repeated(first: Sequence[int], second: Sequence[int]) -> tuple[str, ...]:
    """Which operand is repeated along its rows and along its columns; one repeated along both is a number to the kernel."""
    (rows, columns), (others, breadth) = ((1, 1, *edges)[-2:] for edges in (first, second))
    if (rows, columns) == (others, breadth):
        return ()
    for operand, edges in (("first", (rows, columns)), ("second", (others, breadth))):
        if edges == (1, 1):
            return (operand,)
    return tuple(
        f"{which} operand's {edge}"
        for edge, one, other in (("rows", rows, others), ("columns", columns, breadth))
        for which in ("first" if one == 1 != other else "second" if other == 1 != one else "",)
        if which
    )
