"""Arithmetic on `Tensor`: the operators as operations of the registry, so that a trace records them like calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_run.runtime.ops import arithmetic, binary, products
from tt_run.runtime.ops.dispatch import Operation
from tt_run.runtime.tensor import operators


def table() -> dict[str, Callable[..., Any]]:
    """Operator names, as in module `operator`, and the operation that each calls; `r…` for a number on the left."""
    plain: dict[str, Callable[..., Any]] = {
        "add": binary.add,
        "sub": binary.subtract,
        "mul": binary.multiply,
        "truediv": arithmetic.divide,
        "pow": arithmetic.pow,
        "matmul": products.matmul,
        **{name: binary.BINARY[name] for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    }
    mirrored = {"radd": binary.add, "rmul": binary.multiply, "rsub": arithmetic.rsub}
    return {**plain, **mirrored, "rtruediv": _swapped(arithmetic.divide)}


def _swapped(operation: Operation) -> Callable[[Any, Any], Any]:
    return lambda tensor, number: operation(number, tensor)


def install() -> None:
    """Make them what the operators of every tensor do."""
    operators.install(table())
