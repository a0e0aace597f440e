"""`ttml.ops.sample`: the next token from logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.values.dtypes import is_float
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[np.float32]


@recorded
def sample_op(
    logits: Tensor,
    temperature: float,
    seed: int,
    logits_padding_mask: Tensor | None = None,
    seed_axes: Sequence[int] | None = None,
    positions: Tensor | Sequence[int] | None = None,
) -> Tensor:
    """Ids [B, 1, T, 1] of logits [B, 1, T, V]: the largest at temperature 0, else by Gumbel noise from `seed`.

    `logits_padding_mask` is subtracted: large on padded entries of the vocabulary. Devices draw the same, but for those apart along the mesh axes
    `seed_axes`. `positions`, [B, 1, 1, 1] or a number for each row, has one position of each row sampled alone: [B, 1, 1, 1]. Raises RuntimeError for a
    negative temperature, an axis that the mesh has not, and a position beyond the last.
    """
    if temperature < 0:
        raise RuntimeError(
            f"sample_op: the temperature cannot be negative, got {temperature}; help: 0.0 for the largest"
        )
    if seed < 0:
        raise RuntimeError(f"sample_op: the seed cannot be negative, got {seed}; help: 42")
    x = logits.get_value()
    _check(x, logits_padding_mask)
    if positions is not None:
        x = _picked(x, positions)
    operands = [x] if logits_padding_mask is None else [x, logits_padding_mask.get_value()]
    if temperature > 0:
        operands.append(_noise(x, seed, seed_axes or ()))

    def pick(*stacks: Array) -> Array:
        scores, *others = stacks
        if logits_padding_mask is not None:
            scores = scores - others.pop(0)
        if others:
            scores = scores / np.float32(temperature) + others[0]
        return scores.argmax(axis=-1, keepdims=True)

    value = stacks.compute(pick, *operands, dtype=DataType.UINT32, layout=Layout.ROW_MAJOR)
    return Tensor(value, requires_grad=False)


def _check(x: Value, mask: Tensor | None) -> None:
    """Raises RuntimeError for logits that are ids, and for a mask of another vocabulary."""
    if not is_float(x.dtype) or len(x.shape) != 4:
        raise RuntimeError(
            f"sample_op: logits are [B, 1, T, vocabulary] floats, not {list(x.shape)} of {x.dtype}; help: a model's output"
        )
    if mask is not None and mask.shape()[-1] != x.shape[-1]:
        raise RuntimeError(
            f"sample_op: the mask {mask.shape()} is for {mask.shape()[-1]} entries of the vocabulary, the logits {list(x.shape)} have "
            f"{x.shape[-1]}; help: [1, 1, 1, {x.shape[-1]}]"
        )


def _noise(x: Value, seed: int, axes: Sequence[int]) -> Value:
    """Gumbel noise for each element of a shard, another one for devices apart along the axes."""
    device, shape = x.device(), tuple(x.shape)
    extents = tuple(device.shape) if device is not None else (1, 1)
    wrong = [axis for axis in axes if not 0 <= axis < len(extents)]
    if wrong:
        raise RuntimeError(
            f"sample_op: seed_axes {list(axes)}: {wrong[0]} is no axis of a mesh of shape {list(extents)}"
        )
    local = device.local_positions if device is not None else range(len(x.shards.index))
    places = [
        tuple(int(part) for axis, part in enumerate(np.unravel_index(position, extents)) if axis in axes)
        for position in local
    ]
    known = {place: row for row, place in enumerate(sorted(set(places)))}
    # Without axes the generator is that of the seed alone.
    rows = [np.random.default_rng([seed, *place] if place else seed).gumbel(size=shape) for place in known]
    index = tuple(-1 if r < 0 else known[place] for r, place in zip(x.shards.index, places, strict=True))
    return x.derive(Shards(np.stack(rows).astype(np.float32), index), dtype=DataType.FLOAT32)


def _picked(x: Value, positions: Tensor | Sequence[int]) -> Value:
    """One position of each row, [B, 1, 1, V]."""
    batch, _, length, _ = x.shape
    if isinstance(positions, Tensor):
        places = positions.get_value()
    else:
        table = np.asarray(positions, np.uint32).reshape(-1, 1, 1, 1)
        places = Tensor.from_numpy(table, Layout.ROW_MAJOR, DataType.UINT32).get_value()
    if tuple(places.shape) != (batch, 1, 1, 1):
        raise RuntimeError(
            f"sample_op: positions {list(places.shape)} are not one for each of {batch} rows; help: [{batch}, 1, 1, 1]"
        )

    def pick(logits: Array, where: Array) -> Array:
        rows = where.reshape(len(logits), batch, 1, 1, 1).astype(np.int64)
        if rows.size and rows.max() >= length:
            raise RuntimeError(f"sample_op: position {int(rows.max())} is beyond the {length} of the logits")
        return np.take_along_axis(logits, rows, axis=3)

    return stacks.compute(pick, x, places, dtype=x.dtype)
