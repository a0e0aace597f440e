"""Products of queries with the keys of each user, as decoding of few heads makes them. Source: reference library 0.81.1.

PyTorch computes them, one device's shard at a time. They read whole tiles: operands are taken with their padding, which results have too.
"""

from __future__ import annotations

from typing import Any

from tt_run.runtime.cores import CoreCoord, num_cores_to_corerangeset
from tt_run.runtime.enums import DataType, ShardOrientation, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.ops.attention.head_counts import four_dims
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.families import TORCH
from tt_run.runtime.ops.declaration.operands import floating, on_device, settle
from tt_run.runtime.ops.declaration.rows import torch_shards
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles

GROUP = 32
"""Users of `group_attn_matmul`, no more and no fewer, and the fewest cores that it takes."""


def by_user(a: Any, b: Any, *_: Any, **__: Any) -> Any:
    """(q_len, heads, users, D) with each user's (kv heads, D, keys): (q_len, heads, users, keys)."""
    share = a.shape[1] // b.shape[1]
    users = a.permute(2, 1, 0, 3) @ (b.repeat_interleave(share, 1) if b.shape[1] != a.shape[1] else b)
    return users.permute(2, 1, 0, 3)


def from_cache(a: Any, cache: Any, *, num_tokens: int, transpose_hw: bool, **_: Any) -> Any:
    """`by_user` with the first rows of a cache."""
    held = cache[:, :, :num_tokens]
    return by_user(a, held.transpose(-1, -2) if transpose_hw else held)


