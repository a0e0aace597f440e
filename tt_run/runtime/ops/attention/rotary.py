"""Rotary position embeddings. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.ops.attention import rotary_checks
from tt_run.runtime.ops.data_movement.joining import chunk
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle, volume
from tt_run.runtime.ops.declaration.places import like_operand
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare, stacks
from tt_run.runtime.ops.goldens import attention_goldens
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@operation("ttnn.experimental.rotary_embedding", family=families.ROTARY, golden=attention_goldens.rotated)
def rotary_embedding(
    input_tensor: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    token_index: int | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """x cos + rotate_half(x) sin, halves of the last dimension turned: x [B, H, S, D], caches [1, 1, at least S, D].

    With token_index every row takes the angle of that position. The result has the rows and columns of whole tiles, in its shape too, as the
    reference has it, whose halves are those of whole tiles; rows beyond S are zeros.
    """
    on_device(input_tensor, cos_cache, sin_cache, kind="rotary embedding")
    rotary_checks.check_halves(input_tensor, cos_cache, sin_cache, token_index)
    length, wide = input_tensor.shape[-2], whole_tiles(input_tensor.shape[-1])
    rows = slice(0, length) if token_index is None else slice(token_index, token_index + 1)
    half, spare = wide // 2, -length % TILE_SIZE

    def compute(x: Array, cos: Array, sin: Array) -> Array:
        x, cos, sin = (in_columns(stack, wide) for stack in (x, cos, sin))
        turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
        found = (x * _beside(cos[..., rows, :], x) + turned * _beside(sin[..., rows, :], x)).astype(x.dtype)
        if spare:
            found = np.pad(found, (*[(0, 0)] * (found.ndim - 2), (0, spare), (0, 0)))
        return finish(found, input_tensor.dtype)

    shards = combine(compute, *(t.shards for t in (input_tensor, cos_cache, sin_cache)))
    return settle(
        (input_tensor, cos_cache, sin_cache),
        shards,
        input_tensor.dtype,
        memory_config=_on_cores_of(input_tensor, memory_config),
        layout=Layout.TILE,
    )


def _on_cores_of(tensor: Tensor, memory_config: MemoryConfig | None) -> MemoryConfig | None:
    """A place on cores is on those of `tensor`, in its pieces, whichever a call names."""
    spec = tensor.memory_config().shard_spec
    if memory_config is None or spec is None or not memory_config.is_sharded():
        return like_operand(tensor, memory_config)
    return MemoryConfig(memory_config.memory_layout, memory_config.buffer_type, spec)


def _beside(cache: Array, x: Array) -> Array:
    """A stack of caches [1, 1, S, D] with the dimensions of the stack `x`."""
    return cache.reshape(len(cache), *(1,) * (x.ndim - 3), *cache.shape[-2:])


def in_columns(stack: Array, wide: int) -> Array:
    """A stack with zeros up to so many columns."""
    spare = wide - stack.shape[-1]
    return np.pad(stack, (*[(0, 0)] * (stack.ndim - 1), (0, spare))) if spare else stack


@operation("ttnn.experimental.rotary_embedding_llama", family=families.ROTARY)
def rotary_embedding_llama(
    input_tensor: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    trans_mat: Tensor,
    *,
    is_decode_mode: bool = False,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """x cos + (x T) sin, where T (32 x 32, trans_mat) turns pairs inside each 32 columns.

    Prefill: x [B, H, S, D], caches [1, 1 or H, S, D]. Decode: x [1, B, H, D], caches [1, B, 1 or 32, D], one angle per user.
    """
    tensors = (input_tensor, cos_cache, sin_cache, trans_mat)
    on_device(*tensors, kind="rotary embedding")
    rotary_checks.check_pairs(*tensors, is_decode_mode, memory_config, compute_kernel_config)
    return turned_pairs(*tensors, is_decode_mode, memory_config)


def turned_pairs(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    turn: Tensor,
    is_decode_mode: bool = False,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """`rotary_embedding_llama` of operands wherever they lie."""
    tensors = (x, cos, sin, turn)
    on_device(*tensors, kind="rotary embedding")
    depth, wide = x.shape[-1], whole_tiles(x.shape[-1])
    if cos.shape != sin.shape or whole_tiles(cos.shape[-1]) != wide:
        raise fatal(
            f"rotary_embedding_llama: x {x.shape}, cos {cos.shape} and sin {sin.shape} do not fit",
            hint=f"cos and sin of [1, 1, S, {depth}]",
        )
    rows = slice(0, 1) if is_decode_mode else slice(0, x.shape[-2])

    def compute(x: Array, cos: Array, sin: Array, turn: Array) -> Array:
        x, cos, sin = (in_columns(stack, wide) for stack in (x, cos, sin))
        first: tuple[int | slice, ...] = (
            slice(None),
            *(0,) * (turn.ndim - 3),
            slice(TILE_SIZE),
            slice(TILE_SIZE),
        )
        pieces = np.ascontiguousarray(x).reshape(len(x), volume(x.shape[1:]) // TILE_SIZE, TILE_SIZE)
        turned = gemm.matmul(pieces, turn[first]).reshape(x.shape)
        found = x * cos[..., rows, :] + turned * sin[..., rows, :]
        return finish(np.ascontiguousarray(found[..., :depth]), tensors[0].dtype)

    shards = combine(compute, *(t.shards for t in tensors))
    return settle(tensors, shards, tensors[0].dtype, memory_config=memory_config)


@operation("ttnn.experimental.rotary_embedding_llama_fused_qk", family=families.ROTARY)
def rotary_embedding_llama_fused_qk(
    q_input_tensor: Tensor,
    k_input_tensor: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    trans_mat: Tensor,
    *,
    compute_kernel_config: object = None,
) -> tuple[Tensor, Tensor]:
    """`rotary_embedding_llama` in decode mode of queries and keys at once; caches (1, 2 batch, 32, D) have the queries' half first."""
    on_device(q_input_tensor, k_input_tensor, cos_cache, sin_cache, trans_mat, kind="rotary embedding")
    rotary_checks.check_apart(
        q_input_tensor, k_input_tensor, cos_cache, sin_cache, trans_mat, compute_kernel_config
    )
    halves = [chunk.compute(cache, 2, 1) for cache in (cos_cache, sin_cache)]
    first, second = (
        turned_pairs(x, halves[0][i], halves[1][i], trans_mat, True)
        for i, x in enumerate((q_input_tensor, k_input_tensor))
    )
    return first, second


