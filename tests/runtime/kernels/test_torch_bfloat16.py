"""Functions of bfloat16 elements by PyTorch: the bits of the kernels, NaN and odd lengths included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.sweep import sweep
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import short_functions as short
from tt_run.runtime.kernels import torch_bfloat16
from tt_run.runtime.kernels.activations import Applied, is_closed
from tt_run.runtime.kernels.elementwise import CLOSED, evaluate
from tt_run.runtime.values.bfloat16 import BFLOAT16, to_wire, widen
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
NUMBERED = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum]
PAIRS = [*NUMBERED, short.squared_difference]
BESIDE = [*NUMBERED, f.subtract_from]
SINGLES = [
    f.relu,
    f.relu6,
    np.negative,
    np.abs,
    np.square,
    np.sqrt,
    np.reciprocal,
    f.rsqrt,
    Applied(f.leaky_relu, (0.01,)),
    Applied(f.leaky_relu, (-2.0,)),
    *(np.rint, np.floor, np.ceil, np.trunc, np.deg2rad, np.rad2deg, f.frac, f.sign, f.hardsigmoid),
    Applied(f.prelu, (np.float32(0.25),)),
    Applied(f.threshold, (0.5, -0.0)),
    Applied(f.threshold, (0.5, 0.0)),
    Applied(f.clamped, (-0.5, None)),
    Applied(f.clamped, (-0.5, 2.0)),
    Applied(f.at_least, (0.5,)),
    Applied(f.hardshrink, (0.5,)),
    Applied(f.softshrink, (0.5,)),
    *(Applied(f.power, (np.float32(exponent),)) for exponent in (2, 0.5, -0.5, -1, 3)),
]
LENGTHS = [BLOCK + 1, 2 * BLOCK, 9 * BLOCK + 77]


pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _torch() -> None:
    import torch  # noqa: F401


def elements(length: int, seed: int, *, nan: bool) -> Array:
    """Bits of every kind, or numbers alone."""
    bits = np.random.default_rng(seed).integers(0, 1 << 16, length, np.uint16)
    if not nan:
        bits[(bits & 0x7FFF) > 0x7F80] = 0x8000
    return bits.view(BFLOAT16)


def expected(kernel: Callable[..., Array], closed: bool, *operands: Array) -> Array:
    values = evaluate(kernel, DataType.BFLOAT16, *map(widen, operands), rounds=not closed)
    return to_wire(values)


@pytest.mark.parametrize("nan", sweep([False, True], quick=[True]))
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kernel", PAIRS, ids=lambda kernel: kernel.__name__)
def test_pairs(kernel: Any, length: int, nan: bool):
    a, b = elements(length, 1, nan=nan), elements(length, 2, nan=nan)
    found = torch_bfloat16.pair(kernel, a, b)
    if found is not None:  # a PyTorch that computes otherwise is not taken
        assert np.array_equal(found.view(np.uint16), expected(kernel, kernel in CLOSED, a, b))


@pytest.mark.parametrize("nan", sweep([False, True], quick=[True]))
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(
    "function",
    SINGLES,
    ids=lambda each: getattr(each, "__name__", "") or f"{each.function.__name__} {each.params}",
)
def test_singles(function: Any, length: int, nan: bool):
    a = elements(length, 3, nan=nan)
    found = torch_bfloat16.single(function, a)
    if found is not None:
        assert np.array_equal(found.view(np.uint16), expected(function, is_closed(function), a))


@pytest.mark.parametrize("number", [0.0, -0.0, 1.5, -3.0, 1e38, 2.0**-130, float("inf")])
@pytest.mark.parametrize("kernel", BESIDE, ids=lambda kernel: kernel.__name__)
def test_beside_numbers(kernel: Any, number: float):
    a, value = elements(2 * BLOCK + 3, 1, nan=True), np.float32(BFLOAT16.type(number))
    found = torch_bfloat16.beside_number(kernel, a, value)
    if found is not None:
        values = evaluate(lambda x: kernel(x, value), DataType.BFLOAT16, widen(a))
        assert np.array_equal(found.view(np.uint16), to_wire(values))


def test_a_number_of_more_digits_is_left_alone():
    a = elements(2 * BLOCK, 1, nan=False)
    assert torch_bfloat16.beside_number(np.add, a, np.float32(1.7)) is None
    assert torch_bfloat16.beside_number(np.add, a, np.float32(1.5)) is not None


def test_a_zero_beside_the_larger_one_is_left_alone():
    """Of two zeros PyTorch chooses another one."""
    a = elements(2 * BLOCK, 1, nan=False)
    for number in (0.0, -0.0):
        assert torch_bfloat16.beside_number(np.maximum, a, np.float32(number)) is None
    assert torch_bfloat16.beside_number(np.maximum, a, np.float32(0.5)) is not None


@pytest.mark.parametrize("held", ["16 bits", "32 bits"])
def test_functions_with_parameters_are_taken_in_either_form(held: str):
    """By PyTorch where it has them, else by table: never element by element."""
    a = elements(3 * BLOCK, 4, nan=True)[None]
    shards = Shards.of_bfloat16(a, (0,)) if held == "16 bits" else Shards(widen(a), (0,))
    for function in (Applied(f.threshold, (0.5, 1.0)), Applied(f.power, (np.float32(3),)), f.gelu):
        found = torch_bfloat16.of_one(function, shards)
        assert found is not None
        assert np.array_equal(to_wire(found.data), expected(function, is_closed(function), a))
    assert torch_bfloat16.of_one(np.exp, Shards(np.zeros((1, 8), np.float32), (0,))) is None


@pytest.mark.parametrize("kernel", [np.add, np.multiply], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("shape", [(2, 300, 1000), (1, BLOCK + 1)])
def test_running_sums_and_products(kernel: Any, shape: tuple[int, ...]):
    numbers = np.random.default_rng(3).standard_normal(shape) + 0.5
    a = numbers.astype(np.float32).astype(BFLOAT16)
    found = torch_bfloat16.running(kernel, a)
    with np.errstate(all="ignore"):
        wide = kernel.accumulate(widen(a), axis=-1)
    if found is not None:
        assert np.array_equal(found.view(np.uint16), to_wire(evaluate(np.positive, DataType.BFLOAT16, wide)))
    a[..., 5] = np.nan
    assert torch_bfloat16.running(kernel, a) is None
    assert (
        torch_bfloat16.running(np.subtract, a) is None and torch_bfloat16.running(kernel, a[..., :4]) is None
    )


def test_running_sums_are_taken():
    assert torch_bfloat16.running(np.add, np.ones((2, BLOCK), BFLOAT16)) is not None


def test_sums_and_products_are_taken():
    a, b = elements(2 * BLOCK, 1, nan=False), elements(2 * BLOCK, 2, nan=False)
    assert all(torch_bfloat16.pair(kernel, a, b) is not None for kernel in (np.add, np.subtract, np.multiply))
    assert torch_bfloat16.single(f.relu, a) is not None


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads_change_no_bit(threads: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
    a, b = elements(17 * BLOCK + 5, 1, nan=True), elements(17 * BLOCK + 5, 2, nan=True)
    found = torch_bfloat16.pair(np.add, a, b)
    assert found is not None and np.array_equal(found.view(np.uint16), expected(np.add, False, a, b))


def test_what_is_small_scattered_or_unlike_is_left_alone():
    a = elements(2 * BLOCK, 1, nan=False)
    assert torch_bfloat16.pair(np.add, a[:BLOCK], a[:BLOCK]) is None
    assert torch_bfloat16.pair(np.add, a.reshape(-1, 2), a) is None
    assert torch_bfloat16.single(np.abs, a.reshape(-1, 2)[:, 0]) is None
    assert torch_bfloat16.pair(np.arctan2, a, a) is None and torch_bfloat16.single(np.exp, a) is None


@pytest.mark.parametrize("function", [np.negative, np.square], ids=lambda function: function.__name__)
def test_only_functions_with_another_nan_are_looked_through(function: Any, monkeypatch: pytest.MonkeyPatch):
    looks: list[int] = []

    def look(bits: Array) -> bool:
        looks.append(bits.size)
        return False

    monkeypatch.setattr(torch_bfloat16, "_has_signed_nan", look)
    torch_bfloat16._twin.cache_clear()
    assert torch_bfloat16.single(function, elements(4 * BLOCK, 3, nan=True)) is not None
    torch_bfloat16._twin.cache_clear()
    assert bool(looks) is (function is np.square)


def test_a_function_that_differs_is_not_taken(monkeypatch: pytest.MonkeyPatch):
    import torch

    def off(x: Any, *, out: Any) -> None:
        torch.abs(x, out=out)
        out[5] = 7

    monkeypatch.setattr(torch, "abs", off)
    torch_bfloat16._twin.cache_clear()
    try:
        assert torch_bfloat16.single(np.abs, elements(2 * BLOCK, 1, nan=False)) is None
    finally:
        torch_bfloat16._twin.cache_clear()


def test_a_release_without_a_function_leaves_it_to_the_table(monkeypatch: pytest.MonkeyPatch):
    another = torch_bfloat16.twins._under("_C._nn.of_another_release")
    monkeypatch.setitem(torch_bfloat16.twins.SINGLES, np.rint, another)
    torch_bfloat16._twin.cache_clear()
    try:
        assert torch_bfloat16.single(np.rint, elements(2 * BLOCK, 1, nan=False)) is None
    finally:
        torch_bfloat16._twin.cache_clear()
