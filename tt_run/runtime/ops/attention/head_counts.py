"""How many heads fit into a projection, and in whose words the operations refuse others. Source: reference library 0.81.1."""

from __future__ import annotations

import math

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import DataType, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal, throw
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE


def _check_heads(name: str, heads: int) -> None:
    if heads < 1:
        raise fatal(f"{name} must be greater than 0", f"{name} > 0", hint=f"{name}=1 or more")


def _check_kv_heads(heads: int, when: str = "") -> None:
    if heads < 1:
        raise fatal(
            f"num_kv_heads must be greater than 0{when}",
            "num_kv_heads > 0",
            hint="num_kv_heads=1 or more, or leave it out for as many as query heads",
        )


def check_split(width: int, kv_width: int | None, heads: int, kv_heads: int) -> None:
    """What `transformer.split_query_key_value_and_split_heads` refuses; `kv_width` where keys and values are a tensor of their own."""
    _check_heads("num_heads", heads)
    _check_kv_heads(kv_heads)
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


def check_sequences(tensor: Tensor) -> None:
    """Raises RuntimeError for what is not [B, 1, S, columns], as `experimental.nlp_create_qkv_heads` takes it."""
    shape = tuple(tensor.shape)
    hint = (
        f"ttnn.reshape(tensor, {(*shape[:1], 1, *shape[1:])})"
        if len(shape) == 3
        else "a tensor [B, 1, S, columns]"
    )
    if len(shape) < 4:
        raise throw(f"ShapeBase[] index out of range. 3 not in [-4, {max(2, len(shape))})", hint=hint)
    if len(shape) > 4:
        raise fatal("Unsupported input shape", hint=hint)
    if shape[1] != 1:
        raise fatal(f"Unsupported input sequence length {shape[1]} is not equal to 1", hint=hint)


def check_create(width: int, kv_width: int | None, heads: int, kv_heads: int, *, tied: bool = False) -> None:
    """What `experimental.nlp_create_qkv_heads` and its forms refuse; without a tensor of keys and values there may be none of their heads.

    Columns that are keys and values at once (`tied`) are there once, and of one width only.
    """
    _check_heads("num_q_heads", heads)
    parts = 1 if tied else 2
    if kv_width is None:
        sections = heads + parts * kv_heads
        if sections > width:
            raise fatal(
                f"num_q_heads ({heads}) + {parts} * num_kv_heads ({kv_heads}) exceeds the fused width ({width})",
                hint="fewer heads, or a wider tensor",
            )
        untied = heads + 2 * kv_heads
        if tied and width % sections == 0 and width % untied == 0:
            raise fatal(
                f"Ambiguous kv_tied fused input shape: width {width} is divisible by both {sections} (tied) and {untied} (untied) sections",
                hint="input_kv=… of the keys' columns alone",
            )
        return
    _check_kv_heads(kv_heads, " when a KV tensor is given")
    if parts * kv_heads > kv_width:
        raise fatal(
            f"{parts} * num_kv_heads ({kv_heads}) exceeds the KV width ({kv_width})",
            hint="fewer heads, or a wider tensor",
        )


def check_grouped(width: int, kv_width: int | None, heads: int, kv_heads: int) -> None:
    """What `experimental.create_qkv_heads` and its form with separate tensors refuse."""
    _check_heads("num_q_heads", heads)
    _check_kv_heads(kv_heads)
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


def check_whole_width(x: Tensor) -> None:
    """Raises RuntimeError for a projection whose columns are not whole tiles."""
    if x.shape[-1] % TILE_SIZE:
        raise fatal(
            "Unsupported input shape",
            f"{x.shape[-1]} columns, padded to {x.padded_shape[-1]}",
            hint=f"heads whose columns are a multiple of {TILE_SIZE} in all",
        )


