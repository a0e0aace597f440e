"""One training step of a pipeline of ranks: activations forward, gradients back, micro-batch after micro-batch."""

import time

import numpy as np
import ttml
from ttml.common.data import build_causal_mask

UINT32 = ttml.DataType.UINT32


class PipelineTrainer:
    """Every rank draws the same batches from the same seed; the first uses their inputs, the last their targets.

    The loss is known on the last rank only; elsewhere `step` returns NaN for it.
    """

    def __init__(self, model, optimizer, *, sequence_length, batch_size, accumulate=1):
        context = ttml.autograd.AutoContext.get_instance()
        self.distributed = context.get_distributed_context()
        self.is_last = self.distributed.rank() == self.distributed.size() - 1
        self.model, self.optimizer, self.context = model, optimizer, context
        self.length, self.batch_size, self.accumulate = sequence_length, batch_size, accumulate
        self.mask = ttml.autograd.Tensor.from_numpy(
            build_causal_mask(sequence_length), new_type=ttml.DataType.BFLOAT16
        )
        self.steps = 0

    def _ids(self, ids, shape):
        return ttml.autograd.Tensor.from_numpy(
            ids.reshape(shape), layout=ttml.Layout.ROW_MAJOR, new_type=UINT32
        )

    def step(self, batches):
        started = time.perf_counter()
        self.optimizer.zero_grad()
        total = 0.0
        for _ in range(self.accumulate):
            inputs, targets = batches()
            out = self.model(self._ids(inputs, (len(inputs), 1, 1, self.length)), self.mask)
            if self.is_last:
                loss = ttml.ops.loss.cross_entropy_loss(out, self._ids(targets, (len(inputs), self.length)))
                total += float(loss.to_numpy().mean())
                loss = ttml.ops.binary.mul(loss, 1.0 / self.accumulate)
                loss.backward(False)
            else:
                out.backward(False)
            self.context.reset_graph()
        self.optimizer.step()
        self.steps += 1
        return total / self.accumulate if self.is_last else float("nan"), time.perf_counter() - started


def stages(blocks, ranks):
    """blocks_per_rank of an even cut; the first ranks take what is left over."""
    share, extra = divmod(blocks, ranks)
    return {rank: share + (rank < extra) for rank in np.arange(ranks).tolist()}
