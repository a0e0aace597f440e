"""Splitting projections into heads as single models do: BERT's, Falcon's, ViT's, and those of pairs. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy.typing as npt

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.attention import head_counts
from tt_run.runtime.ops.attention.grouped_heads import create_qkv_heads
from tt_run.runtime.ops.attention.head_counts import four_dims
from tt_run.runtime.ops.attention.heads import (
    Place,
    Three,
    by_sequence,
    in_whole_rows,
    split_columns,
    widths_of,
)
from tt_run.runtime.ops.data_movement.movement import unsqueeze
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.goldens import attention_goldens
from tt_run.runtime.ops.placement.head_shards import of_own_heads
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]
FALCON = 73 * 64
"""Columns of Falcon-7B's projection."""


@operation(
    "ttnn.transformer.split_query_key_value_and_split_heads",
    family=families.HEADS,
    golden=attention_goldens.split_heads,
)
def split_query_key_value_and_split_heads(
    input_tensor: Tensor,
    kv_input_tensor: Tensor | None = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_key: bool = True,
    memory_config: MemoryConfig | None = None,
    use_falcon7b_backend: bool = False,
) -> Three:
    """[B, S, q | k | v] -> query [B, H, S, D], key [B, Hkv, D, S] (or [B, Hkv, S, D]), value [B, Hkv, S, D].

    A tensor that is cut over cores has the queries, the key and the value of one head of keys side by side, as for `create_qkv_heads`.
    """
    if use_falcon7b_backend and (num_kv_heads is None or kv_input_tensor is not None):
        raise fatal(
            "Invalid configuration: use_falcon7b_backend requires num_kv_heads to be set and no separate KV tensor.",
            hint="num_kv_heads=1, and the queries, the key and the value in one tensor",
        )
    if len(input_tensor.shape) != 3:
        raise fatal(
            f"Invalid input tensor: expected 3 dimensions, but found {len(input_tensor.shape)}.",
            hint="ttnn.squeeze(input_tensor, 1): [B, S, q | k | v]",
        )
    kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    head_counts.check_split(*widths_of(input_tensor, kv_input_tensor), num_heads, kv_heads)
    head_counts.check_alike(input_tensor, kv_input_tensor)
    if use_falcon7b_backend:
        _check_falcon(input_tensor, transpose_key)
    elif input_tensor.is_sharded():
        words: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": kv_heads}
        words |= {"transpose_k_heads": transpose_key, "memory_config": memory_config}
        if kv_input_tensor is not None:
            raise fatal(
                "Invalid operation: KV tensor should not be provided when the input tensor is sharded. Please ensure that the KV tensor is "
                "only used in non-sharded configuration",
                hint="ttnn.experimental.create_qkv_heads_from_separate_tensors, or ttnn.sharded_to_interleaved of both",
            )
        query, key, value = create_qkv_heads.compute(unsqueeze.compute(input_tensor, 1), **words)
        length = input_tensor.shape[1]
        kept = (query, -2), (key, -1 if transpose_key else -2), (value, -2)
        query, key, value = (_of_length(heads, length, axis) for heads, axis in kept)
        return query, key, value
    if memory_config is not None and memory_config.is_sharded():
        raise fatal(
            f"Output memory config layout must be INTERLEAVED but got {cpp(memory_config.memory_layout)}",
            hint="ttnn.to_memory_config of each result",
        )
    return split_columns(
        input_tensor, kv_input_tensor, num_heads, kv_heads, by_sequence(transpose_key), memory_config
    )


def _of_length(heads: Tensor, length: int, axis: int) -> Tensor:
    """Heads with as many rows, or columns, as the sequence is long: the others become padding where they lie."""
    if heads.shape[axis] == length:
        return heads
    cut = (..., slice(length)) if axis == -1 else (..., slice(length), slice(None))

    def seen(stack: Array) -> Array:
        return stack[cut]

    return heads.derive(heads.shards.map(seen), memory_config=heads.memory_config(), view=seen)


def _check_falcon(tensor: Tensor, transpose_key: bool) -> None:
    if transpose_key:
        raise fatal(
            "Invalid configuration: Transpose is set to true, but this is not supported when separate num_kv_heads is used.",
            hint="transpose_key=False",
        )
    if tensor.shape[-1] != FALCON:
        raise fatal(
            "Unsupported input shape",
            f"{tensor.shape}",
            hint=f"{FALCON} columns, or use_falcon7b_backend=False",
        )
    if tensor.is_sharded():
        raise fatal(
            "Sharded output memory config is not supported for nlp_create_qkv_heads_falcon7b",
            hint="ttnn.sharded_to_interleaved(input_tensor)",
        )


