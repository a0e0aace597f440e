"""`ttml.ops.loss`: mean squared error, cross entropy, negative log likelihood."""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops.unary import log_softmax_of
from tt_run.runtime.values.copying import lines

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


class ReduceType(enum.Enum):
    """How a loss is reduced. Cross entropy takes MEAN and NONE, the others MEAN."""

    MEAN = 0
    SUM = 1
    NONE = 2


@recorded
def mse_loss(prediction: Tensor, target: Tensor, reduce: ReduceType = ReduceType.MEAN) -> Tensor:
    """mean((target - prediction)^2) with shape [1, 1, 1, 1]; the target gets a gradient too unless it requires none."""
    if reduce is not ReduceType.MEAN:
        raise RuntimeError(f"Unsupported MSE reduction type {reduce!r}; help: ReduceType.MEAN")
    p, t = prediction.get_value(), target.get_value()
    if tuple(p.shape) != tuple(t.shape):
        raise RuntimeError(
            f"mse_loss: prediction {list(p.shape)} and target {list(t.shape)} differ in shape; "
            f"help: ttml.ops.reshape.reshape(target, {list(p.shape)}), or a target of that shape"
        )
    count = np.float32(math.prod(p.shape))

    def forward(u: Array, v: Array) -> Array:
        distance = lines(v - u)
        return ((distance * distance).sum(axis=1, dtype=np.float32) / count).reshape(-1, 1, 1, 1, 1)

    def backward(g: Array, u: Array, v: Array) -> Array:
        return g.reshape(-1, *(1,) * (u.ndim - 1)) * (u - v) * (np.float32(2) / count)

    def rule(gradient: Value) -> None:
        if prediction.get_requires_grad():
            prediction.add_grad(stacks.compute(backward, gradient, p, t))
        if target.get_requires_grad():
            target.add_grad(stacks.compute(backward, gradient, t, p))

    return result(stacks.compute(forward, p, t), (prediction, target), rule)


@recorded
def cross_entropy_loss(prediction: Tensor, target: Tensor, reduce: ReduceType = ReduceType.MEAN) -> Tensor:
    """Mean over all positions of -log softmax(prediction)[target]; prediction [B, 1, T, V] logits, target uint32 [B, T] ids.

    NONE gives the loss of every position, [B, 1, T, 1]. Raises RuntimeError for SUM and for shapes that do not belong together.
    """
    if reduce not in (ReduceType.MEAN, ReduceType.NONE):
        raise RuntimeError(
            f"Unsupported cross entropy reduction type {reduce!r}; help: ReduceType.MEAN or ReduceType.NONE"
        )
    logits, ids = prediction.get_value(), target.get_value()
    rows = _rows("cross_entropy_loss", logits, ids)
    single = reduce is ReduceType.NONE
    each = (*tuple(logits.shape)[:-1], 1)

    def forward(x: Array, t: Array) -> Array:
        logs = log_softmax_of(lines(x, x.shape[-1]))
        return _picked(logs, t).reshape(-1, *each) if single else _picked_mean(logs, t)

    def backward(g: Array, x: Array, t: Array) -> Array:
        flat = lines(x, x.shape[-1])
        slope = flat - flat.max(axis=-1, keepdims=True)
        np.exp(slope, out=slope)
        slope /= slope.sum(axis=-1, keepdims=True, dtype=np.float32)
        _subtract_one(slope, t)
        slope *= g.reshape(len(g), rows, 1) if single else g.reshape(-1, 1, 1) / np.float32(rows)
        return slope.reshape(x.shape)

    def rule(gradient: Value) -> None:
        prediction.add_grad(stacks.compute(backward, gradient, logits, ids))

    return result(stacks.compute(forward, logits, ids), (prediction,), rule)


@recorded
def nll_loss(prediction: Tensor, target: Tensor, reduce: ReduceType = ReduceType.MEAN) -> Tensor:
    """Mean over all positions of -prediction[target]; prediction holds log-probabilities."""
    if reduce is not ReduceType.MEAN:
        raise RuntimeError(
            f"Unsupported NLL reduction type {reduce!r}, only MEAN is supported; help: ReduceType.MEAN"
        )
    logs, ids = prediction.get_value(), target.get_value()
    rows = _rows("nll_loss", logs, ids)

    def forward(x: Array, t: Array) -> Array:
        return _picked_mean(lines(x, x.shape[-1]), t)

    def backward(g: Array, x: Array, t: Array) -> Array:
        slope = np.zeros((len(x), rows, x.shape[-1]), np.float32)
        _subtract_one(slope, t)
        slope *= g.reshape(-1, 1, 1) / np.float32(rows)
        return slope.reshape(x.shape)

    def rule(gradient: Value) -> None:
        prediction.add_grad(stacks.compute(backward, gradient, logs, ids))

    return result(stacks.compute(forward, logs, ids), (prediction,), rule)


def _rows(name: str, logits: Value, ids: Value) -> int:
    rows = math.prod(logits.shape) // logits.shape[-1]
    if ids.dtype not in (DataType.UINT32, DataType.INT32) or math.prod(ids.shape) != rows:
        raise RuntimeError(
            f"{name}: prediction {list(logits.shape)} needs {rows} integer ids [B, T], got {list(ids.shape)} of {ids.dtype}; "
            "help: from_numpy(ids, new_type=ttnn.DataType.UINT32)"
        )
    return rows


def _picked(logs: Array, ids: Array) -> Array:
    """Minus the entry of each position's target."""
    return -np.take_along_axis(logs, _columns(logs, ids), axis=-1)


def _picked_mean(logs: Array, ids: Array) -> Array:
    picked = np.take_along_axis(logs, _columns(logs, ids), axis=-1)
    return (-lines(picked).sum(axis=1, dtype=np.float32) / np.float32(logs.shape[1])).reshape(-1, 1, 1, 1, 1)


def _subtract_one(slope: Array, ids: Array) -> None:
    columns = _columns(slope, ids)
    np.put_along_axis(slope, columns, np.take_along_axis(slope, columns, axis=-1) - np.float32(1), axis=-1)


def _columns(logs: Array, ids: Array) -> Array:
    columns = ids.reshape(len(logs), logs.shape[1], 1).astype(np.int64)
    if columns.size and not 0 <= columns.min() <= columns.max() < logs.shape[-1]:
        raise RuntimeError(
            f"a target id is outside of the {logs.shape[-1]} classes: {int(columns.min())}..{int(columns.max())}; "
            f"help: ids below {logs.shape[-1]}; what is not to count is masked, as in ttml.trainers.SFTTrainer"
        )
    return columns
