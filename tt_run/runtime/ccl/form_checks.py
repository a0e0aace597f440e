"""What single forms of collectives refuse, beside what the collective does that they are of. Source: reference library 0.81.1.

Measured on it with a fabric on a mock cluster. What goes by whole tiles is one operation of the device there; any other gather and sum is
made of several, and their results lie in DRAM unless the program says where.
"""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.ccl import checks, memory_checks
from tt_run.runtime.enums import BufferType, DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal, in_rows, in_tiles, throw
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

_SAY_DRAM = "ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG) before"
_SAY_WHERE = "memory_config=ttnn.DRAM_MEMORY_CONFIG, or a MemoryConfig that the result fits"


def check_neighbor_pad(tensor: Tensor, dims: Sequence[int]) -> None:
    """Raises RuntimeError for tiles, for the last dimension and for one that is counted from the end."""
    rank = tensor.shape.rank
    for i, dim in enumerate(dims):
        if isinstance(dim, int) and dim < 0:
            raise fatal(f"dim[{i}] must be non-negative, got {dim}", hint=f"dim={dim + rank}")
        if dim == rank - 1:
            raise fatal(
                f"Error, neighbor pad only supports padding non-last dim, provided dim={dim} for rank-{rank} tensor",
                hint="ttnn.permute brings the dimension further to the front",
            )
    _check_rows(tensor)


def check_slice_reshard(tensor: Tensor, dim: int) -> None:
    """Raises RuntimeError for tiles, for rows on cores and for another dimension than the first."""
    if isinstance(dim, int) and dim != 0:
        raise fatal(
            f"Error, neighbor pad currently only supports sharding dim 0, provided {dim % 2**32}",
            "dim == 0",
            hint="ttnn.permute brings the dimension to the front",
        )
    _check_rows(tensor)
    if tensor.is_sharded():
        raise fatal(
            "Slice reshard does not support sharded input tensors.",
            hint="ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG) before",
        )
    if tensor.shape.rank < 3:
        raise throw(
            f"ShapeBase[] index out of range. 2 not in [-4, {tensor.shape.rank})",
            hint="ttnn.reshape(tensor, …) to three dimensions or four",
        )


def _check_rows(tensor: Tensor) -> None:
    if tensor.layout is Layout.TILE:
        raise fatal(f"Unsupported input tensor layout {cpp(tensor.layout)}.", hint=in_rows("tensor"))


def check_all_to_all(tensor: Tensor, in_dim: int, out_dim: int, members: int) -> None:
    """Raises RuntimeError for rows, for dimensions counted from the end, and for parts of tiles: of the last dimension, and of another half than one of the rows."""
    rank = tensor.shape.rank
    for name, dim in (("in_dim", in_dim), ("out_dim", out_dim)):
        if isinstance(dim, int) and dim < 0:
            raise fatal(f"{name} out of range", f"0 <= {dim} < {rank}", hint=f"{name}={dim + rank}")
    if tensor.shape[out_dim] % members:
        raise fatal(
            f"AllToAllAsync: input tensor dimension {out_dim} must be divisible by num_devices {members}",
            f"input_shape[{out_dim}] % {members} == 0",
            hint=f"ttnn.pad dimension {out_dim} to a multiple of {members}",
        )
    if tensor.layout is not Layout.TILE:
        raise fatal(f"Unsupported input layout {cpp(tensor.layout)}.", hint=in_tiles("tensor"))
    made = list(tensor.shape)
    made[out_dim] //= members
    made[in_dim] *= members
    for dim, word, shape in (
        (out_dim, "Output", type(tensor.shape)(tuple(made))),
        (in_dim, "Input", tensor.shape),
    ):
        over, room = shape[dim] % TILE_SIZE, rank - dim
        if room == 1 and over:
            words = f"{dim} dimension doesn't support padding, so must be divisible by 32."
        elif room == 2 and over % 16:
            words = f"{dim} dimension support only 0 or 16 padding, so must be divisible by 16."
        else:
            continue
        raise fatal(
            f"{words} {word} tensor shape {shape} , but has {over} padding",
            hint="ttnn.pad to whole tiles before",
        )


