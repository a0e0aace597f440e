"""The whole of a parameter that `fully_shard` cut: an operation of the graph, whose memory can be given back and comes again when it is read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tt_run.runtime.ccl import collectives, single_shards
from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.axis_placement import is_replicated
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.parallel.fsdp_overlap import current_overlap

if TYPE_CHECKING:
    from tt_run.runtime.mesh.residents import Move
    from tt_run.runtime.tensor.tensor import Tensor as Value
    from tt_run.runtime.values.shards import Shards
    from tt_run.runtime.values.storage import Storage


class _Returning:
    """The storage of a gathered value that was given back: reading it gathers the parameter again and keeps it until the next `free`."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._held: Storage | None = None

    @property
    def shards(self) -> Shards:
        """The content."""
        return self.come().shards

    def come(self) -> Storage:
        """What is held, gathered if need be."""
        if self._held is None:
            self._held = self._make().storage
        return self._held

    @property
    def allocated(self) -> bool:
        """It can always be read."""
        return True

    def write(self, shards: Shards) -> None:
        """Refused: a copy would part from the parameter that it was gathered from."""
        raise RuntimeError("a parameter that fully_shard gathered cannot be written; write the cut parameter")

    def free(self) -> None:
        """Give the memory back until the next reading."""
        self._held = None

    def follow(self, move: Move) -> None:
        """Count the devices anew after a reshape of the mesh."""
        if self._held is not None:
            self._held.follow(move)


@dataclass
class Gathered:
    """A whole parameter of one forward pass, whose memory can be given back and comes again when somebody reads it."""

    tensor: Tensor
    parameter: Tensor

    @classmethod
    def of(cls, parameter: Tensor) -> Gathered:
        """Gather a parameter, as an operation of the graph: the one that the backward pass comes to after all that read it."""
        return cls(gather_parameter(parameter), parameter)

    def give_back(self) -> None:
        """Give the memory back, also that of the copy in half precision."""
        again = functools.partial(whole_value, self.parameter)
        for held, make in self._held(again):
            held._storage = _Returning(make)

    def come_again(self) -> None:
        """Gather what was given back."""
        storage = self.tensor.get_value(PreferredPrecision.FULL).storage
        if isinstance(storage, _Returning):
            storage.come()

    def _held(self, again: Callable[[], Value]) -> list[tuple[Value, Callable[[], Value]]]:
        """The values that operations of the forward pass may have kept, and how each comes again."""
        value, read = self.tensor.get_value(PreferredPrecision.FULL), self.tensor.get_value()
        halved = [] if read is value else [(read, functools.partial(_halved, again))]
        return [(value, again), *halved]


def whole_value(parameter: Tensor) -> Value:
    """A cut parameter gathered over its axis."""
    axis, dim = parameter.fsdp_axis, parameter.fsdp_dim
    assert axis is not None and dim is not None
    return collectives.all_gather(parameter.get_value(PreferredPrecision.FULL), dim, cluster_axis=axis)


def _halved(make: Callable[[], Value]) -> Value:
    return stacks.as_dtype(make(), DataType.BFLOAT16)


@recorded
def gather_parameter(parameter: Tensor) -> Tensor:
    """The whole of a cut parameter, on every device of the axis; its gradient is the axis's mean, cut as the parameter is."""
    axis, dim = parameter.fsdp_axis, parameter.fsdp_dim
    assert axis is not None and dim is not None
    whole = whole_value(parameter)

    def rule(gradient: Value) -> None:
        _free(out)
        # The whole gradient goes with it, and does not count again in a second pass over a graph that is kept.
        out.set_grad(None)
        if is_replicated(gradient, axis):
            parameter.add_grad(single_shards.partition_of_any_size(gradient, dim, axis))
            return
        device = gradient.device()
        assert device is not None
        share = np.float32(1.0 / device.shape[axis])

        def own() -> Value:
            total = collectives.reduce_scatter(gradient, dim, cluster_axis=axis)
            return stacks.compute(lambda stack: stack * share, total)

        overlap = current_overlap()
        parameter.add_grad(own() if overlap is None else overlap.share(own, parameter.is_grad_initialized()))

    out = result(whole, (parameter,), rule)
    context = AutoContext.get_instance()
    if context.records and out.get_node() is None:
        # A frozen parameter: nobody waits for its gradient, but the backward pass of what it was used in reads it.
        out.set_node(context.graph.add_node(functools.partial(_free, out), ()))
    return out


def _free(out: Tensor) -> None:
    """Give back what the backward pass gathered again; nothing happens to what was never given back."""
    for value in (out.get_value(PreferredPrecision.FULL), out.get_value()):
        if isinstance(value.storage, _Returning):
            value.storage.free()
