"""A large tensor has the bits of the small ones that it is cut into, those of its NaN included: NumPy takes other loops and other orders for large arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, held, put
from tests.sweep import sweep
from tt_run.runtime import catalog
from tt_run.runtime.kernels.activations import FUNCTIONS
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.elementwise.binary_functions import RULES
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.scratch_arrays import BLOCK

ROWS, COLUMNS = 320, 512
NUMBERS = (0.3, -2.0, -0.0, 3.0, float("inf"))
Call = Callable[[Tensor, Tensor], Tensor]


def _calls() -> dict[str, Call]:
    def operation(name: str, *rest: Any, **named: Any) -> Call:
        return lambda a, b: catalog.find(f"ttnn.{name}")(a, *rest, **named)

    found: dict[str, Call] = {
        name: operation(name) for name in FUNCTIONS if name not in ("leaky_relu", "elu", "gelu_tanh")
    }
    found = {name: call for name, call in found.items() if catalog.find(f"ttnn.{name}") is not None}
    for name, rule in RULES.items():
        if not rule.integer:
            found[f"{name} of two"] = lambda a, b, name=name: catalog.find(f"ttnn.{name}")(a, b)
    for number in NUMBERS:
        for name in (
            "add",
            "multiply",
            "maximum",
            "pow",
            "remainder",
            "fmod",
            "floor_div",
            "prelu",
            "rsub",
            "logaddexp",
        ):
            found[f"{name} {number}"] = operation(name, number)
        for name in ("leaky_relu", "relu_max", "heaviside", "rpow", "fill"):
            found[f"{name} {number}"] = operation(name, number)
        found[f"threshold {number}"] = operation("threshold", 0.5, number)
        found[f"where {number}"] = operation("where", number, 1.5)
        found[f"clamp {number}"] = operation("clamp", number, 1.0)
        found[f"softshrink {number}"] = operation("softshrink", lambd=abs(number))
        found[f"lerp {number}"] = lambda a, b, number=number: catalog.find("ttnn.lerp")(a, b, number)
        found[f"addcmul {number}"] = lambda a, b, number=number: catalog.find("ttnn.addcmul")(
            a, b, a, value=number
        )
        found[f"addalpha {number}"] = lambda a, b, number=number: catalog.find("ttnn.addalpha")(a, b, number)
    found["lerp"] = lambda a, b: catalog.find("ttnn.lerp")(a, b, b)
    found["mac"] = lambda a, b: catalog.find("ttnn.mac")(a, b, a)
    found["snake_beta"] = lambda a, b: catalog.find("ttnn.snake_beta")(a, b, b)
    return found


CALLS = _calls()


def _operands() -> tuple[np.ndarray, np.ndarray]:
    """Half usual numbers, half every kind of bits."""
    random = np.random.default_rng(11)
    bits = random.integers(0, 1 << 16, (2, ROWS, COLUMNS), np.uint32) << np.uint32(16)
    found = bits.view(np.float32)
    usual = random.standard_normal((2, ROWS // 2, COLUMNS), np.float32) * 2
    found[:, ::2] = (usual.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return found[0], found[1]


BY_PYTORCH = ("digamma", "erfinv", "i0", "i1", "lgamma")
ROWS_OF_CALLS = [
    pytest.param(name, id=name, marks=[pytest.mark.torch] * (name in BY_PYTORCH)) for name in sorted(CALLS)
]


@pytest.mark.parametrize("name", sweep(ROWS_OF_CALLS, quick=sorted(CALLS)[::6]))
def test_a_large_tensor_has_the_bits_of_small_ones(one: MeshDevice, name: str):
    first, second = _operands()
    assert first.size > BLOCK

    def bits(rows: slice) -> np.ndarray:
        with np.errstate(all="ignore"):
            return held(CALLS[name](put(one, first[rows], BF16), put(one, second[rows], BF16))).view(
                np.uint32
            )

    pieces = [bits(slice(start, start + 32)) for start in range(0, ROWS, 32)]
    assert np.array_equal(bits(slice(0, ROWS)), np.concatenate(pieces))
