"""Other tensors in the place of a module's parameters while it runs: what parameters that are gathered for use need.

Who runs a part of a module again later, as the memory-efficient runner does in the backward pass, takes along what stood in place then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import ModuleBase
from tt_run.runtime.train.modules.parameter import Parameter

Substitution = tuple[tuple[ModuleBase, str, Tensor], ...]

_standing: list[Substitution] = []


def places(module: ModuleBase) -> list[tuple[ModuleBase, str]]:
    """Every place, here and below, where a tensor is registered."""
    found = [(module, name) for name in module._tensors]
    for child in module._modules.values():
        found += places(child)
    return found


def substitution(module: ModuleBase, tensors: Mapping[int, Tensor]) -> Substitution:
    """What to put where: `tensors` by the id of the parameter that each stands for, wherever it is registered in the module."""
    return tuple(
        (where, name, tensors[id(where._tensors[name])])
        for where, name in places(module)
        if id(where._tensors[name]) in tensors
    )


@contextlib.contextmanager
def substituted(what: Substitution) -> Iterator[None]:
    """A block in which modules see the substitutes."""
    before = [_put(*place) for place in what]
    _standing.append(what)
    try:
        yield
    finally:
        _standing.pop()
        for (where, name, _), tensor in zip(reversed(what), reversed(before), strict=True):
            _put(where, name, tensor)


def _put(module: ModuleBase, name: str, tensor: Any) -> Any:
    """Let a place have a tensor, also for who reads `module.name` or `module.name.tensor`; what it had before."""
    held = dict.__getitem__(module._tensors, name)
    if isinstance(held, Parameter):
        before, held.tensor = held.peek_tensor(), tensor
        return before
    module._tensors[name] = tensor
    if module.__dict__.get(name) is held:
        module.__dict__[name] = tensor
    return held


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
