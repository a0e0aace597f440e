"""softmax(scale q k^T + mask) v of one user's heads, with the same bits on any split and for any thread count.

Many scores are made some queries of one head at a time, so that they stay in cache from the first product to the second; how queries
are cut follows from the shapes alone. Keys that a mask hides from all queries of a cut are left out: their weight is 0. What is divided
by the sums of the weights is the result, which is narrower than the weights.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.kernels import gemm, ordered_sums
from tt_run.runtime.kernels.blas import single_threaded
from tt_run.runtime.kernels.elementwise import Buffers
from tt_run.runtime.kernels.rowwise import buffer_of
from tt_run.runtime.kernels.workers import run_tasks, thread_count
from tt_run.runtime.values.float_warnings import restore, silence
from tt_run.runtime.values.recycled_arrays import empty

Array = npt.NDArray[Any]

_STEP = 48
"""Queries and keys are cut at multiples of this: common BLAS libraries work through 16 or 12 of them together."""
_TALLEST = 192
_TALLEST_OF_ALL = 528
_SCORES = 1 << 20
"""Queries of a cut, as many where nothing is hidden, and scores of it where keys are many. A tall cut makes the products faster, a low one
leaves out more of the keys that no query of it sees, and leaves more to share among threads."""
_ENOUGH = 8
"""Tall cuts of all heads that are enough to share."""
_FEW = 1 << 16
"""Scores of a head that are made together with those of the others."""
_SAFE = 16
"""Scores whose exponentials neither overflow nor vanish: where each row's largest lies between this and its negative, they stay as they are."""
_MOST = 1 << 24
"""Scores of few queries that are made for all heads together."""


@dataclass(frozen=True)
class _Cut:
    """Queries that are worked through together, the keys that any of them sees, and of those the ones whose scores the mask changes."""

    queries: slice
    seen: slice
    changed: slice
    only_hides: bool
    """Whether the mask changes no score that it leaves."""


@dataclass(frozen=True)
class _Call:
    """What the parts of a call share: q times scale, k, v and the result, each with its heads first, and what changes the scores."""

    q: Array
    keys: Array
    values: Array
    out: Array
    mask: Array | None
    sink: Array | None
    small: bool = False
    """Whether no score reaches `_SAFE`: see `_all_small`."""


def attend(
    q: Array,
    k: Array,
    v: Array,
    scale: float,
    mask: Array | None,
    sink: Array | None,
    out: Array | None = None,
) -> Array:
    """softmax(scale q k^T + mask) v of one user: q (heads, Sq, D), k and v (kv heads, Sk, D) -> (heads, Sq, D) in float32.

    Query heads share key heads in order, and value heads, of which there may be others. `mask` (1 or heads, Sq, Sk) is added; `sink`
    (heads), times scale, takes weight and gives nothing. The result is written to `out` where that is given.
    """
    (heads, queries, _), keys = q.shape, k.shape[-2]
    q = np.multiply(q, np.float32(scale), order="C")
    if sink is not None:
        sink = np.float32(scale) * sink
    if out is None:
        out = np.empty((heads, queries, v.shape[-1]), np.float32)
    call = _Call(q, k, v, out, mask, sink)
    if queries >= _STEP and queries * keys > _FEW:
        _by_cuts(call)
    elif heads * queries * keys <= _MOST:
        _at_once(call, slice(0, heads))
    else:
        for head in range(heads):
            _at_once(call, slice(head, head + 1))
    return out


def _at_once(call: _Call, heads: slice) -> None:
    """Some heads together, where their scores are few."""
    scores = _products_of_rows(call.q[heads], _of_heads(call.keys, heads, call))
    before = silence()
    try:
        if call.mask is not None:
            np.add(scores, call.mask if len(call.mask) == 1 else call.mask[heads], scores)
        sums = _weigh(scores, None if call.sink is None else call.sink[heads, None, None])
        values = _of_heads(call.values, heads, call)
        found = gemm.matmul(_joined(scores, len(values)), values)
        np.divide(found.reshape(call.out[heads].shape), sums, call.out[heads])
    finally:
        restore(before)


def _products_of_rows(q: Array, k: Array) -> Array:
    """q (heads, Sq, D) times k (kv heads, Sk, D) -> (heads, Sq, Sk): the queries that share keys as one product."""
    rows = _joined(q, len(k))
    if rows.shape[1] == 1:  # keys as they lie, where the other order would copy them
        return gemm.matmul(k, rows.swapaxes(-1, -2)).reshape(len(q), 1, -1)
    return gemm.matmul(rows, k.swapaxes(-1, -2)).reshape(*q.shape[:2], -1)


def _joined(rows: Array, count: int) -> Array:
    return rows.reshape(count, -1, rows.shape[-1])


def _of_heads(held: Array, heads: slice, call: _Call) -> Array:
    """The keys or values of these query heads: of all, or of one."""
    if heads.stop - heads.start == len(call.q):
        return held
    first = _shared(heads.start, held, call)
    return held[first : first + 1]


def _weigh(scores: Array, sink: Any, small: bool = False) -> Array:
    """Make weights of rows of scores, still to be divided by what is returned: their sums, 1 for a row that sees nothing. `small` as in `_Call`."""
    if small:
        return _summed(scores, sink)
    top = scores.max(axis=-1, keepdims=True)
    if sink is not None:
        top = np.maximum(top, sink)
    if not -_SAFE <= top.min() <= top.max() <= _SAFE:
        top = np.where(np.isneginf(top), np.float32(0), top)
        np.subtract(scores, top, scores)
        sink = None if sink is None else sink - top
    return _summed(scores, sink)