@operation(
    "ttnn.experimental.split_query_key_value_and_split_heads",
    family=families.HEADS,
    golden=attention_goldens.split_heads,
)
def split_fused_heads(
    input_tensor: Tensor,
    compute_with_storage_grid_size: CoreCoord | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    num_heads: int = 16,
    output_tensors: Sequence[Tensor | None] | None = None,
) -> Three:
    """[B, 1, S, q | k | v] -> query [B, H, S, D], key [B, H, D, S], value [B, H, S, D], of BERT-large's 7 to 9 users.

    Of a tensor that is cut over cores each core has [q | k | v] of its own heads, and keeps them; there may be any number of users.
    """
    head_counts.check_bert_split(input_tensor, compute_with_storage_grid_size)
    spec = input_tensor.memory_config().shard_spec
    groups = 1 if spec is None else input_tensor.padded_shape[-1] // spec.shape[1]
    if num_heads % groups:
        raise fatal(
            f"{num_heads} heads cannot be cut over {groups} columns of cores",
            hint=f"num_heads={groups} or a multiple of it",
        )
    place: Place = memory_config
    if spec is not None and (memory_config or input_tensor.memory_config()).is_sharded():
        place = partial(of_own_heads, input_tensor, memory_config, num_heads // groups)
    arrange = by_sequence(True)
    return split_columns(
        input_tensor,
        None,
        num_heads,
        num_heads,
        arrange if spec is None else in_whole_rows(arrange),
        place,
        output_tensors,
        groups=groups,
    )


@operation("ttnn.experimental.nlp_create_qkv_heads_boltz", family=families.HEADS)
def nlp_create_qkv_heads_boltz(
    input: Tensor,
    input_kv: Tensor | None = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_k_heads: bool = True,
    memory_config: MemoryConfig | None = None,
    output_tensors: Sequence[Tensor | None] | None = None,
) -> Three:
    """Pairs [1, S, S, q | k | v] -> query [H, S, S, D], key [Hkv, S, D, S] (or [Hkv, S, S, D]), value [Hkv, S, S, D]."""
    _, rows, columns, _ = four_dims(input)
    kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    head_counts.check_create(*widths_of(input, input_kv), num_heads, kv_heads)
    head_counts.check_whole_width(input)
    if input.shape[0] != 1 or rows != columns:
        raise fatal(
            f"nlp_create_qkv_heads_boltz takes pairs [1, S, S, columns], got {input.shape}",
            hint="ttnn.experimental.nlp_create_qkv_heads takes [B, 1, S, columns]",
        )
    if input.is_sharded() or (memory_config is not None and memory_config.is_sharded()):
        raise fatal(
            "nlp_create_qkv_heads_boltz: each row of each head would be on a core of its own, more than a device has",
            hint="ttnn.sharded_to_interleaved(input), and memory_config=ttnn.DRAM_MEMORY_CONFIG",
        )

    def arrange(pairs: Array, heads: int, is_key: bool) -> Array:
        split = pairs.reshape(len(pairs), rows, columns, heads, pairs.shape[-1] // heads)
        return (
            split.transpose(0, 3, 1, 4, 2) if is_key and transpose_k_heads else split.transpose(0, 3, 1, 2, 4)
        )

    return split_columns(input, input_kv, num_heads, kv_heads, arrange, memory_config, output_tensors)


@operation("ttnn.experimental.nlp_create_qkv_heads_vit", family=families.HEADS)
def nlp_create_qkv_heads_vit(
    input: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensors: Sequence[Tensor | None] | None = None,
) -> Three:
    """[B, 1, S, q | k | v] of 12 heads -> query, key and value [B, 12, S, D], with the rows of whole tiles, in their shapes too."""
    asked = memory_config or input.memory_config()
    if asked.is_sharded():
        raise fatal(
            f"Output memory config layout must be INTERLEAVED but got {cpp(asked.memory_layout)}",
            hint="memory_config=ttnn.DRAM_MEMORY_CONFIG",
        )
    return split_columns(
        input, None, 12, 12, in_whole_rows(by_sequence(False)), memory_config, output_tensors
    )
