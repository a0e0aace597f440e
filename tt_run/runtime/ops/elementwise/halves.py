"""`glu` and its kin: one half of a tensor times a function of the other. Source: reference library 0.81.1. NumPy computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels.bfloat16_tables import Unrounded
from tt_run.runtime.ops.declaration import families, small_tiles
from tt_run.runtime.ops.declaration.operands import axis_of
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare, stacks
from tt_run.runtime.ops.placement import asked_shards
from tt_run.runtime.tensor.conversion import framing
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


def _halves(x: Array, dim: int) -> tuple[Array, Array]:
    axis = axis_of(dim, x.ndim - 1) + 1
    first, second = np.split(x, 2, axis)
    return np.ascontiguousarray(first), np.ascontiguousarray(second)


def _extent(tensor: Tensor) -> Sequence[int]:
    """The lengths that are cut in two: tiles are with their padding."""
    return (tensor.padded_shape if tensor.layout is Layout.TILE else tensor.shape).dims


def _check_halves(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for what the reference does not cut in two: another than the last of four dimensions, or parts of tiles."""
    (tensor,), dim = given, arguments["dim"]
    shape = _extent(tensor)
    rank, hint = (
        len(tensor.shape),
        "ttnn.unsqueeze_to_4D, and ttnn.transpose where another dimension is to be cut",
    )
    if dim not in (-1, 3):
        raise fatal(f"glu-family ops only support the last dimension, got dim={dim}", hint=hint)
    if rank < 4:
        raise fatal(f"ShapeBase[] index out of range. 3 not in [-4, {len(tensor.padded_shape)})", hint=hint)
    if shape[3] % (2 * TILE_SIZE):
        raise fatal(
            "Split tensor dimension should be in full tile",
            hint=f"{shape[3]} columns; halves are whole tiles of {TILE_SIZE}: pad each",
        )
    small_tiles.check("slice", tensor)
    if rank > 4:
        raise fatal(f"Input rank {rank} and begins 4 must have the same size", hint=hint)


def _as_half(given: Sequence[Tensor]) -> MemoryConfig | None:
    shape = _extent(given[0])
    return asked_shards.of_half(given[0], [*shape[:-1], shape[-1] // 2])


def _gated(function: Any) -> Any:
    def compute(x: Array, dim: int, dtype: DataType, variant: Any = None) -> Array:
        chosen = f.gelu_tanh if getattr(variant, "name", "") == "Tanh" else function
        values, gate = _halves(x, dim)
        return np.asarray((Unrounded(chosen) if dtype is DataType.BFLOAT16 else chosen)(gate) * values)

    return compute


def _golden_glu(path: str) -> Any:
    def golden(x: Any, dim: int = -1, variant: Any = None, **_: Any) -> Any:
        from tt_run.runtime.kernels.torch_cpu import torch_function

        values, gate = x.chunk(2, dim)
        tanh = {"approximate": "tanh"} if getattr(variant, "name", "") == "Tanh" else {}
        return values * torch_function(path)(gate, **tanh)

    return golden


def _with_padding(
    function: Callable[..., Any], values: Sequence[Any], given: Sequence[Tensor], target: DataType | None
) -> tuple[list[Shards], bool]:
    """`stacks` of tiles with their padding, which the halves then have as elements."""
    whole = given[0].derive(framing.frame_of(given[0])) if given[0].layout is Layout.TILE else given[0]
    tensor, dim, *variant = values
    return stacks(function, [whole, dim, tensor.dtype, *variant], [whole], target)


_GLU = f"(input_tensor: Tensor, dim: int = -1, *, {PLACED})"

HALVES = declare(
    families.BINARY,
    Row("glu", _GLU, _gated(f.sigmoid), "The first half along `dim` times the sigmoid of the second.",
        integers=False, golden=_golden_glu("sigmoid"), check=_check_halves, place=_as_half),
    Row("reglu", _GLU, _gated(f.relu), "The first half along `dim` times the relu of the second.",
        golden=_golden_glu("relu"), check=_check_halves, place=_as_half),
    Row("swiglu", _GLU, _gated(f.silu), "The first half along `dim` times the silu of the second.",
        integers=False, golden=_golden_glu("nn.functional.silu"), check=_check_halves, place=_as_half),
    Row("geglu", f"(input_tensor: Tensor, dim: int = -1, *, {PLACED}, variant: Any = None)", _gated(f.gelu),
        "The first half along `dim` times the gelu of the second; `variant` chooses the form by tanh.",
        integers=False, golden=_golden_glu("nn.functional.gelu"), check=_check_halves, place=_as_half),
    engine=_with_padding,
)  # fmt: skip
