"""What the circular buffers of an operation's program take of each core's L1 while it runs, as far as the call itself fixes it.

Where a program chooses the blocks of a product or of attention, the reference's programs set aside at least these buffers: blocks of
both operands twice (one is read while the other is used), the block that is written, what attention keeps between its chunks. It is a
lower bound: intermediate results of another format, masks and what kernels keep beside them are not in it, and operations that choose
their own blocks, which they fit to what is free, have none here. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_run.runtime.enums import BufferType, DataType
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, tiles
from tt_run.runtime.tuning.blocks import SDPAProgramConfig
from tt_run.runtime.tuning.matmul import (
    MatmulMultiCoreReuseMultiCast1DProgramConfig,
    MatmulMultiCoreReuseMultiCastProgramConfig,
    MatmulMultiCoreReuseProgramConfig,
)
from tt_run.runtime.values.dtypes import tile_bytes

DOUBLE = 2  # one block is filled while the other is used
Products = (
    MatmulMultiCoreReuseProgramConfig
    | MatmulMultiCoreReuseMultiCastProgramConfig
    | MatmulMultiCoreReuseMultiCast1DProgramConfig
)


PRODUCTS = ("ttnn.matmul", "ttnn.linear")
ATTENTION = ("ttnn.transformer.scaled_dot_product_attention",)
_ORDER = ("input_tensor_a", "input_tensor_b", "input_tensor_q", "input_tensor_k", "input_tensor_v")


def circular_buffers(name: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> int:
    """Bytes on each core that a call of the operation `name` is known to need at least; 0 where its arguments do not fix them."""
    config = named.get("program_config")
    if config is None or name not in (*PRODUCTS, *ATTENTION):
        return 0
    operands = [
        value for value in (*args, *(named.get(each) for each in _ORDER)) if isinstance(value, Tensor)
    ]
    if isinstance(config, SDPAProgramConfig) and name in ATTENTION and len(operands) > 2:
        return _attention(config, operands)
    if isinstance(config, Products) and name in PRODUCTS and len(operands) > 1:
        return _product(config, operands[0], operands[1], named)
    return 0


def _tile(dtype: DataType) -> int:
    return tile_bytes(TILE_SIZE * TILE_SIZE, dtype)


def _product(config: Products, first: Tensor, second: Tensor, named: Mapping[str, Any]) -> int:
    """Blocks of a product. Operands and results that are sharded over L1 lie where they are, and take no buffer of their own."""
    if getattr(config, "gather_in0", False):
        return 0
    height = getattr(config, "out_block_h", None) or config.per_core_M
    width = getattr(config, "out_block_w", None) or config.per_core_N
    step = config.in0_block_w
    inner = first.padded_shape[-2 if named.get("transpose_a") else -1]
    deep = DOUBLE if tiles(inner) > step else 1
    alone = isinstance(config, MatmulMultiCoreReuseProgramConfig)
    total = 0
    if not (alone and _in_l1_shards(first.memory_config())):
        total += deep * height * step * _tile(first.dtype)
    if not _in_l1_shards(second.memory_config()):
        total += deep * step * width * _tile(second.dtype)
    if not _in_l1_shards(named.get("memory_config")):
        total += height * width * _tile(named.get("dtype") or first.dtype)
    return total


def _in_l1_shards(memory: Any) -> bool:
    return memory is not None and memory.is_sharded() and memory.buffer_type is BufferType.L1


def _attention(config: SDPAProgramConfig, tensors: list[Tensor]) -> int:
    """Attention of a prompt in chunks: queries, keys and values twice, scores, the sums before and after a chunk, the result."""
    queries, keys, values = tensors[:3]
    if queries.padded_shape[-2] <= TILE_SIZE < keys.padded_shape[-2]:
        return 0  # a decoder's, which shares one chunk among cores
    rows = tiles(min(config.q_chunk_size, queries.padded_shape[-2]))
    columns = tiles(min(config.k_chunk_size, keys.padded_shape[-2]))
    deep, wide = tiles(queries.padded_shape[-1]), tiles(values.padded_shape[-1])
    total = rows * deep * _tile(queries.dtype)
    total += DOUBLE * columns * (deep * _tile(keys.dtype) + wide * _tile(values.dtype))
    between = _tile(DataType.BFLOAT16)
    return (
        total + rows * columns * between + DOUBLE * rows * wide * between + rows * wide * _tile(queries.dtype)
    )
