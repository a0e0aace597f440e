"""Means and spreads of whole matrices, moving averages, correlation. Source: reference library 0.81.1. NumPy computes them in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import ordered_sums
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.element_types import check_summed
from tt_run.runtime.ops.declaration.places import like_operand
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare, stacks
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement import fitted_shards
from tt_run.runtime.ops.reduction.choice_checks import check_ema
from tt_run.runtime.tensor.borders.arrays import to_torch
from tt_run.runtime.tensor.conversion import framing
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.values.dtypes import BLOCK_FLOATS
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


def _rows(x: Array, axes: range) -> Array:
    return ordered_sums.rows_of(x, axes)


def _moments(x: Array, axes: range) -> tuple[Array, Array]:
    """Mean and variance over shard axes, kept as ones."""
    kept = (len(x), *ordered_sums.reduced_shape(x.shape[1:], list(axes), True))
    rows = _rows(x, axes)
    return ordered_sums.mean(rows).reshape(kept), ordered_sums.variance(rows).reshape(kept)


def _last_two(x: Array) -> range:
    return range(max(x.ndim - 3, 0), x.ndim - 1)


def _normalized(x: Array, axes: range) -> Array:
    mean, variance = _moments(x, axes)
    return (x - mean) / np.sqrt(variance)


def _variance_hw(x: Array) -> Array:
    """The variance of each matrix; a device divides by the tiles' size, so padding counts as elements at the mean."""
    height, width = x.shape[-2:]
    padded = math.prod(whole_tiles(n) for n in (height, width))
    return _moments(x, _last_two(x))[1] * np.float32(height * width / padded)


# The reference's golden function begins with the first element itself, its device and the tests of that from zero.
def _moving(x: Array, alpha: float) -> Array:
    old, new = np.float32(alpha), np.float32(1 - alpha)
    result = np.array(x, np.float32)
    before = np.zeros(x.shape[:-1], np.float32)
    for step in range(x.shape[-1]):
        before = result[..., step] = before * old + x[..., step] * new
    return result


def _golden_hw(root: bool) -> Any:
    def golden(x: Any, **_: Any) -> Any:
        height, width = x.shape[-2:]
        padded = math.prod(whole_tiles(n) for n in (height, width))
        variance = x.var((-2, -1), correction=0, keepdim=True) * (height * width / padded)
        return variance.sqrt() if root else variance

    return golden


def _golden_ema(x: Any, alpha: float, **_: Any) -> Any:
    steps = [(1 - alpha) * x[..., 0]]
    for step in range(1, x.shape[-1]):
        steps.append(steps[-1] * alpha + (1 - alpha) * x[..., step])
    return x.new_tensor([s.tolist() for s in steps]).movedim(0, -1)


def _golden_normal(axes: tuple[int, ...] | None) -> Any:
    def golden(x: Any, **_: Any) -> Any:
        dims = axes or tuple(range(x.dim()))
        return (x - x.mean(dims, keepdim=True)) / x.std(dims, correction=0, keepdim=True)

    return golden