@operation("ttnn.experimental.attn_matmul", family=families.MATMUL, engine=TORCH, golden=by_user)
def attn_matmul(
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    *,
    compute_with_storage_grid_size: CoreCoord | None = None,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    compute_kernel_config: object = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """Queries (1, heads, users, D) with each user's keys (1, D, keys)."""
    a, b = input_tensor_a, input_tensor_b
    _check(a, b, dtype, compute_kernel_config, shared=False)
    _check_depth("attn_matmul", a, b)
    return _product(a, b, by_user, dtype, memory_config or _place_of(a), output_tensor)


@operation(
    "ttnn.experimental.attn_matmul_from_cache", family=families.MATMUL, engine=TORCH, golden=from_cache
)
def attn_matmul_from_cache(
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    *,
    num_tokens: int,
    transpose_hw: bool,
    compute_with_storage_grid_size: CoreCoord | None = None,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    compute_kernel_config: object = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """As attn_matmul, with the first num_tokens rows of a cache, in whole tiles."""
    a, b = input_tensor_a, input_tensor_b
    _check(a, b, dtype, compute_kernel_config, shared=False)
    tokens = whole_tiles(num_tokens)
    if transpose_hw and a.padded_shape[3] != b.padded_shape[3]:
        raise fatal(
            "For pre-attention matmul, dimension K for B is in B.shape[3], so A.shape[3] must match B.shape[3]",
            f"{a.padded_shape[3]} != {b.padded_shape[3]}",
            hint=f"a cache of rows {a.padded_shape[3]} wide, or transpose_hw=False",
        )
    if not transpose_hw and a.padded_shape[3] != tokens:
        raise fatal(
            "For post-attention matmul, dimension K (A.shape[3]) is the kv_seq_len in this case and must match the length of the cache "
            "we read",
            f"{a.padded_shape[3]} != {tokens}",
            hint=f"num_tokens={a.padded_shape[3]}",
        )
    if tokens > b.padded_shape[2]:
        raise fatal(
            "Number of tokens must be smaller or equal to the max cache length (B.shape[2])!",
            f"{tokens} > {b.padded_shape[2]}",
            hint=f"num_tokens={b.padded_shape[2]}",
        )

    def read(x: Any, cache: Any) -> Any:
        return from_cache(x, cache, num_tokens=tokens, transpose_hw=transpose_hw)

    return _product(a, b, read, dtype, memory_config or _place_of(a), output_tensor)


@operation("ttnn.experimental.group_attn_matmul", family=families.MATMUL, engine=TORCH, golden=by_user)
def group_attn_matmul(
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    *,
    compute_with_storage_grid_size: CoreCoord,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    compute_kernel_config: object = None,
    optional_output_tensor: Tensor | None = None,
) -> Tensor:
    """As attn_matmul, heads of keys shared by groups of heads of queries; each head of a result on cores is on one of its own."""
    a, b = input_tensor_a, input_tensor_b
    _check(a, b, dtype, compute_kernel_config, shared=True)
    _check_depth("group_attn_matmul", a, b)
    if b.padded_shape[0] != GROUP:
        raise fatal(
            f"Only batch {GROUP} is supported for group attention matmul!",
            f"{b.padded_shape[0]} users",
            hint=f"a call for each {GROUP} users, or ttnn.matmul",
        )
    heads, grid = a.padded_shape[1], compute_with_storage_grid_size
    if max(heads, GROUP) > grid.x * grid.y:
        raise fatal(
            "Compute grid size is too small for group attention matmul! For now, we require at most 1 q_heads per core.",
            f"{max(heads, GROUP)} cores, got {grid.x} x {grid.y}",
            hint="compute_with_storage_grid_size=device.compute_with_storage_grid_size(), or fewer heads",
        )
    for word, tensor in (("A", a), ("B", b)):
        memory = tensor.memory_config()
        if memory.is_sharded() and memory.memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED:
            raise fatal(
                f"Input tensor {word} memory layout must be HEIGHT_SHARDED but got {cpp(memory.memory_layout)}",
                hint="ttnn.sharded_to_interleaved(tensor)",
            )
    spec = a.memory_config().shard_spec
    if spec is not None and spec.grid.num_cores() != heads:
        raise fatal(
            "Q heads must be sharded on number of q heads!",
            f"{heads} heads on {spec.grid.num_cores()} cores",
            hint=f"queries on {heads} cores",
        )
    place = _by_head(a, b, grid, memory_config or DRAM_MEMORY_CONFIG)
    return _product(a, b, by_user, dtype, place, optional_output_tensor)


def _check(a: Tensor, b: Tensor, dtype: DataType | None, kernel: object, shared: bool) -> None:
    """Raises RuntimeError for operands that are not of one row of queries, of the same users and of types that the kernel takes."""
    on_device(a, b, kind="matmul")
    floating("attention products", a, b)
    four_dims(a), four_dims(b)
    queries, keys = a.padded_shape, b.padded_shape
    if queries[0] != 1:
        raise fatal("Input q_len must be 1!", f"got {queries[0]}", hint="a call for each row of queries")
    if not shared and keys[1] != 1:
        raise fatal(
            "Number of kv_heads must be 1!",
            f"got {keys[1]}",
            hint="ttnn.experimental.group_attn_matmul takes more",
        )
    if queries[1] % keys[1]:
        raise fatal(
            "Number of q_heads must be divisible by kv_heads!",
            f"{queries[1]} % {keys[1]} == {queries[1] % keys[1]}",
            hint="keys of as many heads as divide those of the queries",
        )
    if queries[2] != keys[0]:
        raise fatal(
            "Num of users must match!",
            f"{queries[2]} rows of queries with their padding, {keys[0]} users of keys",
            hint=f"ttnn.pad the keys to {queries[2]} users, whole tiles of them",
        )
    types = (a.dtype, b.dtype, dtype or a.dtype)
    if DataType.FLOAT32 in types and getattr(kernel, "fp32_dest_acc_en", False) is not True:
        raise fatal(
            "when inputs/output are in fp32 format, fp32_dest_acc_en must be set",
            hint="compute_kernel_config=ttnn.WormholeComputeKernelConfig(fp32_dest_acc_en=True)",
        )


def _check_depth(name: str, a: Tensor, b: Tensor) -> None:
    if a.padded_shape[3] != b.padded_shape[2]:
        raise fatal(
            f"Dimension K (A.shape[3]and B.shape[2]) must match for A shape: {a.padded_shape} and B shape: {b.padded_shape} in {name} op",
            hint="ttnn.transpose(keys, -2, -1)"
            if a.padded_shape[3] == b.padded_shape[3]
            else "keys as wide as the queries",
        )


def _place_of(a: Tensor) -> MemoryConfig | None:
    """Where the queries lie, as a place that the result has to fit into."""
    return a.memory_config() if a.is_sharded() else None


def _by_head(a: Tensor, b: Tensor, grid: CoreCoord, memory_config: MemoryConfig) -> MemoryConfig:
    """A head on each core where a call names none: those of the queries, else of `grid` along the keys' orientation, or by columns."""
    if not memory_config.nameless or memory_config.memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED:
        return memory_config
    spec, keys = a.memory_config().shard_spec, b.memory_config().shard_spec
    leading = spec or keys
    orientation = ShardOrientation.COL_MAJOR if leading is None else leading.orientation
    by_row = orientation is ShardOrientation.ROW_MAJOR
    cores = num_cores_to_corerangeset(a.shape[1], grid, row_wise=by_row) if spec is None else spec.grid
    piece = (a.padded_shape[2], b.padded_shape[3])
    return memory_config.recast(shard_spec=ShardSpec(cores, piece, orientation))


def _product(
    a: Tensor,
    b: Tensor,
    function: Any,
    dtype: DataType | None,
    place: MemoryConfig | None,
    output: Tensor | None,
) -> Tensor:
    def padded(tensor: Any) -> Any:
        *_, rows, columns = tensor.shape
        spare = (0, -columns % TILE_SIZE, 0, -rows % TILE_SIZE)
        return library().nn.functional.pad(tensor, spare) if any(spare) else tensor

    target = dtype or a.dtype
    found, _ = torch_shards(lambda x, y: function(padded(x), padded(y)), [a, b], [a, b], target)
    return settle((a, b), found[0], target, memory_config=place, output_tensor=output)
