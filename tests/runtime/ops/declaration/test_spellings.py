"""Keywords of the reference's other forms reach the parameters they mean."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import F32, I32, ROW, held, put
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.dispatch import Operation
from tt_run.runtime.ops.declaration.spellings import SPELLINGS

A, B = np.array([[6.0, 7.0, -8.0]], np.float32), np.array([[4.0, 5.0, 3.0]], np.float32)


def found(name: str) -> Operation:
    operation = catalog.find(name)
    assert operation is not None, name
    return operation


@pytest.mark.parametrize("name", sorted(SPELLINGS))
def test_each_names_a_parameter_and_hides_none(name: str):
    parameters = set(inspect.signature(found(name).compute).parameters)
    meant = [[word] if isinstance(word, str) else word for word in SPELLINGS[name].values()]
    assert {word for words in meant for word in words} <= parameters
    assert not set(SPELLINGS[name]) & parameters


@pytest.mark.parametrize(
    ("name", "words", "usual"),
    [
        ("add_", {"input_tensor_a": A, "input_tensor_b": B}, (A, B)),
        ("subtract_", {"input_tensor_a": A, "input_tensor_b": 2.0}, (A, 2.0)),
        ("floor_div", {"input_tensor_a": A, "value": 4.0}, (A, 4.0)),
        ("fmod", {"input_tensor_a": A, "scalar": 4.0}, (A, 4.0)),
        ("mac", {"input_tensor_a": A, "value1": 2.0, "value2": 3.0}, (A, 2.0, 3.0)),
        ("mac", {"input_tensor_a": A, "input_tensor_b": B, "value": 3.0}, (A, B, 3.0)),
        ("mac", {"input_tensor_a": A, "value": 2.0, "input_tensor_c": B}, (A, 2.0, B)),
    ],
)
def test_values_are_those_of_the_usual_names(
    one: MeshDevice, name: str, words: dict[str, Any], usual: tuple[Any, ...]
):
    given = {word: put(one, v) if isinstance(v, np.ndarray) else v for word, v in words.items()}
    wanted = found(f"ttnn.{name}")(*(put(one, v) if isinstance(v, np.ndarray) else v for v in usual))
    assert held(found(f"ttnn.{name}")(**given)).tolist() == held(wanted).tolist()


def test_gradients_and_bits(one: MeshDevice):
    pytest.importorskip("torch")
    g, x = put(one, B), put(one, A)
    (first,) = found("ttnn.mul_bw")(g, input_tensor_a=x, scalar=2.0)
    assert held(first).tolist() == (2 * B).tolist()
    (kept,) = found("ttnn.fmod_bw")(grad_tensor=g, input_tensor_a=x, scalar=4.0)
    assert held(kept).tolist() == B.tolist()
    bits = found("ttnn.bitwise_and")(put(one, np.array([[12, 7]]), I32, ROW), input_b=10)
    assert held(bits).tolist() == [[8, 2]]


def test_an_operand_under_two_names_is_refused(one: MeshDevice):
    with pytest.raises(TypeError, match="unexpected keyword argument 'scalar'"):
        found("ttnn.fmod")(put(one, A, F32), input_tensor_b=2.0, scalar=4.0)
