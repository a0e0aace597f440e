"""What the operations of an expert's prefill refuse. Source: reference library 0.81.1, its refusals recorded on mock devices."""

from __future__ import annotations

from tt_run.runtime.enums import BufferType, DataType, Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles

_TO_DRAM = "ttnn.to_memory_config({}, ttnn.DRAM_MEMORY_CONFIG)"


def _check_in_dram(name: str, tensor: Tensor) -> None:
    memory = tensor.memory_config()
    if memory.is_sharded() or memory.buffer_type is not BufferType.DRAM:
        raise fatal(f"{name} must be DRAM interleaved", hint=_TO_DRAM.format(name))


def _check_buffer(name: str, tensor: Tensor) -> None:
    """Raises RuntimeError for what is no matrix of whole tiles of rows in DRAM."""
    if tensor.dtype not in (DataType.BFLOAT8_B, DataType.BFLOAT16):
        raise fatal(
            f"{name} must be BFLOAT8_B or BFLOAT16, got {cpp(tensor.dtype)}",
            hint=f"ttnn.typecast({name}, ttnn.bfloat16)",
        )
    if tensor.layout is not Layout.TILE:
        raise fatal(f"{name} must be TILE layout, got {cpp(tensor.layout)}", hint=in_tiles(name))
    if len(tensor.shape) != 2:
        raise fatal(
            f"{name} must be 2D, got rank {len(tensor.shape)}",
            hint=f"ttnn.reshape({name}, (-1, {tensor.shape[-1] if len(tensor.shape) else 1}))",
        )
    if tensor.shape[0] % TILE_SIZE:
        raise fatal(
            f"{name} rows/tokens ({tensor.shape[0]}) must be a multiple of TILE_HEIGHT ({TILE_SIZE})",
            hint=f"ttnn.pad it to {whole_tiles(tensor.shape[0])} rows",
        )
    _check_in_dram(name, tensor)


def _check_numbers(name: str, tensor: Tensor) -> None:
    """Raises RuntimeError for what is no row of whole numbers in DRAM."""
    shape = tuple(tensor.shape)
    if tensor.dtype is not DataType.UINT32:
        raise fatal(
            f"{name} must be UINT32, got {cpp(tensor.dtype)}", hint=f"ttnn.typecast({name}, ttnn.uint32)"
        )
    if tensor.layout is not Layout.ROW_MAJOR:
        raise fatal(
            f"{name} must be ROW_MAJOR layout, got {cpp(tensor.layout)}",
            hint=f"ttnn.to_layout({name}, ttnn.ROW_MAJOR_LAYOUT)",
        )
    if not (len(shape) == 1 or (len(shape) == 2 and shape[0] == 1)):
        raise fatal(
            f"{name} must be 1D or 2D with first dimension == 1, got shape {tensor.shape}",
            hint=f"ttnn.reshape({name}, (-1,))",
        )
    _check_in_dram(name, tensor)


def check_expert(
    buffer: Tensor,
    start: Tensor,
    counts: Tensor,
    table: Tensor,
    local_expert_id: int,
    local: Tensor | None = None,
) -> None:
    """Raises RuntimeError for operands of `extract` and `insert`, which hands over `local`, that do not fit."""
    _check_buffer("global_tensor", buffer)
    if local is not None:
        _check_buffer("local_tensor", local)
        if local.dtype is not buffer.dtype:
            raise fatal(
                f"global_tensor and local_tensor must have the same dtype, got global={cpp(buffer.dtype)} local={cpp(local.dtype)}",
                hint=f"ttnn.typecast(local_tensor, {cpp(buffer.dtype)})",
            )
        if local.shape[-1] != buffer.shape[-1]:
            raise fatal(
                f"local_tensor hidden_dim ({local.shape[-1]}) must match global_tensor hidden_dim ({buffer.shape[-1]})",
                hint="tokens as extract gives them",
            )
    for name, numbers in (("start", start), ("counts", counts), ("global_expert_idx_table", table)):
        _check_numbers(name, numbers)
    if start.shape[-1] != counts.shape[-1]:
        raise fatal(
            f"start and counts must have the same last dimension, got start={start.shape[-1]} and counts={counts.shape[-1]}",
            hint="a start and a count for each expert",
        )
    last = table.shape[-1] - 1
    if not 0 <= local_expert_id <= last:
        raise fatal(
            f"local_expert_id ({local_expert_id}) must be in the range [0, {last}] (global_expert_idx_table last dimension - 1)",
            hint=f"local_expert_id=0 to {last}",
        )