def check_tokens(
    x: Tensor, heads: int, kv_heads: int, memory_config: MemoryConfig | None, together: bool
) -> None:
    """What `experimental.nlp_create_qkv_heads_decode` refuses; `together`: whether keys lie on the cores of queries."""
    layout = x.memory_config().memory_layout
    if x.shape[1] != 1 or x.shape[-2] > TILE_SIZE:
        raise fatal(
            f"Unsupported input shape = {x.shape}",
            hint=f"[1, 1, users, columns] of {TILE_SIZE} users at most",
        )
    if x.is_sharded() and layout is not TensorMemoryLayout.WIDTH_SHARDED:
        raise fatal(
            f"Current input memory layout is {cpp(layout)}. It must be width sharded",
            hint="ttnn.sharded_to_interleaved(input_tensor)",
        )
    if heads < kv_heads:
        raise fatal(
            f"num_q_heads={heads} must be greater than or equal to num_kv_heads={kv_heads}",
            hint=f"num_kv_heads={heads} or fewer",
        )
    held = x.memory_config().shard_spec
    spec, users = None if memory_config is None else memory_config.shard_spec, x.shape[-2] + (not together)
    if spec is not None and spec.grid.num_cores() < users:
        raise fatal(
            f"Target number of cores {users} is greater than total available cores {spec.grid.num_cores()}",
            hint="memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG, or one of a core for each user",
        )
    if held is not None and not together and held.shape[1] != TILE_SIZE:
        raise fatal(
            "We don't support partial heads in shards when q and k heads are not overlapping coregrid",
            f"{held.shape[1]} columns on each core",
            hint=f"pieces of {TILE_SIZE} columns, or overlap_qk_coregrid=True",
        )


_BERT = range(7, 10)
_BERT_TYPES = (DataType.BFLOAT16, DataType.BFLOAT8_B)


