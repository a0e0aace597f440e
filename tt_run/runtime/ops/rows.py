"""Operations by table: a row is a name, a signature, a function of arrays, and one sentence; the rest is the same for all.

A row's function gets the *values* of the call in the order of the signature, tensors as the engine's own (torch tensors of one device's
shard), everything else as given. Parameters that place a result or tune hardware (`PLACING`) stay outside. Results have the dtype and
layout of the first tensor, unless the call's `dtype` or the row says otherwise; bfloat16 is computed in float32 and rounded once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.costs import tensors
from tt_run.runtime.ops.dispatch import Golden, Operation, operation
from tt_run.runtime.ops.families import TORCH, Family
from tt_run.runtime.ops.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import is_float
from tt_run.runtime.values.shards import Shards, combine_all

Array = npt.NDArray[Any]
Function = Callable[..., Any] | str
"""A function of torch tensors and numbers, or the path of one below torch: `special.digamma`."""

PLACING = frozenset(
    [
        "memory_config",
        "output_mem_config",
        "output_tensor",
        "output_tensors",
        "optional_output_tensor",
        "dtype",
        "sub_core_grids",
        "sub_device_id",
        "compute_kernel_config",
        "core_grid",
        "program_config",
    ]
)
"""Parameters that say where a result goes or how a device should work; they are no values of the function."""

PLACED = "memory_config: MemoryConfig | None = None"
WRITTEN = f"{PLACED}, output_tensor: Tensor | None = None"
UNARY_TAIL = f"*, {WRITTEN}, sub_core_grids: CoreRangeSet | None = None"


@dataclass(frozen=True)
class Row:
    """One operation of a table.

    `name` is below `ttnn`; `signature` as Python writes it, without the result; `doc` one sentence. `integers`: tensors of integers are
    taken. `dtype`: of the results, where it is not the first tensor's; `layout` likewise. `golden` where it is not the function itself.
    """

    name: str
    signature: str
    function: Function
    doc: str
    integers: bool = True
    dtype: DataType | None = None
    layout: Layout | None = None
    golden: Golden | None = None
    aliases: Sequence[str] = ()


def declare(family: Family, *rows: Row) -> dict[str, Operation]:
    """Enter rows that PyTorch computes into the registry; the operations by their short names."""
    return {row.name: _declared(family, row) for row in rows}


def _declared(family: Family, row: Row) -> Operation:
    compute = with_signature(row.name, row.signature, partial(_compute, row), row.doc)
    return operation(
        f"ttnn.{row.name}",
        family=family,
        engine=TORCH,
        golden=row.golden or row.function,
        aliases=[f"ttnn.{alias}" for alias in row.aliases],
    )(compute)


def with_signature(
    name: str, signature: str, body: Callable[[dict[str, Any]], Any], doc: str
) -> Callable[..., Any]:
    """A function of that signature which hands its arguments by name to `body`: Python binds them, `inspect` and editors see them."""
    word = re.sub(r"\W", "_", name)
    source = (
        f"from __future__ import annotations\ndef {word}{signature} -> Tensor:\n    return _body(locals())\n"
    )
    space: dict[str, Any] = {"_body": body, **_NAMES}
    exec(compile(source, f"<operation {name}>", "exec"), space)
    made: Callable[..., Any] = space[word]
    made.__doc__ = doc
    made.__module__ = __name__
    return made


# What defaults in signatures may name.
_NAMES = {"DataType": DataType, "Layout": Layout, "MemoryConfig": MemoryConfig}


def _compute(row: Row, arguments: dict[str, Any]) -> Any:
    values = [value for name, value in arguments.items() if name not in PLACING]
    given = list(tensors(values))
    on_device(*given, kind=row.name)
    first = given[0]
    if not row.integers and not all(is_float(t.dtype) for t in given):
        raise fatal(
            f"{row.name} does not support integer input dtype {cpp(first.dtype)}",
            hint="ttnn.typecast(tensor, ttnn.float32)",
        )
    function = torch_cpu.named(row.function) if isinstance(row.function, str) else row.function
    found, several = _on_shards(partial(_called, function, values), given)
    target = arguments.get("dtype") or row.dtype or first.dtype
    outputs = _outputs(arguments, len(found))
    results = [
        settle(
            given,
            Shards(finish(s.data, target), s.index),
            target,
            memory_config=arguments.get("memory_config") or arguments.get("output_mem_config"),
            output_tensor=output,
            layout=row.layout,
        )
        for s, output in zip(found, outputs, strict=True)
    ]
    return results if several else results[0]


def _called(function: Callable[..., Any], values: Sequence[Any], *shards: Any) -> Any:
    """The function on the shards of one device, put in the places of their tensors."""
    left = iter(shards)
    return function(*(_placed(value, left) for value in values))


def _placed(value: Any, left: Any) -> Any:
    if isinstance(value, Tensor):
        return next(left)
    if isinstance(value, (list, tuple)):
        return type(value)(_placed(item, left) for item in value)
    return value


def _on_shards(function: Callable[..., Any], given: Sequence[Tensor]) -> tuple[list[Shards], bool]:
    """Results of every device, and whether the function gives several."""
    several = False

    def noted(*shards: Any) -> Any:
        nonlocal several
        result = function(*shards)
        several = isinstance(result, (list, tuple))
        return result

    def on_stacks(*stacks: Array) -> tuple[Array, ...]:
        return torch_cpu.on_each(noted, [_real(s) for s in stacks])

    return combine_all(on_stacks, *(t.shards for t in given)), several


def _real(stack: Array) -> Array:
    """A stack in an element type that PyTorch computes in: it has no arithmetic on unsigned 16 and 32 bits."""
    return stack.astype(np.int64) if stack.dtype in (np.uint32, np.uint16) else stack


def _outputs(arguments: dict[str, Any], count: int) -> list[Tensor | None]:
    output = arguments.get("output_tensor")
    if output is None:
        output = arguments.get("optional_output_tensor")
    if output is None:
        output = arguments.get("output_tensors")
    if output is None:
        return [None] * count
    return list(output) if isinstance(output, (list, tuple)) else [output]
