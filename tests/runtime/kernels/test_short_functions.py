"""Quicker forms of functions of bfloat16 numbers: the bits of NumPy's own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import short_functions as short
from tt_run.runtime.kernels.activations import Applied
from tt_run.runtime.kernels.bfloat16_tables import Unrounded, look_up
from tt_run.runtime.kernels.elementwise import evaluate
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.scratch_arrays import BLOCK

Array = npt.NDArray[Any]
SPECIAL = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3, -3, 1e-40, -1e-40, 0.1, 7e5], np.float32)
QUOTIENTS: list[tuple[Callable[..., Array], Callable[..., Array]]] = [
    (short.fmod, np.fmod),
    (short.remainder, np.remainder),
    (short.floor_divide, np.floor_divide),
]
SUMS: list[tuple[Callable[..., Array], Callable[..., Array]]] = [
    (short.log_of_sum, np.logaddexp),
    (short.log2_of_sum, np.logaddexp2),
]


def named(pair: Any) -> str:
    return str(pair[1].__name__)


def operands() -> list[tuple[Array, Array]]:
    random = np.random.default_rng(5)
    wild = (random.integers(0, 1 << 16, (2, 1 << 17), np.uint32) << 16).view(np.float32)
    usual = [
        random.standard_normal((2, 1 << 14)).astype(BFLOAT16).astype(np.float32) * np.float32(2.0**power)
        for power in (-10, 0, 7)
    ]
    whole = random.integers(-40, 40, (2, 1 << 14)).astype(np.float32)
    pairs = [(a, b) for a, b in (wild, *usual, whole)]
    return [*pairs, (usual[2][0], usual[0][1]), (SPECIAL[:, None], SPECIAL[None]), (wild[0], np.float32(1.7))]


@pytest.mark.parametrize("pair", QUOTIENTS, ids=named)
def test_quotients_have_the_bits_of_numpy(pair: Any):
    quick, function = pair
    with np.errstate(all="ignore"):
        for a, b in operands():
            found, wanted = quick(a, b), function(a, b)
            assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize("pair", SUMS, ids=named)
def test_logarithms_of_sums_are_right_in_bfloat16(pair: Any):
    quick, function = pair
    with np.errstate(all="ignore"):
        for a, b in operands():
            found, wanted = quick(a, b), function(np.float64(a), np.float64(b)).astype(np.float32)
            assert np.array_equal(found.astype(BFLOAT16), wanted.astype(BFLOAT16), equal_nan=True)


def test_a_table_knows_the_sign_of_a_parameter():
    """Numbers are equal to such of another sign, and a table of one must not be taken for the other's."""
    stack = np.full((1, 1 << 17), -3, np.float32)
    for value in (0.0, -0.0):
        found = look_up(Applied(f.threshold, (0.5, value)), stack)
        assert np.signbit(found).all() == np.signbit(value) and not found.any()


@pytest.mark.parametrize(
    "applied",
    [
        Applied(f.power, (np.float32(3),)),
        Applied(f.prelu, (np.float32(0.1),)),
        Applied(short.remainder, (np.float32(1.5),)),
        Applied(short.floor_divide, (np.float32(-0.75),)),
    ],
    ids=lambda applied: applied.function.__name__,
)
def test_a_table_gives_the_bits_of_the_computation(applied: Applied):
    every = np.tile((np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32), 2)[None]
    assert look_up(applied, every).tobytes() == evaluate(applied, DataType.BFLOAT16, every).tobytes()


@pytest.mark.parametrize(
    "function", [f.silu, f.gelu, np.tanh, Applied(f.elu, (0.5,))], ids=["silu", "gelu", "tanh", "elu"]
)
def test_a_table_of_what_is_not_rounded_yet_has_the_bits_of_the_function(function: Callable[..., Array]):
    every = np.tile((np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32), 3)[None]
    with np.errstate(all="ignore"):
        assert Unrounded(function)(every).tobytes() == function(every).tobytes()
        assert Unrounded(function)(every[:, :100]).tobytes() == function(every[:, :100]).tobytes()
    whole = np.arange(1 << 18, dtype=np.int32)
    assert Unrounded(np.negative)(whole).tobytes() == (-whole).tobytes()


FAULTS = """
import resource
import numpy as np
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import short_functions as short
from tt_run.runtime.values.scratch_arrays import BLOCK

x = np.full(BLOCK, 0.5, np.float32)
for _ in range(3):
    f.gelu(x)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    f.gelu(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts the page faults of glibc's allocator")
def test_intermediate_results_come_out_of_memory_that_is_there():
    """Each of the 20 calls makes arrays of 512 KiB: 128 pages of 4 KiB, for which the system would be asked again."""
    run = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    pages = BLOCK * 4 // 4096
    assert int(run.stdout) < 20 * pages
