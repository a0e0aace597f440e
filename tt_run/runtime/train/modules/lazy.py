"""`ttml.lazy_init`: build a model without its numbers, then make them in the order in which they would have been drawn."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.parameter import Parameter, TensorMetadata

Make = Callable[..., Tensor]

_depth = 0


@contextlib.contextmanager
def lazy_init() -> Iterator[None]:
    """A block in which parameters get shapes and no numbers; `materialize_module` makes them."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def is_lazy_init_enabled() -> bool:
    """Whether a `lazy_init` block runs."""
    return _depth > 0


def deferred(make: Make) -> Make:
    """An initialiser `make(shape, mapper)` that inside of `lazy_init` gives what will make the tensor instead of the tensor."""

    @functools.wraps(make)
    def maker(shape: Sequence[int], mapper: Any = None) -> Any:
        if not is_lazy_init_enabled():
            return make(shape, mapper)
        return TensorMetadata(tuple(shape), make, mapper)

    return maker


def materialize_module(module: Any) -> Any:
    """Make every parameter of a module that is not made yet, and return the module.

    The numbers are those of a model built without `lazy_init` from the same seed. Raises RuntimeError inside of `lazy_init`.
    """
    if is_lazy_init_enabled():
        raise RuntimeError(
            "materialize_module: leave the lazy_init block first; help: materialize_module(model) behind the with block"
        )
    waiting: dict[int, Parameter] = {id(p): p for p in module.lazy_parameters()}
    for parameter in sorted(waiting.values(), key=_place):
        parameter.materialize()
    return module


def _place(parameter: Parameter) -> int:
    held = parameter.peek_tensor()
    return held.number if isinstance(held, TensorMetadata) else -1
