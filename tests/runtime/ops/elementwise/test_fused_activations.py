"""Activations before and after every function of two operands that takes them, against its golden function."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from tests.runtime.ops.golden import check
from tests.runtime.ops.tensors import BF16, F32, I32, held, put
from tests.sweep import thinned
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.dispatch import VALUES
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam

WORDS = ("activations", "input_tensor_a_activations", "input_tensor_b_activations")
BITS = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "logical_left_shift",
    "logical_right_shift",
    "gcd",
    "lcm",
]
"""Those of integers alone."""
CHAINS = {
    "square": [UnaryOpType.SQUARE],
    "bounded": [UnaryWithParam(UnaryOpType.RELU_MAX, 2.0)],
    "two": [UnaryOpType.NEG, UnaryWithParam(UnaryOpType.ADD_UNARY_SFPU, 2.0)],
}


def taking() -> list[str]:
    """The names of all operations that have the three keywords, each once."""
    every = {id(operation): operation for operation in catalog.every().values() if operation.state == VALUES}
    found = [o for o in every.values() if {*WORDS} <= {*inspect.signature(o.compute).parameters}]
    return sorted(o.name.removeprefix("ttnn.") for o in found)


def operands(name: str, dtype: DataType) -> list[np.ndarray]:
    rng = np.random.default_rng(11)
    shapes = [(2, 3, 33), (2, 3, 33) if name.endswith("_") else (3, 1)]
    if dtype is I32:
        return [rng.integers(1, 7, shape) for shape in shapes]
    return [rng.uniform(0.4, 3, shape).astype(np.float32) for shape in shapes]


@pytest.mark.torch
@pytest.mark.parametrize("name", thinned(taking(), 6))
def test_each_keyword_of_each_operation(one: MeshDevice, name: str):
    if name in BITS:
        # Golden functions shift by less than 32, and have no bits of floats.
        for word in WORDS[: 2 if "shift" in name else 3]:
            check(one, name, operands(name, I32), dtype=I32, **{word: CHAINS["square"]})
        return
    for word in WORDS:
        for chain in CHAINS.values():
            for dtype in (BF16, F32):
                check(one, name, operands(name, dtype), dtype=dtype, steps=64, **{word: chain})


@pytest.mark.torch
@pytest.mark.parametrize("name", ["add", "subtract_", "multiply", "eq", "logical_xor", "minimum"])
def test_of_integers(one: MeshDevice, name: str):
    for word in WORDS:
        for chain in CHAINS.values():
            check(one, name, operands(name, I32), dtype=I32, **{word: chain})


@pytest.mark.parametrize("name", BITS)
def test_operands_of_bits_are_whole_after_an_activation(one: MeshDevice, name: str):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    a, b = np.array([[5, -8, 40, 3]]), np.array([[1, 2, 3, 2]])
    half = [UnaryWithParam(UnaryOpType.MUL_UNARY_SFPU, 0.5)]
    wanted = held(operation(put(one, np.trunc(a / 2).astype(int), I32), put(one, b, I32)))
    found = operation(put(one, a, I32), put(one, b, I32), input_tensor_a_activations=half)
    assert found.dtype is I32 and held(found).tolist() == wanted.tolist()
