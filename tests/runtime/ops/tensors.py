"""Putting arrays on meshes and reading them back, for the tests of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensorToMesh
from tt_run.runtime.tensor.tensor import Tensor

BF16, F32, BFP8 = DataType.BFLOAT16, DataType.FLOAT32, DataType.BFLOAT8_B
U32, I32, U16, U8 = DataType.UINT32, DataType.INT32, DataType.UINT16, DataType.UINT8
TILE, ROW = Layout.TILE, Layout.ROW_MAJOR

# Unit in the last place of each element type, relative.
STEP = {F32: 2.0**-23, BF16: 2.0**-8, BFP8: 2.0**-6}


def put(
    device: MeshDevice,
    array: Any,
    dtype: DataType = F32,
    layout: Layout = TILE,
    *,
    shard: int | None = None,
) -> Tensor:
    """An array on every device, or cut along dimension `shard`."""
    mapper: Any = ReplicateTensorToMesh(device) if shard is None else ShardTensorToMesh(device, dim=shard)
    return from_torch(np.asarray(array), dtype=dtype, layout=layout, device=device, mesh_mapper=mapper)


def held(tensor: Tensor, device: int = 0) -> np.ndarray[Any, Any]:
    """The shard of one local device."""
    found = tensor.shards.of(device)
    assert found is not None
    return np.asarray(found)


def near(tensor: Tensor, wanted: Any, *, steps: float = 1.0, scale: float | None = None) -> None:
    """The shard of device 0 is `wanted` within `steps` units in the last place of the largest wanted value (or `scale`)."""
    wanted = np.asarray(wanted, np.float64)
    found = held(tensor)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    finite = np.abs(wanted[np.isfinite(wanted)])
    largest = scale if scale is not None else float(finite.max(initial=1e-30))
    allowed = steps * STEP.get(tensor.dtype, 0.0) * largest
    np.testing.assert_allclose(
        found.astype(np.float64), wanted, rtol=STEP.get(tensor.dtype, 0.0), atol=allowed
    )


def rounded(values: Any, dtype: DataType) -> np.ndarray[Any, Any]:
    """Values as a tensor of `dtype` holds them."""
    from tt_run.runtime.values.dtypes import convert

    return convert(np.asarray(values), dtype)


def message(error: BaseException) -> str:
    """The text after `info:`."""
    return str(error).partition("info:\n")[2]
