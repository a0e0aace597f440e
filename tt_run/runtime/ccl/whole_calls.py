"""What the ranks of a call agree on beside what its collectives say: all its other arguments.

A collective's signature says what its data is like. A call that makes something of that data, or of several tensors, has more to agree
on: ranks that differ in a scale, an activation or the shape of a weight hang on a cluster, or go on with results that do not fit together.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from functools import wraps
from numbers import Integral, Real
from threading import get_ident
from typing import Any, TypeVar

from tt_run.runtime.mesh.view import SubDeviceId
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])

_BY_PLAN = frozenset({"cluster_axis", "dim"})
"""Arguments with several spellings, of which plans have the one that they mean: -1 is the last dimension."""
_under_way: dict[int, str] = {}  # what a thread's call says, by the thread


def whole_call(compute: Function) -> Function:
    """An operation whose ranks agree on every argument, in each collective that it makes."""
    parameters: dict[str, Any] = {}

    @wraps(compute)
    def call(*args: Any, **words: Any) -> Any:
        thread = get_ident()
        if thread in _under_way:  # the call that the program made says it
            return compute(*args, **words)
        if not parameters:
            found = inspect.signature(compute).parameters.values()
            parameters.update((each.name, each.default) for each in found)
        _under_way[thread] = _arguments(parameters, args, words)
        try:
            return compute(*args, **words)
        finally:
            del _under_way[thread]

    call.written_in = compute.__globals__  # type: ignore[attr-defined]  # what its annotations name
    return call  # type: ignore[return-value]


def arguments_of_call() -> str:
    """What the call that this thread is in says of its arguments, as items `name value`; empty outside of one."""
    return _under_way.get(get_ident(), "") if _under_way else ""


def _arguments(parameters: Mapping[str, Any], args: tuple[Any, ...], words: Mapping[str, Any]) -> str:
    """In the order of the parameters, what is not left to its default."""
    given = {**dict(zip(parameters, args, strict=False)), **words}
    items = []
    for name, default in parameters.items():
        value = given.get(name, default)
        if value is default or name in _BY_PLAN or (value is None and default is inspect.Parameter.empty):
            continue
        text = _said(value)
        if text is not None and text != _said(default):
            items.append(f"{name} {text}")
    return ", ".join(items)


def _said(value: Any) -> str | None:
    """An argument in few words without commas, which part items; None for what each rank has its own of, such as semaphores."""
    if isinstance(value, Tensor):
        return _said_of_tensor(value)
    if value is None or isinstance(value, (bool, str)):
        return str(value).replace(",", ";")
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, MemoryConfig):
        return memory_text(value)
    if isinstance(value, SubDeviceId):
        return str(value)
    if isinstance(value, (list, tuple)):
        found = [_said(each) for each in value]
        if found and None not in found:
            alike = len(found) > 1 and len(set(found)) == 1
            return f"{len(found)} x {found[0]}" if alike else "; ".join(map(str, found))
    return None


def _said_of_tensor(tensor: Tensor) -> str:
    spec = tensor.spec
    memory = "" if spec.memory_config == DRAM_MEMORY_CONFIG else f" {memory_text(spec.memory_config)}"
    return f"{'x'.join(map(str, spec.shape))} {spec.dtype.name} {spec.layout.name}{memory}"


def memory_text(memory: MemoryConfig) -> str:
    """A memory configuration in few words without commas, which part the items of a signature."""
    parts = [memory.buffer_type.name, memory.memory_layout.name]
    parts += [str(spec).replace(", ", "x") for spec in (memory.shard_spec, memory.nd_shard_spec) if spec]
    return " ".join(parts)
