"""`ttml.fsdp`: parameters cut over a mesh axis, gathered while their module runs, their gradients averaged and cut again.

    for block in model.blocks:
        ttml.fsdp.fully_shard(block)
    ttml.fsdp.fully_shard(model)     # what no block has: embeddings, the last norm, the head

Gathering is an operation of the graph, so gradients accumulate over micro-batches. The mean of a gradient over the axis is taken in device
order, as data parallelism takes it: the same bits. Shard before the optimizer is made, for its state has the shape of the shards.

With `reshard_after_forward` a whole parameter is there while its module runs, forward and backward, and at no other time: its memory is given
back after the forward pass, and gathered anew when the backward pass first reads it.
"""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tt_run.runtime import events
from tt_run.runtime.ccl import single_shards
from tt_run.runtime.errors import type_name
from tt_run.runtime.tensor.spec.topology import PlacementShard
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.autograd.axis_placement import by_axes
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.operation import result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import AbstractModuleBase, ModuleBase
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.modules.substitution import substituted, substitution
from tt_run.runtime.train.parallel.fsdp_overlap import UnitOrder, current_overlap
from tt_run.runtime.train.parallel.gathered import Gathered, whole_value
from tt_run.runtime.train.parallel.named_mesh import maybe_mesh, mesh

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
    kept: dict[int, Gathered] = field(default_factory=dict)
    """Gathered tensors by the id of their parameters, where they stay for further runs of the module in one graph."""
    graph: tuple[int, int] = (0, 0)
    sources: list[tuple[weakref.ref[Value], int]] = field(default_factory=list)
    """What `kept` was gathered from: each value, and how often its memory had been written."""
    recorded: bool = False
    """Whether `kept` was gathered where operations are recorded: what was not, no gradient reaches."""
    shards: dict[int, Value] = field(default_factory=dict)
    """What parameters held before `unshard`, by their ids."""
    last: dict[int, Gathered] = field(default_factory=dict)
    """What the last forward pass gathered."""
    stays_whole: bool = False
    """Whether passes without gradients leave the whole parameters in place for the next one."""
    waits: bool = False
    """Whether `kept` was gathered ahead of a forward pass that has not begun."""
    row: UnitOrder | None = None
    """The modules around this one, where a second command queue gathers them."""

    def gathered(self) -> dict[int, Gathered]:
        """The whole parameters by the ids of the cut ones; none where they are in the place of those."""
        if self.stays_whole and not AutoContext.get_instance().records:
            self.unshard()
            return {}
        if self.row is None:
            self.gather_ahead()
        else:
            self.row.forward(self)
        found, self.last, self.waits = self.kept, self.kept, False
        if self.reshard_after_forward:
            self.kept = {}
        return found

    def gather_ahead(self) -> None:
        """Gather for the forward pass that comes next in this graph."""
        self.reshard()
        context = AutoContext.get_instance()
        now = (id(context.graph), context.graph.generation)
        stale = self.graph != now or (context.records and not self.recorded) or self._have_changed()
        if (self.reshard_after_forward and not self.waits) or stale or not self.kept:
            self.graph, self.recorded, self.sources = now, context.records, self._values()
            self.kept = {id(parameter): Gathered.of(parameter) for parameter in self.managed}
        self.waits = True

    def _values(self) -> list[tuple[weakref.ref[Value], int]]:
        values = [parameter.get_value(PreferredPrecision.FULL) for parameter in self.managed]
        return [(weakref.ref(value), getattr(value.storage, "writes", 0)) for value in values]

    def _have_changed(self) -> bool:
        """Whether a parameter is not what `kept` was gathered from: a step was taken, or the program has set it."""
        now = self._values()
        return len(now) != len(self.sources) or any(
            a[0]() is not b[0]() or a[1] != b[1] for a, b in zip(now, self.sources, strict=True)
        )

    def forget_ahead(self) -> None:
        """Give up what was gathered ahead of a forward pass that did not come."""
        self.waits = False
        if self.reshard_after_forward:
            self.kept = {}

    def gather_again(self) -> None:
        """Gather anew what the last forward pass gave back, before the backward pass reads it."""
        for gathered in self.last.values():
            gathered.come_again()

    def unshard(self) -> None:
        """Put the whole parameters in the place of the cut ones, to be read; the next forward pass, or `reshard`, cuts them again."""
        if self.shards:
            return
        for parameter in self.managed:
            value = parameter.get_value(PreferredPrecision.FULL)
            self.shards[id(parameter)] = value
            parameter.set_value(whole_value(parameter))

    def reshard(self) -> None:
        """Put the cut parameters back; nothing happens where they are in place."""
        for parameter in self.managed:
            if id(parameter) in self.shards:
                parameter.set_value(self.shards[id(parameter)])
        self.shards.clear()


