"""`ttml.ops.embedding`: rows of a table by id; the gradient adds up where an id occurs more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.values.copying import lines
from tt_run.runtime.values.recycled_arrays import empty

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


@recorded
def embedding(tensor: Tensor, weight: Tensor) -> Tensor:
    """ids [B, 1, 1, T] uint32, weight [1, 1, V, D] -> [B, 1, T, D]. Raises RuntimeError for other types and for ids of V or more."""
    ids, table = tensor.get_value(), weight.get_value()
    if ids.dtype not in (DataType.UINT32, DataType.INT32):
        raise RuntimeError(
            f"embedding: ids are UINT32, not {ids.dtype}; help: from_numpy(ids, new_type=ttnn.DataType.UINT32)"
        )
    batch, length = ids.shape[0], ids.shape[-1]
    entries, width = table.shape[-2], table.shape[-1]

    def forward(i: Array, w: Array) -> Array:
        rows = _rows(i, entries)
        flat = w.reshape(len(w), entries, width)
        picked = empty((*rows.shape, width), w.dtype)
        for out, table, places in zip(picked, flat, rows, strict=True):
            out[...] = table[places]
        return picked.reshape(-1, batch, 1, length, width)

    def for_weight(g: Array, i: Array) -> Array:
        rows = _rows(i, entries)
        flat = lines(g, width)
        found = np.empty((len(rows), entries, width), np.float32)
        for out, slope, places in zip(found, flat, rows, strict=True):
            out[...] = _scattered(slope, places, entries)
        return found.reshape(-1, *table.shape)

    def rule(gradient: Value) -> None:
        weight.add_grad(stacks.compute(for_weight, gradient, ids))

    return result(stacks.compute(forward, ids, table, dtype=table.dtype), (weight,), rule)


@recorded
def partial_embedding(tensor: Tensor, weight: Tensor, first: Tensor) -> Tensor:
    """As `embedding` with a part of the table on each device: rows from `first` [1, 1, 1, 1] on; zeros for ids of other parts."""
    ids, table, start = tensor.get_value(), weight.get_value(), first.get_value()
    batch, length = ids.shape[0], ids.shape[-1]
    entries, width = table.shape[-2], table.shape[-1]

    def forward(i: Array, w: Array, s: Array) -> Array:
        out = np.zeros((len(i), batch * length, width), np.float32)
        for k, (rows, own) in enumerate(zip(*_own_rows(i, s, entries), strict=True)):
            out[k, own] = w[k].reshape(entries, width)[rows[own]]
        return out.reshape(-1, batch, 1, length, width)

    def for_weight(g: Array, i: Array, s: Array) -> Array:
        found = np.empty((len(i), entries, width), np.float32)
        for k, (rows, own) in enumerate(zip(*_own_rows(i, s, entries), strict=True)):
            found[k] = _scattered(g[k].reshape(-1, width)[own], rows[own], entries)
        return found.reshape(-1, *table.shape)

    def rule(gradient: Value) -> None:
        weight.add_grad(stacks.compute(for_weight, gradient, ids, start))

    return result(stacks.compute(forward, ids, table, start, dtype=table.dtype), (weight,), rule)


def _own_rows(ids: Array, starts: Array, entries: int) -> tuple[Array, Array]:
    """Row numbers within each device's part, and which of them are there."""
    rows = lines(ids).astype(np.int64) - starts.reshape(len(starts), 1).astype(np.int64)
    return rows, (rows >= 0) & (rows < entries)


def _rows(ids: Array, entries: int) -> Array:
    rows = lines(ids).astype(np.int64)
    if rows.size and not 0 <= rows.min() <= rows.max() < entries:
        raise RuntimeError(
            f"embedding: id {int(rows.max())} is outside of a table of {entries} rows; help: ids below {entries}, or more rows"
        )
    return rows


def _scattered(gradient: Array, rows: Array, entries: int) -> Array:
    """Gradients of equal ids summed in the order of the sequence: sorted runs added by reduceat, which keeps that order."""
    out = np.zeros((entries, gradient.shape[-1]), np.float32)
    if not rows.size:
        return out
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    out[ordered[starts]] = np.add.reduceat(gradient[order], starts, axis=0)
    return out