def _summed(scores: Array, sink: Any) -> Array:
    np.exp(scores, scores)
    sums = ordered_sums.of_rows(scores) if scores.ndim == 2 else np.add.reduce(scores, -1, keepdims=True)
    if sink is not None:
        sums = sums + np.exp(sink)
    return np.where(sums == 0, np.float32(1), sums)


def _by_cuts(call: _Call) -> None:
    """Every head a cut of its queries at a time, shared among the threads."""
    # Copies in order where they are not, so that no routine of a BLAS sees another one.
    k, v = np.ascontiguousarray(call.keys), np.ascontiguousarray(call.values)
    call = _Call(call.q, k, v, call.out, call.mask, call.sink, _all_small(call))
    places = [(head, cut) for cut in _cuts(call) for head in range(len(call.q))]
    pieces = thread_count()
    with single_threaded():
        run_tasks([partial(_fill, call, share) for p in range(pieces) if (share := places[p::pieces])])


def _fill(call: _Call, places: list[tuple[int, _Cut]]) -> None:
    """The results of some cuts; threads keep error states of their own."""
    width = call.keys.shape[1]
    room = empty((max(cut.queries.stop - cut.queries.start for _, cut in places) * width,), np.float32)
    before = silence()
    try:
        with Buffers(buffer_of(width)):
            for head, cut in places:
                _fill_cut(call, head, cut, room)
    finally:
        restore(before)


def _fill_cut(call: _Call, head: int, cut: _Cut, room: Array) -> None:
    count, width = cut.queries.stop - cut.queries.start, cut.seen.stop - cut.seen.start
    scores = room[: count * width].reshape(count, width)
    keys = call.keys[_shared(head, call.keys, call), cut.seen]
    np.matmul(call.q[head, cut.queries], keys.T, out=scores)
    if call.mask is not None and cut.changed.stop > cut.changed.start:
        mask = call.mask[head if len(call.mask) > 1 else 0]
        changed = scores[:, cut.changed.start - cut.seen.start : cut.changed.stop - cut.seen.start]
        np.add(changed, mask[cut.queries, cut.changed], changed)
    sums = _weigh(scores, None if call.sink is None else call.sink[head], call.small and cut.only_hides)
    out = call.out[head, cut.queries]
    np.matmul(scores, call.values[_shared(head, call.values, call), cut.seen], out=out)
    np.divide(out, sums, out)


def _all_small(call: _Call) -> bool:
    """Whether the lengths of queries and keys say that no row's largest score needs to be looked for: none is more than their product."""
    before = silence()
    try:
        largest = [
            np.maximum.reduce(np.einsum("ijk,ijk->ij", rows, rows), None) for rows in (call.q, call.keys)
        ]
        if not float(largest[0]) * float(largest[1]) <= _SAFE**2:
            return False
        return call.sink is None or bool((np.abs(call.sink) <= _SAFE).all())
    finally:
        restore(before)


def _shared(head: int, held: Array, call: _Call) -> int:
    """Which of the keys or values, of as many as there are, a query head has."""
    return head * len(held) // len(call.q)


def _cuts(call: _Call) -> list[_Cut]:
    """How the queries are cut. Nothing is hidden where keys or values are not all finite: what a weight of 0 makes of those is not 0."""
    queries, keys, mask = call.q.shape[1], call.keys.shape[1], call.mask
    is_tall = mask is None and len(call.q) * queries >= _ENOUGH * _TALLEST_OF_ALL
    tallest = _TALLEST_OF_ALL if is_tall else _TALLEST
    rows = max(_STEP, min(tallest, _SCORES // keys), _FEW // keys) // _STEP * _STEP
    starts = [*range(0, queries, rows)]
    if queries - starts[-1] < _STEP and len(starts) > 1:  # a few rows alone go to other routines
        starts.pop()
    whole = slice(0, keys)
    spans = [slice(*span) for span in zip(starts, [*starts[1:], queries], strict=True)]
    if mask is None:
        return [_Cut(span, whole, slice(0, 0), True) for span in spans]
    if not (_is_finite(call.keys) and _is_finite(call.values)):
        return [_Cut(span, whole, whole, False) for span in spans]
    cuts = []
    for span in spans:
        part = mask[:, span]
        seen = _range((part != -np.inf).any((0, 1)), whole) or whole
        changed = _range((part[..., seen] != 0).any((0, 1)), seen) or slice(0, 0)
        left = part[..., changed]
        cuts.append(_Cut(span, seen, changed, bool(((left == 0) | (left == -np.inf)).all())))
    return cuts


def _range(among: Array, within: slice) -> slice | None:
    """From the first to the last of the keys `within` that are true in `among`, widened to whole steps; None if none is."""
    places = np.flatnonzero(among) + within.start
    if not places.size:
        return None
    first, last = int(places[0]) // _STEP * _STEP, -(-(int(places[-1]) + 1) // _STEP) * _STEP
    return slice(max(first, within.start), min(last, within.stop))


def _is_finite(values: Array) -> bool:
    """Whether no number is infinite or NaN."""
    before = silence()
    try:
        return bool(np.maximum.reduce(values, None) - np.minimum.reduce(values, None) < np.inf)
    finally:
        restore(before)
