"""`ttml.fsdp`: parameters cut over a mesh axis, gathered while their module runs, their gradients averaged and cut again.

    for block in model.blocks:
        ttml.fsdp.fully_shard(block)
    ttml.fsdp.fully_shard(model)     # what no block has: embeddings, the last norm, the head

Gathering is an operation of the graph, so gradients accumulate over micro-batches. The mean of a gradient over the axis is taken in device
order, as data parallelism takes it: the same bits. Shard before the optimizer is made, for its state has the shape of the shards.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tt_run.runtime.ccl import collectives, single_shards
from tt_run.runtime.tensor.spec.topology import PlacementShard
from tt_run.runtime.train import stacks
from tt_run.runtime.train.axis_placement import is_replicated
from tt_run.runtime.train.context import AutoContext
from tt_run.runtime.train.graph import PreferredPrecision
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.modules.substitution import standing, substitution
from tt_run.runtime.train.named_mesh import mesh
from tt_run.runtime.train.operation import recorded, result
from tt_run.runtime.train.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

STATE = "_fsdp_state"


@dataclass
class FSDPState:
    """The parameters of one wrapped module, and along which axis they are cut."""

    mesh_axis_name: str
    axis_index: int
    axis_size: int
    reshard_after_forward: bool
    managed: list[Tensor] = field(default_factory=list)
    kept: dict[int, Tensor] = field(default_factory=dict)
    """Gathered tensors by the id of their parameters, where they stay for further runs of the module in one graph."""
    graph: tuple[int, int] = (0, 0)

    def gathered(self) -> dict[int, Tensor]:
        """The whole parameters by the ids of the cut ones."""
        graph = AutoContext.get_instance().graph
        now = (id(graph), graph.generation)
        if self.reshard_after_forward or self.graph != now or not self.kept:
            self.graph = now
            self.kept = {id(parameter): gather_parameter(parameter) for parameter in self.managed}
        found = self.kept
        if self.reshard_after_forward:
            self.kept = {}
        return found


@recorded
def gather_parameter(parameter: Tensor) -> Tensor:
    """The whole of a cut parameter, on every device of the axis; its gradient is the axis's mean, cut as the parameter is."""
    axis, dim = parameter.fsdp_axis, parameter.fsdp_dim
    assert axis is not None and dim is not None
    value = parameter.get_value(PreferredPrecision.FULL)
    whole = collectives.all_gather(value, dim, cluster_axis=axis)

    def rule(gradient: Value) -> None:
        if is_replicated(gradient, axis):
            parameter.add_grad(single_shards.mesh_partition(gradient, dim, axis))
            return
        device = gradient.device()
        assert device is not None
        share = np.float32(1.0 / device.shape[axis])
        total = collectives.reduce_scatter(gradient, dim, cluster_axis=axis)
        parameter.add_grad(stacks.compute(lambda stack: stack * share, total))

    return result(whole, (parameter,), rule)


def fully_shard(
    module: AbstractModuleBase,
    shard_dim: int | Literal["auto"] = "auto",
    mesh_axis: str = "fsdp",
    reshard_after_forward: bool = True,
) -> AbstractModuleBase:
    """Cut the parameters that a module has, and that no wrapped module below it has, over a named mesh axis; changes and returns it.

    "auto" cuts the last dimension but one, or the last where that is 1 long or cut along another axis already. Without
    `reshard_after_forward` whole parameters stay for the forward passes until the next optimizer step. Parameters that cannot be cut stay
    whole, with a warning. Raises RuntimeError for a module that is wrapped already, for an axis that the mesh has not or along which a
    parameter is cut already, and for sizes that do not divide.
    """
    if STATE in module.__dict__:
        raise RuntimeError(f"Module {module.get_name()!r} already wrapped with fully_shard.")
    open_mesh = mesh()
    axis, size = open_mesh.axis_index(mesh_axis), open_mesh.axis_size(mesh_axis)
    if size <= 1:
        warnings.warn(
            f"fully_shard: axis {mesh_axis!r} has size {size}; the module stays as it is", stacklevel=2
        )
        return module
    state = FSDPState(mesh_axis, axis, size, reshard_after_forward)
    module.__dict__[STATE] = state
    seen: set[int] = set()
    for name, held in _own_parameters(module):
        if id(held) in seen:
            continue
        seen.add(id(held))
        cut = functools.partial(_manage, state, name, shard_dim)
        if isinstance(held, Parameter):
            held.add_post_materialize_callback(lambda p, cut=cut: cut(p.tensor))  # type: ignore[misc]
        else:
            cut(held)
    _wrap(module, state)
    return module


def _own_parameters(module: AbstractModuleBase) -> list[tuple[str, Any]]:
    """Names and holders of parameters, here and in children that are not wrapped."""
    found = [(name, dict.__getitem__(module._tensors, name)) for name in module._tensors]
    for child_name, child in module._modules.items():
        if STATE not in child.__dict__:
            found += [(f"{child_name}.{n}", held) for n, held in _own_parameters(child)]  # type: ignore[arg-type]
    return found


def _manage(state: FSDPState, name: str, shard_dim: int | str, tensor: Tensor) -> None:
    """Cut one parameter in place."""
    if tensor.fsdp_axis is not None:
        return
    value = tensor.get_value(PreferredPrecision.FULL)
    placements, shape = value.tensor_topology().placements(), list(value.shape)
    if isinstance(placements[state.axis_index], PlacementShard):
        raise RuntimeError(
            f"fully_shard: parameter {name!r} is cut along mesh axis {state.mesh_axis_name!r} already ({placements})"
        )
    taken = {p.dim % len(shape) for p in placements if isinstance(p, PlacementShard)}
    if shard_dim == "auto":
        order = range(len(shape) - 2, len(shape))
        chosen = next((d for d in order if d >= 0 and shape[d] > 1 and d not in taken), None)
    else:
        chosen = int(shard_dim) % len(shape)
        chosen = None if shape[chosen] == 1 else chosen
    if chosen is None:
        warnings.warn(f"fully_shard: parameter {name!r} of shape {shape} stays whole", stacklevel=4)
        return
    if shape[chosen] % state.axis_size:
        raise RuntimeError(
            f"fully_shard: parameter {name!r} has shape {shape}; dim {chosen} does not divide by the {state.axis_size} devices of {state.mesh_axis_name!r}"
        )
    tensor.set_value(single_shards.mesh_partition(value, chosen, state.axis_index))
    tensor.fsdp_axis, tensor.fsdp_dim = state.axis_index, chosen
    state.managed.append(tensor)


def _wrap(module: AbstractModuleBase, state: FSDPState) -> None:
    forward = module.forward

    @functools.wraps(forward)
    def gathered_forward(*args: Any, **kwargs: Any) -> Any:
        with standing(substitution(module, state.gathered())):
            return forward(*args, **kwargs)

    module.__dict__["forward"] = gathered_forward


def is_fsdp_managed(tensor: Any) -> bool:
    """Whether `fully_shard` cut a parameter."""
    return fsdp_axis_of(tensor) is not None


def fsdp_axis_of(tensor: Any) -> int | None:
    """The mesh axis along which `fully_shard` cut a parameter, None for others."""
    held = tensor.tensor if isinstance(tensor, Parameter) else tensor
    axis: int | None = getattr(held, "fsdp_axis", None)
    return axis
