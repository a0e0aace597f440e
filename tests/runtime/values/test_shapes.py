"""Stacks without rows: what stands for values, what is said, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run import contract
from tt_run.runtime.values import shapes
from tt_run.runtime.values.shards import Shards, combine


def test_shards_keep_shapes_and_devices_only() -> None:
    with shapes.only():
        held = Shards(np.ones((2, 3, 4), np.float32), (0, 1, -1))
        assert held.data.shape == (0, 3, 4)
        assert held.index == (0, 0, -1)
        assert held.bare
        first, second, none = held.each()
    assert first is second
    assert none is None
    assert first is not None and not first.any() and first.shape == (3, 4)


def test_a_kernel_tells_the_shape_of_its_result() -> None:
    with shapes.only():
        a = Shards(np.ones((1, 3, 4), np.float32), (0, 0))
        b = Shards(np.ones((2, 4, 5), np.float32), (0, -1))
        product = combine(np.matmul, a, b)
    assert product.data.shape == (0, 3, 5)
    assert product.index == (0, -1)


def test_a_kernel_that_needs_a_row_gets_zeros() -> None:
    with shapes.only():
        flat = Shards(np.ones((1, 3, 4), np.float32), (0,)).map(lambda stack: stack.reshape(len(stack), -1))
    assert flat.data.shape == (0, 12)


def test_errors_of_a_kernel_are_the_programs() -> None:
    def refuse(stack: np.ndarray) -> np.ndarray:
        raise RuntimeError(f"rows: {len(stack)}")

    with shapes.only(), pytest.raises(RuntimeError, match="rows: 1"):
        Shards(np.ones((1, 3), np.float32), (0,)).map(refuse)


def test_how_many_rows_a_new_stack_has() -> None:
    assert (shapes.rows(), shapes.rows(0), shapes.rows(3)) == (1, 0, 3)
    with shapes.only():
        assert (shapes.rows(), shapes.rows(3)) == (0, 0)


def test_with_values_again_after_the_block() -> None:
    with shapes.only():
        bare = Shards.replicated(np.ones((2, 2), np.float32), 2)
    full = Shards.replicated(np.ones((2, 2), np.float32), 2)
    assert combine(np.add, full, full).data.shape == (1, 2, 2)
    assert not shapes.active()
    assert bare.bare


def test_reading_is_said_once_for_each_line(capsys: pytest.CaptureFixture[str]) -> None:
    with shapes.only():
        for _ in range(3):
            shapes.values_read((2, 3))
        shapes.values_read((1,))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "test_shapes.py:" in said[0] and "[2, 3]" in said[0]


def test_strict_names_the_line() -> None:
    with shapes.only(strict=True), pytest.raises(RuntimeError, match=r"test_shapes\.py:\d+ reads the values"):
        shapes.values_read((2, 3))
    shapes.values_read((2, 3))


@pytest.mark.parametrize(
    ("word", "active"),
    [("", False), ("0", False), ("off", False), ("on", True), ("1", True), (" STRICT ", True)],
)
def test_the_variable(word: str, active: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "_known", False)
    monkeypatch.setattr(shapes, "_mode", None)
    monkeypatch.setenv(contract.SHAPES_ONLY, word)
    assert shapes.active() is active
    monkeypatch.setenv(contract.SHAPES_ONLY, "maybe")  # which is read once
    assert shapes.active() is active


def test_a_word_that_the_variable_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "_known", False)
    monkeypatch.setenv(contract.SHAPES_ONLY, "maybe")
    with pytest.raises(RuntimeError, match="TT_RUN_SHAPES_ONLY='maybe'"):
        shapes.active()


@pytest.mark.parametrize("count", [2, 3, 64])
def test_zeros_of_several_elements_have_no_memory_of_their_own(count: int) -> None:
    stands_for = shapes.zeros((1, count), np.float32)
    assert shapes.without_memory(stands_for) and not shapes.without_memory(stands_for.copy())


def test_one_element_is_its_own_memory() -> None:
    assert not shapes.without_memory(shapes.zeros((1, 1), np.float32))
