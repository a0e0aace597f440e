"""Layouts that operations refuse in an operand, and the types of tensors made for results."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.layouts import LAYOUTS
from tt_run.runtime.tensor.spec.memory_config import CoreGrid, ShardStrategy, create_sharded_memory_config
from tt_run.runtime.tensor.tensor import Tensor


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_an_operand_in_another_layout_is_refused(one: MeshDevice, name: str):
    operation = catalog.find(f"ttnn.{name}")
    for wanted in LAYOUTS[name]:
        other = ROW if wanted.layout is TILE else TILE
        for operand in wanted.operands:
            tensor = put(one, np.ones((32, 32)), BF16, other)
            with pytest.raises(RuntimeError, match=f"(?s){operand}=ttnn.to_layout.*(?i:til|layout)"):
                operation(**{operand: tensor})


def test_names_are_parameters():
    for name, rules in LAYOUTS.items():
        named = inspect.signature(catalog.find(f"ttnn.{name}").compute).parameters
        assert {operand for wanted in rules for operand in wanted.operands} <= set(named), name


def test_a_sharded_operand_of_three_may_lie_in_rows(one: MeshDevice):
    x = np.linspace(-2, 2, 64 * 64, dtype=np.float32).reshape(64, 64)
    cut = create_sharded_memory_config((64, 64), CoreGrid(y=1, x=2), ShardStrategy.HEIGHT)
    tensor = put(one, x, F32, ROW)
    with pytest.raises(RuntimeError, match="non-sharded input tensor"):
        ops.lerp(tensor, tensor, 0.5)
    held_in_rows = ops.to_memory_config(tensor, cut)
    assert np.array_equal(held(ops.lerp(held_in_rows, held_in_rows, 0.5)), x)


def test_results_of_one_layout_whatever_the_operand(one: MeshDevice):
    x = put(one, np.ones((1, 1, 32, 64)), BF16, ROW)
    for name, more in (("rotate_half", ()), ("rotary_embedding", (x, x))):
        assert catalog.find(f"ttnn.experimental.{name}")(x, *more).layout is TILE
    tiles = put(one, np.ones((1, 1, 32, 64)), BF16)
    assert ops.fill_ones_rm(1, 1, 32, 64, 2, 2, tiles).layout is ROW


def _lerp(x: Tensor, **room: Any) -> Any:
    return ops.lerp(x, x, 0.5, **room)


@pytest.mark.parametrize("operation", [ops.exp, ops.relu, ops.tanh, _lerp])
def test_a_result_goes_over_into_the_type_of_its_room(one: MeshDevice, operation: Any):
    x = np.linspace(-3, 3, 32 * 64, dtype=np.float32).reshape(32, 64)
    for given, room in ((BF16, F32), (F32, BF16), (BF16, BFP8), (BFP8, F32)):
        source = put(one, x, given)
        output = put(one, np.zeros_like(x), room)
        assert operation(source, output_tensor=output) is output
        exact = operation(put(one, held(source), F32))
        assert np.array_equal(held(output), held(put(one, held(exact), room)))


@pytest.mark.parametrize(
    ("given", "room", "layout", "sentence"),
    [
        (BF16, I32, TILE, "Preallocated output dtype DataType::INT32 is not compatible with input dtype"),
        (BF16, DataType.BFLOAT4_B, TILE, "Preallocated output dtype DataType::BFLOAT4_B"),
        (I32, BF16, TILE, "Integer and float dtypes cannot be mixed"),
        (BF16, BF16, ROW, "must match input when preallocated. Output: 0, Input: 1"),
    ],
)
def test_rooms_of_unary_operations_that_are_refused(
    one: MeshDevice, given: Any, room: Any, layout: Any, sentence: str
):
    with pytest.raises(RuntimeError, match=sentence):
        ops.relu(put(one, np.ones((32, 32)), given), output_tensor=put(one, np.ones((32, 32)), room, layout))
