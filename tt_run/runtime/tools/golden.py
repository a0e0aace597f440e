"""`ttnn.get_golden_function`: what an operation computes, as a function of torch tensors. Source: reference library 0.81.1."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.ops.declaration.rows import PLACING
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.tensor import Tensor

_TUNING = PLACING | {
    "device",
    "layout",
    "queue_id",
    "cq_id",
    "mode",
    "vector_mode",
    "use_multicore",
    "numeric_stable",
    "sub_device_id",
    "sparse_grad",
    "output_tile",
    "optional_output_tensor",
    "out",
}
"""Keywords that say nothing of values."""


def get_golden_function(operation: FastOperation) -> Callable[..., Any]:
    """The function of torch tensors that an operation is compared with; numbers and other arguments are the operation's own.

    Keywords that place a result or tune hardware may be given and change nothing, unless the golden function names one. Raises RuntimeError for an operation without one.
    """
    golden = operation.golden
    if golden is None:
        raise RuntimeError(f"{operation} does not have a golden function")
    function = torch_cpu.named(golden) if isinstance(golden, str) else golden
    of_torch = isinstance(golden, str)

    ignored = _TUNING | {"fast_and_approximate_mode"}
    if not of_torch:
        ignored = _TUNING - set(inspect.signature(function).parameters)

    def golden_function(*arguments: Any, **keywords: Any) -> Any:
        return function(*arguments, **{word: v for word, v in keywords.items() if word not in ignored})

    golden_function.__name__ = f"golden_{operation.short_name}"
    return golden_function


class GoldenMembers:
    """What an operation says of its own golden function."""

    @property
    def golden_function(self: Any) -> Callable[..., Any]:
        """`ttnn.get_golden_function(operation)`."""
        return get_golden_function(self)


def get_fallback_function(operation: FastOperation) -> Callable[..., Any]:
    """The golden function of an operation on mesh tensors: their values go to torch, and the result back beside the first operand.

    Raises RuntimeError for an operation without one, and for operands of several shards that differ.
    """
    golden = get_golden_function(operation)

    def fallback_function(*arguments: Any, **keywords: Any) -> Any:
        tensors = [value for value in (*arguments, *keywords.values()) if isinstance(value, Tensor)]
        given = [_in_torch(value) for value in arguments]
        result = golden(*given, **{word: _in_torch(value) for word, value in keywords.items()})
        if not tensors or not hasattr(result, "dtype"):
            return result
        first = tensors[0]
        return from_torch(result, dtype=first.dtype, layout=first.layout, device=first.device())

    return fallback_function


def _in_torch(value: Any) -> Any:
    return to_torch(value) if isinstance(value, Tensor) else value
