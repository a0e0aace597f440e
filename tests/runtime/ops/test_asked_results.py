"""Every operation of the table of calls with what it is asked to write over, in which element type, and which of its results."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.golden import compare
from tests.runtime.ops.tensors import BF16, F32, TILE, held, put, rounded
from tests.runtime.ops.value_cases import CALLS, Call
from tests.sweep import thinned
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tools.golden import get_golden_function

pytestmark = pytest.mark.torch
ROOMS = ("output_tensor", "optional_output_tensor", "optional_tensor", "output", "out")
GRADIENTS = ("input_grad", "other_grad", "input_a_grad", "input_b_grad", "exponent_grad")
TYPES = ("dtype", "output_dtype")
SHAPE = (1, 2, 33, 34)
OF_TENSORS = {"mac": 3, "pow": 2}
"""Tensors without which they take no other words."""
READ = frozenset(f"moreh_{name}_backward" for name in ("logsoftmax", "softmax", "softmin"))
"""Their `output_tensor` is what the forward operation has made."""
STEPWISE = frozenset(["bias_gelu", "squared_difference", "xlogy"])
"""They round on the way to their result as well."""


def words_of(name: str) -> tuple[str, ...]:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None, name
    return tuple(inspect.signature(operation.compute).parameters)


def having(*words: str) -> list[str]:
    return [name for name in sorted(CALLS) if {*words} & {*words_of(name)} and not name.endswith("_")]


def calls(name: str) -> list[Call]:
    least = OF_TENSORS.get(name, 1)
    return [call for call in CALLS[name] if max(call.operands, len(call.shapes)) >= least]


def given(call: Call) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    shapes = call.shapes or (SHAPE,) * call.operands
    if call.only:
        return [rng.integers(max(int(call.low), 1), 9, shape) for shape in shapes]
    return [rng.uniform(call.low, call.high, shape).astype(np.float32) for shape in shapes]


def kind(call: Call) -> DataType:
    return DataType.INT32 if call.only else BF16


def listed(result: Any) -> list[Tensor]:
    return [t for t in (result if isinstance(result, (list, tuple)) else [result]) if t is not None]


@pytest.mark.parametrize("name", thinned(sorted({*having(*ROOMS)} - READ), 8))
def test_a_result_is_written_over_what_is_given_for_it(one: MeshDevice, name: str):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    word = next(word for word in ROOMS if word in words_of(name))
    for call in calls(name):
        operands = [put(one, a, kind(call), TILE) for a in given(call)]
        plain = operation(*operands, *call.arguments, **call.keywords)
        room = put(one, np.full(plain.shape.dims, 9), plain.dtype, plain.layout)
        found = operation(*operands, *call.arguments, **call.keywords, **{word: room})
        assert found.storage is room.storage and found.spec == plain.spec
        assert held(room).tobytes() == held(plain).tobytes()


@pytest.mark.parametrize("name", thinned(sorted({*having(*TYPES)} - STEPWISE), 8))
def test_a_result_has_the_asked_type_and_is_rounded_to_it_once(one: MeshDevice, name: str):
    torch = pytest.importorskip("torch")
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    word = next(word for word in TYPES if word in words_of(name))
    for call in calls(name):
        if call.only:
            continue
        for dtype in (F32, BF16, DataType.BFLOAT8_B):
            arrays = [rounded(array, BF16) for array in given(call)]
            operands = [put(one, array, BF16, TILE) for array in arrays]
            found = operation(*operands, *call.arguments, **{**call.keywords, word: dtype})
            wide = [torch.from_numpy(array.astype(np.float64)) for array in arrays]
            wanted = get_golden_function(operation)(*wide, *call.arguments, **call.keywords)
            assert found.dtype is dtype
            compare(found, wanted.detach().numpy(), call.steps)


@pytest.mark.parametrize("name", thinned(having(*GRADIENTS), 8))
def test_gradients_are_written_where_they_are_asked_for(one: MeshDevice, name: str):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    rooms = [word for word in words_of(name) if word in GRADIENTS]
    for call in calls(name):
        operands = [put(one, a, BF16, TILE) for a in given(call)]
        plain = operation(*operands, *call.arguments, **call.keywords)
        grads = {
            word: put(one, np.full(grad.shape.dims, 9), grad.dtype, grad.layout)
            for word, grad in zip(rooms, plain, strict=False)
            if grad is not None
        }
        found = operation(*operands, *call.arguments, **call.keywords, **grads)
        assert len(listed(found)) == len(listed(plain))
        for room, wanted in zip(grads.values(), listed(plain), strict=False):
            assert any(room.storage is grad.storage for grad in listed(found))
            assert held(room).tobytes() == held(wanted).tobytes()


@pytest.mark.parametrize("name", thinned(having("are_required_outputs"), 8))
def test_only_the_gradients_that_are_asked_for_are_made(one: MeshDevice, name: str):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    for call in calls(name):
        operands = [put(one, a, BF16, TILE) for a in given(call)]
        plain = operation(*operands, *call.arguments, **call.keywords)
        for asked in itertools.product((True, False), repeat=len(plain)):
            if not any(asked):  # which is refused
                continue
            found = operation(*operands, *call.arguments, **call.keywords, are_required_outputs=list(asked))
            for wanted, all_of_them, grad in zip(asked, plain, found, strict=True):
                assert (grad is None) is not wanted
                assert grad is None or held(grad).tobytes() == held(all_of_them).tobytes()
