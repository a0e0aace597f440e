"""`ttml.ops.rand` and `randn`: tensors of random numbers from the context's generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules import initial


@naming_faults
def rand(shape: Sequence[int], a: float = 0.0, b: float = 1.0, mapper: Any = None) -> Tensor:
    """Evenly from [a, b); `shape` is that of the whole tensor, which `mapper` lays over the mesh."""
    return initial.uniform(a, b)(shape, mapper)


@naming_faults
def randn(shape: Sequence[int], mean: float = 0.0, std: float = 1.0, mapper: Any = None) -> Tensor:
    """From the normal distribution."""
    return initial.normal(mean, std)(shape, mapper)


@naming_faults
def rand_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill a tensor evenly from [a, b)."""
    return initial.uniform_(tensor, a, b)
