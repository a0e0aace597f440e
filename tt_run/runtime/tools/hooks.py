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


PRE_OPERATION_HOOKS: list[Before] = []
"""What is called before every operation, while anybody looks: `tools.hook_lists` does so from when a program asks for the list."""

POST_OPERATION_HOOKS: list[After] = []
"""What is called after every operation that did not fail."""

_watchers: list[events.Before] = []
_leave: list[Callable[[], None]] = []
"""Takes the listener away, once for each that looks."""


@contextmanager
def register_pre_operation_hook(hook: Before) -> Iterator[None]:
    """Call `hook(operation, args, kwargs)` before every operation of the block; what it returns does not count."""
    with _registered(PRE_OPERATION_HOOKS, hook):
        yield


@contextmanager
def register_post_operation_hook(hook: After) -> Iterator[None]:
    """Call `hook(operation, args, kwargs, output)` after every operation of the block that did not fail."""
    with _registered(POST_OPERATION_HOOKS, hook):
        yield


@contextmanager
def _registered(hooks: list[Any], hook: Any) -> Iterator[None]:
    hooks.append(hook)
    look()
    try:
        yield
    finally:
        look_away()
        hooks.remove(hook)


def look() -> None:
    """Call the hooks of the lists from now on."""
    _leave.append(_leave[-1] if _leave else around_every_operation(_around))


def look_away() -> None:
    """Undo one `look`."""
    leave = _leave.pop()
    if not _leave:
        leave()


def around_every_operation(before: events.Before) -> Callable[[], None]:
    """Ask `before` ahead of every operation that a program calls, also of those that no event tells of: conversions, new tensors, files.

    Returns a function that ends it.
    """
    leave = events.precede(before)
    _watchers.append(before)
    FastOperation.watching = _watched

    def end() -> None:
        leave()
        _watchers.remove(before)
        if not _watchers:
            FastOperation.watching = None

    return end


def _watched(
    operation: FastOperation, args: tuple[Any, ...], kwargs: dict[str, Any], compute: Callable[..., Any]
) -> Any:
    begun = events.Begun("op", operation.name, operation, args, kwargs)
    told = [after for before in tuple(_watchers) if (after := before(begun)) is not None]
    try:
        result = compute(args, kwargs)
    except BaseException as error:
        for after in told:
            after(None, error)
        raise
    for after in told:
        after(result, None)
    return result


def _around(begun: events.Begun) -> events.After | None:
    if isinstance(begun.subject, FastOperation):
        for hook in tuple(PRE_OPERATION_HOOKS):
            hook(begun.subject, begun.args, dict(begun.kwargs))
    return after_operation(begun, _after)


def _after(operation: FastOperation, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
    for hook in tuple(POST_OPERATION_HOOKS):
        hook(operation, args, kwargs, output)


def after_operation(begun: events.Begun, hook: After) -> events.After | None:
    """What calls `hook` once an operation has its result; None for what is no operation."""
    operation = begun.subject
    if not isinstance(operation, FastOperation):
        return None

    def after(result: Any, error: BaseException | None) -> None:
        if error is None:
            hook(operation, begun.args, dict(begun.kwargs), result)

    return after
