"""The output projection of latent attention: a product whose weight is dealt over the DRAM banks of a chip, its rows in uneven parts.

Each bank holds some tiles of rows, for one block of columns after the other, and padding up to as many as the fullest has. The core beside
it multiplies its own copy of the operand; seven cores collect the sums, each a column of tiles of every block. Source: reference library
0.81.1, and its programs' way to pack.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import keep_label, on_device, write_into
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]

_ROWS = (44, 44, 42, 42, 42, 42, 42, 42, 44, 44, 42, 42)
"""Tiles of the weight's rows in each bank."""

_COLLECTORS = 7
_BLOCK = _COLLECTORS * TILE_SIZE
_COLUMNS = 4 * _BLOCK
_LINEAR = "ttnn.linear(input_tensor, weight) takes a weight as it is"


@operation("ttnn.experimental.deepseek.mla.matmul_wo", family=families.MATMUL)
def matmul_wo(input_tensor: Tensor, *, w_tensor: Tensor, output_tensor: Tensor, layer_id: int) -> Tensor:
    """A copy of [M, 16384] for each bank times a packed weight, into [M, 896]: of every 224 columns of the product each core has 32."""
    on_device(input_tensor, w_tensor, output_tensor, kind="matmul")
    rows, columns = output_tensor.shape[-2:]
    banks, width = len(_ROWS), sum(_ROWS) * TILE_SIZE
    if tuple(input_tensor.shape) != (banks, rows, width):
        raise fatal(
            f"matmul_wo takes a copy of its operand for each of {banks} DRAM banks, Shape([{banks}, {rows}, {width}]), got {input_tensor.shape}",
            hint=_LINEAR,
        )
    packed = (banks, 4 * max(_ROWS) * TILE_SIZE, _BLOCK)
    if columns != _COLUMNS or tuple(w_tensor.shape)[-3:] != packed or len(w_tensor.shape) > len(packed) + 1:
        raise fatal(
            f"matmul_wo takes a weight of Shape({list(packed)}) for {_COLUMNS} columns, got {w_tensor.shape} for {columns}",
            hint=_LINEAR,
        )
    layers = w_tensor.shape[0] if len(w_tensor.shape) > len(packed) else 1
    layer = layer_id if layers > 1 else 0
    if not 0 <= layer < layers:
        raise fatal(f"layer_id {layer_id} of a weight of {layers} layers", hint=f"0 to {layers - 1}")

    def compute(x: Array, w: Array) -> Array:
        weight = w[:, layer] if layers > 1 or w.ndim > len(packed) + 1 else w
        return finish(_collected(gemm.matmul(_own(x), _unpacked(weight))), output_tensor.dtype).reshape(
            len(x), *output_tensor.shape
        )

    shards = combine(compute, input_tensor.shards, w_tensor.shards)
    written = write_into(output_tensor, shards, output_tensor.dtype, input_tensor)
    return keep_label(written, (input_tensor, w_tensor))


def _own(x: Array) -> Array:
    """What each core takes of its copy, side by side: [devices, banks, M, K] to [devices, M, K]."""
    ends = np.cumsum(_ROWS) * TILE_SIZE
    parts = [
        x[:, bank, :, end - own * TILE_SIZE : end]
        for bank, (own, end) in enumerate(zip(_ROWS, ends, strict=True))
    ]
    return np.concatenate(parts, axis=-1)


def _unpacked(w: Array) -> Array:
    """The weight as a matrix: [devices, banks, blocks and padding, 224] to [devices, K, N]."""
    devices, _, held, block = w.shape
    blocks = held // (max(_ROWS) * TILE_SIZE)
    parts = []
    for bank, own in enumerate(_ROWS):
        rows = own * TILE_SIZE
        kept = w[:, bank, : blocks * rows].reshape(devices, blocks, rows, block)
        parts.append(kept.transpose(0, 2, 1, 3).reshape(devices, rows, blocks * block))
    return np.concatenate(parts, axis=1)


def _collected(values: Array) -> Array:
    """Columns as the cores have them that collect: the first tile of every block, then the second, …"""
    *lead, rows, columns = values.shape
    tiles = values.reshape(*lead, rows, columns // _BLOCK, _COLLECTORS, TILE_SIZE)
    return np.swapaxes(tiles, -3, -2).reshape(*lead, rows, columns)
