"""Element types that operations refuse in an operand."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, TILE, U32, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.layouts import LAYOUTS
from tt_run.runtime.ops.declaration.operand_types import TYPES, check_types
from tt_run.runtime.values.dtypes import BLOCK_FLOATS

pytestmark = pytest.mark.torch

ASKED = (F32, BF16, BFP8, DataType.BFLOAT4_B, I32, U32, DataType.UINT16)


@pytest.mark.parametrize("name", sorted(TYPES))
def test_an_operand_of_another_type_is_refused(one: MeshDevice, name: str):
    """One type that no rule for the operand names: refused in the reference's words, with the cast that can be typed."""
    names = list(inspect.signature(catalog.find(f"ttnn.{name}").compute).parameters)
    for taken in TYPES[name]:
        for operand in taken.operands:
            rules = [rule for rule in TYPES[name] if operand in rule.operands]
            layout = next((rule.layout for rule in LAYOUTS.get(name, ()) if operand in rule.operands), TILE)
            asked = [dtype for dtype in ASKED if layout is TILE or dtype not in BLOCK_FLOATS]
            other = next(dtype for dtype in asked if not any(dtype in rule.types for rule in rules))
            tensor = put(one, np.ones((32, 32)), other, layout)
            many = operand in ("inputs", "index_tensors")
            with pytest.raises(RuntimeError, match=f"(?s){operand}=ttnn.typecast.*(?i:type|format|must be)"):
                check_types(
                    name.rpartition(".")[2], TYPES[name], names, (), {operand: [tensor] if many else tensor}
                )


def test_names_are_parameters():
    for name, rules in TYPES.items():
        named = inspect.signature(catalog.find(f"ttnn.{name}").compute).parameters
        assert {operand for taken in rules for operand in taken.operands} <= set(named), name


def test_the_cast_of_the_hint_is_taken(one: MeshDevice):
    x = put(one, np.ones((1, 2, 32, 32)), F32)
    attention = catalog.find("ttnn.transformer.scaled_dot_product_attention")
    with pytest.raises(RuntimeError, match=r"BFLOAT4_B and is DataType::FLOAT32"):
        attention(x, x, x, is_causal=False)
    cast = ops.typecast(x, BF16)
    assert (held(attention(cast, cast, cast, is_causal=False)) == 1).all()


def test_tensors_in_a_list_are_looked_at_too(one: MeshDevice):
    good, bad = put(one, np.ones((32, 32)), BF16), put(one, np.ones((32, 32)), BFP8)
    with pytest.raises(RuntimeError, match=r"only supports specific data types. \[BFLOAT16\]"):
        ops.moreh_clip_grad_norm([good, bad], 1.0)


def test_page_tables_in_shards_have_a_type_of_their_own():
    for name in ("paged_scaled_dot_product_attention_decode", "paged_flash_multi_latent_attention_decode"):
        rules = [rule for rule in TYPES[f"transformer.{name}"] if "page_table_tensor" in rule.operands]
        assert [(rule.types, rule.in_pieces) for rule in rules] == [({I32}, {DataType.UINT16})]


@pytest.mark.parametrize(
    ("name", "dtype", "number", "words"),
    [
        ("maximum", DataType.UINT16, 2, "Unary: UnaryOpType::MAXIMUM does not support integer input dtype"),
        ("fmod", U32, 2.5, "Unary: UnaryOpType::FMOD does not support integer input dtype DataType::UINT32"),
        ("add", I32, 2**33, r"cannot represent the scalar 8\.589935e\+09: only a finite"),
    ],
)
def test_numbers_beside_integers_that_are_refused(
    one: MeshDevice, name: str, dtype: DataType, number: float, words: str
):
    with pytest.raises(RuntimeError, match=words):
        catalog.find(f"ttnn.{name}")(put(one, np.ones((2, 2)), dtype), number)


def test_comparisons_take_8_bits_as_16(one: MeshDevice):
    short, shorter = (
        put(one, [[1, 300, 255]], kind) if kind is DataType.UINT16 else put(one, [[1, 44, 255]], kind)
        for kind in (DataType.UINT16, DataType.UINT8)
    )
    found = ops.eq(short, shorter)
    assert found.dtype is DataType.UINT16
    assert held(found).tolist() == [[1, 0, 1]]
    assert held(ops.gt(short, shorter)).tolist() == [[0, 1, 0]]
    assert ops.ge(shorter, short).dtype is DataType.UINT16
    with pytest.raises(RuntimeError, match="dtype A: DataType::UINT16, dtype B: DataType::INT32"):
        ops.eq(shorter, put(one, [[1, 2, 3]], I32))