def fully_shard(
    module: AbstractModuleBase,
    shard_dim: int | Literal["auto"] = "auto",
    mesh_axis: str = "fsdp",
    reshard_after_forward: bool = True,
    replicate_params: Sequence[str] = (),
) -> AbstractModuleBase:
    """Cut the parameters that a module has, and that no wrapped module below it has, over a named mesh axis; changes and returns it.

    The module gets two methods: `unshard()` puts the whole parameters in place to be read, `reshard()` the cut ones. A list of modules,
    which nobody calls, gets a warning: they alone make its parameters whole.

    "auto" cuts as `pick_shard_dim` says. Without `reshard_after_forward` whole parameters stay for the forward passes until the next
    optimizer step. Parameters whose dotted name, from the module on, matches one of the regular expressions `replicate_params` stay whole,
    and those that cannot be cut, with a warning: `sync_gradients(parameters, ("dp", "fsdp"))` averages their gradients. Raises RuntimeError for a module that is wrapped already, for an axis that the mesh has not or along which a
    parameter is cut already, and for sizes that do not divide.
    """
    if not isinstance(module, AbstractModuleBase):
        raise TypeError(
            f"fully_shard: a module of ttml is cut, not {type_name(module)}; help: fully_shard(model)"
        )
    if STATE in module.__dict__:
        raise RuntimeError(
            f"Module {module.get_name()!r} already wrapped with fully_shard. help: call fully_shard once for each module"
        )
    axis, size = _axis(mesh_axis)
    if size <= 1:
        events.warn(
            f"fully_shard: axis {mesh_axis!r} has size {size}; the module stays as it is", UserWarning
        )
        return module
    shard_over(module, FSDPState(mesh_axis, axis, size, reshard_after_forward), shard_dim, replicate_params)
    return module


def shard_over(
    module: AbstractModuleBase,
    state: FSDPState,
    shard_dim: int | Literal["auto"],
    replicate_params: Sequence[str] = (),
) -> None:
    """Cut the own parameters of a module over the axis of a state, and have them gathered while it runs."""
    whole = [re.compile(p) for p in replicate_params]
    own = _own_parameters(module)
    if own and getattr(module.forward, "__func__", None) is ModuleBase.forward:
        events.warn(
            f"fully_shard: {type(module).__name__} defines no forward(), around which its parameters ({own[0][0]!r} first) would be gathered: "
            "they are whole between its unshard() and reshard() alone; help: for block in blocks: ttml.fsdp.fully_shard(block)",
            UserWarning,
        )
    module.__dict__[STATE] = state
    overlap = current_overlap()
    if overlap is not None:
        below = [
            unit.__dict__[STATE] for unit in module.modules() if STATE in unit.__dict__ and unit is not module
        ]
        state.row = overlap.row(state, below)
        for unit in below:
            unit.row = state.row
    seen: set[int] = set()
    for name, held in own:
        if id(held) in seen or matching_patterns(name, whole):
            continue
        seen.add(id(held))
        cut = functools.partial(_manage, state, name, shard_dim)
        if isinstance(held, Parameter):
            held.add_post_materialize_callback(lambda p, cut=cut: cut(p.tensor))  # type: ignore[misc]
        else:
            cut(held)
    _wrap(module, state)


