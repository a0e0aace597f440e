"""Rounding by PyTorch: when it is taken, and the same bits as NumPy's for any length and number of threads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tt_run.runtime.values import torch_rounding
from tt_run.runtime.values.bfloat16 import BFLOAT16, narrow
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.torch_rounding import PIECE, is_ready, narrow_into, narrowed, threads_of_torch

Array = npt.NDArray[Any]
LEAST = torch_rounding._LEAST


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """PyTorch with so many threads."""
    torch = torch_or_skip()
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyTorch that nobody has asked yet."""
    torch = torch_or_skip()
    for name, value in {"_from_numpy": None, "_modes": int, "_threads": int, "_is_refused": False}.items():
        monkeypatch.setattr(torch_rounding, name, value)
    return torch


def numbers(size: int, nan: int | None = None) -> Array:
    made = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    if nan is not None:
        made[nan] = np.nan
    return made


def bits(values: Array) -> Array:
    return values.astype(BFLOAT16).view(np.uint16)


SIZES = [LEAST, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5, BLOCK - 1, BLOCK]


@pytest.mark.parametrize("size", SIZES)
def test_a_block_is_rounded_whatever_its_length(threads: int, size: int) -> None:
    found = narrowed(numbers(size))
    assert found is not None and found.dtype == BFLOAT16
    assert np.array_equal(found.view(np.uint16), bits(numbers(size)))


@pytest.mark.parametrize("size", [*SIZES, BLOCK + 1, 2 * BLOCK + PIECE + 7])
def test_any_number_of_values_is_rounded_in_their_place(threads: int, size: int) -> None:
    halves = np.zeros(size, BFLOAT16)
    assert narrow_into(numbers(size), halves)
    assert np.array_equal(halves.view(np.uint16), bits(numbers(size)))
    assert threads_of_torch() == threads


@pytest.mark.parametrize("nan", [0, PIECE, BLOCK - 1, BLOCK, 2 * BLOCK - 1])
def test_a_nan_is_numpys(threads: int, nan: int) -> None:
    values = numbers(2 * BLOCK, nan)
    halves = np.zeros(2 * BLOCK, BFLOAT16)
    assert narrow_into(values, halves)
    assert np.array_equal(halves.view(np.uint16), bits(values))
    assert narrowed(numbers(BLOCK, nan % BLOCK)) is None


def test_what_is_short_or_may_not_be_written_is_left_to_numpy() -> None:
    torch_or_skip()
    halves = np.zeros(BLOCK, BFLOAT16)
    assert narrowed(numbers(LEAST)) is not None and narrow_into(numbers(LEAST), halves[:LEAST])
    fixed = numbers(LEAST)
    fixed.flags.writeable = False  # PyTorch would warn
    for values in (numbers(LEAST - 1), fixed):
        assert narrowed(values) is None and not narrow_into(values, halves[: values.size])
        narrow(values, halves[: values.size])
        assert np.array_equal(halves[: values.size].view(np.uint16), bits(values))


def test_it_is_taken_as_soon_as_the_program_has_loaded_it(
    unseen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        changed.delitem(sys.modules, "torch")
        assert not is_ready() and narrowed(numbers(BLOCK)) is None
        assert not narrow_into(numbers(BLOCK), np.zeros(BLOCK, BFLOAT16))
    assert is_ready() and threads_of_torch() == unseen.get_num_threads()


def test_while_it_is_being_loaded_it_is_not_taken(unseen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(unseen.__spec__, "_initializing", True, raising=False)
        assert not is_ready()
    assert is_ready()


def test_one_that_rounds_otherwise_is_not_taken(unseen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(torch_rounding, "_cast", lambda values: (values * np.float32(1.01)).astype(BFLOAT16))
        assert not is_ready() and torch_rounding._from_numpy is None
    assert not is_ready()  # and not asked again


@pytest.mark.parametrize("pattern", [0x3F808001, 0xBF818000, 0x00017FFF, 0x7F7F8000])
def test_one_wrong_number_is_enough(unseen: Any, monkeypatch: pytest.MonkeyPatch, pattern: int) -> None:
    def cast(values: Array) -> Array:
        made = values.astype(BFLOAT16)
        made.view(np.uint16)[values.view(np.uint32) == pattern] ^= 1
        return made

    monkeypatch.setattr(torch_rounding, "_cast", cast)
    assert not is_ready()


def test_another_nan_is_no_wrong_number(unseen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def cast(values: Array) -> Array:
        made = values.astype(BFLOAT16)
        made.view(np.uint16)[values != values] = 0x7F81
        return made

    monkeypatch.setattr(torch_rounding, "_cast", cast)
    assert is_ready()


def test_one_without_the_functions_is_not_taken(unseen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.delattr(unseen, "from_numpy")
        assert not is_ready()
    assert not is_ready()


def test_inside_of_a_mode_it_is_not_taken(unseen: Any) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, *_: Any) -> Any:
            raise AssertionError("PyTorch was asked")

    values = numbers(BLOCK)
    for _ in range(2):  # before it was ever taken, and after that
        with Mode():
            assert not is_ready() and narrowed(values) is None
            assert not narrow_into(values, np.zeros(BLOCK, BFLOAT16))
        assert is_ready() and narrowed(values) is not None