def _turned_halves(x: Any, cos: Any, sin: Any, is_decode_mode: bool = False) -> Any:
    """x cos + rotate_half(x) sin, whose halves are those of whole tiles."""
    depth, wide = x.shape[-1], whole_tiles(x.shape[-1])
    pad = library().nn.functional.pad
    rows = slice(0, 1) if is_decode_mode else slice(0, x.shape[-2])
    whole, cos, sin = (pad(t, (0, wide - t.shape[-1])) for t in (x, cos[..., rows, :], sin[..., rows, :]))
    turned = library().cat((-whole[..., wide // 2 :], whole[..., : wide // 2]), -1)
    found = whole * cos + turned * sin
    return found[..., :depth].reshape(x.shape)


def _check_halves(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    x, cos, sin = given
    if arguments["is_decode_mode"]:
        rotary_checks.check_by_user(x, cos, sin, arguments["memory_config"])
    else:
        rotary_checks.check_by_rows(x, cos, sin, arguments["memory_config"])


TURNED = declare(
    families.HEADS,
    Row("experimental.rotary_embedding_hf",
        f"(input_tensor: Tensor, cos_cache: Tensor, sin_cache: Tensor, *, is_decode_mode: bool = False, {PLACED}, compute_kernel_config: object = None)",
        _turned_halves, "x cos + rotate_half(x) sin; in decode mode one angle for each user.", integers=False, check=_check_halves),
)  # fmt: skip


def _rotated(x: Array) -> Array:
    depth, wide = x.shape[-1], whole_tiles(x.shape[-1])
    if wide % (2 * TILE_SIZE):
        raise fatal(
            f"Input X dimension ({wide}) must be divisible by {2 * TILE_SIZE} for tiling.",
            hint=f"ttnn.pad the last dimension to a multiple of {2 * TILE_SIZE}",
        )
    whole = np.pad(x, (*[(0, 0)] * (x.ndim - 1), (0, wide - depth))) if wide > depth else x
    half = wide // 2
    return np.concatenate([-whole[..., half:], whole[..., :half]], axis=-1)[..., :depth]


def _check_rows(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    (x,) = given
    if x.layout is Layout.ROW_MAJOR and x.shape[-1] % (2 * TILE_SIZE):
        raise fatal(
            f"Input X dimension ({x.shape[-1]}) must be divisible by {2 * TILE_SIZE} for tiling.",
            hint="ttnn.to_layout(tensor, ttnn.TILE_LAYOUT), or ttnn.pad the last dimension",
        )


def _golden_rotated(x: Any, **_: Any) -> Any:
    return x.roll(x.shape[-1] // 2, -1) * (x.new_ones(x.shape[-1]).cumsum(0) > x.shape[-1] // 2).mul(2).sub(1)


ELEMENTS = declare(
    families.MOVEMENT,
    Row("experimental.rotate_half", f"(input: Tensor, *, {PLACED})", _rotated,
        "The second half of the last dimension, negated, before the first.", golden=_golden_rotated, layout=Layout.TILE, check=_check_rows),
    engine=stacks,
)  # fmt: skip
