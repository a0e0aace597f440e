"""What caches refuse of what is to be written into them. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.enums import DataType, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import whole_tiles

_SPREAD = "ttnn.sharded_to_interleaved(input)"
_WRITTEN = (DataType.FLOAT32, DataType.BFLOAT16)


def check_rows(cache: Tensor, new: Tensor) -> None:
    """Raises RuntimeError for rows of a sequence, of another type or cut otherwise than by height in whole tiles of one head."""
    if new.dtype is not cache.dtype:
        raise fatal(
            "Input and cache tensors must have same dtype!",
            f"{cpp(new.dtype)} != {cpp(cache.dtype)}",
            hint=f"ttnn.typecast(input, ttnn.{cache.dtype.name.lower()})",
        )
    check_cut(new)
    spec = new.memory_config().shard_spec
    if spec is not None and whole_tiles(new.shape[-2]) % spec.shape[0]:
        raise fatal(
            "Seq len must be divisible by shard height!",
            f"{whole_tiles(new.shape[-2])} % {spec.shape[0]}",
            hint=_SPREAD,
        )


def check_cut(new: Tensor) -> None:
    """Raises RuntimeError for rows that are cut by width."""
    memory = new.memory_config()
    if memory.memory_layout is TensorMemoryLayout.WIDTH_SHARDED:
        raise fatal(
            f"Input tensor memory layout must not be WIDTH_SHARDED but got {cpp(memory.memory_layout)}",
            hint=_SPREAD,
        )
    spec, wide = memory.shard_spec, new.padded_shape[-1]
    if spec is not None and spec.shape[1] != wide:
        raise fatal(
            f"Input tensor shard width ({spec.shape[1]}) must equal padded width ({wide})", hint=_SPREAD
        )


def check_tokens(
    cache: Tensor,
    new: Tensor,
    listed: Sequence[int],
    positions: Tensor | None,
    pages: Tensor | None,
    shared: bool,
) -> None:
    """What `paged_update_cache` refuses of a token of each user and of its positions."""
    if new.dtype not in _WRITTEN:
        raise fatal(
            "Data type of input tensor for paged_update_cache must be FLOAT32 or BFLOAT16; decode update repacks into the cache dtype and "
            f"should not be given {cpp(new.dtype)}",
            hint="ttnn.typecast(input_tensor, ttnn.bfloat16)",
        )
    if positions is not None and positions.dtype is not DataType.INT32 and not positions.is_sharded():
        raise fatal(
            f"Expected update_idxs to have datatype INT32, got {cpp(positions.dtype)}",
            hint="ttnn.typecast(update_idxs_tensor, ttnn.int32)",
        )
    if pages is not None and positions is None:
        raise fatal(
            "Paged cache requires update_idxs tensor", hint="update_idxs_tensor=… of one int32 per user"
        )
    users = new.shape[1]
    if pages is not None and not pages.is_sharded() and pages.shape[0] % max(users, 1):
        raise fatal(
            f"Batch size between page_table and input_tensor must match, got {pages.shape[0]} and {users}",
            hint="a row of the page table for each user, or as many copies of it as there are cores",
        )
    if listed and len(listed) != users:
        raise fatal(
            f"Number of update_idxs ({len(listed)}) should match batch size ({users})",
            hint=f"update_idxs=[…] of {users} positions",
        )
    spec = new.memory_config().shard_spec
    if spec is not None and spec.grid.num_cores() != users:
        raise fatal(
            f"Input tensor shard grid must have num_cores ({spec.grid.num_cores()}) equal to the number of users / batch ({users}). The kernel "
            "dispatches one user per core",
            hint=f"an input on {users} cores",
        )
    if shared and pages is None and cache.shape[0] != 1:
        raise fatal(
            "Share cache feature expects cache tensor to have batch of 1",
            f"got {cache.shape[0]}",
            hint="share_cache=False",
        )


def check_apart(first: Tensor, second: Tensor) -> None:
    """Raises RuntimeError for keys and values of `paged_fused_update_cache` that share a core."""
    specs = [tensor.memory_config().shard_spec for tensor in (first, second)]
    if any(spec is None for spec in specs):
        return
    grids = [spec.grid for spec in specs if spec is not None]
    if grids[0].num_cores() + grids[1].num_cores() > grids[0].merge(grids[1]).num_cores():
        raise fatal(
            f"input_tensor1 ({grids[0]}) and input_tensor2 ({grids[1]}) must not overlap",
            hint="ttnn.to_memory_config(input_tensor2, a configuration on cores that input_tensor1 has none of)",
        )
