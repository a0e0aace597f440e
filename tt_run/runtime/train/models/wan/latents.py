"""Latents [batch, channels, frames, height, width] as rows of patches, and the angles and features that follow from where and when.

A patch embedding whose stride is its kernel is a linear layer over patches; its features are ordered by channel first, those that the model
gives by channel last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops.rope import RotaryEmbeddingParams

Array = npt.NDArray[Any]
Sizes = Sequence[int]


@naming_faults
def grid_size(latent_shape: Sizes, patch_size: Sizes) -> tuple[int, int, int]:
    """How many patches there are in time, down and across."""
    frames, height, width = (size // patch for size, patch in zip(latent_shape[2:], patch_size, strict=True))
    return frames, height, width


@naming_faults
def patch_features(in_channels: int, patch_size: Sizes) -> int:
    """Numbers in one patch."""
    return in_channels * int(np.prod(patch_size))


@naming_faults
def patchify(latent: Array, patch_size: Sizes) -> Array:
    """[B, C, F, H, W] -> [B, 1, patches, features], features by channel, time, row and column. Raises ValueError where patches do not fit."""
    return _rows(latent, patch_size, channels_last=False)


@naming_faults
def patchify_output_order(latent: Array, patch_size: Sizes) -> Array:
    """As `patchify`, features by time, row, column and channel, as the model gives them: what a loss compares with."""
    return _rows(latent, patch_size, channels_last=True)


def _rows(latent: Array, patch_size: Sizes, channels_last: bool) -> Array:
    batch, channels, *sizes = latent.shape
    if any(size % patch for size, patch in zip(sizes, patch_size, strict=True)):
        raise ValueError(
            f"latent {tuple(sizes)} is not divisible by patch {tuple(patch_size)}; help: pad frames, height and width to multiples"
        )
    grid = grid_size(latent.shape, patch_size)
    split = [n for pair in zip(grid, patch_size, strict=True) for n in pair]
    within = (3, 5, 7, 1) if channels_last else (1, 3, 5, 7)
    moved = latent.reshape(batch, channels, *split).transpose(0, 2, 4, 6, *within)
    return np.ascontiguousarray(
        moved.reshape(batch, 1, int(np.prod(grid)), patch_features(channels, patch_size))
    )


@naming_faults
def unpatchify(tokens: Array, patch_size: Sizes, grid: Sizes, out_channels: int) -> Array:
    """The latents of rows that `patchify_output_order` made, or the model."""
    batch = tokens.shape[0]
    moved = tokens.reshape(batch, *grid, *patch_size, out_channels).transpose(0, 7, 1, 4, 2, 5, 3, 6)
    sizes = [count * patch for count, patch in zip(grid, patch_size, strict=True)]
    return np.ascontiguousarray(moved.reshape(batch, out_channels, *sizes))


@naming_faults
def conv3d_weight_to_linear(weight: Array) -> Array:
    """[out, C, time, rows, columns] of a convolution -> [1, 1, out, features] of a linear layer over patches."""
    return np.ascontiguousarray(weight.reshape(1, 1, weight.shape[0], -1))


@naming_faults
def timestep_features(
    timesteps: Any,
    freq_dim: int,
    *,
    flip_sin_to_cos: bool = True,
    downscale_freq_shift: float = 0.0,
    max_period: float = 10000.0,
) -> Array:
    """[batch, freq_dim]: cosines, then sines, of each time at falling frequencies; sines first without `flip_sin_to_cos`."""
    half = freq_dim // 2
    falling = -np.log(max_period) * np.arange(half, dtype=np.float32) / (half - downscale_freq_shift)
    angles = np.asarray(timesteps, np.float32).reshape(-1, 1) * np.exp(falling)[None]
    waves = [np.sin(angles), np.cos(angles)]
    return np.concatenate(waves[::-1] if flip_sin_to_cos else waves, axis=1).astype(np.float32)


@naming_faults
def axis_split(head_dim: int) -> tuple[int, int, int]:
    """How many features of a head turn with the frame, the row and the column."""
    side = 2 * (head_dim // 6)
    return head_dim - 2 * side, side, side


@naming_faults
def build_tables(
    *,
    head_dim: int,
    patch_size: Sizes,
    latent_shape: Sizes,
    max_seq_len: int = 1024,
    theta: float = 10000.0,
) -> tuple[Array, Array]:
    """Cosines and sines [1, 1, patches, head_dim] for latents of one shape, each number twice, for the two of a pair.

    Raises ValueError where latents have more patches along an axis than `max_seq_len`.
    """
    grid = grid_size(latent_shape, patch_size)
    angles = []
    for axis, (count, width) in enumerate(zip(grid, axis_split(head_dim), strict=True)):
        if count > max_seq_len:
            raise ValueError(
                f"axis {axis} needs {count} positions but max_seq_len is {max_seq_len}; help: max_seq_len={count}"
            )
        turning = np.outer(
            np.arange(count, dtype=np.float64),
            1.0 / theta ** (np.arange(0, width, 2, dtype=np.float64) / width),
        )
        view = [1, 1, 1]
        view[axis] = count
        pairs = np.repeat(turning, 2, axis=1).reshape(*view, width)
        angles.append(np.broadcast_to(pairs, (*grid, width)))
    whole = np.concatenate(angles, axis=-1).reshape(1, 1, int(np.prod(grid)), head_dim)
    return np.cos(whole).astype(np.float32), np.sin(whole).astype(np.float32)


@naming_faults
def build_rope_params(
    *,
    head_dim: int,
    patch_size: Sizes,
    latent_shape: Sizes,
    max_seq_len: int = 1024,
    theta: float = 10000.0,
) -> RotaryEmbeddingParams:
    """What `ttml.ops.rope.rope` turns heads by: `build_tables` in bfloat16."""
    tables = build_tables(
        head_dim=head_dim,
        patch_size=patch_size,
        latent_shape=latent_shape,
        max_seq_len=max_seq_len,
        theta=theta,
    )
    made = RotaryEmbeddingParams(theta=theta)
    made.cos_cache, made.sin_cache = (
        Tensor.from_numpy(table, new_type=DataType.BFLOAT16) for table in tables
    )
    return made