def check_room(most: int) -> None:
    """Raises RuntimeError for a room for tokens that is not positive, or no whole tiles."""
    if most <= 0:
        raise fatal(
            "max_dispatched_tokens_per_expert must be > 0", hint=f"a multiple of {TILE_SIZE}, not {most}"
        )
    if most % TILE_SIZE:
        raise fatal(
            f"max_dispatched_tokens_per_expert ({most}) must be a multiple of TILE_HEIGHT ({TILE_SIZE})",
            hint=f"max_dispatched_tokens_per_expert={whole_tiles(most)}",
        )


def check_counted(chosen: Tensor, mask: Tensor, experts: int, each: int) -> None:
    """Raises RuntimeError for operands of `masked_bincount` that do not fit."""
    if chosen.layout is not Layout.TILE:
        raise fatal("Only TILE layout is supported for input!", hint=in_tiles("input_tensor"))
    if chosen.dtype is not DataType.UINT16:
        raise fatal("Only UINT16 is supported for input!", hint="ttnn.typecast(input_tensor, ttnn.uint16)")
    if len(chosen.shape) != 2:
        raise fatal(
            f"Input tensor must be 2D [sp_dim, topk_dim], got {len(chosen.shape)} dimensions",
            hint=f"ttnn.reshape(input_tensor, (-1, {chosen.shape[-1]}))",
        )
    if not 0 < each <= chosen.shape[-1]:
        raise fatal(
            f"num_experts_per_token must be in (0, {chosen.shape[-1]}], got {each}",
            hint=f"the input names {chosen.shape[-1]} experts of each token",
        )
    if mask.dtype is not DataType.INT32:
        raise fatal("Expert dispatch table must be INT32!", hint="ttnn.typecast(expert_mask, ttnn.int32)")
    if mask.shape[-1] < experts:
        raise fatal(
            f"Expert dispatch table must have shape [>={experts}] or [1, >={experts}], got {len(mask.shape)}D tensor with last dim "
            f"{mask.shape[-1]}",
            hint=f"an entry for each of {experts} experts",
        )


def check_groups(scores: Tensor, bias: Tensor, groups: int, wanted: dict[str, int]) -> None:
    """Raises RuntimeError for what `moe_grouped_topk` does not choose from: another bias, other groups than eight or one, other choices of eight."""
    if tuple(scores.shape) != tuple(bias.shape):
        raise fatal(
            "Scores and bias must have the same shape", hint=f"scores {scores.shape}, bias {bias.shape}"
        )
    if groups == 1:
        return
    for name, only in (
        ("n_groups", 8),
        ("summed_experts_per_group", 2),
        ("topk_groups", 4),
        ("n_activated_experts", 8),
    ):
        given = groups if name == "n_groups" else wanted[name]
        if given != only:
            raise fatal(
                f"{name} must be {only} at the moment. Got {given}", hint=f"{name}={only}, or n_groups=1"
            )


def check_looked_up(scores: Tensor, ids: Tensor, table: Tensor, each: int) -> None:
    """Raises RuntimeError for operands of `moe_hash_gate` that do not fit."""
    for name, tensor, dtype in (
        ("Scores", scores, DataType.FLOAT32),
        ("input_ids", ids, DataType.UINT32),
        ("tid2eid", table, DataType.UINT16),
    ):
        if tensor.dtype is not dtype:
            raise fatal(f"{name} tensor must be {dtype.name}", hint=f"ttnn.typecast to {cpp(dtype)}")
    rows = scores.logical_volume() // max(1, scores.shape[-1])
    if ids.logical_volume() < rows:
        raise fatal(
            f"input_ids ({ids.logical_volume()} ids) must supply at least one id per score token row ({rows})",
            hint="an id for each row of the scores",
        )
    if table.shape[-1] < each:
        raise fatal(
            f"tid2eid last dim ({table.shape[-1]}) must be >= n_activated_experts ({each})",
            hint=f"n_activated_experts of at most {table.shape[-1]}",
        )
