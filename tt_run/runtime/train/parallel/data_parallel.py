"""`ttml.distributed.ddp`: a model whose gradients are averaged over mesh axes as part of the backward pass.

    model = DistributedDataParallel(parallelize_module(model, mesh, plan, tp_axis=1), sync_axes=[0])

What a trainer that knows nothing of several devices needs: after `loss.backward()` every gradient is the mean. The model runs with copies of
its parameters that hand their whole gradients on once, so parameters that are used twice are averaged once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.ccl import collectives
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.axis_placement import is_replicated, members
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import AbstractModuleBase, NamedParameters
from tt_run.runtime.train.modules.substitution import substituted, substitution

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


class DistributedDataParallel:
    """A module by its own names, whose gradients are means over the axes `sync_axes` of the mesh."""

    def __init__(self, module: AbstractModuleBase, sync_axes: Sequence[int]) -> None:
        self._model, self._sync_axes = module, list(sync_axes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the module makes of its arguments."""
        # By name, so that all ranks average in one order.
        held = sorted(self._model.parameters().items())
        copies = {id(tensor): averaged(tensor, self._sync_axes) for _, tensor in held}
        with substituted(substitution(self._model, copies)):
            return self._model(*args, **kwargs)

    def parameters(self) -> NamedParameters:
        """Those of the module."""
        return self._model.parameters()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_model"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = name in ("_model", "_sync_axes")
        object.__setattr__(self if own else self._model, name, value)


@recorded
def averaged(parameter: Tensor, axes: Sequence[int]) -> Tensor:
    """A parameter as it is; its gradient is the mean over axes of the mesh, but for those along which `fully_shard` averages it."""

    def rule(gradient: Value) -> None:
        for axis in axes:
            count = members(gradient, axis)
            if count == 1 or axis == parameter.fsdp_axis or is_replicated(gradient, axis):
                continue
            share = np.float32(1.0 / count)
            total = collectives.all_reduce(gradient, cluster_axis=axis)
            gradient = stacks.compute(lambda stack, share=share: stack * share, total)
        parameter.add_grad(gradient)

    return result(parameter.get_value(), (parameter,), rule)
