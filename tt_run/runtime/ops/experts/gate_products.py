"""The gate of DeepSeek from tokens: a product on a ring of twelve cores, and the eight experts of each token. Source: reference library 0.81.1.

Eight cores have 32 experts each: two thirds of the rows of their columns, and a bias. Every third core has the last third of the rows of the
two cores that follow it, and sends them its part of their sums.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import one_on_each_device
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

Array = npt.NDArray[Any]
_CORES, _SENDING = 12, 3  # each third core sends
_OWN, _SENT = 152, 72  # tiles of a column that the experts' core has, and those of the sending one
_ROWS = _OWN // 2 + 1  # of a core's weights, in pairs of tiles; the last row has the bias
_HIDDEN = (_OWN + _SENT) * TILE_SIZE
_GROUPS, _GROUPS_KEPT, _COUNTED, _CHOSEN = 8, 4, 2, 8
_VALUES, _INDICES, _MASKS = slice(0, 8), slice(8, 16), slice(16, 18)
"""Rows of the last core's tile, with a column for each token."""


@operation("ttnn.experimental.deepseek.moe.moe_gate_mm", family=families.EXPERTS)
def moe_gate_mm(
    input_tensor: Tensor, *, w_tensor: Tensor, output_tensor: Tensor, layer_id: int, column_id: int
) -> Tensor:
    """The eight experts with the largest sigmoid(x W) + bias in the four best of eight groups, in `output_tensor`, which is returned.

    x (12, 32, 7168), a copy for each core of the ring; W (12, L, 77, 32, 64) packed for it. In the last 32 columns of the output (32, 384), a column
    for each token: rows 0 to 7 have sigmoid + bias, largest first, rows 8 to 15 the experts' numbers as bits of bfloat16, shifted by 7, rows 16
    and 17 the bits of the chosen ones among the 32 of `column_id`. The other cores have their sigmoid + bias, sending ones a part of a sum.
    Raises RuntimeError for shapes, types and places that the ring does not take.
    """
    _check(input_tensor, w_tensor, output_tensor)
    layers = math.prod(w_tensor.shape) // (_CORES * _ROWS * 2 * TILE_SIZE**2)
    for name, value, most in (("layer_id", layer_id, layers), ("column_id", column_id, _GROUPS)):
        if not 0 <= value < most:
            raise fatal(f"{name} {value} of {most}", hint=f"{name}=0 for the first of them")

    def gate(tokens: Array, weights: Array, output: Array) -> Array:
        given = tokens.reshape(_CORES, TILE_SIZE, _HIDDEN).astype(np.float32)
        packed = weights.reshape(_CORES, layers, _ROWS, TILE_SIZE, 2 * TILE_SIZE)[:, layer_id].astype(
            np.float32
        )
        tiles = _scores(given, packed)
        experts = np.concatenate([tiles[core] for core in range(_CORES) if core % _SENDING], axis=1)
        tiles[-1] = _choices(experts, column_id)
        return tiles.swapaxes(0, 1).reshape(output.shape)

    output_tensor.overwrite(one_on_each_device(gate, input_tensor, w_tensor, output_tensor))
    return output_tensor


def _scores(given: Array, packed: Array) -> Array:
    """The tile of each core, (12, 32, 32): sigmoid + bias of its experts, or the first part that it sends."""
    split = _OWN * TILE_SIZE
    tiles = np.zeros((_CORES, TILE_SIZE, TILE_SIZE), np.float32)
    for sender in range(0, _CORES, _SENDING):
        last = packed[sender, :_SENT].reshape(_SENT * TILE_SIZE, 2 * TILE_SIZE)
        parts = np.split(given[sender, :, split:] @ last, 2, axis=1)
        tiles[sender] = parts[0]
        for core, part in enumerate(parts, sender + 1):
            pairs = packed[core, :-1].reshape(-1, TILE_SIZE, 2, TILE_SIZE).swapaxes(1, 2)
            sums = given[core, :, :split] @ pairs.reshape(split, TILE_SIZE) + part
            with np.errstate(over="ignore"):  # far below zero: the sigmoid is zero
                tiles[core] = 1 / (1 + np.exp(-sums)) + packed[core, -1, 0, :TILE_SIZE]
    return finish(tiles, DataType.BFLOAT16)


