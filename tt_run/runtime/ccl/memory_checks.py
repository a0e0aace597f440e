"""What collectives refuse of where operands and results lie, in the reference's words. Source: reference library 0.81.1.

The reference makes some collectives of others: a sum over tiles that come apart in whole ones is a reduce-scatter and a gather, any
other a gather along a new dimension and a sum. What the steps between refuse is refused here as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.enums import BufferType, DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import as_type, fatal, in_tiles, throw
from tt_run.runtime.tensor import pages
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS

_SUMMED_BY_ITSELF = frozenset((DataType.UINT8, DataType.UINT16, DataType.UINT32))
PAGE_STEP = 16
"""Bytes of which the rows that go from device to device are whole multiples."""
_MOVE_OUT = "ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG) before, and back after"


def in_whole_tiles(tensor: Tensor, dim: int, pieces: int = 1) -> bool:
    """Whether so many pieces of a dimension, counted from the front, are whole tiles without padding."""
    from_the_end = dim - tensor.shape.rank
    if tensor.layout is not Layout.TILE:
        return False
    step = tensor.tile.edges[from_the_end] if from_the_end >= -2 else 1
    return tensor.shape[dim] % (pieces * step) == 0


def check_named(memory: MemoryConfig | None, layout: Layout) -> None:
    """Raises RuntimeError for a sharded memory configuration without cores and pieces, which only some operations find for themselves."""
    if memory is None or not memory.nameless:
        return
    hint = (
        f"{memory.memory_layout} names no cores: give a ShardSpec, or use ttnn.create_sharded_memory_config"
    )
    if layout is Layout.TILE:
        raise fatal("bad optional access", hint=hint)
    raise fatal("MemoryConfig must have Shard Spec specified for sharded memory layout", hint=hint)


def check_broadcast(
    tensor: Tensor, shape: Sequence[int], _: int | None, memory: MemoryConfig, __: int
) -> None:
    """Raises RuntimeError for a tensor in pieces of any rank: broadcasts go through its buffer by the rules of matrices."""
    _check_part(tensor, shape, memory)
    layout = tensor.memory_config().memory_layout
    if layout is TensorMemoryLayout.ND_SHARDED:
        raise throw(f"Unsupported memory layout {cpp(layout)}.", hint=_MOVE_OUT)


def check_scatter(
    tensor: Tensor, shape: Sequence[int], dim: int | None, memory: MemoryConfig, members: int
) -> None:
    """Raises RuntimeError for a part that does not fit its pieces, and for pieces of any rank that the devices fill tile by tile."""
    assert dim is not None
    _check_part(tensor, shape, memory, tile_by_tile=in_whole_tiles(tensor, dim, members))


def check_sum(tensor: Tensor, _: Sequence[int], __: int | None, memory: MemoryConfig, members: int) -> None:
    """Raises RuntimeError for operands and results that the steps of a sum do not take."""
    held, shape = tensor.memory_config(), list(tensor.shape)
    dim = dim_of_whole_tiles(tensor, members)
    if dim is not None:
        if held.is_sharded() and held.buffer_type is BufferType.DRAM:
            raise _must_be_in_l1()
        shape[dim] //= members
        _check_part(tensor, shape, memory, tile_by_tile=True)
        return
    check_summand(tensor, members)
    if held.is_sharded() and held.buffer_type is BufferType.DRAM:
        raise _must_be_in_l1()
    if memory.is_sharded() and not memory.created_with_nd_shard_spec:
        gathered = tuple(shape if held.is_sharded() else [members, *shape])
        padded = padded_shape(gathered, Layout.TILE, tensor.tile)
        sharding.settled(memory, padded.dims, Layout.TILE, tensor.tile.edges)


def dim_of_whole_tiles(tensor: Tensor, members: int) -> int | None:
    """The last dimension that comes apart in whole tiles over the devices of a group, which a sum is scattered along."""
    dims = reversed(range(tensor.shape.rank))
    return next((dim for dim in dims if in_whole_tiles(tensor, dim, members)), None)


def check_summand(tensor: Tensor, members: int) -> None:
    """Raises RuntimeError for an operand that no part of a sum takes: what does not come apart is gathered and added."""
    layout = tensor.memory_config().memory_layout
    whole = dim_of_whole_tiles(tensor, members) is not None
    if layout is TensorMemoryLayout.ND_SHARDED:
        if whole:
            raise _tile_by_tile()
        raise result_without_place(_MOVE_OUT)
    if not whole and tensor.dtype in _SUMMED_BY_ITSELF:
        raise fatal(
            "moreh_sum input only supports specific data types. [BFLOAT16, INT32]",
            f"{tensor.dtype} in {tensor.layout}, whose tiles do not come apart over {members} devices",
            hint=as_type("tensor", "int32"),
        )


def result_without_place(hint: str) -> RuntimeError:
    """For a result of another shape than its operand in pieces, for which no place is named."""
    return fatal(
        "If input memory config is sharded, then output memory config must be provided. Defaulting the output memory config to "
        "the input sharded memory config will break the op as the input and output shapes are different.",
        hint=hint,
    )


def _must_be_in_l1() -> RuntimeError:
    return fatal("Input tensor must be in L1", hint=_MOVE_OUT)


def check_packets(tensor: Tensor) -> None:
    """Raises RuntimeError for block floats, which a point-to-point transfer does not pack."""
    if tensor.dtype in BLOCK_FLOATS:
        raise fatal("datum for bfp2, bfp4, bfp8 is invalid", hint=as_type("tensor", "bfloat16"))


def check_transfer(tensor: Tensor) -> None:
    """Raises RuntimeError for a tensor whose pages a point-to-point transfer does not take."""
    check_packets(tensor)
    if tensor.memory_config().is_sharded():
        raise fatal("Point to point does not yet support sharded configs", hint=_MOVE_OUT)
    if tensor.layout is Layout.ROW_MAJOR and pages.page_bytes(tensor) % PAGE_STEP:
        raise fatal(
            f"Tensor page size must be {PAGE_STEP} byte aligned",
            f"a row of {tensor.shape[-1]} elements takes {pages.page_bytes(tensor)} bytes",
            hint=in_tiles("tensor"),
        )


def _check_part(
    tensor: Tensor, shape: Sequence[int], memory: MemoryConfig, *, tile_by_tile: bool = False
) -> None:
    """Raises RuntimeError for a tensor of this shape that does not fit its pieces; `tile_by_tile`: and for pieces of any rank on either side."""
    layouts = [tensor.memory_config().memory_layout]
    if memory.is_sharded():
        padded = padded_shape(tuple(shape), tensor.layout, tensor.tile)
        found = sharding.settled(memory, padded.dims, tensor.layout, tensor.tile.edges)
        layouts.append(found.memory_layout)
    if tile_by_tile and TensorMemoryLayout.ND_SHARDED in layouts:
        raise _tile_by_tile()


def _tile_by_tile() -> RuntimeError:
    return fatal(
        "ShardedAddrGenArgBuilder::emit_ct_args was invoked with a tensor containing an unsupported (Sharded) Tensor Memory Layout: "
        + cpp(TensorMemoryLayout.ND_SHARDED),
        hint=_MOVE_OUT,
    )
