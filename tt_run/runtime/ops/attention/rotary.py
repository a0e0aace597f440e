"""Rotary position embeddings. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle, volume
from tt_run.runtime.ops.goldens import attention_goldens
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
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
    """x cos + rotate_half(x) sin, halves of the last dimension turned: x [1, H, S, D], caches [1, 1, at least S, D].

    With token_index every row takes the angle of that position. The result has the rows of whole tiles, in its shape too, as the reference
    has it; those beyond S are zeros.
    """
    on_device(input_tensor, cos_cache, sin_cache, kind="rotary embedding")
    length, depth = input_tensor.shape[-2:]
    rows = slice(0, length) if token_index is None else slice(token_index, token_index + 1)
    needed = length if token_index is None else token_index + 1
    if cos_cache.shape != sin_cache.shape or cos_cache.shape[-1] != depth or cos_cache.shape[-2] < needed:
        raise fatal(
            f"cos and sin caches of shapes {cos_cache.shape} and {sin_cache.shape} do not cover {needed} positions of width {depth}",
            hint=f"make both [1, 1, at least {needed}, {depth}]",
        )

    spare = -length % TILE_SIZE

    def compute(x: Array, cos: Array, sin: Array) -> Array:
        half = depth // 2
        turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
        found = x * cos[..., rows, :] + turned * sin[..., rows, :]
        if spare:
            found = np.pad(found, (*[(0, 0)] * (found.ndim - 2), (0, spare), (0, 0)))
        return finish(found, input_tensor.dtype)

    shards = combine(compute, *(t.shards for t in (input_tensor, cos_cache, sin_cache)))
    return settle(
        (input_tensor, cos_cache, sin_cache),
        shards,
        input_tensor.dtype,
        memory_config=memory_config,
        layout=Layout.TILE,
    )


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
    depth = input_tensor.shape[-1]
    if depth % TILE_SIZE or cos_cache.shape != sin_cache.shape or cos_cache.shape[-1] != depth:
        raise fatal(
            f"rotary_embedding_llama: x {input_tensor.shape}, cos {cos_cache.shape} and sin {sin_cache.shape} do not fit",
            hint=f"cos and sin of [1, 1, S, {depth}], {depth} a multiple of {TILE_SIZE}"
            if depth % TILE_SIZE == 0
            else f"ttnn.pad the head of {depth} to a multiple of {TILE_SIZE}",
        )
    rows = slice(0, 1) if is_decode_mode else slice(0, input_tensor.shape[-2])

    def compute(x: Array, cos: Array, sin: Array, turn: Array) -> Array:
        first: tuple[int | slice, ...] = (
            slice(None),
            *(0,) * (turn.ndim - 3),
            slice(TILE_SIZE),
            slice(TILE_SIZE),
        )
        pieces = np.ascontiguousarray(x).reshape(len(x), volume(x.shape[1:]) // TILE_SIZE, TILE_SIZE)
        turned = gemm.matmul(pieces, turn[first]).reshape(x.shape)
        found = x * cos[..., rows, :] + turned * sin[..., rows, :]
        return finish(found, input_tensor.dtype)

    shards = combine(compute, *(t.shards for t in tensors))
    return settle(tensors, shards, input_tensor.dtype, memory_config=memory_config)
