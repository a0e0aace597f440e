"""The public forms of `Tensor(...)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal, incompatible
from tt_run.runtime.tensor.borders.arrays import foreign_array, from_array
from tt_run.runtime.tensor.distribution.mappers import Mapper
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Shape, Tile
from tt_run.runtime.tensor.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice

_VALUES = (
    "shape: collections.abc.Sequence[int], data_type: ttnn._ttnn.tensor.DataType, layout: ttnn._ttnn.tensor.Layout, "
    "device: ttnn._ttnn.multi_device.MeshDevice | None = None, memory_config: ttnn._ttnn.tensor.MemoryConfig | None = None, "
    "tile: ttnn._ttnn.tensor.Tile | None = None"
)
_FORMS = (
    "__init__(self, arg: ttnn._ttnn.tensor.Tensor) -> None",
    f"__init__(self, data: collections.abc.Sequence[float], {_VALUES}, pad_value: float = 0.0) -> None",
    f"__init__(self, data: collections.abc.Sequence[int], {_VALUES}, pad_value: int = 0) -> None",
    "__init__(self, tensor: numpy.ndarray | torch.Tensor, data_type: ttnn._ttnn.tensor.DataType | None = None, "
    "device: ttnn._ttnn.multi_device.MeshDevice | None = None, layout: ttnn._ttnn.tensor.Layout | None = None, "
    "mem_config: ttnn._ttnn.tensor.MemoryConfig | None = None, tile: ttnn._ttnn.tensor.Tile | None = None, "
    "cq_id: int | None = None, pad_value: float | None = None, mesh_mapper: ttnn._ttnn.multi_device.TensorToMesh | None = None, "
    "preserve_nan_values: bool = False, col_tilize: bool = False, enable_bfloat_opt: bool = False) -> None",
)


def construct(receiver: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """The tensor that `receiver.__init__(*args, **kwargs)` stands for. Raises TypeError listing the forms when none fits."""
    if len(args) == 1 and isinstance(args[0], Tensor) and not kwargs:
        return args[0]
    first = args[0] if args else kwargs.get("tensor", kwargs.get("data"))
    build: Callable[..., Tensor] | None = None
    if foreign_array(first) is not None:
        build = _from_object
    elif isinstance(first, (list, tuple)) and "tensor" not in kwargs:
        build = _from_values
    if build is None or not _binds(build, args, kwargs):
        raise incompatible("__init__", _FORMS, (receiver, *args), kwargs)
    return build(*args, **kwargs)


def _binds(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _from_object(
    tensor: Any,
    data_type: DataType | None = None,
    device: MeshDevice | None = None,
    layout: Layout | None = None,
    mem_config: MemoryConfig | None = None,
    tile: Tile | None = None,
    cq_id: int | None = None,
    pad_value: float | None = None,
    mesh_mapper: Mapper | None = None,
    preserve_nan_values: bool = False,
    col_tilize: bool = False,
    enable_bfloat_opt: bool = False,
) -> Tensor:
    found = foreign_array(tensor)
    assert found is not None
    array, type_name = found
    return from_array(
        np.swapaxes(array, -1, -2) if col_tilize else array,
        type_name,
        dtype=data_type,
        layout=layout,
        tile=tile,
        memory_config=mem_config,
        device=device,
        mapper=mesh_mapper,
        pad_value=pad_value,
    )


def _from_values(
    data: Any,
    shape: Any,
    data_type: DataType,
    layout: Layout,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
    tile: Tile | None = None,
    pad_value: float = 0.0,
) -> Tensor:
    dims = Shape(shape)
    if len(data) != dims.volume():
        raise fatal(
            f"Buffer size {len(data)} differs from shape volume {dims.volume()}",
            hint=f"shape {list(dims)} needs {dims.volume()} values",
        )
    values = np.asarray(data)
    if values.dtype == np.float64 or not values.size:
        values = values.astype(np.float32)
    return from_array(
        values.reshape(tuple(dims)),
        values.dtype.name,
        dtype=data_type,
        layout=layout,
        tile=tile,
        memory_config=memory_config,
        device=device,
        pad_value=pad_value,
    )
