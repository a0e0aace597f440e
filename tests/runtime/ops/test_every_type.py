"""Every operation of the table of calls in each element type and layout that it takes, in one to five dimensions: the golden function's values."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.golden import compare
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, U8, U16, U32, put, rounded
from tests.runtime.ops.value_cases import CALLS, Call, Shape
from tests.sweep import thinned
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.dispatch import Operation
from tt_run.runtime.tools.golden import get_golden_function
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, is_float

pytestmark = pytest.mark.torch
TYPES = (BF16, F32, BFP8, DataType.BFLOAT4_B, I32, U32, U16, U8)
FORMS = [(d, y) for d, y in itertools.product(TYPES, (TILE, ROW)) if y is TILE or d not in BLOCK_FLOATS]
SHAPES = [(37,), (3, 33), (2, 3, 33), (2, 1, 5, 34), (1, 2, 1, 5, 34)]


def arrays(call: Call, dtype: DataType, shapes: tuple[Shape, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    if is_float(dtype):
        return [rounded(rng.uniform(call.low, call.high, s).astype(np.float32), dtype) for s in shapes]
    low = max(int(np.ceil(call.low)), -9 if dtype is I32 else 0)
    return [rng.integers(low, max(int(call.high), low + 9), s) for s in shapes]


def by_golden(operation: Operation, given: list[np.ndarray], call: Call) -> Any:
    """The golden function of whole numbers; of float64 for a gradient, where it has none for those; else None."""
    torch = pytest.importorskip("torch")
    golden = get_golden_function(operation)
    wide = [torch.from_numpy(a.astype(np.int64 if a.dtype.kind in "iu" else np.float64)) for a in given]
    try:
        return golden(*wide, *call.arguments, **call.keywords)
    except (RuntimeError, NotImplementedError):
        if not operation.name.endswith("_bw"):
            return None
        return golden(*(w.double() for w in wide), *call.arguments, **call.keywords)


def taken(
    one: MeshDevice, name: str, call: Call, dtype: DataType, layout: Layout, shapes: tuple[Shape, ...]
) -> bool:
    """Whether the operation takes such operands; if it does, its results are the golden function's."""
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    given = arrays(call, dtype, shapes)
    try:
        found = operation(*(put(one, a, dtype, layout) for a in given), *call.arguments, **call.keywords)
    except (RuntimeError, TypeError) as error:
        told = str(error)
        assert "info:" in told or "incompatible function arguments" in told, told
        return False
    wanted = by_golden(operation, given, call)
    if wanted is None:
        return True
    several = isinstance(found, (list, tuple))
    for result, golden in zip(found, wanted, strict=True) if several else [(found, wanted)]:
        values = golden.detach().numpy()
        if not is_float(result.dtype):
            values = np.nan_to_num(values, nan=0, posinf=0, neginf=0)
            if result.dtype is not I32 and (values < 0).any():
                continue  # what is less than nothing wraps or saturates, as the element type says
        steps = call.steps if result.dtype is not DataType.BFLOAT4_B else 16 * call.steps
        compare(result, values, steps)
    return True


@pytest.mark.parametrize("name", thinned(sorted(CALLS), 10))
def test_values_in_each_element_type_and_layout(one: MeshDevice, name: str):
    turn = itertools.cycle(SHAPES)
    tiles = 0
    for call in CALLS[name]:
        fitting = [shape for shape in SHAPES if len(shape) >= call.least]
        for dtype, layout in FORMS:
            shape = next(s for s in turn if s in fitting)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyTorch's, about sizes that broadcast
                found = taken(one, name, call, dtype, layout, call.shapes or (shape,) * call.operands)
            tiles += found and layout is TILE
    assert tiles >= (1 if all(call.only for call in CALLS[name]) else len(CALLS[name]))
