"""Rows of the pieces of tensors that have no tiles, which are whole multiples of what a memory reads at once. Source: behaviour of reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.enums import BufferType, DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.placement.scaled_shards import ALIGNMENT
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size

_DRAM_ALIGNMENT = 32


def check_cut(tensor: Tensor, memory: MemoryConfig) -> None:
    """Raises RuntimeError where a tensor in rows that is not sharded would be cut into rows too short or crooked."""
    width = _width(memory)
    if tensor.layout is Layout.ROW_MAJOR and width * element_size(tensor.dtype) % ALIGNMENT:
        raise fatal("Shard page size must currently have L1 aligned page size", hint=_hint(tensor.dtype))


def check_joined(tensor: Tensor) -> None:
    """Raises RuntimeError for a sharded tensor that is not in L1, or whose rows are no whole multiples of L1's."""
    memory = tensor.memory_config()
    if memory.buffer_type is not BufferType.L1:
        raise fatal("Input tensor must be in L1", hint="ttnn.to_memory_config(tensor, memory_config)")
    check_whole(tensor, memory)


def check_whole(tensor: Tensor, memory: MemoryConfig) -> None:
    """Raises RuntimeError for pieces of the tensor's rows in L1 that are no whole multiples of what that reads."""
    in_rows = tensor.layout is Layout.ROW_MAJOR and memory.buffer_type is BufferType.L1
    if in_rows and _width(memory) * element_size(tensor.dtype) % ALIGNMENT:
        raise fatal(
            f"Shard page size must be aligned to {ALIGNMENT}B for L1 Tensor",
            hint=f"ttnn.to_memory_config(tensor, memory_config), or {_hint(tensor.dtype)}",
        )


def whole_rows(tensor: Tensor) -> bool:
    """Whether the pieces of a tensor's rows are whole multiples of what the memory they lie in reads at once."""
    memory = tensor.memory_config()
    step = ALIGNMENT if memory.buffer_type is BufferType.L1 else _DRAM_ALIGNMENT
    return _width(memory) * element_size(tensor.dtype) % step == 0


def check_cast(tensor: Tensor) -> None:
    """Raises RuntimeError for a tensor in rows whose pieces are too narrow for another element type to be made of them."""
    memory = tensor.memory_config()
    page = _width(memory) * element_size(tensor.dtype)
    if page % (ALIGNMENT if memory.buffer_type is BufferType.L1 else _DRAM_ALIGNMENT):
        raise fatal(
            f"Typecast operation requires sharded input tensor page size ({page} bytes) to be aligned to L1 ({ALIGNMENT} bytes)",
            hint=f"ttnn.to_memory_config(tensor, ttnn.L1_MEMORY_CONFIG), or {_hint(tensor.dtype)}",
        )


def check_moved(tensor: Tensor, memory: MemoryConfig) -> None:
    """Raises RuntimeError for rows that do not move from these pieces to those."""
    own = tensor.memory_config()
    if tensor.layout is not Layout.ROW_MAJOR or not own.is_sharded():
        return
    before, after = _width(own), _width(memory)
    in_l1 = BufferType.L1 in (own.buffer_type, memory.buffer_type)
    if in_l1:
        step = ALIGNMENT if own.buffer_type is BufferType.L1 else _DRAM_ALIGNMENT
        _check("Input", tensor.dtype, before, step, " for reshard", typed=True)
        _check("Output", tensor.dtype, after, ALIGNMENT, " for reshard", typed=True)
    alike = in_l1 and own.memory_layout is memory.memory_layout
    if memory.buffer_type is BufferType.DRAM and before and after and not alike:
        rows, columns = tensor.logical_volume() // max(1, tensor.shape[-1]), tensor.shape[-1]
        pages = [rows * -(-columns // width) for width in (before, after)]
        if pages[0] != pages[1]:
            raise fatal(
                f"Number of input ({pages[0]}) and output ({pages[1]}) pages must match",
                hint=f"rows of {before} elements in DRAM, or ttnn.to_memory_config(tensor, memory_config)",
            )


def check_padded(tensor: Tensor, memory: MemoryConfig | None, columns: int) -> None:
    """Raises RuntimeError for pieces of rows that are crooked, or would be once they are padded to so many columns or lie as `memory` says."""
    if tensor.layout is not Layout.ROW_MAJOR:
        return
    own = tensor.memory_config()
    if own.is_sharded() and own.buffer_type is BufferType.L1:
        _check("Input", tensor.dtype, _width(own), ALIGNMENT)
    if memory is not None:
        _check("Output", tensor.dtype, _width(memory), ALIGNMENT)
    elif own.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED:
        _check("Output", tensor.dtype, columns, ALIGNMENT)


def _check(
    word: str, dtype: DataType, width: int, step: int, purpose: str = "", *, typed: bool = False
) -> None:
    size = width * element_size(dtype)
    if size % step:
        of_type = f" with data type {cpp(dtype)}" if typed else ""
        raise fatal(
            f"{word} row-major shard width {width}{of_type} gives page size {size} bytes, which must be aligned to {ALIGNMENT} bytes{purpose}",
            hint=_hint(dtype, step),
        )


def _width(memory: MemoryConfig) -> int:
    """Elements in a row of a piece; 0 where none is named."""
    if memory.shard_spec is not None:
        return int(memory.shard_spec.shape[1])
    return int(memory.nd_shard_spec.shard_shape[-1]) if memory.nd_shard_spec is not None else 0


def _hint(dtype: DataType, step: int = ALIGNMENT) -> str:
    return f"pieces whose rows are a multiple of {step // element_size(dtype)} elements"
