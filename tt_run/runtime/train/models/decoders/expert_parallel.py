"""Mixtures that group the tokens routed to experts and compute those alone: on one device, with experts dealt over a mesh axis, or each cut over it.

route (the same on every device) -> group own tokens -> own experts, or own parts -> back to the tokens -> sum over the axis
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.axis_placement import is_replicated
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.decoders.mixture import DeepSeekConfig, MoE
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.lazy import deferred
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.ops import binary, distributed, experts, pieces
from tt_run.runtime.train.ops.distributed import GradOutputType
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.named_mesh import maybe_mesh
from tt_run.runtime.values import shapes

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

    Array = np.ndarray[Any, Any]


class ExpertWeights(AbstractModuleBase):
    """One matrix of every expert: `weights[i]` [devices, 1, out, in] holds that of the i-th expert of each device."""

    def __init__(self, count: int, size: int, outputs: int, inputs: int, mapper: Any) -> None:
        super().__init__()
        object.__setattr__(self, "_count", count // size)
        drawn: list[Array] = []

        def of(number: int) -> initial.Initializer:
            @deferred
            def made(shape: tuple[int, ...], mapper: object = None) -> Tensor:
                # All are drawn in the order of the experts, so that a seed gives the same ones however they are dealt.
                if shapes.active():
                    return initial.place(shapes.zeros(shape, np.float32), mapper)
                if not drawn:
                    each = initial.fan_in(inputs)
                    drawn.extend(each((1, 1, outputs, inputs)).to_numpy() for _ in range(count))
                mine = [drawn[device * (count // size) + number] for device in range(size)]
                return initial.place(np.concatenate(mine), mapper)

            return made

        for number in range(count // size):
            setattr(self, str(number), Parameter(of(number)((size, 1, outputs, inputs), mapper)))

    _count: int

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Parameter:
        if not 0 <= number < self._count:
            raise IndexError(f"index {number} is out of range: a device has {self._count} experts")
        found: Parameter = getattr(self, str(number))
        return found

    def __iter__(self) -> Iterator[Parameter]:
        return (self[number] for number in range(self._count))

    def tensors(self) -> list[Tensor]:
        """The matrices as the operations read them."""
        return [self._tensors[str(number)] for number in range(self._count)]


class _OverAxis(MoE):
    """`MoE` whose experts are spread over a named axis of the open mesh: `axis_name`, the configuration's, or "tp"."""

    axis_name: str
    cluster_axis: int | None

    def __init__(self, config: DeepSeekConfig, *, axis_name: str | None = None) -> None:
        name = axis_name or getattr(config, "moe_axis_name", None) or "tp"
        object.__setattr__(self, "axis_name", name)
        object.__setattr__(self, "cluster_axis", _axis(name))
        super().__init__(config)

    def _devices(self) -> tuple[Any, int]:
        """The open mesh, and how many of its devices the axis has."""
        device = AutoContext.get_instance().get_device()
        return device, 1 if self.cluster_axis is None else int(device.shape[self.cluster_axis])


class SparseMoEEP(_OverAxis):
    """`MoE` with its experts dealt over an axis: device r has the experts r * e_local up to (r + 1) * e_local.

    `axis_name` is a named axis of the open mesh, or "tp", which also means the tensor-parallel axis; without such an axis every device has
    all experts. Raises ValueError when the experts do not divide over it.
    """

    def _make_experts(self, config: DeepSeekConfig, cut: bool, axis: str | None) -> None:
        count, (device, size) = config.n_routed_experts, self._devices()
        if count % size:
            raise ValueError(
                f"{count} experts do not divide over the {size} devices of {self.axis_name!r}; help: a multiple of {size} in n_routed_experts"
            )
        self.e_local = count // size
        mapper = None if size == 1 else shard_tensor_to_mesh_mapper(device, 0, self.cluster_axis)
        width, inner = config.dim, config.moe_inter_dim
        self.w_gate = ExpertWeights(count, size, inner, width, mapper)
        self.w_up = ExpertWeights(count, size, inner, width, mapper)
        self.w_down = ExpertWeights(count, size, width, inner, mapper)
        object.__setattr__(self, "_mapper", mapper)

    _mapper: Any

    def _own(self) -> Value:
        """The numbers of each device's experts."""
        return all_numbers(self.num_experts, self._mapper)

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        scores = self._scores(x)
        _, numbers = self._best(scores)
        weights, seen = pieces.picked(self._weights(scores), numbers), x
        if self.cluster_axis is not None:
            # Each device says what its own experts want of tokens and weights; the gradient is the sum of what all say.
            seen = distributed.broadcast(seen, self.cluster_axis)
            weights = distributed.broadcast(weights, self.cluster_axis)
        matrices = self.w_gate.tensors(), self.w_up.tensors(), self.w_down.tensors()
        out = routed(seen, numbers, weights, self._own(), *matrices)
        if self.cluster_axis is not None:
            out = distributed.all_reduce(out, True, self.cluster_axis)
        return out if self.shared_experts is None else binary.add(out, self.shared_experts(x))