def place_of_gather(
    tensor: Tensor, dim: int, memory: MemoryConfig | None, output: Tensor | None
) -> MemoryConfig | None:
    """Where `all_gather_async` leaves its result. Raises RuntimeError for what it does not take."""
    rank = tensor.shape.rank
    if tensor.layout is Layout.TILE and rank < 2:
        raise fatal("AllGatherAsync requires tensor of rank 2 or greater", hint="ttnn.unsqueeze(tensor, 0)")
    if output is not None:
        return memory
    whole = memory_checks.in_whole_tiles(tensor, checks.gather_dim(tensor, dim))
    held = tensor.memory_config()
    if whole and held.memory_layout is TensorMemoryLayout.ND_SHARDED:
        raise fatal(
            f"Unsupported input tensor memory layout {cpp(held.memory_layout)}.",
            hint=_SAY_DRAM,
        )
    return memory if whole else _made_of_several(held, memory)


def check_scatter(
    tensor: Tensor, dim: int, memory: MemoryConfig | None, output: Tensor | None, members: int
) -> None:
    """Raises RuntimeError for a result of `reduce_scatter_minimal_async` without a place, or one that does not fit its place."""
    rank, held = tensor.shape.rank, tensor.memory_config()
    if output is not None or not -rank <= dim < rank or tensor.shape[dim] % members:
        return
    dim %= rank
    if not memory_checks.in_whole_tiles(tensor, dim, members):
        _made_of_several(held, memory)
    part = list(tensor.shape)
    part[dim] //= members
    memory_checks.check_scatter(tensor, part, dim, memory or held, members)


def _made_of_several(held: MemoryConfig, memory: MemoryConfig | None) -> MemoryConfig:
    if memory is None and held.is_sharded():
        raise memory_checks.result_without_place(_SAY_WHERE)
    return memory or DRAM_MEMORY_CONFIG


def check_gather_from_dram(tensor: Tensor) -> None:
    """Raises RuntimeError for an operand in L1."""
    if tensor.memory_config().buffer_type is not BufferType.DRAM:
        raise fatal("high_bw_all_gather requires DRAM input", hint=_SAY_DRAM)


def check_ring_gather(
    tensors: Sequence[Tensor], outputs: Sequence[Tensor], memory: MemoryConfig | None
) -> None:
    """Raises RuntimeError for rows, pieces, outputs that lie elsewhere and other ranks than four."""
    for i, (tensor, output) in enumerate(zip(tensors, outputs, strict=True)):
        held = tensor.memory_config()
        if tensor.layout is not Layout.TILE:
            raise fatal(f"Input tensor {i} must be tiled", hint=in_tiles("tensor"))
        if held.is_sharded():
            raise fatal(f"Unsupported memory layout {cpp(held.memory_layout)}.", hint=_SAY_DRAM)
        if output.memory_config() != (memory or held):
            raise fatal(
                f"Output tensor {i} memory config should match output_mem_config",
                hint=f"the output lies in {output.memory_config()}, asked for is {memory or held}",
            )
        rank = tensor.shape.rank
        if rank < 4:
            raise throw(
                f"ShapeBase[] index out of range. 3 not in [-4, {rank})",
                hint="ttnn.reshape(tensor, …) to four dimensions",
            )


def check_direct_scatter(tensor: Tensor, dim: int, members: int) -> None:
    """Raises RuntimeError for rows, and for parts that are not whole tiles."""
    if tensor.layout is not Layout.TILE:
        raise fatal("reduce_scatter_minimal_direct requires TILE layout", hint=in_tiles("tensor"))
    rank, padded = tensor.shape.rank, tensor.padded_shape
    if not -rank <= dim < rank:
        return
    edge = tensor.tile.edges[dim % rank - rank] if dim % rank >= rank - 2 else 1
    size = padded[dim]
    if size // edge % members:
        raise fatal(
            f"scatter dim {dim % rank} (padded size {size}, {size // edge} pages) must split into {members} whole-page slices",
            hint=f"ttnn.pad dimension {dim % rank} to a multiple of {edge * members}",
        )


def check_strided_scatter(tensor: Tensor, dim: int, members: int) -> None:
    """Raises RuntimeError for what `strided_reduce_scatter_async` does not take: other than the last of four dimensions, parts of tiles."""
    shape, rank = tensor.shape, tensor.shape.rank
    if -rank <= dim < rank and dim % rank != 3:
        raise fatal(
            f"strided_reduce_scatter_async only supports dim=3 (W), but got dim={dim % rank}", hint="dim=3"
        )
    if rank != 4 or shape[1] != 1:
        raise fatal(
            f"strided_reduce_scatter_async requires a 4D tensor with C=1, but got shape {shape}",
            hint="ttnn.reshape(tensor, (batch, 1, rows, columns))",
        )
    if tensor.layout is Layout.TILE and not memory_checks.in_whole_tiles(tensor, 3, members):
        raise fatal(
            "Number of tiles at dimension 3 must be divisible by ring_size",
            "tiles % ring_size == 0",
            hint=f"ttnn.pad the last dimension to a multiple of {TILE_SIZE * members}",
        )


