"""Tensors in rows as the bytes they have on a device, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal, type_name
from tt_run.runtime.sockets.services.service import payload_bytes
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.values import shapes
from tt_run.runtime.values.bfloat16 import from_wire, to_wire
from tt_run.runtime.values.dtypes import stored_dtype

Array = npt.NDArray[Any]


def values_of(data: Any, spec: TensorSpec, name: str) -> Array:
    """The values that the bytes of a contiguous array, of whatever element type, are for a spec.

    Raises TypeError for what is no contiguous array in host memory, RuntimeError for another number of bytes.
    """
    require_rows(spec, name)
    raw = raw_bytes(data, name)
    wanted = payload_bytes(spec)
    if raw.size != wanted:
        raise fatal(
            f"{name}: the payload of {list(spec.shape)} in {spec.dtype.name} has {wanted} bytes, the array {raw.size}",
            "data.nbytes() == payload_size_bytes()",
            hint=f"an array of {wanted} bytes, as of the type that the service carries",
        )
    kind = np.dtype(np.uint16) if spec.dtype is DataType.BFLOAT16 else stored_dtype(spec.dtype)
    values = raw.view(kind).reshape(tuple(spec.shape))
    return from_wire(values) if spec.dtype is DataType.BFLOAT16 else values.copy()


def bytes_of(values: Array, spec: TensorSpec, name: str) -> bytes:
    """The bytes of a whole tensor."""
    require_rows(spec, name)
    if shapes.without_memory(values):
        return bytes(payload_bytes(spec))
    return (to_wire(values) if spec.dtype is DataType.BFLOAT16 else np.ascontiguousarray(values)).tobytes()


def raw_bytes(data: Any, name: str) -> npt.NDArray[np.uint8]:
    """The bytes of a contiguous array or torch tensor in host memory. Raises TypeError for anything else."""
    if hasattr(data, "detach"):  # torch, whose bfloat16 NumPy does not know
        if not data.is_contiguous():
            raise TypeError(f"{name}(): data must be contiguous in memory: data.contiguous()")
        import torch

        data = data.detach().reshape(-1).view(torch.uint8).numpy()
    if not isinstance(data, np.ndarray):
        raise TypeError(f"{name}(): data must be a NumPy array or a torch tensor, got {type_name(data)}")
    if not data.flags.c_contiguous:
        raise TypeError(f"{name}(): data must be contiguous in memory: np.ascontiguousarray(data)")
    return data.reshape(-1).view(np.uint8)


def require_rows(spec: TensorSpec, name: str) -> None:
    """Raises RuntimeError for a tensor that is not in rows, or whose elements have no bytes of their own."""
    if spec.layout is not Layout.ROW_MAJOR:
        raise fatal(
            f"{name}: bytes are those of a ROW_MAJOR tensor, the service carries {spec.layout.name}",
            "global_spec.layout() == Layout::ROW_MAJOR",
            hint="layout=ttnn.ROW_MAJOR_LAYOUT in the global spec, or the form that takes a tensor",
        )
    if spec.dtype is DataType.FP8_E4M3:
        raise fatal(
            f"{name}: {spec.dtype.name} is not carried as bytes",
            hint="forward_to_tensor or read_from_tensor, which take tensors",
        )
