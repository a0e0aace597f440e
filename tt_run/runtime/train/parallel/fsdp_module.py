"""`ttml.distributed.fully_shard`: a module whose parameters are cut, as an object that gathers them by hand and ahead of time.

What it computes is what `ttml.fsdp.fully_shard` computes, and so are the gradients: the mean over the axis, cut as the parameters are, when
the backward pass is through. `synchronize_fsdp_gradients` cuts those that a program gave to parameters while they were whole.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tt_run.runtime.ccl import collectives
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.callbacks import callback
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import AbstractModuleBase, NamedParameters
from tt_run.runtime.train.parallel.fsdp import STATE, FSDPState, shard_over
from tt_run.runtime.train.parallel.named_mesh import maybe_mesh, mesh

_made: list[weakref.ref[FSDPModule]] = []


@dataclass
class ShardedParameter:
    """A parameter of a module, what its devices hold of it, along which dimension, and the whole of it while it is gathered."""

    name: str
    sharded_tensor: Any
    original_tensor: Any
    shard_dim: int = 0
    full_tensor: Any = None


class FSDPModule(AbstractModuleBase):
    """FSDP: a module whose own parameters lie in shards over a mesh axis, and are whole while it runs.

    `shard_dim` counts where it is longer than 1; elsewhere, and with "auto", the dimension is picked. The axis is named `mesh_axis`, or number `cluster_axis`, else the
    one named "fsdp", else the only one longer than 1. The module itself is changed, so it may be used in the place of this. Raises RuntimeError
    for one that is wrapped already, and where there are two axes to choose from.
    """

    def __init__(
        self,
        module: AbstractModuleBase,
        shard_dim: int | Literal["auto"] = 0,
        reshard_after_forward: bool = True,
        cluster_axis: int | None = None,
        replicate_params: Sequence[str] = (),
        mesh_axis: str | None = None,
    ) -> None:
        super().__init__()
        if STATE in module.__dict__:
            raise RuntimeError(
                f"Module {module.get_name()!r} already wrapped with fully_shard. help: call fully_shard once for each module"
            )
        name, axis, size = _axis(cluster_axis, mesh_axis)
        self._wrapped, self._shard_dim, self._cluster_axis = module, shard_dim, cluster_axis
        del self._modules["_wrapped"]
        self.register_module(module, "wrapped")
        self._state = FSDPState(name, axis, size, reshard_after_forward)
        self._ahead: list[FSDPModule] = []
        self._behind: list[FSDPModule] = []
        if size > 1:
            dim = shard_dim if shard_dim == "auto" or _fits(module, shard_dim) else "auto"
            shard_over(module, self._state, dim, replicate_params)
        _made.append(weakref.ref(self))

    def __getattr__(self, name: str) -> Any:
        """What the module has beside its parameters."""
        if name.startswith("__") or "_wrapped" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.__dict__["_wrapped"], name)

    @property
    def _reshard_after_forward(self) -> bool:
        return self._state.reshard_after_forward

    @property
    def _sharded_params(self) -> dict[str, ShardedParameter]:
        whole = self._state.shards
        return {
            name: ShardedParameter(
                name,
                whole.get(id(tensor), tensor.get_value(PreferredPrecision.FULL)),
                tensor,
                int(tensor.fsdp_dim or 0),
                tensor.get_value(PreferredPrecision.FULL) if id(tensor) in whole else None,
            )
            for name, tensor in self._wrapped.parameters().items()
            if any(tensor is own for own in self._state.managed)
        }

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result; those that were to be gathered ahead are."""
        for module in self._ahead:
            module._state.gather_ahead()
        hooked = args and not kwargs and len(args) <= 2
        out = self._wrapped.call_with_hooks(*args) if hooked else self._wrapped(*args, **kwargs)
        if self._behind and isinstance(out, Tensor):
            out = callback(out, self._gather_behind)
        return out

    def _gather_behind(self) -> None:
        for module in self._behind:
            module._state.gather_again()

    def unshard(self) -> None:
        """Put the whole parameters in place, to be read; a forward pass, or `reshard`, cuts them again."""
        self._state.unshard()

    def reshard(self) -> None:
        """Put the cut parameters back."""
        self._state.reshard()

    def set_modules_to_forward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Have other modules' parameters gathered ahead of this one's forward pass, not of theirs."""
        self._ahead = list(modules)

    def set_modules_to_backward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Have other modules' parameters gathered again ahead of this one's backward pass, not of theirs."""
        self._behind = list(modules)

    def set_reshard_after_forward(self, value: bool) -> None:
        """Whether whole parameters are given back after a forward pass, or stay until the next optimizer step."""
        self._state.reshard_after_forward = bool(value)

    def reduce_scatter_gradients(self) -> None:
        """Cut the gradients that are whole, as the mean over the axis; a backward pass leaves them cut."""
        share = np.float32(1.0 / self._state.axis_size)
        held = [
            (tensor, tensor.get_grad())
            for tensor in self._state.managed
            if tensor.is_grad_initialized() and id(tensor) in self._state.shards
        ]
        self.reshard()
        for tensor, gradient in held:
            dim, own = tensor.fsdp_dim, tensor.get_value(PreferredPrecision.FULL)
            if tuple(gradient.shape) != tuple(own.shape):
                assert dim is not None
                total = collectives.reduce_scatter(gradient, dim, cluster_axis=tensor.fsdp_axis)
                gradient = stacks.compute(lambda stack: stack * share, total)
            tensor.set_grad(gradient)

    def all_gather_gradients(self) -> None:
        """Put whole parameters in place, with whole gradients, for an optimizer that needs them."""
        held = [(tensor, tensor.get_grad()) for tensor in self._state.managed if tensor.is_grad_initialized()]
        self.unshard()
        for tensor, gradient in held:
            assert tensor.fsdp_dim is not None
            if tuple(gradient.shape) != tuple(tensor.get_value(PreferredPrecision.FULL).shape):
                gradient = collectives.all_gather(gradient, tensor.fsdp_dim, cluster_axis=tensor.fsdp_axis)
            tensor.set_grad(gradient)

    def parameters(self) -> NamedParameters:
        """Those of the module, by its names."""
        return self._wrapped.parameters()

    def __repr__(self) -> str:
        return (
            f"FSDPModule(\n  wrapped={self._wrapped.get_name()},\n  shard_dim={self._shard_dim},\n"
            f"  reshard_after_forward={self._reshard_after_forward},\n  num_sharded_params={len(self._state.managed)}\n)"
        )


