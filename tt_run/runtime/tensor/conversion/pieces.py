"""The piece of a sharded tensor that one core of a device holds."""

from __future__ import annotations

import math

import numpy as np

from tt_run.runtime.cores import CoreCoord, corerange_to_cores
from tt_run.runtime.enums import ShardOrientation, TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor


def piece_of(tensor: Tensor, core: CoreCoord | int) -> Tensor:
    """The piece of a core, by its place or its number among the cores of the shards, as a tensor `[1, 1, height, width]` on the host.

    Raises RuntimeError for a tensor that is not cut over cores, or for another core.
    """
    memory = tensor.memory_config()
    spec = memory.shard_spec
    if tensor.device() is None or spec is None:
        raise fatal(
            "extract_shard needs a tensor on a device that is cut over its cores",
            "is_sharded()",
            hint="ttnn.to_memory_config(tensor, ttnn.create_sharded_memory_config(...)) cuts it",
        )
    by_row = spec.orientation is ShardOrientation.ROW_MAJOR
    cores = corerange_to_cores(spec.grid, row_wise=by_row)
    number = core if isinstance(core, int) else cores.index(core) if core in cores else -1
    if not 0 <= number < len(cores):
        raise fatal(
            f"core {core} holds no shard of the tensor; its cores are {spec.grid}",
            hint=f"a number from 0 to {len(cores) - 1}",
        )
    height, width = spec.shape
    across = _pieces_across(memory.memory_layout, tensor.padded_shape[-1], width)
    top, left = number // across * height, number % across * width
    padded = tuple(tensor.padded_shape)
    rows = math.prod(padded[:-1])

    def cut(stack: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(stack), *padded), stack.dtype)
        whole[tuple(map(slice, stack.shape))] = stack
        part = whole.reshape(len(stack), rows, padded[-1])[:, top : top + height, left : left + width]
        out = np.zeros((len(stack), 1, 1, height, width), stack.dtype)
        out[:, 0, 0, : part.shape[1], : part.shape[2]] = part
        return out

    return Tensor.of(tensor.shards.map(cut), dtype=tensor.dtype, layout=tensor.layout, site=tensor.site)


def _pieces_across(kind: TensorMemoryLayout, columns: int, width: int) -> int:
    return 1 if kind is TensorMemoryLayout.HEIGHT_SHARDED else -(-columns // width)
