"""Joining attention heads again, and the rows of a cache head by head.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.attention import head_counts
from tt_run.runtime.ops.attention.head_counts import four_dims
from tt_run.runtime.ops.data_movement.movement import moved
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.ops.goldens import attention_goldens
from tt_run.runtime.ops.placement.head_shards import of_join
from tt_run.runtime.ops.placement.sharded_results import on_first_cores
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles

Array = npt.NDArray[Any]


@operation("ttnn.transformer.concatenate_heads", family=families.HEADS, golden=attention_goldens.join_heads)
def concatenate_heads(input_tensor: Tensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    """[B, H, S, D] -> [B, S, H*D]."""
    on_device(input_tensor, kind="concatenate heads")
    batch, heads, length, depth = four_dims(input_tensor)
    if depth % TILE_SIZE:
        raise fatal(
            f"Head size must be a multiple of {TILE_SIZE} but was found to be {depth}. Update the matmul that uses the output of this "
            "operation to include padding",
            hint=f"ttnn.pad the heads to {-(-depth // TILE_SIZE) * TILE_SIZE} columns",
        )
    spec = input_tensor.memory_config().shard_spec
    if spec is not None and spec.shape[1] != input_tensor.padded_shape[-1]:
        raise _too_narrow(spec.shape[1], input_tensor.padded_shape[-1])
    return moved(
        input_tensor,
        lambda s: s.transpose(0, 1, 3, 2, 4).reshape(len(s), batch, length, heads * depth),
        of_join(input_tensor, memory_config),
    )


def _too_narrow(found: int, wanted: int) -> RuntimeError:
    return fatal(
        f"Input tensor shard width ({found}) must equal padded width ({wanted})",
        hint="ttnn.to_memory_config(input_tensor, ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG)",
    )


@operation("ttnn.experimental.nlp_concat_heads", family=families.HEADS)
def nlp_concat_heads(input_tensor: Tensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    """[B, H, S, D] -> [B, 1, S, H*D]."""
    on_device(input_tensor, kind="concatenate heads")
    batch, heads, length, depth = four_dims(input_tensor)
    spec = input_tensor.memory_config().shard_spec
    if spec is not None and spec.shape[1] != input_tensor.padded_shape[-1]:
        raise _too_narrow(spec.shape[1], input_tensor.padded_shape[-1])
    return moved(
        input_tensor,
        lambda s: s.transpose(0, 1, 3, 2, 4).reshape(len(s), batch, 1, length, heads * depth),
        of_join(input_tensor, memory_config),
    )


@operation("ttnn.experimental.nlp_concat_heads_decode", family=families.HEADS)
def nlp_concat_heads_decode(
    input_tensor: Tensor,
    *,
    num_heads: int,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """[1, B, H or more, D] -> [1, 1, B, H*D], the first num_heads heads of each user.

    The rows of the result are B rounded up to whole tiles, in its shape too, as the reference has it; those of no user are zeros. Each head
    is on a core of its own, whatever memory is asked for.
    """
    on_device(input_tensor, kind="concatenate heads")
    cut, users = input_tensor.memory_config().shard_spec, four_dims(input_tensor)[1]
    if cut is not None and cut.grid.num_cores() != users:
        raise fatal(
            "Input core grid num_cores must be equal to num users",
            f"{cut.grid.num_cores()} cores, {users} users",
            hint=f"a tensor on {users} cores",
        )
    return joined_users(input_tensor, num_heads, memory_config, output_tensor)


def joined_users(
    input_tensor: Tensor,
    num_heads: int,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """`nlp_concat_heads_decode` of a tensor wherever it lies."""
    length, users, found, depth = four_dims(input_tensor)
    if num_heads > found:
        raise fatal(
            f"num_heads {num_heads} must be at most the {found} heads of the input", hint=f"num_heads={found}"
        )
    spare = -users % TILE_SIZE

    def joined(stack: Array) -> Array:
        rows = stack[..., :num_heads, :].reshape(len(stack), length, 1, users, num_heads * depth)
        return np.pad(rows, ((0, 0), (0, 0), (0, 0), (0, spare), (0, 0))) if spare else rows

    layout = TensorMemoryLayout.WIDTH_SHARDED
    config = on_first_cores(on_device(input_tensor), num_heads, layout, (users + spare, depth))
    return moved(input_tensor, joined, config or memory_config, output_tensor)


@operation(
    "ttnn.experimental.nlp_kv_cache_load_slice",
    family=families.HEADS,
    golden=lambda x, *, seq_len_start, seq_len_end, **_: x[:, :, seq_len_start:seq_len_end].clone(),
)
def nlp_kv_cache_load_slice(
    input_tensor: Tensor,
    *,
    seq_len_start: int,
    seq_len_end: int,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """Rows seq_len_start to seq_len_end of a cache [B, H, S, D], each head's on a core of its own, whatever memory was asked for.

    The result is as wide as whole tiles, in its shape too.
    """
    batch, heads, length, depth = four_dims(input_tensor)
    if not 0 <= seq_len_start < seq_len_end <= length:
        raise fatal(
            f"nlp_kv_cache_load_slice: a cache of {length} rows has none from {seq_len_start} to {seq_len_end}",
            hint=f"seq_len_start=0, seq_len_end={length}",
        )
    spare = whole_tiles(depth) - depth
    piece = (seq_len_end - seq_len_start, depth + spare)
    config = on_first_cores(on_device(input_tensor), batch * heads, TensorMemoryLayout.HEIGHT_SHARDED, piece)

    def rows(stack: Array) -> Array:
        found = stack[..., seq_len_start:seq_len_end, :]
        return np.pad(found, (*[(0, 0)] * (found.ndim - 1), (0, spare))) if spare else found

    return moved(input_tensor, rows, config or memory_config, output_tensor)


@operation(
    "ttnn.experimental.concatenate_heads",
    family=families.HEADS,
    golden=lambda x, *_: attention_goldens.join_heads(x).unsqueeze(1),
)
def experimental_concatenate_heads(
    input_tensor: Tensor,
    compute_with_storage_grid_size: CoreCoord,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """[B, 16, 384, 64] -> [B, 1, 384, 1024] of BERT-large's 7 to 9 users."""
    on_device(input_tensor, kind="concatenate heads")
    batch, heads, length, depth = four_dims(input_tensor)
    head_counts.check_bert_join(input_tensor, compute_with_storage_grid_size)
    return moved(
        input_tensor,
        lambda s: s.transpose(0, 1, 3, 2, 4).reshape(len(s), batch, 1, length, heads * depth),
        memory_config,
        output_tensor,
    )