def check_bert_split(tensor: Tensor, grid: CoreCoord | None) -> None:
    """What `experimental.split_query_key_value_and_split_heads` refuses, whose kernel is made for BERT-large."""
    four_dims(tensor)
    _check_bert_type(tensor)
    spec = tensor.memory_config().shard_spec
    if spec is not None:
        end = spec.grid.bounding_box().end
        if grid is not None and not (end.x < grid.x and end.y < grid.y):
            raise fatal(
                f"Bounding box end coordinates ({end.x}, {end.y}) must be less than grid size ({grid.x}, {grid.y})",
                hint=f"compute_with_storage_grid_size=ttnn.CoreCoord({end.x + 1}, {end.y + 1})",
            )
        if tensor.memory_config().memory_layout is not TensorMemoryLayout.BLOCK_SHARDED:
            raise fatal(
                f"Input tensor memory layout must be BLOCK_SHARDED but got {cpp(tensor.memory_config().memory_layout)}",
                hint="ttnn.to_memory_config(input_tensor, ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG)",
            )
        return
    _check_bert_users(tensor)
    _check_cores(tensor, tensor.padded_shape[-2] // TILE_SIZE, tensor.shape[0])


def check_bert_join(tensor: Tensor, grid: CoreCoord) -> None:
    """What `experimental.concatenate_heads` refuses, whose kernel is made for BERT-large."""
    batch, heads, _, depth = four_dims(tensor)
    _check_bert_users(tensor)
    _check_bert_type(tensor)
    if tuple(tensor.padded_shape)[1:] != (16, 384, 64):
        raise fatal(
            "Unsupported input shape",
            f"{tensor.padded_shape}",
            hint=f"[{batch}, 16, 384, 64]; ttnn.transformer.concatenate_heads takes others, such as {heads} heads of {depth}",
        )
    device = tensor.device()
    most = None if device is None else device.compute_with_storage_grid_size()
    if most is not None and (grid.x > most.x or grid.y > most.y):
        raise fatal(
            "Unsupported grid shape",
            f"({grid.x}, {grid.y})",
            hint=f"compute_with_storage_grid_size=ttnn.CoreCoord({most.x}, {most.y})",
        )
    _check_cores(tensor, 12, batch)


def _check_bert_users(tensor: Tensor) -> None:
    if tensor.shape[0] not in _BERT:
        raise fatal(
            "Input batch size must be between 7 to 9 for bert large TM ops!",
            f"got {tensor.shape[0]}",
            hint="the operations of ttnn.transformer of the same name take any number of users",
        )


def _check_bert_type(tensor: Tensor) -> None:
    if tensor.dtype not in _BERT_TYPES:
        raise fatal(
            "Unsupported data format", cpp(tensor.dtype), hint="ttnn.typecast(input_tensor, ttnn.bfloat16)"
        )


def _check_cores(tensor: Tensor, columns: int, rows: int) -> None:
    """Raises RuntimeError where a kernel takes more columns and rows of cores than the device has."""
    device = tensor.device()
    if device is None:
        return
    grid = device.compute_with_storage_grid_size()
    if columns > grid.x or rows > grid.y:
        core = (grid.x, 0) if columns > grid.x else (0, grid.y)
        raise fatal(
            f"Persistent L1 core {core[0]}-{core[1]} is outside the worker grid {grid.x}x{grid.y}",
            f"the kernel takes {columns} x {rows} cores",
            hint="the operations of ttnn.transformer of the same name take any grid",
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


def check_alike(x: Tensor, kv: Tensor | None) -> None:
    """Raises RuntimeError for keys and values of another element type than the queries'."""
    if kv is not None and kv.dtype is not x.dtype:
        raise fatal(
            "KV tensor dtype must be same as Q tensor dtype!",
            f"{cpp(kv.dtype)} != {cpp(x.dtype)}",
            hint=f"ttnn.typecast(input_kv, ttnn.{x.dtype.name.lower()})",
        )


def check_cut(
    x: Tensor,
    kv: Tensor | None,
    heads: int,
    kv_heads: int,
    turned: bool,
    memory_config: MemoryConfig | None,
    *,
    tied: bool = False,
) -> int:
    """Over how many cores the heads of a tensor lie, 0 for one that is not cut. Raises RuntimeError for cuts that heads do not come out of."""
    spec, asked = x.memory_config().shard_spec, memory_config or x.memory_config()
    check_alike(x, kv)
    if kv is not None:
        depths = x.padded_shape[-1] // heads, kv.padded_shape[-1] // ((1 if tied else 2) * kv_heads)
        if depths[0] != depths[1]:
            raise fatal(
                "Head dims must be the same for Q and K, V",
                f"{depths[0]} != {depths[1]}",
                hint="num_kv_heads is that of the second tensor",
            )
        if kv.is_sharded() and not x.is_sharded():
            raise fatal(
                "Input tensor must be sharded when KV tensor is sharded",
                hint="ttnn.sharded_to_interleaved(input_kv)",
            )
    if spec is None:
        if asked.is_sharded():
            raise fatal(
                f"Output memory config layout must be INTERLEAVED but got {cpp(asked.memory_layout)}",
                hint="ttnn.to_memory_config of each result",
            )
        return 0
    if not asked.is_sharded() or asked.memory_layout is TensorMemoryLayout.WIDTH_SHARDED:
        raise fatal(
            f"Output memory config must be sharded and not WIDTH_SHARDED but got memory_layout: {cpp(asked.memory_layout)}",
            hint="memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG",
        )
    batch, rows = x.padded_shape[0], x.padded_shape[-2]
    if spec.shape[0] != batch * rows or batch * rows > TILE_SIZE or turned:
        raise fatal(
            f"heads of a tensor on cores have a tile of rows in all, got {batch} x {rows}, and keys that are not transposed",
            hint="transpose_k_heads=False, or ttnn.sharded_to_interleaved(input)",
        )
    cores = spec.grid.num_cores()
    if heads % cores or kv_heads % cores:
        raise fatal(
            f"Number of Q heads ({heads}) and of KV heads ({kv_heads}) must be divisible by number of cores ({cores})",
            hint=f"a tensor on {math.gcd(heads, kv_heads)} cores",
        )
    depth = x.shape[-1] // (heads if kv is not None else heads + 2 * kv_heads)
    wide = (heads // kv_heads + (0 if kv is not None else 2)) * depth
    if spec.shape[1] != wide:
        raise fatal(
            f"Shard spec shape[1] ({spec.shape[1]}) must equal (num_q_heads / num_kv_heads + 2) * head_dim ({wide})",
            hint=f"pieces of {wide} columns",
        )
    return cores