def _axis(name: str) -> tuple[int, int]:
    """The number of an axis and its devices: a named one of the open mesh, or what the configuration of a mesh without names calls "fsdp"."""
    context, named = AutoContext.get_instance(), maybe_mesh()
    if (named is None or not named.has_axis(name)) and name == "fsdp":
        axes = context.get_parallelism_context() if context.is_parallelism_context_initialized() else None
        axis = None if axes is None else axes.get_fsdp_axis()
        if axes is not None and axis is not None:
            return axis, axes.get_fsdp_size()
        if axes is not None and axes.is_fsdp_enabled():
            return 0, 1
    return mesh().axis_index(name), mesh().axis_size(name)


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
    topology = by_axes(value)
    placements, shape = topology.placements(), list(value.shape)
    if isinstance(placements[state.axis_index], PlacementShard):
        raise RuntimeError(
            f"fully_shard: parameter {name!r} is cut along mesh axis {state.mesh_axis_name!r} already ({placements}); help: name another axis"
        )
    taken = {p.dim % len(shape) for p in placements if isinstance(p, PlacementShard)}
    if shard_dim == "auto":
        chosen = pick_shard_dim(shape, taken, axis_size=state.axis_size)
    else:
        chosen = int(shard_dim) % len(shape)
        chosen = None if shape[chosen] == 1 else chosen
    if chosen is None:
        events.warn(f"fully_shard: parameter {name!r} of shape {shape} stays whole", UserWarning)
        return
    if shape[chosen] % state.axis_size:
        raise RuntimeError(
            f"fully_shard: parameter {name!r} has shape {shape}; dim {chosen} does not divide by the {state.axis_size} devices of {state.mesh_axis_name!r}; help: a shard_dim that does, or a layer whose size is a multiple of {state.axis_size}"
        )
    tensor.set_value(
        single_shards.partition_of_any_size(value.on(value.storage, topology), chosen, state.axis_index)
    )
    tensor.fsdp_axis, tensor.fsdp_dim = state.axis_index, chosen
    state.managed.append(tensor)


def pick_shard_dim(
    shape: Sequence[int], taken: Collection[int], axis_index: int = 0, axis_size: int | None = None
) -> int | None:
    """The dimension of a parameter to cut: the last but one, else the last; not those of length 1, nor those that another axis has `taken`.

    Of both the first whose pieces are whole tiles on `axis_size` devices, else the first that divides, else the first. None where no
    dimension can be cut.
    """
    wanted = [d for d in range(max(len(shape) - 2, 0), len(shape)) if shape[d] > 1 and d not in taken]
    if axis_size is not None:
        tiled = [d for d in wanted if is_tile_aligned(shape, d, axis_size)]
        wanted = [*tiled, *(d for d in wanted if shape[d] % axis_size == 0), *wanted]
    return wanted[0] if wanted else None


def is_tile_aligned(shape: Sequence[int], dim: int, axis_size: int) -> bool:
    """Whether a dimension divides over so many devices, and into whole tiles where it is one of the last two."""
    piece, rest = divmod(shape[dim], axis_size)
    return rest == 0 and (dim < len(shape) - 2 or piece % TILE_SIZE == 0)


def matching_patterns(name: str, patterns: Iterable[re.Pattern[str]]) -> list[str]:
    """Those of some regular expressions that are found in a name."""
    return [pattern.pattern for pattern in patterns if pattern.search(name)]


def _wrap(module: AbstractModuleBase, state: FSDPState) -> None:
    forward = module.forward

    @functools.wraps(forward)
    def gathered_forward(*args: Any, **kwargs: Any) -> Any:
        found = state.gathered()
        try:
            with substituted(substitution(module, {key: gathered.tensor for key, gathered in found.items()})):
                out = forward(*args, **kwargs)
        finally:
            if state.reshard_after_forward:
                for gathered in found.values():
                    gathered.give_back()
        return out if state.row is None else _followed(out, state, state.row)

    module.__dict__.update(forward=gathered_forward, unshard=state.unshard, reshard=state.reshard)


def _followed(out: Any, state: FSDPState, row: UnitOrder) -> Any:
    """The result of a forward pass, whose backward pass gathers the parameters before it needs them."""
    row.done(state)
    if not isinstance(out, Tensor):
        return out

    def rule(gradient: Value) -> None:
        row.backward(state)
        out.add_grad(gradient)

    return result(out.get_value(PreferredPrecision.NATIVE), (out,), rule)


def is_fsdp_managed(tensor: Any) -> bool:
    """Whether `fully_shard` cut a parameter."""
    return fsdp_axis_of(tensor) is not None


def fsdp_axis_of(tensor: Any) -> int | None:
    """The mesh axis along which `fully_shard` cut a parameter, None for others."""
    held = tensor.tensor if isinstance(tensor, Parameter) else tensor
    axis: int | None = getattr(held, "fsdp_axis", None)
    return axis
