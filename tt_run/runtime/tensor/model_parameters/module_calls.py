"""Every call of a PyTorch module, whichever it is, and what its arguments and results hold.

It is seen as `torch.fx` sees it, by the method that all modules are called through.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Call = Callable[..., Any]


@contextmanager
def around_modules(around: Callable[[Any, Call, tuple[Any, ...], dict[str, Any]], Any]) -> Iterator[None]:
    """Within the block a module's call is `around(module, call, args, kwargs)`, which calls `call(*args, **kwargs)`; modules have names.

    Modules of other threads' models are seen too.
    """
    import torch

    original = torch.nn.Module.__call__

    def called(module: Any, *args: Any, **kwargs: Any) -> Any:
        name_modules(module)
        return around(module, functools.partial(original, module), args, kwargs)

    torch.nn.Module.__call__ = called
    try:
        yield
    finally:
        torch.nn.Module.__call__ = original


def name_modules(module: Any, name: str = "") -> None:
    """Give a module and what it holds the attribute `__ttnn_tracer_name__`: its path from the model that was called first.

    What has a name keeps it, in later traces too, as in the reference.
    """
    if hasattr(module, "__ttnn_tracer_name__"):
        return
    module.__ttnn_tracer_name__ = name
    for child_name, child in module.named_children():
        name_modules(child, f"{name}.{child_name}" if name else child_name)
    for path, parameter in module.named_parameters():
        parameter.__ttnn_tracer_name__ = path


def leaves(value: Any) -> Iterator[Any]:
    """What stands in sequences, mappings and dataclasses, in their order."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    elif is_record(value):
        for field in dataclasses.fields(value):
            yield from leaves(getattr(value, field.name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    else:
        yield value


def is_record(value: Any) -> bool:
    """Whether a value is a dataclass's object."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)
