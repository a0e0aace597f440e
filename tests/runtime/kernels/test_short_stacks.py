"""Functions of several bfloat16 stacks: the bits of `evaluate` from 16 bits to 16 bits, by PyTorch or block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.sweep import sweep
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import short_stacks, torch_bfloat16, torch_repeated
from tt_run.runtime.kernels.elementwise import evaluate
from tt_run.runtime.values.bfloat16 import BFLOAT16, to_wire, widen
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
LENGTHS = [BLOCK + 1, 2 * BLOCK, 9 * BLOCK + 77]
KERNELS: list[tuple[Callable[..., Array], int, tuple[float, ...]]] = [
    (np.hypot, 2, ()),
    (np.less, 2, ()),
    (f.product_and_sum, 3, ()),
    (f.add_product, 3, (0.5,)),
    (f.add_product, 3, (0.3,)),
    (f.add_quotient, 3, (0.3,)),
    (lambda a, b, c, d: a * b - c / d, 4, ()),
]


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.torch)], ids=["alone", "torch"])
def with_torch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param:
        import torch  # noqa: F401
    else:
        for module in (torch_bfloat16, torch_repeated):
            monkeypatch.setattr(module, "is_ready", lambda: False)
    return bool(request.param)


def elements(length: int, seed: int) -> Array:
    """Bits of every kind, in random order."""
    return np.random.default_rng(seed).integers(0, 1 << 16, (1, length), np.uint16).view(BFLOAT16)


def bits_of(shards: Shards | None) -> npt.NDArray[np.uint16]:
    assert shards is not None and shards.bfloat16 is not None
    return shards.bfloat16.view(np.uint16)


@pytest.mark.parametrize("length", sweep(LENGTHS, quick=LENGTHS[:1]))
@pytest.mark.parametrize(("kernel", "count", "numbers"), KERNELS)
def test_the_bits_are_those_of_evaluate(
    kernel: Any, count: int, numbers: tuple[float, ...], length: int, with_torch: bool
):
    given = [elements(length, seed) for seed in range(count)]
    factors = [np.float32(number) for number in numbers]
    wanted = to_wire(evaluate(kernel, DataType.BFLOAT16, *map(widen, given), *factors))
    shards = [Shards.of_bfloat16(each, (0,)) for each in given]
    assert np.array_equal(bits_of(short_stacks.of_several(kernel, (*shards, *factors))), wanted)
    assert all(each.bfloat16 is not None for each in shards)
    mixed = [Shards(widen(given[0]), (0,)), *shards[1:]]
    assert np.array_equal(bits_of(short_stacks.of_several(kernel, (*mixed, *factors))), wanted)


def test_numbers_stand_anywhere(with_torch: bool):
    x = elements(LENGTHS[0], 1)
    y = elements(LENGTHS[0], 2)
    kernel = lambda a, n, b: a - n * b  # noqa: E731
    found = short_stacks.of_several(
        kernel, (Shards.of_bfloat16(x, (0,)), np.float32(0.3), Shards.of_bfloat16(y, (0,)))
    )
    wanted = evaluate(kernel, DataType.BFLOAT16, widen(x), np.float32(0.3), widen(y))
    assert np.array_equal(bits_of(found), to_wire(wanted))


def test_what_is_small_unlike_or_wide_is_left_alone():
    x = elements(LENGTHS[0], 1)
    held, small = Shards.of_bfloat16(x, (0,)), Shards.of_bfloat16(x[:, :BLOCK].copy(), (0,))
    other = Shards.of_bfloat16(x.reshape(-1)[: x.size // 2 * 2].reshape(1, 2, -1), (0,))
    elsewhere, wide = Shards.of_bfloat16(x, (0, -1)), Shards(widen(x), (0,))
    turned = Shards.of_bfloat16(np.repeat(x, 2, axis=1)[:, ::2], (0,))
    for pair in ((small, small), (held, other), (held, elsewhere), (wide, wide), (held, turned)):
        assert short_stacks.of_several(np.hypot, pair) is None
    assert short_stacks.chosen(small, small, small) is None and short_stacks.chosen(held, held, other) is None


@pytest.mark.parametrize("kernel", [np.add, np.divide, np.less, np.hypot], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize(
    ("large", "small"),
    [
        ((3, 700, 256), (3, 1, 256)),
        ((3, 700, 256), (3, 700, 1)),
        ((3, 700, 256), (1, 1, 256)),
        ((1, 2, 90000), (1, 1, 1)),
        ((1, 5, 300, 256), (4, 1, 1, 256)),
    ],
)
def test_a_small_stack_is_repeated(
    kernel: Any, large: tuple[int, ...], small: tuple[int, ...], with_torch: bool
):
    x, y = elements(int(np.prod(large)), 1).reshape(large), elements(int(np.prod(small)), 2).reshape(small)
    for pair in ((x, y), (y, x), (x, widen(y)), (widen(x), y)):
        before = [each.tobytes() for each in pair]
        wide = [widen(each) if each.dtype == BFLOAT16 else each for each in pair]
        wanted = to_wire(evaluate(kernel, DataType.BFLOAT16, *wide, rounds=kernel is not np.less))
        found = short_stacks.spread(kernel, *pair)
        assert found.dtype == BFLOAT16 and np.array_equal(found.view(np.uint16), wanted)
        assert [each.tobytes() for each in pair] == before


@pytest.mark.torch
@pytest.mark.parametrize("kernel", [np.add, np.divide, f.subtract_from], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize(
    ("large", "small", "taken"),
    [
        ((3, 700, 256), (3, 1, 256), True),
        ((3, 700, 256), (3, 700, 1), True),
        ((3, 700, 256), (1, 1, 256), True),
        ((1, 5, 700, 64), (1, 5, 1, 1), True),
        ((1, 5, 700, 64), (1, 1, 700, 64), True),
        ((1, 2, 90048), (1, 1, 1), True),
        ((1, 5, 700, 64), (1, 5, 1, 64), False),  # neither a row nor a column
        ((1, 900, 200), (1, 1, 200), False),  # rows of no whole steps
    ],
)
def test_rows_and_columns_are_for_pytorch(
    kernel: Any, large: tuple[int, ...], small: tuple[int, ...], taken: bool
):
    import torch  # noqa: F401

    x, y = (
        np.random.default_rng(seed).normal(size=shape).astype(BFLOAT16)
        for seed, shape in enumerate((large, small))
    )
    for swapped in (False, True):
        found = torch_repeated.spread(kernel, x, y, swapped=swapped)
        assert (found is not None) is taken
        if found is not None:
            given = (widen(y), widen(x)) if swapped else (widen(x), widen(y))
            wanted = to_wire(evaluate(kernel, DataType.BFLOAT16, *given))
            assert np.array_equal(found.view(np.uint16), wanted)
    x.reshape(-1)[-1] = np.nan
    assert torch_repeated.spread(kernel, x, y, swapped=False) is None


@pytest.mark.parametrize(
    ("large", "small", "spreads"),
    [
        ((700, 256), (1, 256), True),
        ((700, 256), (256,), True),
        ((700, 256), (), True),
        ((700, 256), (700, 1), True),
        ((2, 700, 256), (700, 256), False),  # not small beside it
        ((700, 256), (1, 1, 1), False),  # the result has more dimensions
        ((1, 256 * 700), (7, 1), False),  # both are repeated
        ((16, 256), (256,), False),  # not large
    ],
)
def test_what_is_repeated(large: tuple[int, ...], small: tuple[int, ...], spreads: bool):
    x, y = (Shards.of_bfloat16(elements(int(np.prod(s)), 1).reshape(1, *s), (0,)) for s in (large, small))
    assert short_stacks.spreads(x, y) is short_stacks.spreads(y, x) is spreads
    wide = Shards(widen(x.stack), (0,))
    assert not short_stacks.spreads(wide, y)


@pytest.mark.parametrize("wide", [False, True])
def test_elements_are_chosen_as_they_are(wide: bool):
    asked, yes, no = (elements(LENGTHS[2], seed) for seed in range(3))
    asked.reshape(-1)[:4] = [0.0, -0.0, np.nan, 1e-40]
    shards = [Shards.of_bfloat16(each, (0,)) for each in (asked, yes, no)]
    if wide:
        shards[1] = Shards(widen(yes), (0,))
    wanted = np.where(widen(asked) != 0, yes.view(np.uint16), no.view(np.uint16))
    found = bits_of(short_stacks.chosen(shards[0], shards[1], shards[2]))
    numbers = (wanted & 0x7FFF) <= 0x7F80
    assert np.array_equal(found[numbers], wanted[numbers]) and (found[~numbers] & 0x7FFF > 0x7F80).all()
    if not wide:
        assert np.array_equal(found, wanted)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("numbers", "odd"),
    [
        ([1.0, -3.0, 0.0, -0.0], False),
        ([2.0**-109, 2.0**119 * 1.9921875], False),
        ([1.0, -(2.0**-110)], True),
        ([0.0, 9.2e-41], True),
        ([1.0, 2.0**120], True),
        ([0.0, -(2.0**120)], True),
        ([0.0, np.inf], True),
        ([1.0, -np.nan], True),
    ],
)
def test_edges(numbers: list[float], odd: bool):
    bits = np.array(numbers, np.float32).astype(BFLOAT16).view(np.uint16)
    assert torch_bfloat16.has_edges(bits) is odd


@pytest.mark.torch
def test_a_product_beyond_float32_is_rounded_before_its_sum():
    """-2**-10 * 0xe445 * 0xdfaa is infinite in float32; with 0x7cec added before it is rounded, it is not."""
    pytest.importorskip("torch")
    bits = np.full((3, 1, LENGTHS[1]), 0x3F80, np.uint16)
    bits[:, 0, 1000] = 0x7CEC, 0xE445, 0xDFAA
    shards = [Shards.of_bfloat16(each.view(BFLOAT16), (0,)) for each in bits]
    assert torch_bfloat16.has_several(f.add_product, 3, [-(2.0**-10)])
    found = bits_of(short_stacks.of_several(f.add_product, (*shards, np.float32(-(2.0**-10)))))
    assert found[0, 1000] == 0xFF80 and found[0, 0] == np.float32(1 - 2**-10).astype(BFLOAT16).view(np.uint16)


@pytest.mark.torch
def test_what_pytorch_has():
    """Products and their sums for factors of bfloat16 alone, quotients and their sums for all."""
    pytest.importorskip("torch")
    for kernel, number, known in (
        (f.add_product, 0.3, False),
        (f.add_product, 1.5, True),
        (f.add_quotient, 0.3, True),
        (np.hypot, 1.0, False),
    ):
        assert torch_bfloat16.has_several(kernel, 3, [number]) is known, (kernel, number)
    assert torch_bfloat16.has_several(f.product_and_sum, 3, [])
