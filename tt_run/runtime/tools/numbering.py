"""The numbers that tensors and operations get, which programs read and set to join what they write themselves to reports.

Tensors are always numbered. Operations on devices are counted from when a program first asks for their number, one for each call that computes there,
also where the reference would run several programs. Calls of the program count only without `ttnn.CONFIG.enable_fast_runtime_mode`.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.errors import incompatible
from tt_run.runtime.ops.declaration.costs import tensors
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tensor import tensor as numbered

_VIEWS = frozenset(
    f"ttnn.{word}"
    for word in ("reshape", "view", "squeeze", "unsqueeze", "unsqueeze_to_4D", "Tensor.reshape")
)
"""What gives a tensor along bytes that are there: nothing runs."""
_next = {"python": 0, "device": 1}
_under_way: list[str] = []
_leave: list[Callable[[], None]] = []
"""Ends the counting, once that has begun."""


def get_tensor_id() -> int:
    """The number that the next tensor gets."""
    number = numbered.next_tensor_id()
    numbered._ids = itertools.count(number)
    return number


def set_tensor_id(id: int) -> None:
    """Number the tensors that are made from now on from `id` on."""
    numbered._ids = itertools.count(
        _number(id, "set_tensor_id", "set_tensor_id(id: int) -> None"),
    )


def get_python_operation_id() -> int:
    """The number of the program's next call of an operation."""
    _count()
    return _next["python"]


def set_python_operation_id(arg: int, /) -> None:
    """Number the calls from `arg` on."""
    _set("python", arg)


def fetch_and_increment_python_operation_id() -> int:
    """Use up the number of a call."""
    return _use_up("python")


def get_device_operation_id() -> int:
    """The number of the next operation on a device."""
    _count()
    return _next["device"]


def set_device_operation_id(arg: int, /) -> None:
    """Number the operations on devices from `arg` on."""
    _set("device", arg)


def fetch_and_increment_device_operation_id() -> int:
    """Use up the number of an operation on a device."""
    return _use_up("device")


def _set(kind: str, number: int) -> None:
    name = f"set_{kind}_operation_id"
    number = _number(number, name, f"{name}(arg: int, /) -> None")
    _count()
    _next[kind] = number


def _use_up(kind: str) -> int:
    _count()
    _next[kind] += 1
    return _next[kind] - 1


def _number(value: object, name: str, signature: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise incompatible(name, (signature,), (value,))
    return value


def _count() -> None:
    if not _leave:
        _leave.append(events.precede(_around))


def _around(begun: events.Begun) -> events.After | None:
    operation = begun.subject
    if not isinstance(operation, FastOperation):
        return None
    if not _under_way and not CONFIG.enable_fast_runtime_mode:
        _next["python"] += 1
    _under_way.append(operation.name)

    def after(result: Any, error: BaseException | None) -> None:
        name = _under_way.pop()
        if error is None and not _under_way and name not in _VIEWS and _computed(begun, result):
            _next["device"] += 1

    return after


def _computed(begun: events.Begun, result: Any) -> bool:
    """Whether a device has worked: an operand is on one, and what came out is on one and no operand itself."""
    given = [
        each for each in tensors((begun.args, tuple(begun.kwargs.values()))) if each.device() is not None
    ]
    made = [each for each in tensors(result) if each.device() is not None]
    kept = {id(each) for each in given}
    in_place = begun.subject.name.endswith("_")
    return bool(given and made) and (in_place or any(id(each) not in kept for each in made))
