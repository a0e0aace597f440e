"""`ttml.ops.distributed.vocab_parallel_cross_entropy_loss`: cross entropy of logits whose vocabulary is cut over a mesh axis.

Two numbers for each position travel, the largest logit and the sum of exponentials, and the logit of the target; never the logits. The
gradient needs no communication: each device has the softmax of its part.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl import collectives
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.axis_placement import is_replicated, members
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops.loss import ReduceType, cross_entropy_loss
from tt_run.runtime.values.copying import lines
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


@recorded
def vocab_parallel_cross_entropy_loss(
    logits: Tensor,
    targets: Tensor,
    cluster_axis: int | None = None,
    reduce: ReduceType = ReduceType.MEAN,
) -> Tensor:
    """Cross entropy of logits [B, 1, T, V / n], cut over the axis (over all devices without one), and ids [B, T] of the whole vocabulary.

    MEAN gives [1, 1, 1, 1], NONE [B, 1, T, 1]; the same on every device of the axis. Logits that lie whole on each device, as those of a model
    which gathers them, are taken as such. Raises RuntimeError for SUM and for shapes that do not belong together.
    """
    if reduce is ReduceType.SUM:
        raise RuntimeError(
            "Unsupported cross entropy reduction type; help: ReduceType.MEAN or ReduceType.NONE"
        )
    x, ids = logits.get_value(), targets.get_value()
    if members(x, cluster_axis) == 1 or is_replicated(x, cluster_axis):
        return cross_entropy_loss(logits, targets, reduce)
    rows, width = math.prod(x.shape) // x.shape[-1], x.shape[-1]
    if ids.dtype not in (DataType.UINT32, DataType.INT32) or math.prod(ids.shape) != rows:
        raise RuntimeError(
            f"vocab_parallel_cross_entropy_loss: logits {list(x.shape)} need {rows} integer ids [B, T], got {list(ids.shape)} of {ids.dtype}; help: Tensor.from_numpy(ids, ttnn.Layout.ROW_MAJOR, ttnn.DataType.UINT32)"
        )
    starts = _starts(x, width, cluster_axis)
    wide = stacks.as_dtype(x, DataType.FLOAT32)
    own_most = stacks.compute(lambda u: u.max(axis=-1, keepdims=True), wide)
    # The largest logit of each position over the axis: shards side by side, then their maximum.
    every = collectives.all_gather(own_most, -1, cluster_axis=cluster_axis)
    most = stacks.compute(lambda u: u.max(axis=-1, keepdims=True), every)
    exponentials = stacks.compute(lambda u, m: np.exp(u - m), wide, most)
    sums = stacks.compute(lambda u: u.sum(axis=-1, keepdims=True, dtype=np.float32), exponentials)
    total = collectives.all_reduce(sums, cluster_axis=cluster_axis)
    picked = stacks.compute(_picked, wide, ids, starts, dtype=DataType.FLOAT32)
    chosen = collectives.all_reduce(picked, cluster_axis=cluster_axis)
    each = stacks.compute(lambda s, m, c: np.log(s) + m - c, total, most, chosen)
    single = reduce is ReduceType.NONE
    kind = stacks.common_dtype(x)

    def mean(u: Array) -> Array:
        return (lines(u).sum(axis=1, dtype=np.float32) / np.float32(rows)).reshape(-1, 1, 1, 1, 1)

    value = stacks.as_dtype(each, kind) if single else stacks.compute(mean, each, dtype=kind)

    def backward(g: Array, e: Array, s: Array, t: Array, first: Array) -> Array:
        slope = e / s
        columns, own = _columns(slope, t, first)
        flat = slope.reshape(len(slope), rows, width)
        shard, row = np.nonzero(own)
        flat[shard, row, columns[shard, row]] -= np.float32(1)
        flat *= g.reshape(len(g), rows, 1) if single else g.reshape(-1, 1, 1) / np.float32(rows)
        return flat.reshape(slope.shape)

    def rule(gradient: Value) -> None:
        logits.add_grad(stacks.compute(backward, gradient, exponentials, total, ids, starts, dtype=kind))

    return result(value, (logits,), rule)


def _starts(x: Value, width: int, axis: int | None) -> Value:
    """The first entry of the vocabulary on each device, [1]."""
    device = x.device()
    assert device is not None
    place = {position: number for group in device.axis_groups(axis) for number, position in enumerate(group)}
    parts = [np.array([place[p] * width], np.int32) for p in device.local_positions]
    return x.derive(Shards.from_each(parts), dtype=DataType.INT32, layout=Layout.ROW_MAJOR)


def _columns(logits: Array, ids: Array, starts: Array) -> tuple[Array, Array]:
    """The target's column on each shard and whether it is there, both (shards, rows)."""
    columns = lines(ids).astype(np.int64) - starts.reshape(-1, 1).astype(np.int64)
    return columns, (columns >= 0) & (columns < logits.shape[-1])


def _picked(logits: Array, ids: Array, starts: Array) -> Array:
    """The logit of each target where it is on this shard, else 0, [B, 1, T, 1]."""
    columns, own = _columns(logits, ids, starts)
    flat = lines(logits, logits.shape[-1])
    found = np.take_along_axis(flat, np.where(own, columns, 0)[..., None], axis=-1)[..., 0] * own
    return found.astype(np.float32).reshape(*logits.shape[:-1], 1)
