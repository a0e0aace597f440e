"""Other tensors in the place of a module's parameters while it runs: what parameters that are gathered for use need.

Who runs a part of a module again later, as the memory-efficient runner does in the backward pass, takes along what stood in place then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import ModuleBase, TensorTable

Substitution = tuple[tuple[TensorTable, str, Tensor], ...]

_standing: list[Substitution] = []


def places(module: ModuleBase) -> list[tuple[TensorTable, str]]:
    """Every place, here and below, where a tensor is registered."""
    found = [(module._tensors, name) for name in module._tensors]
    for child in module._modules.values():
        found += places(child)
    return found


def substitution(module: ModuleBase, tensors: Mapping[int, Tensor]) -> Substitution:
    """What to put where: `tensors` by the id of the parameter that each stands for, wherever it is registered in the module."""
    return tuple(
        (table, name, tensors[id(table[name])])
        for table, name in places(module)
        if id(table[name]) in tensors
    )


@contextlib.contextmanager
def substituted(what: Substitution) -> Iterator[None]:
    """A block in which modules see the substitutes."""
    before: list[Any] = [dict.__getitem__(table, name) for table, name, _ in what]
    for table, name, tensor in what:
        table[name] = tensor
    _standing.append(what)
    try:
        yield
    finally:
        _standing.pop()
        for (table, name, _), held in zip(what, before, strict=True):
            table[name] = held


@contextlib.contextmanager
def again(all_of_them: tuple[Substitution, ...]) -> Iterator[None]:
    """A block in which modules see what they saw when `current()` gave it."""
    with contextlib.ExitStack() as stack:
        for what in all_of_them:
            stack.enter_context(substituted(what))
        yield


def current() -> tuple[Substitution, ...]:
    """What stands in place now."""
    return tuple(_standing)
