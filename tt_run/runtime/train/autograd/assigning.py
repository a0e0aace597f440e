"""`ttml.autograd.numpy_assign`: NumPy's numbers into a tensor that is there, in the element type that it has."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor

_TYPES: dict[DataType, Any] = {DataType.FLOAT32: np.float32, DataType.BFLOAT16: ml_dtypes.bfloat16}


def assign_numpy(
    tensor: Tensor, array: npt.NDArray[Any], *, layout: Layout = Layout.TILE, mapper: Any = None
) -> None:
    """Give a FLOAT32 or BFLOAT16 tensor the numbers of an array, rounded once; `mapper` lays them over the mesh as in `Tensor.from_numpy`.

    Raises ValueError for a tensor of another element type.
    """
    kind = tensor.get_value(PreferredPrecision.NATIVE).dtype
    if kind not in _TYPES:
        raise ValueError(
            f"assign_numpy: unsupported tensor dtype {kind} (only FLOAT32 and BFLOAT16); help: ttnn.typecast(tensor, ttnn.float32)"
        )
    numbers = array.astype(_TYPES[kind], copy=False)
    tensor.assign(Tensor.from_numpy(numbers, layout=layout, new_type=kind, mapper=mapper))
