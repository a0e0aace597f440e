"""How many heads fit into a projection, and in whose words the operations refuse others. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE


def check_split(width: int, kv_width: int | None, heads: int, kv_heads: int) -> None:
    """What `transformer.split_query_key_value_and_split_heads` refuses; `kv_width` where keys and values are a tensor of their own."""
    if heads < 1:
        raise fatal("num_heads must be greater than 0", "num_heads > 0", hint="num_heads=1 or more")
    if kv_heads < 1:
        raise fatal(
            "num_kv_heads must be greater than 0",
            "num_kv_heads > 0",
            hint="num_kv_heads=1 or more, or leave it out for as many as query heads",
        )
    if kv_width is not None and 2 * kv_heads > kv_width:
        raise fatal(
            f"2 * num_kv_heads ({kv_heads}) exceeds the KV hidden dimension ({kv_width})",
            hint="fewer heads, or a wider tensor",
        )
    columns = heads if kv_width is not None else heads + 2 * kv_heads
    if columns > width:
        raise fatal(
            f"{columns} heads do not fit in the hidden dimension ({width})",
            hint="fewer heads, or a wider tensor",
        )
    size = width // columns
    if size % TILE_SIZE:
        raise fatal(
            f"Invalid head size: {size}. The head size must be a multiple of the tile width ({TILE_SIZE}). "
            "Please adjust the dimensions accordingly.",
            f"head_size % TILE_SIZE == 0 ({size} % {TILE_SIZE})",
            hint="pad each head to whole tiles in the weights of the product before",
        )


def check_create(width: int, kv_width: int | None, heads: int, kv_heads: int) -> None:
    """What `experimental.nlp_create_qkv_heads` and its forms refuse; without a tensor of keys and values there may be none of their heads."""
    if heads < 1:
        raise fatal("num_q_heads must be greater than 0", "num_q_heads > 0", hint="num_q_heads=1 or more")
    if kv_width is None:
        if heads + 2 * kv_heads > width:
            raise fatal(
                f"num_q_heads ({heads}) + 2 * num_kv_heads ({kv_heads}) exceeds the fused width ({width})",
                hint="fewer heads, or a wider tensor",
            )
        return
    if kv_heads < 1:
        raise fatal(
            "num_kv_heads must be greater than 0 when a KV tensor is given",
            "num_kv_heads > 0",
            hint="num_kv_heads=1 or more, or leave it out for as many as query heads",
        )
    if 2 * kv_heads > kv_width:
        raise fatal(
            f"2 * num_kv_heads ({kv_heads}) exceeds the KV width ({kv_width})",
            hint="fewer heads, or a wider tensor",
        )


def check_grouped(width: int, kv_width: int | None, heads: int, kv_heads: int) -> None:
    """What `experimental.create_qkv_heads` and its form with separate tensors refuse."""
    if heads < 1:
        raise fatal("num_q_heads must be greater than 0", "num_q_heads > 0", hint="num_q_heads=1 or more")
    if kv_heads < 1:
        raise fatal(
            "num_kv_heads must be greater than 0",
            "num_kv_heads > 0",
            hint="num_kv_heads=1 or more, or leave it out for as many as query heads",
        )
    if kv_width is not None and 2 * kv_heads > kv_width:
        raise fatal(
            f"2 * num_kv_heads ({kv_heads}) exceeds the KV hidden dimension ({kv_width})",
            hint="fewer heads, or a wider tensor",
        )
    if kv_width is None and heads + 2 * kv_heads > width:
        raise fatal(
            f"num_q_heads ({heads}) + 2 * num_kv_heads ({kv_heads}) exceeds the flattened hidden dimension ({width})",
            hint="fewer heads, or a wider tensor",
        )


def four_dims(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a tensor with four dimensions. Raises RuntimeError for any other."""
    shape = tuple(tensor.shape)
    if len(shape) != 4:
        raise fatal(
            f"Input must have rank 4, got shape {tensor.shape}",
            hint="ttnn.unsqueeze_to_4D(tensor)"
            if len(shape) < 4
            else "ttnn.reshape(tensor, […]) to four dimensions",
        )
    return shape
