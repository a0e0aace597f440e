"""Element types of three operands, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, U16, U32, put
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice

ONES = np.ones((32, 64), np.float32)
MIXED = "Mixed dtype is not supported for binary operation BinaryOpType::"


def op(one: MeshDevice, name: str, *given: Any) -> Any:
    tensors = [g if isinstance(g, float) else put(one, ONES, g) for g in given]
    return catalog.find(f"ttnn.{name}")(*tensors)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("addcmul", (BF16, BF16, F32), "requires all input tensors to have the same dtype. Got input_a=DataType::BFLOAT16, input_b"),
        ("addcdiv", (I32, BF16, BFP8), f"{MIXED}ADD, dtype A: DataType::INT32, dtype B: DataType::BFLOAT16"),
        ("addcdiv", (BF16, I32, BFP8), "UnaryOpType::SIGN does not support integer input dtype DataType::INT32"),
        ("addcdiv", (BF16, BFP8, U16), "Input tensor B dtype DataType::UINT16 is not supported for binary operation BinaryOpType::DIV"),
        ("where", (BF16, F32, 2.0), f"{MIXED}WHERE_TTS, dtype A: DataType::BFLOAT16, dtype B: DataType::FLOAT32"),
        ("where", (I32, 2.0, U32), f"{MIXED}WHERE_TST, dtype A: DataType::INT32, dtype B: DataType::UINT32"),
        ("where", (U16, 2.0, I32), "Input tensor A dtype DataType::UINT16 is not supported for binary operation BinaryOpType::WHERE_TST"),
        ("lerp", (BF16, U32, 0.5), "lerp does not support UINT32 inputs. Got input=DataType::BFLOAT16, end=DataType::UINT32"),
        ("lerp", (I32, I32, 0.5), f"{MIXED}ADD, dtype A: DataType::INT32, dtype B: DataType::FLOAT32"),
        ("clamp", (BF16, BF16, F32), f"{MIXED}MINIMUM, dtype A: DataType::BFLOAT16, dtype B: DataType::FLOAT32"),
        ("clamp", (F32, BF16, BF16), f"{MIXED}MINIMUM, dtype A: DataType::FLOAT32, dtype B: DataType::BFLOAT16"),
        ("clamp", (U16, U16, U16), "Input tensor A dtype DataType::UINT16 is not supported for binary operation BinaryOpType::MINIMUM"),
        ("clamp", (BF16, I32), f"{MIXED}GE, dtype A: DataType::BFLOAT16, dtype B: DataType::INT32"),
        ("multiply", (F32, U16), f"{MIXED}MUL, dtype A: DataType::FLOAT32, dtype B: DataType::UINT16"),
        ("isclose", (BF16, BFP8), f"{MIXED}ISCLOSE, dtype A: DataType::BFLOAT16, dtype B: DataType::BFLOAT8_B"),
        ("mac", (BF16, BF16, I32), f"{MIXED}ADD, dtype A: DataType::BFLOAT16, dtype B: DataType::INT32"),
        ("mac", (BF16, U16, BF16), f"{MIXED}MUL, dtype A: DataType::BFLOAT16, dtype B: DataType::UINT16"),
        ("mac", (I32, 2.0, I32), f"{MIXED}ADD, dtype A: DataType::FLOAT32, dtype B: DataType::INT32"),
    ],
)  # fmt: skip
def test_types_that_do_not_go_together(one: MeshDevice, name: str, given: tuple[Any, ...], words: str):
    with pytest.raises(RuntimeError) as caught:
        op(one, name, *given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("addcdiv", (BF16, F32, BFP8), F32),
        ("addcdiv", (F32, BF16, BFP8), F32),
        ("addcdiv", (BF16, F32, BF16), BF16),
        ("where", (I32, BF16, 2.0), BF16),
        ("mac", (I32, 2.0, BF16), F32),
        ("mac", (I32, BFP8, F32), BF16),
        ("mac", (BF16, F32, F32), BF16),
    ],
)
def test_types_of_results(one: MeshDevice, name: str, given: tuple[Any, ...], wanted: Any):
    assert op(one, name, *given).dtype is wanted
