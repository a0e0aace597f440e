"""Formulas of torch tensors over shards of bfloat16: the bits of float32 that is rounded, whatever form the operands are in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.sweep import sweep
from tt_run.runtime.kernels import torch_elements
from tt_run.runtime.kernels.torch_elements import ByElement, of_elements
from tt_run.runtime.values.bfloat16 import BFLOAT16, widen
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Bits = npt.NDArray[np.uint16]
LENGTHS = [BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 77]
FORMS = ["short", "wide", "mixed"]


def always(*_: Any) -> bool:
    return True


PRODUCTS = ByElement(lambda g, x, y: [g * y, -g * x], (3,), always)
TWICE = ByElement(lambda g, x: [g * x * x], (2,), always)
"""It says that it rounds once, which is wrong."""
WIDE = ByElement(lambda g, x, number: [g / (number + x.sqrt())], (2,))


def any_bits(length: int, seed: int, *, finite: bool = False) -> Bits:
    random = np.random.default_rng(seed)
    bits = random.integers(0, 1 << 16, (1, length), np.uint16)
    return bits & np.uint16(0xBFFF) if finite else bits


def shards_of(bits: Bits, *, wide: bool = False, index: tuple[int, ...] = (0,)) -> Shards:
    elements = bits.view(BFLOAT16)
    return Shards(widen(elements), index) if wide else Shards.of_bfloat16(elements, index)


def wanted(function: ByElement, operands: list[Bits], *numbers: float) -> list[Bits]:
    """What the formula makes of whole shards in float32, rounded by `ml_dtypes`."""
    given = [widen(bits.view(BFLOAT16)) for bits in operands]
    with np.errstate(all="ignore"):
        rows = [
            [
                made.numpy().astype(BFLOAT16)
                for made in function.formula(*map(torch.from_numpy, row), *numbers)
            ]
            for row in zip(*given, strict=True)
        ]
    return [np.stack(each).view(np.uint16) for each in zip(*rows, strict=True)]


def agree(found: list[Shards] | None, due: list[Bits]) -> None:
    assert found is not None and len(found) == len(due)
    for made, bits in zip(found, due, strict=True):
        assert made.bfloat16 is not None
        np.testing.assert_array_equal(made.bfloat16.view(np.uint16), bits)


@pytest.mark.parametrize("length", sweep(LENGTHS, quick=LENGTHS[:1]))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("finite", [False, True], ids=["any", "finite"])
@pytest.mark.parametrize(
    ("function", "numbers"), [(PRODUCTS, ()), (TWICE, ()), (WIDE, (0.3,))], ids=["products", "twice", "wide"]
)
def test_the_bits_are_those_of_float32(
    function: ByElement, numbers: tuple[float, ...], finite: bool, form: str, length: int
):
    operands = [any_bits(length, seed, finite=finite) for seed in range(function.counts[0])]
    given = [
        shards_of(bits, wide=form == "wide" or (form == "mixed" and number == 1))
        for number, bits in enumerate(operands)
    ]
    agree(of_elements(function, given, numbers), wanted(function, operands, *numbers))
    for shards, bits in zip(given, operands, strict=True):
        if shards.bfloat16 is not None:  # neither written to
            np.testing.assert_array_equal(shards.bfloat16.view(np.uint16), bits)
    if form == "short":
        assert all(shards.bfloat16 is not None for shards in given)  # nor widened


def test_elements_go_through_in_their_16_bits_if_they_are_numbers(monkeypatch: pytest.MonkeyPatch):
    function = ByElement(PRODUCTS.formula, (3,), always)
    operands = [any_bits(BLOCK + 3, seed, finite=True) | np.uint16(0x2000) for seed in range(3)]
    due = wanted(function, operands)
    of_elements(function, [shards_of(bits) for bits in operands], ())  # which compares the two ways
    with monkeypatch.context() as patched:
        patched.setattr(torch_elements, "_in_blocks", lambda *_: pytest.fail("computed in float32"))
        agree(of_elements(function, [shards_of(bits) for bits in operands], ()), due)
    operands[1][0, 5] = 0xFF81
    agree(of_elements(function, [shards_of(bits) for bits in operands], ()), wanted(function, operands))


def test_a_formula_may_round_once_with_some_numbers_only():
    function = ByElement(lambda g, x, n: [g * (n * x)], (2,), lambda n: n == 2)
    operands = [any_bits(BLOCK + 3, seed, finite=True) for seed in range(2)]
    for number in (2, 3, 2.0, 0.3):
        found = of_elements(function, [shards_of(bits) for bits in operands], (number,))
        agree(found, wanted(function, operands, number))


@pytest.mark.parametrize("limit", [float("nan"), 0.0, -0.0])
def test_what_the_wide_loops_leave_over_counts_too(limit: float):
    """PyTorch's loops for many elements and for single ones take a limit that is no number in two ways."""
    gradient = torch.ops.aten.hardshrink_backward
    function = ByElement(lambda g, x, n: [gradient(g, x, n)], (2,), always)
    operands = [any_bits(BLOCK + 20, seed, finite=True) for seed in range(2)]
    found = of_elements(function, [shards_of(bits) for bits in operands], (limit,))
    agree(found, wanted(function, operands, limit))


@pytest.mark.parametrize("place", [5, BLOCK + 18])
def test_numbers_that_come_of_no_number(place: int):
    """PyTorch's loops for many elements and for single ones take an operand that is no number in two ways, too."""
    gradient = torch.ops.aten.hardtanh_backward
    function = ByElement(lambda g, x: [gradient(g, x, -1.0, 1.0)], (2,), always)
    operands = [any_bits(BLOCK + 20, seed, finite=True) for seed in range(2)]
    operands[1][0, place] = 0x7FC0
    found = of_elements(function, [shards_of(bits) for bits in operands], ())
    agree(found, wanted(function, operands))


def test_formulas_of_more_and_fewer_tensors_follow_each_other():
    three = [any_bits(BLOCK + 3, seed) for seed in range(3)]
    agree(of_elements(PRODUCTS, [shards_of(bits) for bits in three], ()), wanted(PRODUCTS, three))
    agree(of_elements(WIDE, [shards_of(b) for b in three[:2]], (1.0,)), wanted(WIDE, three[:2], 1.0))


def test_each_shard_is_computed_by_itself():
    operands = [any_bits(2 * BLOCK + 66, seed).reshape(2, -1) for seed in range(2)]
    found = of_elements(WIDE, [shards_of(bits, index=(1, 0, 1)) for bits in operands], (0.3,))
    agree(found, wanted(WIDE, operands, 0.3))
    assert found is not None and found[0].index == (1, 0, 1)


def test_what_does_not_line_up_or_is_small_is_left_to_others():
    long, short = shards_of(any_bits(2 * BLOCK, 0)), shards_of(any_bits(BLOCK, 1))
    elsewhere = shards_of(any_bits(2 * BLOCK, 2), index=(0, -1))
    assert of_elements(WIDE, [short, short], (1.0,)) is None
    assert of_elements(WIDE, [long, short], (1.0,)) is None
    assert of_elements(WIDE, [long, elsewhere], (1.0,)) is None
    assert of_elements(WIDE, [long, long, long], (1.0,)) is None
    assert of_elements(WIDE, [long, long], (1.0,)) is not None
