"""A shard's bits do not depend on threads, on what is stacked beside it, or on where it lies.

These are measurements of the NumPy and BLAS at hand: the rules in `gemm`, `elementwise`, `rows` and `reduction` rest on them.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.sweep import sweep, thinned
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import bfloat16_tables, blas, gemm, ordered_sums, wider_calls
from tt_run.runtime.kernels.activations import FUNCTIONS
from tt_run.runtime.kernels.elementwise import BLOCK, evaluate
from tt_run.runtime.kernels.rowwise import along_last
from tt_run.runtime.ops.elementwise.binary_functions import RULES
from tt_run.runtime.ops.normalisation import softmax_rows

ODD_SHAPES = [
    *[
        (1, 4096, 77),
        (300, 4096, 1),
        (1, 50, 1),
        (5, 1, 9),
        (4, 8192, 32),
        (2, 2357, 137),
        (3, 5, 1),
        (1, 1, 9),
    ],
    *[(256, 568, 284), (231, 1183, 226), (12, 658, 88), (16, 2470, 105), (68, 125, 116), (32, 512, 1100)],
    *[(1100, 640, 33), (130, 700, 1500), (7, 20000, 7), (46, 525, 31), (82, 998, 35), (64, 64, 64)],
]

PRODUCTS = """
import hashlib, sys
import numpy as np
from tt_run.runtime.kernels import gemm
for m, k, n in eval(sys.argv[1]):
    rng = np.random.default_rng(m * 7919 + k * 31 + n)
    a, b = rng.standard_normal((1, m, k), np.float32), rng.standard_normal((1, k, n), np.float32)
    print(hashlib.sha256(gemm.matmul(a, b).tobytes()).hexdigest()[:16])
"""


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def products_with(threads: int, shapes: list[tuple[int, int, int]]) -> list[str]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", PRODUCTS, repr(shapes)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.skipif(not blas.controlled(), reason="this NumPy has a BLAS whose threads cannot be held")
def test_products_have_the_same_bits_on_any_number_of_threads():
    one = products_with(1, ODD_SHAPES)
    assert len(one) == len(ODD_SHAPES)
    for threads in (2, 4):
        assert products_with(threads, ODD_SHAPES) == one


@pytest.mark.slow
@pytest.mark.skipif(not blas.controlled(), reason="this NumPy has a BLAS whose threads cannot be held")
def test_products_of_the_main_job_have_the_same_bits_on_any_number_of_threads():
    shapes = [(256, 4544, 2272), (256, 18176, 568)]
    assert products_with(1, shapes) == products_with(2, shapes)


def test_the_threads_that_a_program_set_come_back():
    before = [control.get() for control in blas._controls()]
    with blas.single_threaded(), blas.single_threaded():
        assert [control.get() for control in blas._controls()] == [1] * len(before)
    assert [control.get() for control in blas._controls()] == before


@pytest.mark.parametrize(
    ("m", "k", "n"), thinned([s for s in sorted(ODD_SHAPES) if s[0] * s[1] * s[2] < 20_000_000], 4)
)
def test_a_product_is_the_same_alone_and_stacked(m: int, k: int, n: int):
    rng = np.random.default_rng(m + k + n)
    a, b = rng.standard_normal((5, m, k), np.float32), rng.standard_normal((5, k, n), np.float32)
    whole = gemm.matmul(a, b)
    np.testing.assert_allclose(whole, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-3)
    wide = np.zeros((k, 7 * n), np.float32)
    for i in range(5):
        wide[:, i * n : (i + 1) * n] = b[i]
    strided = np.moveaxis(wide.reshape(k, 7, n), 1, 0)
    replicated = gemm.matmul(np.broadcast_to(a[2], a.shape), strided[:5])
    for i in range(5):
        assert digest(gemm.matmul(a[i : i + 1], b[i : i + 1])[0]) == digest(whole[i])
        assert digest(gemm.matmul(a[2:3], b[i : i + 1])[0]) == digest(replicated[i])


def test_a_transposed_view_is_the_same_alone_and_stacked():
    rng = np.random.default_rng(4)
    for m, k, n in ((3, 70, 5), (1, 70, 5), (33, 64, 1)):
        a, b = rng.standard_normal((4, m, k), np.float32), rng.standard_normal((4, n, k), np.float32)
        whole = gemm.matmul(a, b.swapaxes(-1, -2))
        for i in range(4):
            assert digest(gemm.matmul(a[i : i + 1], b[i : i + 1].swapaxes(-1, -2))[0]) == digest(whole[i])


@pytest.mark.parametrize(
    ("m", "k", "n"),
    thinned([(128, 384, 768), (128, 384, 1536), (32, 512, 96), (48, 640, 200), (512, 384, 1536)], 3),
)
def test_a_product_in_fewer_calls_has_the_bits_of_many(
    m: int, k: int, n: int, monkeypatch: pytest.MonkeyPatch
):
    """From the third time on a shape may go through the BLAS in wider calls."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    rng = np.random.default_rng(m + n)
    a, w = rng.standard_normal((4, m, k), np.float32), rng.standard_normal((n, k), np.float32)
    for right in (np.ascontiguousarray(w.T), w.T):
        shared = np.broadcast_to(right, (4, k, n))
        alone = [digest(gemm.matmul(a[i : i + 1], right[None])[0]) for i in (0, 1)]
        for _ in range(4):
            together = gemm.matmul(a, shared)
            assert [digest(together[i]) for i in (0, 1)] == alone
            assert digest(gemm.matmul(a[1:2], right[None])[0]) == alone[1]


