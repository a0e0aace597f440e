"""Caches of keys and values that are dealt to devices in chunks: chunk b lies on stripe b mod stripes, behind that stripe's earlier ones.

A prompt arrives in slabs of one chunk per stripe, from any position on: each device then holds a run of rows of its own, from an older
chunk into the next. Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.values.dtypes import convert, is_float
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Dealt:
    """How a cache is dealt: to how many stripes, in chunks of how many rows."""

    stripes: int
    chunk: int

    def first(self, position: int, stripe: int) -> int:
        """The first of a stripe's rows that a slab from `position` on fills."""
        slab, rest = divmod(position, self.stripes * self.chunk)
        boundary, inside = divmod(rest, self.chunk)
        return slab * self.chunk + (self.chunk if stripe < boundary else inside if stripe == boundary else 0)

    def positions(self, rows: Array, stripe: int) -> Array:
        """Where in the prompt a stripe's rows are."""
        return np.asarray((rows // self.chunk * self.stripes + stripe) * self.chunk + rows % self.chunk)

    def place(self, positions: Array) -> tuple[Array, Array]:
        """Stripes and rows of positions."""
        block, inside = np.divmod(positions, self.chunk)
        return block % self.stripes, block // self.stripes * self.chunk + inside


def _stripe(shape: tuple[int, ...], at: MeshCoordinate, axis: int | None) -> tuple[int, int]:
    """How many stripes an axis of the mesh has (None: all devices, row by row), and which of them a device is."""
    if axis is None:
        return math.prod(shape), int(np.ravel_multi_index(tuple(at), shape))
    return shape[axis], at[axis]


def _number(value: int | Tensor, device: int) -> int:
    """A number given as such or as the first element of a tensor."""
    if not isinstance(value, Tensor):
        return int(value)
    shard = value.shards.of(device)
    return 0 if shard is None else int(shard.reshape(-1)[0])


def on_each_place(
    tensor: Tensor, others: tuple[Tensor, ...], function: Callable[..., Array], like: Array | None = None
) -> Shards:
    """`function(number of the device, its place, its shards)` for every local device that holds a shard of `tensor`.

    `like` is a stack of such results where they differ from the tensor's shards.
    """
    held = [t.shards.each() for t in (tensor, *others)]
    coords = tensor.site.local_coords
    made = [
        None if rows[0] is None else function(device, coords[device], *rows)
        for device, rows in enumerate(zip(*held, strict=True))
    ]
    return Shards.from_each(made, like=tensor.shards.data if like is None else like)


def _rewritten(cache: Tensor, others: tuple[Tensor, ...], write: Callable[..., None]) -> Tensor:
    def changed(device: int, at: MeshCoordinate, old: Array, *rows: Array) -> Array:
        result = old.copy()
        write(result, device, at, *rows)
        return convert(result, cache.dtype) if is_float(cache.dtype) else result

    cache.overwrite(on_each_place(cache, others, changed))
    return cache


def _slot(cache: Tensor, slot: int, layer_idx: int, num_layers: int) -> int:
    place = slot * num_layers + layer_idx
    if not 0 <= place < cache.shape[0]:
        raise fatal(
            f"slot {slot} of layer {layer_idx} of {num_layers} is outside of the cache {cache.shape}",
            hint=f"slots are 0 to {cache.shape[0] // max(num_layers, 1) - 1}, layers 0 to {num_layers - 1}",
        )
    return place


@operation(
    "ttnn.experimental.deepseek_prefill.update_padded_kv_cache",
    "update_padded_kv_cache(cache: ttnn.Tensor, input: ttnn.Tensor, slot_idx: int, layer_idx: int, num_layers: int, kv_actual_global: int, cluster_axis: int | None, valid_global: int | None = None, tp_axis: int | None = None, rope: ttnn.Tensor | None = None, scales: ttnn.Tensor | None = None)",
    "update_padded_kv_cache(cache: ttnn.Tensor, input: ttnn.Tensor, slot_idx: ttnn.Tensor, kv_actual_global: ttnn.Tensor, layer_idx: int, num_layers: int, cluster_axis: int | None, valid_global: ttnn.Tensor | None = None, tp_axis: int | None = None, rope: ttnn.Tensor | None = None, scales: ttnn.Tensor | None = None)",
    family=families.CACHE,
)
def update_padded_kv_cache(
    cache: Tensor, input: Tensor, slot_idx: int | Tensor, *given: Any, **words: Any
) -> Tensor:
    """(cache, input, slot_idx, layer_idx, num_layers, kv_actual_global, cluster_axis, …): a slab into a dealt cache, in place.

    The slab's chunk [1, H, C, D] of each device goes to the rows of slot slot_idx * num_layers + layer_idx that begin where
    kv_actual_global tokens end; with valid_global only rows up to that one, rounded up to 32. With slot_idx a tensor kv_actual_global, a
    tensor too, stands behind it. tp_axis deals every chunk further over that axis. `rope` is joined to the columns.
    """
    order = ("layer_idx", "num_layers", "kv_actual_global", "cluster_axis")
    if isinstance(slot_idx, Tensor):
        order = ("kv_actual_global", "layer_idx", "num_layers", "cluster_axis")
    bound = _bound(
        "update_padded_kv_cache", order, ("valid_global", "tp_axis", "rope", "scales"), given, words
    )
    rope, valid, tp_axis = bound["rope"], bound["valid_global"], bound["tp_axis"]
    if bound["scales"] is not None:
        raise fatal(
            "update_padded_kv_cache: packing scaled FP8 rows into FP8 tensors is not emulated; leave scales out",
            hint="leave scales out, and give bfloat16 rows",
        )
    others = (input,) if rope is None else (input, rope)
    device = on_device(cache, *others, kind="update cache")
    shape, rows = tuple(device.shape), input.shape[2]

    def write(held: Array, number: int, at: MeshCoordinate, *parts: Array) -> None:
        new = parts[0] if rope is None else np.concatenate(parts, axis=-1)
        stripes, stripe = _stripe(shape, at, bound["cluster_axis"])
        dealt = Dealt(stripes, rows)
        first = dealt.first(_number(bound["kv_actual_global"], number), stripe)
        places = np.arange(first, first + rows)
        positions = dealt.positions(places, stripe)
        wanted = np.ones(rows, np.bool_)
        if valid is not None:
            wanted &= positions < whole_tiles(_number(valid, number))
        if tp_axis is not None:
            finer = Dealt(stripes * shape[tp_axis], rows // shape[tp_axis])
            owners, places = finer.place(positions)
            wanted &= owners == stripe * shape[tp_axis] + at[tp_axis]
        if places[wanted].max(initial=0) >= held.shape[2]:
            raise fatal(
                f"update_padded_kv_cache: row {places[wanted].max()} is outside of the cache {cache.shape}",
                hint=f"rows are 0 to {cache.shape[2] - 1}; a longer cache has more",
            )
        slot = _slot(cache, _number(slot_idx, number), bound["layer_idx"], bound["num_layers"])
        held[slot][:, places[wanted]] = new[0][:, wanted]

    return _rewritten(cache, others, write)


@operation(
    "ttnn.experimental.deepseek_prefill.zero_padded_kv_cache",
    "zero_padded_kv_cache(cache: ttnn.Tensor, slot_idx: int, layer_idx: int, num_layers: int, valid_global: int, chunk_size_global: int, cluster_axis: int, pad_align: int = 128)",
    "zero_padded_kv_cache(cache: ttnn.Tensor, slot_idx: ttnn.Tensor, valid_global: ttnn.Tensor, layer_idx: int, num_layers: int, chunk_size_global: int, cluster_axis: int, pad_align: int = 128)",
    family=families.CACHE,
)
def zero_padded_kv_cache(cache: Tensor, slot_idx: int | Tensor, *given: Any, **words: Any) -> Tensor:
    """(cache, slot_idx, layer_idx, num_layers, valid_global, chunk_size_global, cluster_axis, pad_align=128): zeros after the last token.

    In a cache dealt in chunks of chunk_size_global over the stripes, from valid_global up to its next multiple of pad_align, in place. With
    slot_idx a tensor valid_global, a tensor too, stands behind it.
    """
    order = ("layer_idx", "num_layers", "valid_global", "chunk_size_global", "cluster_axis")
    if isinstance(slot_idx, Tensor):
        order = ("valid_global", "layer_idx", "num_layers", "chunk_size_global", "cluster_axis")
    bound = _bound("zero_padded_kv_cache", order, ("pad_align",), given, words)
    align = bound["pad_align"] or 128
    shape = tuple(on_device(cache, kind="update cache").shape)

    def write(held: Array, number: int, at: MeshCoordinate) -> None:
        stripes, stripe = _stripe(shape, at, bound["cluster_axis"])
        positions = Dealt(stripes, bound["chunk_size_global"] // stripes).positions(
            np.arange(held.shape[2]), stripe
        )
        valid = _number(bound["valid_global"], number)
        padding = (positions >= valid) & (positions < -(-valid // align) * align)
        held[_slot(cache, _number(slot_idx, number), bound["layer_idx"], bound["num_layers"])][:, padding] = 0

    return _rewritten(cache, (), write)


@operation("ttnn.experimental.deepseek_prefill.moe_padding_config", family=families.CACHE)
def moe_padding_config(
    config: Tensor,
    actual_start: Tensor,
    actual_end: Tensor,
    tokens_per_chip: int,
    pad_side: int,
    cluster_axis: int,
) -> Tensor:
    """[real tokens, pad_side] of each device of a slab that runs from actual_start up to actual_end, written into config (…, 2).

    The slab's chunks of tokens_per_chip are dealt over cluster_axis. Raises RuntimeError for another side than 0 (right) and 1 (left), and a
    config that is no pair of uint32.
    """
    device = on_device(config, actual_start, actual_end, kind="padding config")
    shape = tuple(device.shape)
    if config.shape[-1] != 2 or config.dtype is not DataType.UINT32 or math.prod(tuple(config.shape)) != 2:
        raise fatal(
            f"config must be a pair of uint32 on each device, got {config.shape} {config.dtype}",
            hint="ttnn.from_torch(pair, dtype=ttnn.uint32, device=device) of two numbers",
        )
    if pad_side not in (0, 1) or tokens_per_chip < 1:
        raise fatal(
            f"pad_side must be 0 or 1 and tokens_per_chip positive, got {pad_side} and {tokens_per_chip}",
            hint="pad_side=0 pads on the right, pad_side=1 on the left; tokens_per_chip=1 or more",
        )

    def counted(held: Array, number: int, at: MeshCoordinate) -> None:
        stripes, stripe = _stripe(shape, at, cluster_axis)
        dealt = Dealt(stripes, tokens_per_chip)
        rows = dealt.first(_number(actual_start, number), stripe) + np.arange(tokens_per_chip)
        real = dealt.positions(rows, stripe) < _number(actual_end, number)
        held.reshape(-1)[:] = np.count_nonzero(real), pad_side

    return _rewritten(config, (), counted)


def _bound(
    name: str, needed: tuple[str, ...], others: tuple[str, ...], given: tuple[Any, ...], words: dict[str, Any]
) -> dict[str, Any]:
    """Arguments by their names; None for those left out. Raises what lists the signatures for too few, too many and unknown ones."""
    names = (*needed, *others)
    taken = dict(zip(names, given, strict=False))
    unknown = set(words) - set(names) | set(words) & set(taken)
    missing = [n for n in needed if n not in taken and n not in words]
    if len(given) > len(names) or unknown or missing:
        raise ArgumentMismatch(
            f"{name}() takes {', '.join(names)}; missing {missing}, not understood {sorted(unknown)}"
        )
    return {**dict.fromkeys(names), **taken, **words}


@operation("ttnn.experimental.deepseek_prefill.rotary_embedding_indexed", family=families.ROTARY)
def rotary_embedding_indexed(
    input: Tensor,
    cos: Tensor,
    sin: Tensor,
    trans_mat: Tensor,
    kv_actual_global: int | Tensor,
    cluster_axis: int,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    seq_subshard_axis: int | None = None,
    rotary_dim: int | None = None,
    rotary_offset: int = 0,
    concat_prefix: Tensor | None = None,
) -> Tensor:
    """x cos + (x T) sin of a slab's chunk [1, H, C, D] of each device, with the rows of dealt cos and sin that its tokens have.

    The slab begins where kv_actual_global tokens end. T (32 x 32, trans_mat) turns pairs inside each 32 columns. rotary_offset and
    rotary_dim choose columns, the others are copied; concat_prefix stands before them. seq_subshard_axis: that axis cuts each chunk.
    """
    others = (cos, sin, trans_mat, *(() if concat_prefix is None else (concat_prefix,)))
    device = on_device(input, *others, kind="rotary embedding")
    shape, rows = tuple(device.shape), input.shape[2]
    width = rotary_dim or cos.shape[-1]
    if (
        width % TILE_SIZE
        or rotary_offset % TILE_SIZE
        or width != cos.shape[-1]
        or rotary_offset + width > input.shape[-1]
    ):
        raise fatal(
            f"rotary_embedding_indexed: {width} columns from {rotary_offset} on do not fit x {input.shape} and cos {cos.shape}",
            hint=f"rotary_dim={cos.shape[-1]} and rotary_offset=0, both multiples of {TILE_SIZE}",
        )
    parts = 1 if seq_subshard_axis is None else shape[seq_subshard_axis]

    def turned(
        number: int, at: MeshCoordinate, x: Array, c: Array, s: Array, turn: Array, *prefix: Array
    ) -> Array:
        stripes, stripe = _stripe(shape, at, cluster_axis)
        first = Dealt(stripes, rows * parts).first(_number(kv_actual_global, number), stripe)
        first += 0 if seq_subshard_axis is None else at[seq_subshard_axis] * rows
        if first + rows > c.shape[-2]:
            raise fatal(
                f"rotary_embedding_indexed: row {first + rows - 1} is outside of cos {cos.shape}",
                hint=f"cos and sin of at least {first + rows} rows",
            )
        angles = slice(first, first + rows)
        columns = slice(rotary_offset, rotary_offset + width)
        y = x[..., columns]
        pairs = (
            y.reshape(*y.shape[:-1], -1, TILE_SIZE) @ turn.reshape(-1, turn.shape[-1])[:TILE_SIZE, :TILE_SIZE]
        )
        result = x.copy()
        result[..., columns] = y * c[..., angles, :] + pairs.reshape(y.shape) * s[..., angles, :]
        return finish(np.concatenate([*prefix, result], axis=-1), input.dtype)

    found = on_each_place(input, others, turned)
    return settle((input, *others), found, input.dtype, layout=Layout.TILE, memory_config=memory_config)
