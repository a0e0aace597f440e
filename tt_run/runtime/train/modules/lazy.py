"""`ttml.lazy_init`: build a model without its numbers, then make them in the order in which they would have been drawn."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.parameter import Parameter, TensorMetadata, replace_lazy_mapper
from tt_run.runtime.train.parallel.named_mesh import maybe_mesh

Make = Callable[..., Tensor]
Plan = Callable[[str, Any], Any]
"""From a parameter's dotted path and its metadata to another mapper, or None."""

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


def materialize_module(
    root: Any, mesh_device: Any = None, layout_plan: Plan | None = None, on_device_init: bool = False
) -> Any:
    """Make every parameter of a module that is not made yet, and return the module.

    The numbers are those of a model built without `lazy_init` from the same seed, wherever they are drawn (`on_device_init`), on the open
    mesh, which a `mesh_device` has to be. `layout_plan(path, metadata)` may give another mapper for a parameter, named by its dotted path.
    Raises RuntimeError inside of `lazy_init`, TypeError for what is no module, and ValueError for another mesh.
    """
    if not callable(getattr(root, "lazy_parameters", None)):
        raise TypeError(
            f"materialize_module expects AbstractModuleBase, got {type_name(root)}; help: materialize_module(model)"
        )
    open_meshes = (maybe_mesh(), AutoContext.get_instance().live_device)
    if mesh_device is not None and mesh_device not in open_meshes:
        raise ValueError(
            "materialize_module: mesh_device is another mesh than the open one; help: leave it out"
        )
    if is_lazy_init_enabled():
        raise RuntimeError(
            "materialize_module: leave the lazy_init block first; help: materialize_module(model) behind the with block"
        )
    waiting: dict[int, tuple[str, Parameter]] = {}
    for path, parameter in root.lazy_parameters():
        waiting.setdefault(id(parameter), (path, parameter))
    for path, parameter in sorted(waiting.values(), key=lambda each: _place(each[1])):
        if layout_plan is not None:
            mapper = layout_plan(path, parameter.peek_tensor())
            if mapper is not None:
                replace_lazy_mapper(parameter, mapper)
        parameter.materialize()
    return root


def _place(parameter: Parameter) -> int:
    held = parameter.peek_tensor()
    return held.number if isinstance(held, TensorMetadata) else -1
