"""Faults by the name of a function that tells nobody of its calls: `op=to_torch`, `op=synchronize_device`.

What is no program of a device announces nothing, since nobody else asks. What a fault names is announced from the moment faults are known.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.ops.declaration.dispatch import FastOperation


def announce(names: Iterable[str]) -> None:
    """Let those of the names that are plain functions of `ttnn` tell of their calls, as operations do; other names are left alone."""
    module = sys.modules.get("ttnn")
    for name in names:
        found = getattr(module, name, None) if module is not None and name.isidentifier() else None
        if isinstance(found, FastOperation) and found.direct:
            found.compute = _announced(name, found.compute)
        elif inspect.isfunction(found):
            setattr(module, name, _announced(name, found))


def _announced(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        begun = events.begin("op", f"ttnn.{name}", None, args, kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            begun.fail(error)
            raise
        begun.end(result, None)
        return result

    return call