def check_dispatch(tokens: Tensor, choices: Tensor, dim: int | None) -> None:
    """Raises RuntimeError for other than rows of bfloat16 tokens and rows of uint16 numbers of experts, one row per token."""
    _check_types((("Input", tokens, DataType.BFLOAT16), ("Indices", choices, DataType.UINT16)))
    if tokens.shape.rank != choices.shape.rank:
        raise fatal(
            "Input and indices tensor must have the same number of dimensions",
            hint=f"{tokens.shape} and {choices.shape} differ; both are [batch, sequence, 1, …]",
        )
    for i, (own, other) in enumerate(zip(tokens.shape, choices.shape, strict=True)):
        if own != other and i < tokens.shape.rank - 1:
            raise fatal(
                "Input and indices tensor must have the same shape for all dimensions except the last. "
                f"Mismatch at dimension {i} with shape {own} and {other}",
                hint=f"{tokens.shape} and {choices.shape} differ before their last dimension",
            )
    if dim not in (1, 2):
        raise fatal(
            f"Output concat dimension must be 1 or 2, got {dim}. Output concat dimension is used to determine the dimension to "
            "concat the output tokens along.",
            hint="output_concat_dim=1 for the batch, 2 for the sequence",
        )


def check_combine(
    results: Tensor,
    choices: Tensor,
    mapping: Tensor,
    axis: int | None,
    dim: int | None,
    reduced: bool = False,
) -> None:
    """Raises RuntimeError for other than rows, of bfloat16 results, uint16 numbers and a uint16 mapping, and without an axis.

    The results are those of as many experts as each device has; they are `reduced` to one.
    """
    _check_types((("Input", results, DataType.BFLOAT16), ("Metadata", choices, DataType.UINT16)), mapping)
    if mapping.dtype is not DataType.UINT16:
        raise fatal(
            "Indices tensor must be uint32",  # its words: it takes uint16
            hint=f"expert_mapping_tensor is {cpp(mapping.dtype)}; ttnn.typecast(expert_mapping_tensor, ttnn.uint16)",
        )
    if axis is None:
        raise fatal("Axis must be specified at the moment", hint="cluster_axis=0 or 1")
    if dim not in (1, 2):
        raise fatal(
            f"Output shard dimension must be 1 or 2, got {dim}. Output shard dimension is used to determine the dimension to "
            "shard the output tokens along.",
            hint="output_shard_dim=1 for the batch, 2 for the sequence",
        )
    device = results.device()
    assert device is not None
    devices, experts = device.get_num_devices(), mapping.shape[-2]
    if experts % devices:
        raise fatal(
            f"Experts {experts} must be evenly divisible by devices",
            hint=f"a multiple of {devices} experts in expert_mapping_tensor",
        )
    held = results.shape[0]
    if reduced and held != 1:
        raise fatal(
            f"Expecting input dim 0 equal to num devices: {devices}, got: {held}",
            hint="one sum for each token of a device; local_reduce=False for one result of each expert",
        )
    if not reduced and held * devices != experts:
        raise fatal(
            f"Expected input shape dim 0: {held} to be equal to expert mapping dim 2: {experts}",
            hint=f"results of the {experts // devices} experts of each device",
        )


def _check_types(operands: Sequence[tuple[str, Tensor, DataType]], mapping: Tensor | None = None) -> None:
    rows = [(name, tensor) for name, tensor, _ in operands]
    if mapping is not None:
        rows.append((operands[-1][0], mapping))
    for name, tensor in rows:
        if tensor.layout is not Layout.ROW_MAJOR:
            raise fatal(f"{name} tensor must be in row major layout", hint=in_rows("tensor"))
    for name, tensor, dtype in operands:
        if tensor.dtype is not dtype:
            raise fatal(
                f"{name} tensor must be {dtype.name.lower()}",
                hint=f"ttnn.typecast(tensor, ttnn.{dtype.name.lower()})",
            )
