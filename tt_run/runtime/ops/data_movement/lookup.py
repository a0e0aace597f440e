"""Tables looked up by index: embedding. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, NamedEnum, TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.native.classes import native
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle, volume
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.bfloat16 import BFLOAT16, widen
from tt_run.runtime.values.dtypes import convert
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@native("ttnn._ttnn.operations.embedding.EmbeddingsType")
class EmbeddingsType(NamedEnum):
    """How a device reads the table; the rows are the same."""

    GENERIC = 0
    PADDED = 1
    BINARY = 2


@operation("ttnn.embedding", family=families.EMBEDDING, golden=goldens.embedding)
def embedding(
    input_tensor: Tensor,
    weight: Tensor,
    *,
    padding_idx: int | None = None,
    layout: Layout | None = None,
    embeddings_type: EmbeddingsType = EmbeddingsType.GENERIC,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """Rows of `weight` [vocabulary, width] (leading ones allowed) by the ids of the input: [1, 8] ids -> [1, 8, width].

    Ids of rank 3 or 4 count as [first, last], their other lengths are 1. The result has the dtype and the layout of the weight unless
    given. Raises RuntimeError for an
    id outside of the table; the device would read past it.
    """
    on_device(input_tensor, weight, kind="embedding")
    rows, width = weight.shape[-2], weight.shape[-1]
    # A table in blocks is read as rows, which blocks have none of.
    own = DataType.BFLOAT16 if weight.dtype is DataType.BFLOAT8_B else weight.dtype
    target = dtype or own
    kind = layout or weight.layout
    _check(input_tensor, weight, target is own, kind)
    _check_kind(embeddings_type, padding_idx, rows)
    _check_place(memory_config, kind)
    shape = _of_ids(input_tensor)

    def picked(ids: Array, table: Array) -> Array:
        if ids.size and not (ids.min() >= 0 and ids.max() < rows):
            raise fatal(
                f"embedding: id {int(ids.max())} is outside of the table of {rows} rows",
                hint=f"ids are 0 to {rows - 1}: the table is shorter than the vocabulary, or an id is wrong",
            )
        ids = np.asarray(ids, np.int64).reshape(len(ids), *shape)
        found = np.empty((*ids.shape, width), table.dtype)
        for out, row, entries in zip(found, ids, table.reshape(len(table), rows, width), strict=True):
            # Ids are checked; what checks them again takes into an array of its own first.
            np.take(entries, row, axis=0, out=out, mode="clip")
        if found.dtype == BFLOAT16 and (target is not own or found.size <= BLOCK):
            found = widen(found)
        return found if target is own else convert(found, target)

    # A table of bfloat16 elements stays in its 16 bits; ids are read as numbers.
    shards = combine(picked, input_tensor.shards, weight.shards, either=True)
    return settle(
        (input_tensor, weight),
        shards,
        target,
        memory_config=memory_config,
        output_tensor=output_tensor,
        layout=kind,
    )


def _check(input_tensor: Tensor, weight: Tensor, is_own: bool, layout: Layout) -> None:
    """Raises RuntimeError for ids that are not looked up, or not in this table. `is_own`: the result is of the table's type."""
    if input_tensor.dtype not in (DataType.UINT32, DataType.BFLOAT16):
        raise fatal(
            "Input must be UINT32 or BFLOAT16",
            hint=f"the ids are {input_tensor.dtype.name}: ttnn.typecast(ids, ttnn.uint32)",
        )

    if weight.dtype not in (DataType.BFLOAT16, DataType.BFLOAT8_B):
        raise fatal("Weights tensor must have BFLOAT16 dtype", hint="ttnn.typecast(weight, ttnn.bfloat16)")
    if input_tensor.memory_config().is_sharded():
        raise fatal(
            "Embedding does not currently support sharded inputs",
            hint="ttnn.sharded_to_interleaved(ids)",
        )
    if not is_own and layout is not Layout.TILE:
        raise fatal(
            "Can only typecast output embeddings when producing TILE_LAYOUT output",
            hint="layout=ttnn.TILE_LAYOUT",
        )
    if weight.memory_config().is_sharded():
        raise fatal(
            "Embedding does not currently support sharded weights", hint="ttnn.sharded_to_interleaved(weight)"
        )
    outer = tuple(weight.shape)[:-2]
    if volume(outer) != 1:
        raise fatal(
            f"First two dimensions for the weights must be 1 but got {' and '.join(map(str, outer))}",
            hint="one table serves all ids",
        )


def _check_place(memory_config: MemoryConfig | None, layout: Layout) -> None:
    """Raises RuntimeError for cuts of rows, and for one that does not say where it lies."""
    if (
        memory_config is not None
        and layout is not Layout.TILE
        and memory_config.memory_layout
        in (TensorMemoryLayout.WIDTH_SHARDED, TensorMemoryLayout.BLOCK_SHARDED)
    ):
        raise fatal(
            "Embedding only supports height sharded Row Major outputs",
            hint="layout=ttnn.TILE_LAYOUT, or ttnn.to_memory_config of the result",
        )
    if memory_config is not None and memory_config.nameless:
        raise fatal(
            "MemoryConfig must have Shard Spec specified for sharded memory layout",
            hint="memory_config=ttnn.create_sharded_memory_config(…)",
        )


def _of_ids(ids: Tensor) -> tuple[int, ...]:
    """The shape in which ids count. Raises RuntimeError for lengths between the first and the last."""
    shape = tuple(ids.shape)
    if len(shape) <= 2:
        return shape
    if volume(shape[1:-1]) != 1:
        raise fatal(
            f"embedding: ids of shape {ids.shape}; dimensions between the first and the last must be 1",
            hint="ttnn.reshape(ids, (batch, length))",
        )
    return shape[0], shape[-1]


def _check_kind(kind: EmbeddingsType, padding: int | None, rows: int) -> None:
    """Raises RuntimeError for a padded table without its row of padding, and a binary one of other than two rows."""
    if kind is EmbeddingsType.PADDED and padding is None:
        raise fatal(
            "Pad token must be specified when PADDED Embeddings Type is specified", hint="padding_idx=0"
        )
    if kind is EmbeddingsType.BINARY and rows != 2:
        raise fatal(
            "Weight tensor must have 2 embeddings for BINARY Embeddings Type",
            hint="embeddings_type=ttnn.EmbeddingsType.GENERIC",
        )
