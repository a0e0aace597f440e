"""One training step, the same for a single device, data and tensor parallelism, and their combination.

Batches are cut over the data-parallel axis; losses are averaged over it; gradients are synchronised after the last micro-batch, then clipped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.distribution.mappers import create_mesh_mapper
from tt_run.runtime.tensor.spec.topology import Placement, PlacementReplicate, PlacementShard, TensorTopology
from tt_run.runtime.tensor.tensor import Tensor as Value
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.positions import RingLayout, order
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.data import build_causal_mask
from tt_run.runtime.train.common.utils import get_loss_over_devices, no_grad, run_mode
from tt_run.runtime.train.modules.base import ModuleBase, RunMode
from tt_run.runtime.train.ops import binary
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.optimizers.base import OptimizerBase
from tt_run.runtime.train.optimizers.clipping import clip_grad_norm
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper, synchronize_gradients
from tt_run.runtime.train.parallel.sharded_parameters import whole_array

Ids = npt.NDArray[np.uint32]
Batch = Callable[[], tuple[Ids, Ids]]


@dataclass(frozen=True)
class Placing:
    """Where batches go: the axis over which sequences are dealt and its size (None and 1 without one), and the same of their positions."""

    axis: int | None = None
    size: int = 1
    positions_axis: int | None = None
    positions_size: int = 1
    layout: RingLayout = RingLayout.Contiguous

    @staticmethod
    def current() -> Placing:
        """What the parallelism context says; no axis when it is not initialised."""
        context = AutoContext.get_instance()
        if not context.is_parallelism_context_initialized():
            return Placing()
        parallelism = context.get_parallelism_context()
        data = {
            parallelism.get_ddp_axis(): parallelism.get_ddp_size(),
            parallelism.get_fsdp_axis(): parallelism.get_fsdp_size(),
        }
        axes = [axis for axis in data if axis is not None]
        return Placing(
            # Two axes of data are the whole mesh.
            axes[0] if len(axes) == 1 else None,
            math.prod(data[axis] for axis in axes),
            parallelism.get_cp_axis(),
            parallelism.get_cp_size(),
            parallelism.get_cp_layout(),
        )

    def of_positions(self) -> Placing:
        """The same for one sequence, which every group of data parallelism has whole."""
        return replace(self, axis=None, size=1)

    def check(self, batch_size: int, length: int | None = None) -> None:
        """Raise ValueError when a total batch size, or the positions, do not divide over their axis."""
        if length is not None and length % self.positions_size:
            raise ValueError(
                f"sequences of {length} positions must divide by the {self.positions_size} devices of context parallelism; help: max_sequence_length: a multiple of {self.positions_size}"
            )
        if length is not None:
            self.order(length)
        if batch_size % self.size:
            raise ValueError(
                f"batch_size {batch_size} is the total and must divide by the {self.size} data-parallel groups; help: batch_size: a multiple of {self.size}"
            )

    def mapper(self, rank: int) -> Any:
        """What cuts the first dimension of tensors of so many, and the last, over their axes; None without axes."""
        device = AutoContext.get_instance().get_device() if max(self.size, self.positions_size) > 1 else None
        if device is None:
            return None
        if self.positions_size == 1:
            return shard_tensor_to_mesh_mapper(device, 0, self.axis)
        return create_mesh_mapper(device, MeshMapperConfig(self._placements(rank - 1)))

    def _placements(self, dim: int) -> list[Placement]:
        """Of sequences in the first dimension, and of their positions in `dim`."""
        placements: list[Placement] = [PlacementReplicate(), PlacementReplicate()]
        for axis, size, cut in (
            (self.axis, self.size, 0),
            (self.positions_axis, self.positions_size, dim),
        ):
            if axis is not None and size > 1:
                placements[axis] = PlacementShard(cut)
        return placements

    def whole(self, logits: Value) -> npt.NDArray[Any]:
        """A model's output [B, 1, T, V] of all devices, its positions in order. Collective over the ranks of the mesh."""
        device = logits.device()
        if self.positions_size == 1 or device is None:
            return whole_array(logits)
        # What a model makes of ids still tells the dimension in which they were cut.
        coords = logits.tensor_topology().mesh_coords()
        topology = TensorTopology(device.shape, self._placements(len(logits.shape) - 2), coords)
        array = whole_array(logits.derive(logits.shards, topology=topology))
        return array[..., np.argsort(self.order(array.shape[-2])), :]

    def order(self, length: int) -> npt.NDArray[Any]:
        """The positions in the order in which they are cut."""
        return order(length, self.positions_size, self.layout)

    def ordered(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rows with their positions in the order in which they are cut."""
        return rows if self.layout is RingLayout.Contiguous else rows[..., self.order(rows.shape[-1])]

    def ids(self, ids: Ids, shape: tuple[int, ...]) -> Tensor:
        """Token ids as a tensor, cut on the batch and on the positions."""
        mapper = self.mapper(len(shape))
        return Tensor.from_numpy(
            self.ordered(ids.reshape(shape)), layout=Layout.ROW_MAJOR, new_type=DataType.UINT32, mapper=mapper
        )


class Trainer:
    """Steps a language model. `accumulate` micro-batches make one optimizer step; `schedule` maps the 0-based step to a learning rate.

    Raises ValueError when the batch does not divide over the data-parallel axis.
    """

    def __init__(
        self,
        model: ModuleBase,
        optimizer: OptimizerBase,
        *,
        sequence_length: int,
        batch_size: int,
        accumulate: int = 1,
        schedule: Callable[[int], float] | None = None,
        clip: float | None = None,
    ) -> None:
        self.model, self.optimizer = model, optimizer
        self.length, self.batch_size, self.accumulate = sequence_length, batch_size, accumulate
        self.schedule, self.clip = schedule, clip
        self.placing = Placing.current()
        self.placing.check(batch_size, sequence_length)
        self.mask = Tensor.from_numpy(build_causal_mask(sequence_length), new_type=DataType.BFLOAT16)
        self.mask.set_requires_grad(False)
        self.steps = optimizer.get_steps()
        self.on_phase: Callable[[str], None] | None = None
        """Called with FORWARD_PASS and BACKWARD_PASS when they end; for memory tracking."""

    def loss(self, inputs: Ids, targets: Ids) -> Tensor:
        """The loss of one batch of windows (batch, length)."""
        batch = len(inputs)
        logits = self.model(self.placing.ids(inputs, (batch, 1, 1, self.length)), self.mask)
        return cross_entropy_loss(logits, self.placing.ids(targets, (batch, self.length)))

    def step(self, batches: Batch) -> tuple[float, float]:
        """One optimizer step over `accumulate` batches: (mean loss over devices and micro-batches, seconds)."""
        started = time.perf_counter()
        self.model.train()
        self.optimizer.zero_grad()
        total = 0.0
        for _ in range(self.accumulate):
            total += self._micro_batch(*batches())
            self._phase("BACKWARD_PASS")
            AutoContext.get_instance().reset_graph()
        parameters = self.model.parameters()
        synchronize_gradients(parameters)
        if self.clip is not None:
            clip_grad_norm(parameters, self.clip)
        self.optimizer.step()
        if self.schedule is not None:
            # As in the documents' script: after the step and with its own number, so the first step has the full rate.
            self.optimizer.set_lr(self.schedule(self.steps))
        self.steps += 1
        return total / self.accumulate, time.perf_counter() - started

    def _micro_batch(self, inputs: Ids, targets: Ids) -> float:
        """Forward and backward of one batch; its mean loss over devices."""
        loss = self.loss(inputs, targets)
        value = get_loss_over_devices(loss)
        if self.accumulate > 1:
            loss = binary.mul(loss, 1.0 / self.accumulate)
        self._phase("FORWARD_PASS")
        loss.backward(False)
        return value

    def _phase(self, name: str) -> None:
        if self.on_phase is not None:
            self.on_phase(name)

    def evaluate(self, batches: Batch, count: int) -> float:
        """Mean loss over some batches, without dropout and without a graph."""
        with run_mode(self.model, RunMode.EVAL), no_grad():
            losses = [self._value(*batches()) for _ in range(count)]
        return float(np.mean(losses))

    def _value(self, inputs: Ids, targets: Ids) -> float:
        return get_loss_over_devices(self.loss(inputs, targets))


def rates(trainer: Trainer, seconds: float) -> tuple[float, float]:
    """(samples per second, tokens per second) of a step of that length."""
    samples = trainer.batch_size * trainer.accumulate / max(seconds, 1e-9)
    return samples, samples * trainer.length


def describe(model: Any) -> str:
    """One line: the model's name and its number of parameters."""
    from tt_run.runtime.train.common.utils import parameter_count

    return f"{type(model).__name__}: {parameter_count(model):,} parameters"
