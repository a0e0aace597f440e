"""Every operation a second time in shapes: its results must have the specs and topologies of those with values, its errors their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.ops.declaration.costs import tensors
from tt_run.runtime.ops.declaration.dispatch import Operation
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.shards import Shards

# Errors about values, which a run in shapes does not have: ids and places that lie outside of a table, norms that are not finite.
_OF_VALUES = re.compile(r"(id|index|position) \d+ is (outside|out of range)|is non-finite")


@contextmanager
def in_shapes_too(differences: list[str]) -> Iterator[None]:
    """Repeat each outermost operation of the block in shapes; what comes out otherwise is written to `differences`."""
    depth = 0

    def before(begun: events.Begun) -> events.After | None:
        nonlocal depth
        if begun.kind != "op":
            return None
        depth += 1
        outermost = depth == 1 and not shapes.active()
        again = _repeat(begun.subject, begun.args, dict(begun.kwargs)) if outermost else None

        def after(result: Any, error: BaseException | None) -> None:
            nonlocal depth
            depth -= 1
            if again is not None:
                expected = _told(error) if error is not None else described(result)
                found = again()
                if found != expected and not (error is not None and _OF_VALUES.search(str(error))):
                    differences.append(
                        f"{begun.name}\n  with values: {expected}\n  in shapes:   {found}\n  of {described(begun.args)}"
                    )

        return after

    leave = events.precede(before)
    try:
        yield
    finally:
        leave()


def described(value: Any) -> list[str]:
    """The tensors of a result: spec, topology, and which devices hold a shard."""
    return [
        f"{t.spec.text()} {t.tensor_topology()!r} {[row >= 0 for row in t.shards.index] if t.is_allocated() else ''}"
        for t in tensors(value)
    ]


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _repeat(operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
    given = list(tensors((args, tuple(kwargs.values()))))
    before = [(t, t.shards) for t in given if t.is_allocated()]

    def again() -> Any:
        now = [(t, t.shards if t.is_allocated() else None) for t, _ in before]
        _put_back(before)
        observers, Tensor.observers = Tensor.observers, ()
        try:
            with shapes.only():
                return described(operation.compute(*args, **kwargs))
        except Exception as error:
            return _told(error)
        finally:
            Tensor.observers = observers
            _put_back(now)

    return again


def _put_back(content: list[tuple[Tensor, Shards | None]]) -> None:
    for tensor, shards in content:
        if shards is not None and tensor.is_allocated():
            tensor.overwrite(shards)
