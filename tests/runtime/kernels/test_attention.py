"""Attention as one kernel: against NumPy in float64, with every kind of mask, cut or at once."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from tests.sweep import sweep
from tt_run.runtime.kernels import attention
from tt_run.runtime.kernels.attention import attend

Array = npt.NDArray[np.float32]
HIDDEN = np.float32(-np.inf)

SHAPES = {
    "a token": (1, 200, 32),
    "few queries": (7, 96, 16),
    "one cut": (200, 400, 32),
    "cuts with a rest": (401, 300, 24),
    "few keys": (1500, 64, 16),
    "a column": (100, 1000, 1),
}


def operands(
    queries: int, keys: int, depth: int, heads: int = 4, shared: int = 2
) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(queries)
    shapes = (heads, queries, depth), (shared, keys, depth), (shared, keys, depth + 1)
    q, k, v = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    return q, k, v


def mask_of(kind: str, queries: int, keys: int, heads: int = 4) -> Array | None:
    row, key = np.arange(queries)[:, None], np.arange(keys)[None]
    last = row + keys - queries
    random = np.random.default_rng(1)
    seen = {
        "none": None,
        "causal": key <= last,
        "from the first": key <= row,
        "window": (key <= last) & (key > last - 50),
        "scattered": random.random((queries, keys)) < 0.5,
        "rows that see nothing": (key <= last) & (row % 3 > 0),
        "for each head": random.random((heads, queries, keys)) < 0.5,
        "bias": None,
    }[kind]
    if kind == "bias":
        return random.standard_normal((1, queries, keys)).astype(np.float32)
    if seen is None:
        return None
    return np.where(seen if seen.ndim == 3 else seen[None], np.float32(0), HIDDEN)


def wanted(
    q: Array, k: Array, v: Array, scale: float, mask: Array | None, sink: Array | None
) -> npt.NDArray[np.float64]:
    k, v = (np.repeat(each.astype(np.float64), len(q) // len(each), axis=0) for each in (k, v))
    scores = scale * (q.astype(np.float64) @ k.swapaxes(-1, -2)) + (0 if mask is None else mask)
    top = scores.max(-1, keepdims=True)
    top = np.where(np.isneginf(top), 0, top)
    weights = np.exp(scores - top)
    sums = weights.sum(-1, keepdims=True)
    if sink is not None:
        sums = sums + np.exp(scale * sink[:, None, None] - top)
    return weights / np.where(sums == 0, 1, sums) @ v


@pytest.mark.parametrize(
    "kind",
    sweep(
        [
            "none",
            "causal",
            "from the first",
            "window",
            "scattered",
            "rows that see nothing",
            "for each head",
            "bias",
        ],
        quick=["causal", "rows that see nothing", "for each head"],
    ),
)
@pytest.mark.parametrize("shape", SHAPES)
def test_values(shape: str, kind: str):
    queries, keys, depth = SHAPES[shape]
    given, mask = operands(queries, keys, depth), mask_of(kind, queries, keys)
    for scale, sink in itertools.product((0.2, 9.0), (None, np.float32([0, 2, -3, 40]))):
        found = attend(*given, scale, mask, sink)
        assert np.allclose(found, wanted(*given, scale, mask, sink), rtol=0, atol=3e-5 * scale + 3e-6)


def test_a_row_that_sees_nothing_is_zeros():
    q, k, v = operands(200, 400, 32)
    mask = np.zeros((1, 200, 400), np.float32)
    mask[:, :150] = HIDDEN
    assert not attend(q, k, v, 0.2, mask, None)[:, :150].any()


@pytest.mark.parametrize("where", ["keys", "values"])
def test_a_number_that_is_none_is_told_through_a_mask(where: str):
    """A weight of 0 times NaN or infinity is NaN, also where a causal mask would let the key be left out."""
    q, k, v = operands(200, 400, 32)
    (k if where == "keys" else v)[0, 399] = np.nan
    found = attend(q, k, v, 0.2, mask_of("from the first", 200, 400), None)
    assert np.isnan(found[:2]).all() and np.isfinite(found[2:]).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_threads_change_no_bit(shape: str, monkeypatch: pytest.MonkeyPatch):
    queries, keys, depth = SHAPES[shape]
    given, mask = operands(queries, keys, depth), mask_of("causal", queries, keys)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
        found.append(attend(*given, 0.2, mask, None))
    assert np.array_equal(*found)


@pytest.mark.parametrize("shape", SHAPES)
def test_order_in_memory_changes_no_bit(shape: str):
    """Queries, keys and values may be parts of wider arrays, or lie the other way round."""
    q, k, v = operands(*SHAPES[shape])
    wide = [np.concatenate([each, each], -1)[..., : each.shape[-1]] for each in (q, k, v)]
    turned = [np.ascontiguousarray(each.swapaxes(-1, -2)).swapaxes(-1, -2) for each in (q, k, v)]
    found = attend(q, k, v, 0.2, None, None)
    assert np.array_equal(attend(*wide, 0.2, None, None), found)
    assert np.array_equal(attend(*turned, 0.2, None, None), found)


def test_many_scores_of_few_queries_go_head_by_head(monkeypatch: pytest.MonkeyPatch):
    q, k, v = operands(7, 96, 16)
    mask, sink = mask_of("for each head", 7, 96), np.float32([0, 2, -3, 4])
    monkeypatch.setattr(attention, "_MOST", 1000)
    found = attend(q, k, v, 0.2, mask, sink)
    assert np.allclose(found, wanted(q, k, v, 0.2, mask, sink), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["none", "causal", "rows that see nothing", "bias"])
@pytest.mark.parametrize("loudness", [0.05, 30.0])
def test_scores_that_need_no_largest_one_are_known_by_their_lengths(
    loudness: float, kind: str, monkeypatch: pytest.MonkeyPatch
):
    """Quiet ones go without it unless a mask is added to them; loud ones do not, and would overflow."""
    q, k, v = operands(200, 400, 32)
    q, mask = q * np.float32(loudness), mask_of(kind, 200, 400)
    seen = []
    weigh = attention._weigh
    monkeypatch.setattr(attention, "_weigh", lambda *given: (seen.append(given[2]), weigh(*given))[1])
    found = attend(q, k, v, 1.0, mask, None)
    assert set(seen) == {loudness < 1 and kind != "bias"}
    assert np.allclose(found, wanted(q, k, v, 1.0, mask, None), rtol=1e-3, atol=1e-3)