def test_a_wider_call_that_would_change_bits_is_not_made():
    """The verdict is a measurement: a library that sums tall products otherwise keeps the narrow calls."""
    shape = wider_calls.Shape(2, 128, 64, 128, True, True)

    def one_panel(m: int, k: int, n: int):
        yield slice(0, m), slice(0, n)

    real = np.matmul

    def by_height(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return real(a, b) if len(a) == 128 else real(a[:, ::-1], b[::-1])

    wider_calls._agrees.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wider_calls.np, "matmul", by_height)
        assert not wider_calls._agrees(shape, one_panel)
    wider_calls._agrees.cache_clear()


def samples(length: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(length).astype(np.float32) * rng.choice([0.1, 1, 30]).astype(np.float32)
    values[:: max(length // 3, 1)] = rng.choice([0.0, -0.0, np.inf, 1e-40, 300.0, np.nan])
    return values


@pytest.mark.parametrize("name", thinned(sorted(FUNCTIONS), 3))
def test_a_function_gives_an_element_the_same_bits_anywhere(name: str):
    function = FUNCTIONS[name]
    for length in (1, 2, 3, 7, 8, 15, 17, 33, 65, 127):
        shard = samples(length, length)
        alone = digest(evaluate(function, DataType.FLOAT32, shard[None]))
        for rows in (2, 3, 5):
            stack = np.stack([samples(length, 100 + r) for r in range(rows)])
            stack[-1] = shard
            assert digest(evaluate(function, DataType.FLOAT32, stack)[-1]) == alone, (length, rows)


@pytest.mark.parametrize("name", ["add", "hypot", "atan2", "logaddexp", "remainder", "xlogy"])
def test_a_binary_function_gives_an_element_the_same_bits_anywhere(name: str):
    kernel = RULES[name].kernel
    for length in (1, 3, 9, 31, 66):
        a, b = samples(length, 1), samples(length, 2)
        alone = digest(evaluate(kernel, DataType.FLOAT32, a[None], b[None]))
        stack_a, stack_b = np.stack([b, b, a]), np.stack([a, a, b])
        assert digest(evaluate(kernel, DataType.FLOAT32, stack_a, stack_b)[2]) == alone
        assert (
            digest(evaluate(kernel, DataType.FLOAT32, stack_a, np.broadcast_to(b, (3, length)))[2]) == alone
        )


def test_blocks_and_threads_do_not_change_elements():
    values = samples(9 * BLOCK + 77, 5).reshape(1, -1)
    for dtype in (DataType.FLOAT32, DataType.BFLOAT16):
        whole = evaluate(np.tanh, dtype, values)
        pieces = [evaluate(np.tanh, dtype, values[:, i : i + 1000]) for i in range(0, values.size, 1000)]
        assert digest(whole) == digest(np.concatenate(pieces, axis=1))


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
def test_a_sum_is_the_same_alone_and_stacked(axes: tuple[int, ...]):
    for shape in ((3, 70, 33), (1, 5, 1), (40, 1, 7), (2, 130, 1)):
        stack = np.random.default_rng(1).standard_normal((6, *shape), np.float32)
        whole = ordered_sums.total(ordered_sums.rows_of(stack, axes))
        for i in range(6):
            assert digest(ordered_sums.total(ordered_sums.rows_of(stack[i : i + 1], axes))[0]) == digest(
                whole[i]
            )


@pytest.mark.parametrize("width", [1, 5, 32, 100, 5000])
def test_softmax_rows_are_the_same_in_any_company(width: int):
    stack = np.random.default_rng(2).standard_normal((4, 9, width), np.float32)
    whole = along_last(softmax_rows.stable, DataType.FLOAT32, stack)
    for i in range(4):
        for row in range(9):
            alone = along_last(softmax_rows.stable, DataType.FLOAT32, stack[i : i + 1, row : row + 1])
            assert digest(alone) == digest(whole[i, row])


@pytest.mark.parametrize("name", sweep(sorted(FUNCTIONS), quick=sorted(FUNCTIONS)[::6]))
def test_a_table_gives_the_bits_of_the_computation(name: str):
    function = FUNCTIONS[name]
    every_value = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    stack = np.random.default_rng(1).permutation(np.tile(every_value, 3)).reshape(3, 1, -1)
    assert (
        bfloat16_tables.look_up(function, stack).tobytes()
        == evaluate(function, DataType.BFLOAT16, stack).tobytes()
    )
