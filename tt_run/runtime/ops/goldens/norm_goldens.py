"""Norms of channels, and those whose statistics are gathered from devices, as functions of torch tensors.

Source: the golden functions of the reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.torch_cpu import library, torch_function
from tt_run.runtime.ops.goldens.creation_goldens import of_type
from tt_run.runtime.tile import TILE_SIZE


def group_norm(
    tensor: Any,
    *,
    num_groups: int,
    epsilon: float = 1e-5,
    weight: Any = None,
    bias: Any = None,
    **_: Any,
) -> Any:
    """Groups of channels of [N, 1, H * W, C] normalised; weight and bias hold one value per channel, padded at their end."""
    channels = tensor.shape[-1]
    one, other = (None if p is None else p.reshape(-1)[:channels].float() for p in (weight, bias))
    planes = tensor.permute(0, 3, 1, 2).float()
    return torch_function("nn.functional.group_norm")(planes, num_groups, one, other, eps=epsilon).permute(
        0, 2, 3, 1
    )


def statistics(centred: bool) -> Callable[..., Any]:
    """What a device tells of its columns: a tile with the sum of squares in its first column, another with the sum if `centred`."""

    def golden(
        tensor: Any, *, residual_input_tensor: Any = None, dtype: DataType = DataType.BFLOAT16, **_: Any
    ) -> Any:
        values = tensor if residual_input_tensor is None else tensor + residual_input_tensor
        wide = values.float()
        sums = [wide.square().sum(-1), *([wide.sum(-1)] if centred else [])]
        found = library().zeros(*tensor.shape[:-1], TILE_SIZE * len(sums))
        for place, column in enumerate(sums):
            found[..., place * TILE_SIZE] = column
        return of_type(found, dtype)

    return golden


def normalised(centred: bool) -> Callable[..., Any]:
    """A device's columns normalised by the statistics of all devices, which lie one after the other."""

    def golden(
        tensor: Any,
        stats: Any,
        *,
        epsilon: float = 1e-12,
        weight: Any = None,
        bias: Any = None,
        dtype: DataType | None = None,
        **_: Any,
    ) -> Any:
        tiles = stats.float().reshape(*stats.shape[:-1], -1, TILE_SIZE * (2 if centred else 1))
        count = tensor.shape[-1] * tiles.shape[-2]
        values, power = tensor.float(), tiles[..., 0].sum(-1, keepdim=True) / count
        if centred:
            mean = tiles[..., TILE_SIZE].sum(-1, keepdim=True) / count
            values, power = values - mean, power - mean.square()
        return of_type(_scaled(values * (power + epsilon).rsqrt(), weight, bias), dtype)

    return golden


def fused_rms(
    tensor: Any,
    *_: Any,
    residual_input_tensor: Any = None,
    epsilon: float = 1e-12,
    weight: Any = None,
    **__: Any,
) -> Any:
    """The root-mean-square norm of the whole rows, a residual added before."""
    values = (tensor if residual_input_tensor is None else tensor + residual_input_tensor).float()
    return _scaled(values * (values.square().mean(-1, keepdim=True) + epsilon).rsqrt(), weight, None)


def _scaled(values: Any, weight: Any, bias: Any) -> Any:
    """Values times the weight plus the bias, whose last dimensions may be rows of tiles."""
    width = values.shape[-1]
    if weight is not None:
        values = values * weight.reshape(-1)[:width].float()
    return values if bias is None else values + bias.reshape(-1)[:width].float()
