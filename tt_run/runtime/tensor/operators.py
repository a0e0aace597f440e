"""The arithmetic that `Tensor` operators call; the operations layer, which imports this one, puts it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_installed: dict[str, Callable[..., Any]] = {}


def install(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Set what the operators do: names as in module `operator` (`add`, `sub`, `mul`, `truediv`, `pow`, `matmul`, `eq`, …; with an `r` in
    front for a scalar on the left), plus any method name that a tensor borrows from the operations."""
    _installed.update(functions)


def call(name: str, *arguments: Any) -> Any:
    """Apply an installed operator. Returns NotImplemented for one that is not there, so that Python words the TypeError."""
    function = _installed.get(name)
    return NotImplemented if function is None else function(*arguments)
