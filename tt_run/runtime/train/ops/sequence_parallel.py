"""Linear layers between which positions are cut over the tensor-parallel axis: a collective and a product as one operation.

A device has two implementations, one after the other and overlapped; both have these values.
"""

from __future__ import annotations

import enum

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import distributed
from tt_run.runtime.train.ops.matmul import linear
from tt_run.runtime.train.parallel.tensor_parallel import SEQUENCE_DIM


class SPLinearImpl(enum.Enum):
    """COMPOSED: the collective, then the product. FUSED: both overlapped on devices; the values are the same."""

    COMPOSED = "composed"
    FUSED = "fused"


_chosen = SPLinearImpl.COMPOSED


def set_sp_linear_impl(impl: SPLinearImpl | str) -> None:
    """Choose the implementation that devices run. Raises ValueError for another name than 'composed' and 'fused'."""
    global _chosen
    try:
        _chosen = SPLinearImpl(impl)
    except ValueError:
        raise ValueError(f"the implementation is 'composed' or 'fused', not {impl!r}") from None


def get_sp_linear_impl() -> SPLinearImpl:
    """The implementation that is chosen."""
    return _chosen


def sp_column_parallel_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, cluster_axis: int | None = None
) -> Tensor:
    """Parts of positions [B, 1, S / T, in] and of output features -> [B, 1, S, out / T] on each device."""
    return linear(distributed.all_gather(x, SEQUENCE_DIM, cluster_axis), weight, bias)


def sp_row_parallel_linear(x: Tensor, weight: Tensor, cluster_axis: int | None = None) -> Tensor:
    """Parts of input features [B, 1, S, in / T] -> the sum of the products, of which each device keeps its positions [B, 1, S / T, out]."""
    return distributed.reduce_scatter(linear(x, weight), SEQUENCE_DIM, cluster_axis)
