"""An operation against its golden function, over element types, on one device and on shards of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import STEP, TILE, held, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tools.golden import get_golden_function
from tt_run.runtime.values.dtypes import is_float


def check(
    device: MeshDevice,
    name: str,
    operands: Sequence[Any],
    *arguments: Any,
    dtype: DataType = DataType.FLOAT32,
    layout: Layout = TILE,
    steps: float = 4.0,
    **keywords: Any,
) -> None:
    """The results of `ttnn.<name>(*operands, *arguments, **keywords)` are the golden function's of float64, rounded to the result's dtype.

    `steps` are units in the last place, of each element for float32 and of the largest for narrower types.
    """
    torch = pytest.importorskip("torch")
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None, name
    arrays = [
        rounded(np.asarray(o, np.float32), dtype) if is_float(dtype) else np.asarray(o) for o in operands
    ]
    found = operation(*(put(device, a, dtype, layout) for a in arrays), *arguments, **keywords)
    wide = [torch.from_numpy(a.astype(np.float64) if is_float(dtype) else a.astype(np.int64)) for a in arrays]
    wanted = get_golden_function(operation)(*wide, *arguments, **keywords)
    several = isinstance(found, (list, tuple))
    pairs = zip(found, wanted, strict=True) if several else [(found, wanted)]
    for one, golden in pairs:
        compare(one, golden.detach().numpy(), steps)


def compare(tensor: Any, golden: Any, steps: float) -> None:
    """The shard of device 0 against float64 values."""
    values = held(tensor)
    assert values.shape == golden.shape, (values.shape, golden.shape)
    if not is_float(tensor.dtype):
        # Unsigned results wrap where the golden function's do not.
        np.testing.assert_array_equal(values, golden.astype(np.int64).astype(values.dtype))
        return
    near = rounded(golden.astype(np.float32), tensor.dtype)
    finite = np.isfinite(near)
    scale = float(np.abs(near[finite]).max(initial=1e-30))
    step = STEP.get(tensor.dtype, STEP[DataType.BFLOAT16])
    np.testing.assert_allclose(values, near, rtol=steps * step, atol=steps * step * scale * 2**-3)
