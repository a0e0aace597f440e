"""Constant matrices of a batch, as tensors that models multiply by: triangles of ones and the identity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.tensor import Tensor


def tril_ones(
    chunk_size: int,
    batch_shape: Sequence[int] = (1, 1),
    *,
    strict: bool = False,
    dtype: DataType = DataType.BFLOAT16,
) -> Tensor:
    """Ones on and below the diagonal, below it alone with `strict`: [*batch_shape, C, C]."""
    return causal_mask(chunk_size, batch_shape, diagonal=0 if strict else 1, dtype=dtype)


def causal_mask(
    chunk_size: int,
    batch_shape: Sequence[int] = (1, 1),
    *,
    diagonal: int = 0,
    dtype: DataType = DataType.BFLOAT16,
) -> Tensor:
    """Ones where the column is below the row plus `diagonal`, zeros elsewhere: 0 is below the diagonal, 1 is with it."""
    return _repeated(np.tri(chunk_size, k=diagonal - 1, dtype=np.float32), batch_shape, dtype)


def identity(
    chunk_size: int, batch_shape: Sequence[int] = (1, 1), dtype: DataType = DataType.BFLOAT16
) -> Tensor:
    """The identity: [*batch_shape, C, C]."""
    return _repeated(np.eye(chunk_size, dtype=np.float32), batch_shape, dtype)


def _repeated(matrix: npt.NDArray[np.float32], batch_shape: Sequence[int], dtype: DataType) -> Tensor:
    return Tensor.from_numpy(np.broadcast_to(matrix, (*batch_shape, *matrix.shape)), new_type=dtype)
