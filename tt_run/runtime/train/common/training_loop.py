"""`ttml.common.trainer.train`: the loop of programs that bring a model, an optimizer and the ids of a text, and batches as it draws them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.data import build_causal_mask, get_batch
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import get_loss_over_devices
from tt_run.runtime.train.ops import binary
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper, synchronize_gradients
from tt_run.runtime.train.trainers.reports import ProgressBar

Ids = npt.NDArray[np.uint32]


def get_batch_ttml(ids: Ids, seq_len: int, batch_size: int, use_ddp: bool = False) -> tuple[Tensor, Tensor]:
    """Random windows of a text [batch, 1, 1, seq_len] and the same one token later [batch, seq_len], which NumPy's global generator draws.

    With `use_ddp` sequences are dealt over the axes of data, over all devices where no parallelism context was initialised; `batch_size` is the
    total. Raises ValueError for a text shorter than a window, and for a batch that does not divide.
    """
    x, y = get_batch(ids, seq_len, batch_size)
    if use_ddp and AutoContext.get_instance().is_parallelism_context_initialized():
        placing = Placing.current()
        placing.check(batch_size, seq_len)
        return placing.ids(x, (batch_size, 1, 1, seq_len)), placing.ids(y, y.shape)
    mapper = None
    if use_ddp:
        device = AutoContext.get_instance().get_device()
        Placing(size=device.get_num_devices()).check(batch_size)
        mapper = shard_tensor_to_mesh_mapper(device, 0)
    inputs, targets = (
        Tensor.from_numpy(array, Layout.ROW_MAJOR, DataType.UINT32, mapper)
        for array in (x.reshape(batch_size, 1, 1, seq_len), y)
    )
    return inputs, targets


def train(
    cfg: Any, model: Any, optim: Any, train_ids: Ids, use_ddp: bool = False, use_tp: bool = False
) -> tuple[list[float], list[float]]:
    """Take `cfg.steps` steps on windows of a text; the loss of each, and that of step 1 and every `cfg.eval_every`-th once more.

    `cfg` has `steps`, `batch_size`, `seq_len`, `gradient_accumulation_steps` and `eval_every`, as a `TrainingConfig` has. The second list stands in
    the place of validation, for which the loop is given no text, as in the reference. With `use_ddp` batches are dealt over devices and gradients
    averaged; `use_tp` says what the model does by itself.
    """
    mask = Tensor.from_numpy(build_causal_mask(cfg.seq_len), Layout.TILE, DataType.BFLOAT16)
    mask.set_requires_grad(False)
    parts = cfg.gradient_accumulation_steps
    losses: list[float] = []
    told: list[float] = []
    bar = ProgressBar()
    run = SimpleNamespace(config=SimpleNamespace(max_steps=cfg.steps, log_interval=0), step=0)
    model.train()
    bar.on_train_begin(run)
    try:
        for step in range(1, cfg.steps + 1):
            optim.zero_grad()
            total = 0.0
            for _ in range(parts):
                inputs, targets = get_batch_ttml(train_ids, cfg.seq_len, cfg.batch_size, use_ddp)
                loss = cross_entropy_loss(model(inputs, mask), targets)
                if parts > 1:
                    loss = binary.mul(loss, 1.0 / parts)
                total += get_loss_over_devices(loss)
                loss.backward(False)
                AutoContext.get_instance().reset_graph()
            if use_ddp:
                synchronize_gradients(model.parameters())
            optim.step()
            losses.append(total)
            if step == 1 or step % cfg.eval_every == 0:
                told.append(total)
            bar.on_step_end(run, step, total, optim.get_lr())
    finally:
        bar.close()
    return losses, told
