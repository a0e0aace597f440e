"""Functions of float32 elements by PyTorch: the bits of the kernels, NaN and odd lengths included."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.sweep import sweep
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import torch_float32
from tt_run.runtime.kernels.activations import Applied
from tt_run.runtime.kernels.elementwise import evaluate
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
FUNCTIONS = [
    *(f.sign, f.frac, f.hardsigmoid, f.hardswish, f.relu6, np.deg2rad, np.rad2deg, np.reciprocal),
    *(Applied(f.prelu, (np.float32(slope),)) for slope in (0.1, -2.0)),
    *(Applied(f.threshold, (0.5, value)) for value in (1.0, -0.0)),
    *(Applied(f.clamped, limits) for limits in ((-0.5, None), (-0.1, 2.0))),
    Applied(f.at_least, (0.5,)),
    Applied(f.at_most, (-0.3,)),
    Applied(f.hardshrink, (0.3,)),
    Applied(f.softshrink, (0.3,)),
    *(Applied(f.power, (np.float32(exponent),)) for exponent in (2, -1)),
    *(Applied(kernel, (np.float32(1.5),)) for kernel in (np.maximum, np.minimum)),
]
pytestmark = pytest.mark.torch


def name(function: Any) -> str:
    if isinstance(function, Applied):
        return f"{function.function.__name__}{tuple(map(str, function.params))}"
    return str(function.__name__)


@pytest.fixture(autouse=True)
def _torch() -> None:
    import torch  # noqa: F401


def numbers(length: int, seed: int, *, nan: bool) -> Array:
    """Bits of every kind, or numbers alone."""
    random = np.random.default_rng(seed)
    found = random.integers(0, 1 << 32, length, np.uint32).view(np.float32)
    found[::3] = random.normal(size=len(found[::3])) * 2
    found[5:9] = 0.0, -0.0, np.inf, -np.inf
    return found if nan else np.where(np.isnan(found), np.float32(0.25), found)


def made(function: Any, values: Array) -> Array | None:
    found = torch_float32.of_one(function, Shards(values[None], (0,)))
    return None if found is None else found.data[0]


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("length", sweep([BLOCK + 77, 2 * BLOCK, 9 * BLOCK + 1], quick=[BLOCK + 77]))
@pytest.mark.parametrize("function", FUNCTIONS, ids=name)
def test_bits_are_the_kernels(function: Any, length: int, nan: bool):
    values = numbers(length, 1, nan=nan)
    found = made(function, values)
    assert nan or found is not None
    if found is not None:
        wanted = evaluate(function, DataType.FLOAT32, values)
        assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads_change_no_bit(threads: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
    values = numbers(9 * BLOCK + 77, 2, nan=False)
    assert np.array_equal(made(f.sign, values), f.sign(values))  # type: ignore[arg-type]


def test_what_is_small_scattered_or_unknown_is_left_alone():
    values = numbers(2 * BLOCK, 3, nan=False)
    assert made(f.sign, values[:BLOCK]) is None
    assert made(f.sign, numbers(4 * BLOCK, 3, nan=False)[::2]) is None
    assert made(np.tanh, values) is None
    values.flags.writeable = False
    assert made(f.sign, values) is None


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_zero_beside_the_larger_one_is_left_alone(zero: float):
    assert made(Applied(np.maximum, (np.float32(zero),)), numbers(2 * BLOCK, 4, nan=False)) is None


def test_a_function_that_differs_is_not_taken(monkeypatch: pytest.MonkeyPatch):
    import torch

    monkeypatch.setitem(torch_float32._TWINS, f.sign, lambda _: torch.tanh)
    torch_float32._twin.cache_clear()
    try:
        assert made(f.sign, numbers(2 * BLOCK, 5, nan=False)) is None
    finally:
        torch_float32._twin.cache_clear()
