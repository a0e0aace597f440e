"""Layouts, types and places of gradients of operands that differ in them, and what is refused, as in reference library 0.81.1."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, cores
from tests.runtime.ops.placement.test_reordered_shards import BY_ROW
from tests.runtime.ops.tensors import BF16, F32, ROW, TILE, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import BufferType, DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.conversions import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)

pytestmark = pytest.mark.torch
PLACES = {
    "d": DRAM_MEMORY_CONFIG,
    "l": L1_MEMORY_CONFIG,
    "h": MemoryConfig(HEIGHT, BufferType.L1, ShardSpec(cores((1, 0)), (32, 64), BY_ROW)),
    "w": MemoryConfig(WIDTH, BufferType.L1, ShardSpec(cores((1, 0)), (64, 32), BY_ROW)),
    "b": MemoryConfig(BLOCK, BufferType.L1, ShardSpec(cores((1, 1)), (32, 32), BY_ROW)),
}
LAYOUTS = {"T": TILE, "R": ROW}
NUMBERS = {"addcmul": (1.0,), "addcdiv": (1.0,), "pow": (2.0,), "clamp": (-1.0, 1.0)}


def gradients(one: MeshDevice, name: str, tensors: list[Any], *more: Any) -> Any:
    found = catalog.find(f"ttnn.{name}_bw")
    assert found is not None
    return found(*tensors, *more, *NUMBERS.get(name, ()))


def like(one: MeshDevice, letter: str) -> Any:
    return put(one, np.full((64, 64), 2.0), BF16, LAYOUTS[letter])


def laid(found: Any) -> str:
    return "".join("T" if tensor.layout is Layout.TILE else "R" for tensor in found)


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("abs", "RT", "T"), ("abs", "TR", "T"), ("abs", "RR", "R"),
        ("exp", "TR", "R"), ("round", "RT", "R"), ("prod", "RR", "T"),
        ("assign", "RT", "R"), ("add", "TTR", "TR"), ("div", "RRT", "RT"), ("rsub", "RTT", "RR"),
        ("mul", "RTR", "RT"), ("mul", "RRT", "TR"), ("ldexp", "RTR", "RT"), ("fmod", "RTR", "RT"), ("max", "RTR", "TT"),
        ("where", "RRTT", "RR"), ("where", "RTRR", "TT"),
        ("lerp", "RTTR", "RRT"), ("lerp", "RRRT", "TTR"),
        ("addcmul", "RTTR", "RRT"), ("addcmul", "RTRT", "RTR"), ("addcdiv", "RRRT", "RTT"),
    ],
)  # fmt: skip
def test_layouts(one: MeshDevice, name: str, given: str, found: str):
    assert laid(gradients(one, name, [like(one, letter) for letter in given])) == found


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("add", "TRT", r"layout \(Layout::TILE\) must equal output tensor layout \(Layout::ROW_MAJOR\)"),
        ("assign", "RTT", r"layout \(Layout::ROW_MAJOR\) must equal output tensor layout \(Layout::TILE\)"),
        ("sub", "TTR", "Output: 0, Input: 1"),
        ("neg", "TR", "Output: 0, Input: 1"),
        ("tanh", "RT", "TANH_BW operation requires grad_output and input to have the same layout"),
        ("bias_gelu", "TRR", "GELU_BW operation requires"),
        ("exp", "RR", "Optional output tensor with Row Major input"),
        ("div", "RTR", "Optional output tensor with Row Major input"),
        ("max", "TRR", "Ternary operation requires tensor to be in Tile layout"),
        ("addcdiv", "TTTR", "Ternary operation requires tensor to be in Tile layout"),
    ],
)
def test_layouts_that_do_not_go_together(one: MeshDevice, name: str, given: str, said: str):
    with pytest.raises(RuntimeError, match=said):
        gradients(one, name, [like(one, letter) for letter in given])


@pytest.mark.parametrize("name", ["mul", "div"])
def test_rows_beside_a_number_are_not_written_into_a_tensor(one: MeshDevice, name: str):
    assert laid(gradients(one, name, [like(one, "T"), like(one, "R")], 2.0)) == "R"
    with pytest.raises(RuntimeError, match="Optional output tensor with Row Major input"):
        gradients(one, name, [like(one, "R"), like(one, "T")], 2.0)


def lying(one: MeshDevice, letter: str) -> Any:
    return to_memory_config(put(one, np.full((64, 64), 2.0), BF16, TILE), PLACES[letter])


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("addcmul", "dhdl", "dhh"), ("addcmul", "hlbd", "hll"), ("addcdiv", "lddh", "ldd"),
        ("where", "lhhh", "ll"), ("where", "dhhh", "dd"),
        ("lerp", "dldh", "hhd"), ("lerp", "dhdd", "ddh"), ("lerp", "dhld", "ddd"), ("lerp", "lhhh", "lll"), ("lerp", "hddb", "bbh"),
        ("max", "hhw", "ww"), ("max", "dhl", "ll"), ("min", "hhl", "hh"), ("atan2", "hwl", "lw"), ("atan2", "ldh", "hd"),
        ("logaddexp", "hlb", "bh"), ("squared_difference", "hlb", "hh"), ("xlogy", "hlb", "bh"), ("fmod", "hlb", "hh"),
        ("square", "hb", "b"), ("square", "hw", "h"), ("log", "hw", "w"),
        ("assign", "hl", "h"), ("assign", "dhl", "hl"),
        ("abs", "lh", "l"), ("abs", "dh", "h"), ("log", "lh", "h"), ("pow", "hl", "l"), ("erf", "hl", "l"), ("clamp", "hd", "d"),
    ],
)  # fmt: skip
def test_places(one: MeshDevice, name: str, given: str, found: str):
    results = gradients(one, name, [lying(one, letter) for letter in given])
    assert [tensor.memory_config() for tensor in results] == [PLACES[letter] for letter in found]


@pytest.mark.parametrize(
    ("name", "count", "found"),
    [
        ("frac", 2, "d"), ("assign", 2, "d"), ("assign", 3, "ll"), ("ceil", 2, "l"), ("fmod", 3, "dl"), ("remainder", 3, "dl"),
        ("addcmul", 4, "dll"), ("addcdiv", 4, "dll"),
    ],
)  # fmt: skip
def test_a_gradient_that_is_handed_on_stays_where_it_lies(one: MeshDevice, name: str, count: int, found: str):
    operation = catalog.find(f"ttnn.{name}_bw")
    assert operation is not None
    given = [lying(one, "d")] * count
    results = operation(*given, *NUMBERS.get(name, ()), memory_config=PLACES["l"])
    assert [tensor.memory_config() for tensor in results] == [PLACES[letter] for letter in found]


@pytest.mark.parametrize("name", ["where", "clamp", "log2", "relu6", "hardshrink"])
def test_types_that_are_chosen_between(one: MeshDevice, name: str):
    given = [like(one, "T"), put(one, np.ones((64, 64)), F32, TILE), *([like(one, "T")] * 2)]
    with pytest.raises(RuntimeError, match="Mixed dtype is not supported"):
        gradients(one, name, given[: 4 if name == "where" else 2])


def test_types_of_the_operand(one: MeshDevice):
    for name in ("erf", "pow", "prod"):
        (found,) = gradients(one, name, [put(one, np.ones((64, 64)), F32, TILE), like(one, "T")])
        assert found.dtype is BF16
    (found,) = gradients(one, "assign", [like(one, "T"), put(one, np.ones((64, 64)), F32, TILE)])
    assert found.dtype is BF16


def test_what_has_no_gradient(one: MeshDevice):
    with pytest.raises(RuntimeError, match="must be INTERLEAVED, got: TensorMemoryLayout::HEIGHT_SHARDED"):
        gradients(one, "prod", [lying(one, "d"), lying(one, "h")])
    with pytest.raises(RuntimeError, match=r"Input shape\[0\] must be 1 but got 64"):
        gradients(one, "repeat", [like(one, "T")] * 2, [1, 1])


@pytest.mark.parametrize(
    ("name", "dtype", "layout", "words"),
    [
        ("gelu", F32, TILE, "GELU_BW operation requires the input and output data types to match"),
        ("tanh", BF16, ROW, "requires a preallocated output tensor to have the same layout as the input"),
        (
            "neg",
            BF16,
            ROW,
            "Unary: Output format (tile/row-major) must match input when preallocated. Output: 0, Input: 1",
        ),
        (
            "neg",
            DataType.BFLOAT4_B,
            TILE,
            "Preallocated output dtype DataType::BFLOAT4_B is not compatible with input dtype",
        ),
        (
            "sqrt",
            F32,
            TILE,
            "BinaryOpType::WHERE_TST, dtype A: DataType::BFLOAT16, dtype B: DataType::FLOAT32",
        ),
        ("neg", F32, TILE, None),
        ("exp", F32, TILE, None),
        ("gelu", BF16, TILE, None),
    ],
)
def test_a_tensor_for_a_gradient(
    one: MeshDevice, name: str, dtype: DataType, layout: Layout, words: str | None
):
    found = catalog.find(f"ttnn.{name}_bw")
    assert found is not None
    x, room = like(one, "T"), put(one, np.zeros((64, 64)), dtype, layout)
    if words is None:
        assert found(x, x, input_grad=room)[0].dtype is dtype
    else:
        with pytest.raises(RuntimeError, match=re.escape(words)):
            found(x, x, input_grad=room)