def fully_shard(
    module: AbstractModuleBase,
    shard_dim: int | Literal["auto"] = 0,
    reshard_after_forward: bool = True,
    cluster_axis: int | None = None,
    replicate_params: Sequence[str] = (),
    mesh_axis: str | None = None,
) -> FSDPModule:
    """FSDP: cut a module's own parameters over an axis, as `FSDPModule` says; blocks first, then the whole model."""
    return FSDPModule(module, shard_dim, reshard_after_forward, cluster_axis, replicate_params, mesh_axis)


def setup_prefetching(
    modules: Sequence[FSDPModule], num_to_forward_prefetch: int = 1, num_to_backward_prefetch: int = 1
) -> None:
    """Have each of some modules, in the order in which they run, gather for the next ones, and in the backward pass for those before it."""
    for number, module in enumerate(modules):
        after = modules[number + 1 : number + 1 + num_to_forward_prefetch]
        before = modules[max(number - num_to_backward_prefetch, 0) : number]
        module.set_modules_to_forward_prefetch(after)
        module.set_modules_to_backward_prefetch(list(before)[::-1])


def synchronize_fsdp_gradients() -> None:
    """`reduce_scatter_gradients` of every wrapped module that is still there."""
    for reference in _made:
        module = reference()
        if module is not None:
            module.reduce_scatter_gradients()


def clear_fsdp_registry() -> None:
    """Forget the modules that `synchronize_fsdp_gradients` goes through."""
    _made.clear()


def _fits(module: AbstractModuleBase, dim: int | str) -> bool:
    """Whether a dimension is longer than 1 in every parameter."""
    shapes = [tensor.shape() for tensor in module.parameters().values()]
    return isinstance(dim, int) and all(-len(s) <= dim < len(s) and s[dim] > 1 for s in shapes)


def _axis(number: int | None, name: str | None) -> tuple[str, int, int]:
    """Name, number and devices of the axis to cut over."""
    named, shape = maybe_mesh(), list(AutoContext.get_instance().get_device().shape)
    if name is not None:
        number = mesh().axis_index(name)
    elif number is None and named is not None and named.has_axis("fsdp"):
        number = named.axis_index("fsdp")
    if number is None:
        long = [axis for axis, size in enumerate(shape) if size > 1]
        if len(long) > 1:
            raise RuntimeError(
                f"fully_shard: a mesh of shape {shape} has two axes to cut over; help: cluster_axis=1, or a mesh with an axis named 'fsdp'"
            )
        number = long[0] if long else 0
    if not 0 <= number < len(shape):
        raise RuntimeError(
            f"fully_shard: cluster_axis={number} is no axis of a mesh of shape {shape}; help: cluster_axis={len(shape) - 1}"
        )
    return f"axis {number}", number, int(shape[number])