class SparseMoE(MoE):
    """`MoE` that computes of each expert the tokens alone that are routed to it."""

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        scores = self._scores(x)
        _, numbers = self._best(scores)
        weights = pieces.picked(self._weights(scores), numbers)
        layers: list[Any] = list(self.experts)
        matrices = ([getattr(e, name).get_weight() for e in layers] for name in ("w1", "w3", "w2"))
        out = routed(x, numbers, weights, all_numbers(self.num_experts), *matrices)
        return out if self.shared_experts is None else binary.add(out, self.shared_experts(x))


class SparseMoETP(_OverAxis):
    """`MoE` whose experts are cut over an axis: every device has a part of the inner features of each, and their products are summed.

    The axis is as with `SparseMoEEP`. Raises ValueError when the inner features do not divide over it.
    """

    def __init__(self, config: DeepSeekConfig, *, axis_name: str | None = None) -> None:
        super().__init__(config, axis_name="tp" if getattr(config, "use_tp", False) else axis_name)

    def _make_experts(self, config: DeepSeekConfig, cut: bool, axis: str | None) -> None:
        count, (device, size) = config.n_routed_experts, self._devices()
        width, inner = config.dim, config.moe_inter_dim
        if inner % size:
            raise ValueError(
                f"{inner} features of an expert do not divide over the {size} devices of {self.axis_name!r}; help: a multiple of {size} in moe_inter_dim"
            )

        def mapper(dim: int) -> Any:
            return None if size == 1 else shard_tensor_to_mesh_mapper(device, dim, self.cluster_axis)

        self.w_gate = ExpertWeights(count, 1, inner, width, mapper(2))
        self.w_up = ExpertWeights(count, 1, inner, width, mapper(2))
        self.w_down = ExpertWeights(count, 1, width, inner, mapper(3))

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, S, D] -> the same shape; tokens that the axis cuts by the batch are gathered first and cut again."""
        axis = self.cluster_axis
        gathered = axis is not None and not is_replicated(x.get_value(), axis)
        whole = distributed.all_gather(x, 0, axis, GradOutputType.REPLICATED) if gathered else x
        scores = self._scores(whole)
        _, numbers = self._best(scores)
        weights, seen = pieces.picked(self._weights(scores), numbers), whole
        if axis is not None:
            seen, weights = distributed.broadcast(seen, axis), distributed.broadcast(weights, axis)
        matrices = self.w_gate.tensors(), self.w_up.tensors(), self.w_down.tensors()
        out = routed(seen, numbers, weights, all_numbers(self.num_experts), *matrices)
        if axis is not None:
            out = distributed.all_reduce(out, True, axis)
        if self.shared_experts is not None:
            out = binary.add(out, self.shared_experts(whole))
        return distributed.scatter(out, 0, axis) if gathered else out


def routed(
    tokens: Tensor,
    numbers: Value,
    weights: Tensor,
    own: Value,
    gate: list[Tensor],
    up: list[Tensor],
    down: list[Tensor],
) -> Tensor:
    """What the experts `own` of a device make of the tokens [B, 1, S, D] routed to them, weighed: [B, 1, S, D]."""
    batch, _, length, _ = tokens.shape()
    count, chosen = len(gate), int(numbers.shape[-1])
    grouped = experts.moe_group_op(tokens, numbers, weights, own, count, chosen)
    made = experts.moe_ffn_swiglu_fw(grouped.grouped, grouped.offsets, gate, up, down)
    return experts.moe_ungroup_op(
        made,
        grouped.grouped_scores,
        numbers,
        own,
        grouped.plan,
        grouped.offsets,
        count,
        chosen,
        batch,
        1,
        length,
    )


def all_numbers(count: int, mapper: Any = None) -> Value:
    """The numbers of experts, all on each device or dealt by a mapper."""
    numbers = np.arange(count, dtype=np.uint32)
    return Tensor.from_numpy(
        numbers, layout=Layout.ROW_MAJOR, new_type=DataType.UINT32, mapper=mapper
    ).get_value()


def _axis(name: str) -> int | None:
    """The mesh axis longer than 1 that a name means, None where there is none."""
    context, mesh = AutoContext.get_instance(), maybe_mesh()
    if mesh is not None and mesh.has_axis(name):
        return mesh.axis_index(name) if mesh.axis_size(name) > 1 else None
    if name != "tp" or not context.is_parallelism_context_initialized():
        return None
    axes = context.get_parallelism_context()
    return axes.get_tp_axis() if axes.get_tp_size() > 1 else None
