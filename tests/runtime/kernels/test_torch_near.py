"""Functions that PyTorch computes almost as NumPy does: the bits of NumPy's, results about a middle and odd ones included."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import torch_near
from tt_run.runtime.kernels.elementwise import evaluate
from tt_run.runtime.values.bfloat16 import BFLOAT16, to_wire, widen
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _torch() -> None:
    import torch  # noqa: F401


def shards(elements: Array) -> Shards:
    return Shards.of_bfloat16(elements[None], (0,))


def every(seed: int) -> Array:
    """Bits of every kind, infinite ones and such as are no number among them."""
    return np.random.default_rng(seed).integers(0, 1 << 16, 5 * BLOCK + 77, np.uint16).view(BFLOAT16)


def normal(seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=5 * BLOCK + 77).astype(BFLOAT16)


@pytest.mark.parametrize("elements", [every, normal])
@pytest.mark.parametrize("kernel", torch_near.PAIRS, ids=lambda kernel: kernel.__name__)
def test_bits_are_the_kernels(kernel: Any, elements: Any):
    a, b = elements(1), elements(2)
    found = torch_near.of_pair(kernel, shards(a), shards(b))
    assert found is not None and found.bfloat16 is not None
    wanted = to_wire(evaluate(kernel, DataType.BFLOAT16, widen(a), widen(b)))
    assert np.array_equal(found.bfloat16[0].view(np.uint16), wanted)


def test_few_results_are_undecided():
    values = np.random.default_rng(3).normal(size=1 << 20).astype(np.float32)
    places = torch_near._undecided(values)
    assert 0 < places.size < values.size / 2000
    lower = values.view(np.uint32)[places] & np.uint32(0xFFFF)
    assert np.all((lower >= 0x7FF8) & (lower < 0x8008))
    odd = np.float32([np.nan, -np.inf, 0.0, -0.0, 1e-31, -1e-40, 1.0, -3e38])
    assert torch_near._undecided(odd).tolist() == [0, 1, 2, 3, 4, 5]


def test_what_is_not_near_small_or_unlike_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    a, b = shards(normal(1)), shards(normal(2))
    assert torch_near.of_pair(np.add, a, b) is None
    assert torch_near.of_pair(np.hypot, a, shards(normal(2)[1:])) is None
    assert torch_near.of_pair(np.hypot, *(shards(normal(seed)[:BLOCK]) for seed in (1, 2))) is None
    monkeypatch.setitem(torch_near.PAIRS, np.hypot, "logaddexp")
    torch_near._is_near.cache_clear()
    try:
        assert torch_near.of_pair(np.hypot, a, b) is None
    finally:
        torch_near._is_near.cache_clear()