def _check_matrices(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for a tensor of fewer than four dimensions, and for a cut without cores that its own pieces do not fit."""
    (tensor,) = given
    rank = len(tensor.shape)
    if rank >= 4 and tensor.dtype in BLOCK_FLOATS:
        check_summed(tensor.dtype, signed=False)  # the mean, which these begin with
    if rank < 4:
        dim, index = (3, 1) if rank == 3 else (2, 0)
        raise fatal(
            f"Unsupported dim {dim} at index {index}. After possible adjustment, needs to be at least 0 and less than rank {rank}, or "
            "exactly 0 for a rank 0 tensor.",
            hint="ttnn.unsqueeze_to_4D(input_tensor)",
        )
    if name.startswith("normalize") and rank > 4:
        raise fatal(
            "Broadcast with batch is currently only supported when bN*bC=1 or N & C match or equivalent",
            hint="ttnn.reshape(input_tensor, …) to four dimensions",
        )
    asked = arguments["memory_config"]
    if asked is None or not asked.nameless or not tensor.is_sharded():
        return
    padded = padded_shape(tuple(tensor.shape), Layout.TILE, tensor.tile).dims
    placed = like_operand(tensor, asked) or asked
    sharding.settled(placed, padded, Layout.TILE, tensor.tile.edges)


def _check_batches(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for a tensor of other than four dimensions."""
    if len(given[0].shape) != 4:
        raise fatal(
            "Cannot support non-rank 4 Tensor",
            "y.padded_shape().rank() == 4",
            hint="ttnn.unsqueeze_to_4D(input_tensor)",
        )
    dtype = given[0].dtype
    if dtype in BLOCK_FLOATS and math.prod(given[0].shape[:2]) != 1:
        # The matrices are laid side by side first.
        raise fatal(
            f"Input tensor dtype must be BFLOAT16 or FLOAT32 but got {cpp(dtype)}",
            hint="ttnn.typecast(input_tensor, ttnn.bfloat16)",
        )
    if dtype in BLOCK_FLOATS:
        check_summed(dtype, signed=False)


def _of_matrices(given: Sequence[Tensor]) -> MemoryConfig | None:
    ones = [*given[0].shape[:-2], 1, 1]
    return fitted_shards.of_reduction(given[0], ones, Layout.TILE)


_ONE = f"(input_tensor: Tensor, *, {PLACED})"

STATISTICS = declare(
    families.REDUCTION,
    Row("normalize_hw", _ONE, lambda x: _normalized(x, _last_two(x)),
        "Each matrix less its mean, divided by its standard deviation.", integers=False, layout=Layout.TILE, golden=_golden_normal((-2, -1)),
        check=_check_matrices),
    Row("var_hw", _ONE, _variance_hw, "The variance of each matrix over whole tiles: [N, C, 1, 1].",
        integers=False, layout=Layout.TILE, golden=_golden_hw(False), check=_check_matrices, place=_of_matrices),
    Row("std_hw", _ONE, lambda x: np.sqrt(_variance_hw(x)),
        "The standard deviation of each matrix over whole tiles: [N, C, 1, 1].", integers=False, layout=Layout.TILE, golden=_golden_hw(True),
        check=_check_matrices, place=_of_matrices),
    engine=stacks,
)  # fmt: skip


def _with_padding(
    function: Callable[..., Any], values: Sequence[Any], given: Sequence[Tensor], target: DataType | None
) -> tuple[list[Shards], bool]:
    """`stacks` of tiles with their padding, which the result then has as elements."""
    whole = given[0].derive(framing.frame_of(given[0])) if given[0].layout is Layout.TILE else given[0]
    return stacks(function, [whole, *values[1:]], [whole], target)


GLOBAL = declare(
    families.REDUCTION,
    Row("normalize_global", _ONE, lambda x: _normalized(x, range(x.ndim - 1)),
        "The shard less its mean, divided by its standard deviation; of tiles with their padding, which the result has as elements.",
        integers=False, layout=Layout.TILE, golden=_golden_normal(None), check=_check_batches),
    engine=_with_padding,
)  # fmt: skip

MOVING = declare(
    families.RUNNING,
    Row("ema", "(input_tensor: Tensor, alpha: float, *, out: Tensor | None = None, core_grid: Any = None, "
        f"{PLACED}, compute_kernel_config: Any = None)", _moving,
        "The exponential moving average along the last dimension, from zero on: alpha times the last plus (1 - alpha) x.",
        integers=False, check=check_ema, golden=_golden_ema, rooms=("out",)),
    engine=stacks,
)  # fmt: skip


@operation(
    "ttnn.pearson_correlation_coefficient", family=families.REDUCTION, direct=True, golden=goldens.correlation
)
def pearson_correlation_coefficient(expected: Any, actual: Any) -> float:
    """How alike two tensors are, 1 for values that grow together; a `ttnn` tensor is read first. 1 for equal constants, else 0."""
    arrays = [
        np.nan_to_num(
            np.asarray(_plain(to_torch(t) if isinstance(t, Tensor) else t), np.float64), posinf=0, neginf=0
        )
        for t in (expected, actual)
    ]
    one, other = (a.reshape(-1) for a in arrays)
    if np.array_equal(one, other):
        return 1.0
    if one.min() == one.max() or other.min() == other.max():
        return float(np.allclose(one, other, rtol=1e-5, atol=1e-4))
    return float(np.corrcoef(one, other)[0, 1])


def _plain(value: Any) -> Any:
    """A torch tensor as one that NumPy reads: bfloat16 it does not know."""
    return value.detach().double() if hasattr(value, "detach") else value
