"""Calls over which Python, NumPy or PyTorch stumbles: the error names the operation and what it was given, and is of a class that is promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, I32, put
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.misfits import misfit, raised_on_purpose

pytestmark = pytest.mark.torch


def op(name: str) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "shapes", "rest", "words"),
    [
        ("experimental.nlp_create_qkv_heads_segformer", [(1, 2, 32, 64)], (), "is invalid for input of size"),
        ("repeat_bw", [(), (1, 32)], ((),), "Number of dimensions of repeat dims"),
        ("experimental.hc_sum_reduce", [(0, 1, 1, 0)], (), "cannot reshape tensor of 0 elements"),
        ("mse_loss", [(1, 32), (1, 32)], (), "KeyError 7"),
    ],
)
def test_what_torch_and_numpy_say_names_operation_and_operands(one: MeshDevice, name, shapes, rest, words):
    given = [put(one, np.ones(shape), BF16) for shape in shapes]
    keywords = {"reduction": 7} if name == "mse_loss" else {}
    with pytest.raises(
        RuntimeError, match=rf"(?s)help: they are BFLOAT16.*ttnn.{name}: the operands do not fit: .*{words}"
    ) as error:
        op(name)(*given, *rest, **keywords)
    assert error.value.__cause__ is not None


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("matmul_batched_weights", lambda x: (x, 1.5), "TypeError: 'float' object is not iterable"),
        ("experimental.fft_radix_pass", lambda x: (x,), "missing 1 required positional argument"),
    ],
)
def test_what_python_says_stands_below_the_signatures(one: MeshDevice, name, given, words):
    with pytest.raises(
        TypeError, match=rf"(?s)ttnn.{name}\(\): incompatible function arguments.*signatures.*{words}"
    ):
        op(name)(*given(put(one, np.ones((1, 1, 32, 32)), BF16)))


def test_errors_raised_on_purpose_stay_what_they_are(one: MeshDevice):
    with pytest.raises(RuntimeError) as error:
        ops.matmul(put(one, np.ones((32, 64)), BF16), put(one, np.ones((32, 64)), BF16))
    assert raised_on_purpose(error.value) and misfit("ttnn.matmul", error.value, (), {}) is error.value
    with pytest.raises(TypeError, match=r"not a ttnn\.Tensor"):
        ops.relu(np.ones(3))

    class Ours(RuntimeError):
        pass

    assert raised_on_purpose(Ours())
    with pytest.raises(OverflowError) as overflow:
        np.int32(2**31)
    found = misfit("ttnn.x", overflow.value, [put(one, [[1]], I32)], {})
    assert isinstance(found, RuntimeError) and "OverflowError" in str(found) and "INT32" in str(found)
