"""What the operations layer lends to tensors: the arithmetic of their operators, and recorded versions of their methods.

That layer imports this one, so it installs its functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_installed: dict[str, Callable[..., Any]] = {}


def install(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Set functions by name.

    Operators are called as in module `operator` (`add`, `sub`, `mul`, `truediv`, `matmul`, `pow`, `eq`, `ne`, `lt`, `le`, `gt`,
    `ge`), with an `r` in front for a number on the left (`rsub`, `rtruediv`). Methods that have a version of their own here may be
    replaced: `getitem(tensor, key)`, `reshape(tensor, shape)`, `to_layout(tensor, layout)`.
    """
    _installed.update(functions)


def call(name: str, *arguments: Any) -> Any:
    """Apply an installed operator; NotImplemented when there is none, so that Python words the TypeError."""
    function = _installed.get(name)
    return NotImplemented if function is None else function(*arguments)


def replaced(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The installed version of a method, or `function`."""
    return _installed.get(name, function)
