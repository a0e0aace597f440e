"""What programs have called before or after every operation: `ttnn.register_pre_operation_hook` and its sibling.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.ops.declaration.dispatch import FastOperation

Before = Callable[[FastOperation, tuple[Any, ...], dict[str, Any]], object]
After = Callable[[FastOperation, tuple[Any, ...], dict[str, Any], Any], object]


@contextmanager
def register_pre_operation_hook(hook: Before) -> Iterator[None]:
    """Call `hook(operation, args, kwargs)` before every operation of the block; what it returns does not count."""

    def before(begun: events.Begun) -> None:
        if isinstance(begun.subject, FastOperation):
            hook(begun.subject, begun.args, dict(begun.kwargs))

    leave = events.precede(before)
    try:
        yield
    finally:
        leave()


@contextmanager
def register_post_operation_hook(hook: After) -> Iterator[None]:
    """Call `hook(operation, args, kwargs, output)` after every operation of the block that did not fail."""
    leave = events.precede(lambda begun: following(begun, hook))
    try:
        yield
    finally:
        leave()


def following(begun: events.Begun, hook: After) -> events.After | None:
    """What calls `hook` once an operation has its result; None for what is no operation."""
    operation = begun.subject
    if not isinstance(operation, FastOperation):
        return None

    def after(result: Any, error: BaseException | None) -> None:
        if error is None:
            hook(operation, begun.args, dict(begun.kwargs), result)

    return after
