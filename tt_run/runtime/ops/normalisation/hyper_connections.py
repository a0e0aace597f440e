"""Hyper-connections of residual streams whose mixing matrix has rows and columns that sum to one. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import as_type, fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import on_each_device
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]
_WIDTH = 32
_CONSTANTS = (8, _WIDTH, _WIDTH)


@operation("ttnn.experimental.deepseek_prefill.mhc_split_sinkhorn", family=families.NORM)
def mhc_split_sinkhorn(
    mixes: Tensor, consts: Tensor, n: int, sinkhorn_iters: int, eps: float
) -> list[Tensor]:
    """Weights of n streams before, after and around a layer from mixes [..., T, (2+n)n]: [T, n], [T, n], [T, n*n], in float32.

    consts [8, 32, 32]: three matrices that pick and scale the columns of each result, three biases, and two that sum rows and columns.
    The last result's n x n matrices are softmax of rows, then scaled to sums of one by columns and rows in turn. Raises RuntimeError for
    other shapes and types, n*n > 32, and fewer than one iteration.
    """
    on_device(mixes, consts, kind="mhc_split_sinkhorn")
    if n < 1 or n * n > _WIDTH or mixes.shape[-1] != (2 + n) * n or tuple(consts.shape) != _CONSTANTS:
        raise fatal(
            f"mhc_split_sinkhorn: mixes {mixes.shape} and consts {consts.shape} are not those of {n} streams",
            hint=f"mixes [..., {(2 + n) * n}] and consts {list(_CONSTANTS)}",
        )
    if mixes.dtype is not DataType.FLOAT32 or consts.dtype is not DataType.FLOAT32 or sinkhorn_iters < 1:
        raise fatal(
            f"mhc_split_sinkhorn needs float32 and at least one iteration, got {mixes.dtype}, {consts.dtype} and {sinkhorn_iters}",
            hint=as_type("mixes", "float32") + "; sinkhorn_iters=1 or more",
        )
    small = np.float32(eps)

    def split(rows: Array, held: Array) -> tuple[Array, Array, Array]:
        x = np.zeros((rows.size // rows.shape[-1], _WIDTH), np.float32)
        x[:, : rows.shape[-1]] = rows.reshape(len(x), -1)
        before, after, around = (
            gemm.matmul(x[None], held[None, i])[0] + held[None, 3 + i, 0] for i in range(3)
        )

        def scaled(matrix: Array, sums: Array) -> Array:
            return np.asarray(matrix / (gemm.matmul(matrix[None], sums[None])[0] + small))

        rows_of = around[:, : n * n].reshape(-1, n, n)
        powers = np.ones_like(x)  # the columns behind the matrix divide by themselves
        powers[:, : n * n] = np.exp(rows_of - rows_of.max(-1, keepdims=True)).reshape(-1, n * n)
        mixed = powers / gemm.matmul(powers[None], held[None, 6])[0] + small
        mixed = scaled(mixed, held[7])
        for _ in range(sinkhorn_iters - 1):
            mixed = scaled(scaled(mixed, held[6]), held[7])
        return (
            (_sigmoid(before) + small)[:, :n].copy(),
            (2 * _sigmoid(after))[:, :n].copy(),
            mixed[:, : n * n].copy(),
        )

    return [
        settle((mixes,), shards, DataType.FLOAT32, layout=Layout.TILE)
        for shards in on_each_device(split, mixes, consts)
    ]


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))
