"""`Parameter` and `Buffer`: tensors of a module; a parameter may wait for its tensor until it is materialised."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from mgd.lean import dataclass, field, replace
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.arguments import way_in
from tt_run.runtime.train.autograd.tensor import Tensor

LAZY_PARAMETER_ACCESS_MSG = (
    "This parameter has not been materialized yet. Build the model inside `with ttml.lazy_init():` and then call "
    "`ttml.materialize_module(model)` before accessing `.tensor` or running forward. "
    "In-place initializers (`ttml.init.uniform_`, etc.) also require a materialized tensor."
)


_numbers = itertools.count()


@dataclass(frozen=True)
class TensorMetadata:
    """A tensor that is not made yet: its shape, what makes it, and how it will be laid over the mesh (None: on every device)."""

    shape: tuple[int, ...]
    init_fn: Callable[..., Tensor]
    mapper: Any = None
    requires_grad: bool = True
    number: int = field(default_factory=_numbers.__next__, repr=False, compare=False)
    """Its place in the order of construction, which is the order of the draws."""

    def materialize(self, mapper_override: Any = None) -> Tensor:
        """The tensor. Draws its numbers now."""
        tensor = self.init_fn(self.shape, self.mapper if mapper_override is None else mapper_override)
        tensor.set_requires_grad(self.requires_grad)
        return tensor


class Parameter:
    """A tensor that optimizers update; `.tensor` is the tensor. Other names are the tensor's own.

    Raises RuntimeError when the tensor is asked for before it was materialised, TypeError for an array of NumPy or PyTorch and for another Parameter.
    """

    def __init__(self, tensor: Tensor | TensorMetadata) -> None:
        hint = "; help: Parameter(parameter.tensor)" if isinstance(tensor, Parameter) else way_in(tensor)
        if hint:
            raise TypeError(f"Parameter: a ttml.autograd.Tensor, not {type_name(tensor)}{hint}")
        self._held = tensor
        self._callbacks: list[Callable[[Parameter], None]] = []

    @property
    def tensor(self) -> Tensor:
        """The tensor."""
        if isinstance(self._held, TensorMetadata):
            raise RuntimeError(LAZY_PARAMETER_ACCESS_MSG)
        return self._held

    @tensor.setter
    def tensor(self, tensor: Tensor) -> None:
        self._held = tensor

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.tensor, name)

    @property
    def is_lazy(self) -> bool:
        """Whether the tensor is not made yet."""
        return isinstance(self._held, TensorMetadata)

    def peek_tensor(self) -> Tensor | TensorMetadata:
        """The tensor, or what will make it."""
        return self._held

    def add_post_materialize_callback(self, fn: Callable[[Parameter], None]) -> None:
        """Call `fn(self)` once there is a tensor: now, or when the module is materialised."""
        if self.is_lazy:
            self._callbacks.append(fn)
        else:
            fn(self)

    def materialize(self) -> None:
        """Make the tensor, if it is not made yet, and call who waits for it."""
        if isinstance(self._held, TensorMetadata):
            self._held = self._held.materialize()
            waiting, self._callbacks = self._callbacks, []
            for fn in waiting:
                fn(self)

    def __repr__(self) -> str:
        return f"Parameter({self._held!r})"


class Buffer:
    """A tensor that belongs to a module and is not trained."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"Buffer({self.tensor!r})"


def replace_lazy_mapper(parameter: Parameter, new_mapper: Any) -> None:
    """Lay a parameter that is not made yet over the mesh in another way. Raises RuntimeError when it is made."""
    held = parameter.peek_tensor()
    if not isinstance(held, TensorMetadata):
        raise RuntimeError(
            "replace_lazy_mapper called on a materialized Parameter; only lazy parameters can have their mapper rewritten "
            "without a host roundtrip."
        )
    parameter._held = replace(held, mapper=new_mapper)