def _choices(scores: Array, column: int) -> Array:
    """The last core's tile, from the scores (32, 256) of all experts; of equal ones the last comes first, as numbers break ties there."""
    groups = scores.reshape(len(scores), _GROUPS, -1)
    ranks = finish(np.sort(groups, -1)[..., -_COUNTED:].sum(-1), DataType.BFLOAT16)
    best = np.argsort(-_numbered(ranks), -1, kind="stable")[:, :_GROUPS_KEPT]
    kept = np.zeros(ranks.shape, bool)
    np.put_along_axis(kept, best, True, 1)
    allowed = np.where(kept[..., None], _numbered(scores).reshape(groups.shape), -np.inf).reshape(
        scores.shape
    )
    chosen = np.argsort(-allowed, -1, kind="stable")[:, :_CHOSEN]
    mask = np.where(chosen // TILE_SIZE == column, 1 << chosen % TILE_SIZE, 0).sum(-1)
    tile = np.zeros((TILE_SIZE, TILE_SIZE), np.float32)
    tile[_VALUES] = np.take_along_axis(scores, chosen, 1).T
    tile[_INDICES] = _as_bfloat16(chosen.T)
    tile[_MASKS] = _as_bfloat16(np.stack([mask & 0xFFFF, mask >> 16]))
    return tile


def _numbered(values: Array) -> Array:
    """Numbers of bfloat16 with their places in the lower half of float32, by which equal ones are told apart."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32) | np.arange(
        values.shape[-1], dtype=np.uint32
    )
    return bits.view(np.float32)


def _as_bfloat16(words: Array) -> Array:
    """What 16 bits read as that were stored where a number has its exponent in the lower byte and its fraction above."""
    given = words.astype(np.uint32)
    bits = given & 0x8000 | (given & 0xFF) << 7 | given >> 8 & 0x7F
    return (bits << 16).view(np.float32)


def _check(tokens: Tensor, weights: Tensor, output: Tensor) -> None:
    device = on_device(tokens, weights, output, kind="gate")
    banks = len(device.dram_bank_workers())
    if banks != _CORES:
        raise fatal(
            f"moe_gate_mm has a ring of {_CORES} cores, one for each DRAM bank, and this chip has {banks} banks",
            hint="ttnn.linear(activation='sigmoid') and ttnn.experimental.deepseek.moe.deepseek_moe_gate choose the same experts",
        )
    piece = _CORES * _ROWS * 2 * TILE_SIZE**2
    fits = {
        "input_tensor": tokens.shape[-1] == _HIDDEN
        and math.prod(tokens.shape) == _CORES * TILE_SIZE * _HIDDEN,
        "w_tensor": (weights.shape[0], weights.shape[-1]) == (_CORES, 2 * TILE_SIZE)
        and not math.prod(weights.shape) % piece,
        "output_tensor": output.shape[-1] == _CORES * TILE_SIZE
        and math.prod(output.shape) == _CORES * TILE_SIZE**2,
    }
    wanted = {
        "input_tensor": f"({_CORES}, {TILE_SIZE}, {_HIDDEN})",
        "w_tensor": f"({_CORES}, L, {_ROWS}, {TILE_SIZE}, {2 * TILE_SIZE})",
        "output_tensor": f"({TILE_SIZE}, {_CORES * TILE_SIZE})",
    }
    for (name, fit), tensor in zip(fits.items(), (tokens, weights, output), strict=True):
        if not fit or tensor.dtype is not DataType.BFLOAT16 or tensor.layout is not Layout.TILE:
            raise fatal(
                f"{name} must be {wanted[name]} of bfloat16 in tiles, not {tensor.shape} of {tensor.dtype} in {tensor.layout}",
                hint="a ring of twelve cores takes 32 tokens of 7168 elements and 256 experts",
            )
    for name, tensor, layout in (
        ("input_tensor", tokens, TensorMemoryLayout.HEIGHT_SHARDED),
        ("output_tensor", output, TensorMemoryLayout.WIDTH_SHARDED),
    ):
        if tensor.memory_config().memory_layout is not layout:
            raise fatal(
                f"{name} must be {layout} over the {_CORES} cores beside the DRAM banks, not {tensor.memory_config().memory_layout}",
                hint="device.get_optimal_dram_bank_to_logical_worker_assignment(ttnn.NOC.NOC_0) says which cores these are",
            )