@operation("ttnn.experimental.nlp_concat_heads_boltz", family=families.HEADS)
def nlp_concat_heads_boltz(
    input_tensor: Tensor, *, memory_config: MemoryConfig | None = None, output_tensor: Tensor | None = None
) -> Tensor:
    """[H, S, S, D] -> [1, S, S, H*D]."""
    on_device(input_tensor, kind="concatenate heads")
    heads, rows, columns, depth = four_dims(input_tensor)
    spec = input_tensor.memory_config().shard_spec
    _, tall, wide, deep = input_tensor.padded_shape
    if spec is not None and memory_config is not None and not memory_config.is_sharded():
        raise fatal(
            f"Sharded input requires a sharded output memory config but got {memory_config.memory_layout}",
            hint="leave memory_config out, or ttnn.sharded_to_interleaved(tensor)",
        )
    if spec is not None and spec.shape[1] != deep:
        raise _too_narrow(spec.shape[1], deep)
    if spec is not None and spec.shape[0] % (tall * wide):
        raise fatal(
            f"Input tensor shard height ({spec.shape[0]}) must be divisible by rows per head (padded[1] * padded[2] = "
            f"{tall} * {wide} = {tall * wide})",
            hint=f"a shard height of {max(spec.shape[0] // (tall * wide), 1) * tall * wide}",
        )
    return moved(
        input_tensor,
        lambda s: s.transpose(0, 2, 3, 1, 4).reshape(len(s), 1, rows, columns, heads * depth),
        of_join(input_tensor, memory_config, tall * wide),
        output_tensor,
    )
