"""What editors show of the functions that programs call: the defaults in the stubs beside the shims."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tests.runtime.mpi import SHIMS

Defaults = dict[str, Any]


def wrong_defaults(package: str) -> list[str]:
    """The functions of a package that take, for an argument left out, another value than their stub says; fails where it has none."""
    compared, wrong = 0, []
    for name, called, shown in _functions():
        if not called.__module__.startswith(package):
            continue
        compared += 1
        taken = {
            key: parameter.default
            for key, parameter in inspect.signature(called).parameters.items()
            if key in shown
        }
        wrong += [
            f"{name}({key}={taken[key]!r}), shown as {shown[key]!r}"
            for key in taken
            if (type(taken[key]), taken[key]) != (type(shown[key]), shown[key])
        ]
    assert compared, f"no stub shows a function of {package}"
    return wrong


@cache
def _functions() -> tuple[tuple[str, Callable[..., Any], Defaults], ...]:
    sys.path.insert(0, str(SHIMS))
    try:
        return tuple(_read())
    finally:
        sys.path.remove(str(SHIMS))


def _read() -> Iterator[tuple[str, Callable[..., Any], Defaults]]:
    for path in sorted(SHIMS.rglob("*.pyi")):
        module = ".".join(path.with_suffix("").relative_to(SHIMS).parts).removesuffix(".__init__")
        functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        for node in functions:
            called = getattr(importlib.import_module(module), node.name)
            yield f"{module}.{node.name}", getattr(called, "compute", called), _shown(node.args)


def _shown(arguments: ast.arguments) -> Defaults:
    """The defaults that are numbers, truths and words, by parameter."""
    positional = [*arguments.posonlyargs, *arguments.args]
    late = positional[len(positional) - len(arguments.defaults) :]
    pairs = [
        *zip(late, arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {
        each.arg: value.value
        for each, value in pairs
        if isinstance(value, ast.Constant) and value.value is not ...
    }
