"""One training step of a stage of a pipeline, and sharing of the tokens that the last stage draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.trainer import Ids, Trainer
from tt_run.runtime.train.common.utils import get_loss_over_devices
from tt_run.runtime.train.ops import binary
from tt_run.runtime.train.ops.loss import cross_entropy_loss

UNKNOWN = float("nan")


class PipelineTrainer(Trainer):
    """Every rank draws the same batches from the same seed; the first uses their inputs, the last their targets.

    Losses are known on the last rank only and NaN elsewhere. Raises ValueError for clipping, which needs the gradients of all stages.
    """

    def __init__(self, *words: Any, **settings: Any) -> None:
        if settings.get("clip") is not None:
            raise ValueError(
                "clip_grad_norm is not supported with several hosts: no rank has all gradients; help: use_clip_grad_norm: false"
            )
        super().__init__(*words, **settings)
        world = AutoContext.get_instance().get_distributed_context()
        self.is_last = world.rank() == world.size() - 1

    def _out(self, inputs: Ids) -> Tensor:
        out: Tensor = self.model(self.placing.ids(inputs, (len(inputs), 1, 1, self.length)), self.mask)
        return out

    def _micro_batch(self, inputs: Ids, targets: Ids) -> float:
        out = self._out(inputs)
        if not self.is_last:
            self._phase("FORWARD_PASS")
            # What was sent gets its gradient from the next rank; the seed of ones does not count.
            out.backward(False)
            return UNKNOWN
        loss = self._loss_of(out, targets)
        value = get_loss_over_devices(loss)
        loss = binary.mul(loss, 1.0 / self.accumulate)
        self._phase("FORWARD_PASS")
        loss.backward(False)
        return value

    def _value(self, inputs: Ids, targets: Ids) -> float:
        out = self._out(inputs)
        return get_loss_over_devices(self._loss_of(out, targets)) if self.is_last else UNKNOWN

    def _loss_of(self, out: Tensor, targets: Ids) -> Tensor:
        return cross_entropy_loss(out, self.placing.ids(targets, (len(targets), self.length)))


def shared_token(draw: Callable[[], int]) -> int:
    """The token that the last rank draws, on every rank of the pipeline."""
    context = AutoContext.get_instance()
    world, sockets = context.get_distributed_context(), context.get_socket_manager()
    last = world.size() - 1
    token = draw() if world.rank() == last else 0
    ids = np.full((1, 1, 1, 1), token, np.uint32)
    tensor = Tensor.from_numpy(ids, layout=Layout.ROW_MAJOR, new_type=DataType.UINT32)
    if world.rank() != last:
        return int(sockets.recv(tensor, world, last).to_numpy().item())
    for rank in range(last):
        sockets.send(tensor, world, rank)
    return token
