"""What caches refuse of what is to be written into them. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tt_run.runtime.enums import DataType, TensorMemoryLayout, cpp
from tt_run.runtime.errors import ArgumentMismatch, fatal
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles

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


def check_fill(cache: Tensor, new: Tensor, user: int, start: int) -> None:
    """What `fill_cache` refuses of a sequence, of its user and of where it begins."""
    if min(user, start) < 0:
        raise ArgumentMismatch(f"batch_idx and update_idx count from 0, not {min(user, start)}")
    users, heads, length, width = cache.padded_shape
    given, padded = new.padded_shape[-1], new.padded_shape
    for fits, words in (
        (given == width, f"Input tensor width ({given}) must equal cache tensor width ({width})"),
        (padded[0] == 1, f"Input tensor batch size must be 1 but got {padded[0]}"),
        (padded[1] == heads, f"Input tensor height ({padded[1]}) must equal cache tensor height ({heads})"),
        (user < users, f"Batch index ({user}) must be less than cache tensor batch size ({users})"),
        (
            start % TILE_SIZE == 0,
            f"Fill update_idx ({start}) must be a multiple of TILE_HEIGHT ({TILE_SIZE})",
        ),
        (
            start + padded[-2] <= length,
            f"Fill update_idx ({start}) + input tensor height ({padded[-2]}) must be <= cache tensor height ({length})",
        ),
    ):
        if not fits:
            raise fatal(
                words,
                hint=f"[1, {heads}, S, {width}] for a user of 0 to {users - 1}, from a multiple of {TILE_SIZE} up to {length}",
            )


def check_paged_fill(
    new: Tensor, pages: Tensor, named: Mapping[str, Tensor], user: int, size: int, ring: int | None
) -> None:
    """What `paged_fill_cache` refuses of the users and of the length of a sequence."""
    if user < 0:
        raise ArgumentMismatch(f"batch_idx counts from 0, not {user}")
    batch, length, room = new.shape[0], new.shape[2], pages.shape[1] * size
    if user >= pages.shape[0]:
        raise fatal(
            "Batch idx must be within the page_table batch size",
            f"{user} < {pages.shape[0]}",
            hint=f"batch_idx is the row of the page table, 0 to {pages.shape[0] - 1}",
        )
    if ring is None and length > room:
        raise fatal(
            f"Input seq_len ({length}) must fit in max_num_blocks_per_seq ({pages.shape[1]}) * block_size ({size})",
            hint=f"positions are 0 to {room - 1}; a page table with another column has {size} more",
        )
    users, stop = named.get("user"), named.get("length")
    if users is not None and users.volume() != batch:
        raise fatal(
            f"Batch idx tensor must have input_tensor batch dim ({batch}) elements, got {users.volume()}",
            hint="one user for each sequence of the input, as a row of integers in ROW_MAJOR layout",
        )
    if stop is not None and stop.logical_volume() != 1:
        raise fatal(
            f"valid_seq_len tensor must contain exactly 1 element, got logical_volume={stop.logical_volume()}",
            hint="one length for all sequences of the call",
        )
    if stop is not None and ring is None:
        raise fatal(
            "valid_seq_len tensor is only supported when cache_position_modulo is set (bounded fill)",
            hint="cut the input: input_tensor[:, :, :length]",
        )
    if users is None and batch != 1:
        raise fatal(
            f"When no batch_idx_tensor is provided, input_batch must be 1 (got {batch}); pass a batch_idx_tensor of size "
            "input_batch to fill multiple batch rows in one call.",
            hint="batch_idx_tensor=ttnn.from_torch(torch.arange(…), dtype=ttnn.uint32, device=device)",
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
    offset: int = 0,
) -> None:
    """What `paged_update_cache` refuses of a token of each user and of its positions."""
    if offset:
        raise fatal(
            "batch_offset must be 0",
            f"{offset} == 0",
            hint="input_tensor[:, batch_offset:] on a core for each user",
        )
    if shared and pages is not None:
        raise fatal(
            "share_cache not supported with paged cache",
            hint="a page table with the same blocks for every user",
        )
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
    if shared and cache.shape[0] != 1:
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
