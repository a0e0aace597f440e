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
from tt_run.runtime.ops.declaration.layouts import LAYOUTS, check_layouts
from tt_run.runtime.tensor.spec.memory_config import CoreGrid, ShardStrategy, create_sharded_memory_config
from tt_run.runtime.tensor.tensor import Tensor


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_an_operand_in_another_layout_is_refused(one: MeshDevice, name: str):
    names = list(inspect.signature(catalog.find(f"ttnn.{name}").compute).parameters)
    for wanted in LAYOUTS[name]:
        other = ROW if wanted.layout is TILE else TILE
        for operand in wanted.operands:
            tensor = put(one, np.ones((32, 32)), BF16, other)
            beside = {word: put(one, np.ones((32, 32)), BF16) for word in wanted.beside}
            with pytest.raises(RuntimeError, match=f"(?s){operand}=ttnn.to_layout.*(?i:til|layout)"):
                check_layouts(name.rpartition(".")[2], LAYOUTS[name], names, (), {operand: tensor, **beside})


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


def test_a_choice_of_rows_needs_tiles_between_two_tensors_only(one: MeshDevice):
    x = np.array([[1, 0, 2]], np.float32)
    rows, tiles = put(one, x, BF16, ROW), put(one, -x, BF16)
    for chosen in (ops.where(rows, 2.0, -1.0), ops.where(rows, rows, -1.0), ops.where(rows, 2.0, rows)):
        assert chosen.layout is ROW
        assert held(chosen)[0, 0] in (1, 2)
    with pytest.raises(RuntimeError, match="non-sharded input tensor"):
        ops.where(rows, tiles, tiles)


def test_integers_in_rows_are_multiplied_and_added(one: MeshDevice):
    whole = put(one, [[2, 3]], I32, ROW)
    found = ops.mac(whole, whole, whole)
    assert (found.layout, held(found).tolist()) == (ROW, [[6, 12]])
    with pytest.raises(RuntimeError, match="non-sharded input tensor"):
        ops.mac(put(one, [[2, 3]], BF16, ROW), put(one, [[2, 3]], BF16, ROW), 1.0)
    assert held(ops.mac(put(one, [[2, 3]], BF16, ROW), 2.0, 1.0)).tolist() == [[5, 7]]


def test_rows_are_not_written_into_a_tensor_that_is_there(one: MeshDevice):
    """Neither over the first operand nor into another tensor; beside a tile they are, and so is what a number makes another kernel of."""
    rows, tiles = put(one, [[6, 3]], BF16, ROW), put(one, [[1, 2]], BF16)
    whole = put(one, [[6, 3]], I32, ROW)
    for call in (
        lambda: ops.add_(rows, rows),
        lambda: ops.multiply_(rows, 2.0),
        lambda: ops.add(rows, rows, output_tensor=rows),
        lambda: ops.add(rows, rows, output_tensor=tiles),
        lambda: ops.bitwise_and(whole, whole, output_tensor=whole),
    ):
        with pytest.raises(RuntimeError, match=r"(?s)help: .*to_layout.*Row Major input is not supported"):
            call()
    assert held(rows).tolist() == [[6, 3]]
    assert held(ops.add_(tiles, rows)).tolist() == [[7, 5]]
    assert held(ops.add_(rows, tiles)).tolist() == [[13, 8]]
    assert held(ops.bitwise_and(whole, 2, output_tensor=whole)).tolist() == [[2, 2]]


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
        assert operation(source, output_tensor=output).storage is output.storage
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
