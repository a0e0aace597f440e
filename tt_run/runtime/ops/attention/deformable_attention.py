"""Deformable attention: every query mixes samples of feature maps at places of its own.

PyTorch samples, in float32; places outside of a map give zero. Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mgd.lean import dataclass
from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.families import TORCH
from tt_run.runtime.ops.declaration.operands import floating, on_device, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import combine

_LONGEST = 256  # side of a map that offsets can reach into


def _sampled(maps: Any, places: Any, align_corners: bool) -> Any:
    """maps [N, C, H, W] at places [N, Q, P, 2] in [-1, 1] -> [N, C, Q, P]."""
    sample = torch_cpu.torch_function("nn.functional.grid_sample")
    return sample(maps, places, mode="bilinear", padding_mode="zeros", align_corners=align_corners)


def _computed(
    function: Any, operands: tuple[Tensor, ...], memory_config: MemoryConfig | None, name: str
) -> Tensor:
    on_device(*operands, kind=name)
    floating(name, *operands)
    dtype = operands[0].dtype
    shards = combine(
        lambda *stacks: finish(torch_cpu.on_each(function, stacks)[0], dtype), *(t.shards for t in operands)
    )
    return settle(operands, shards, dtype, layout=Layout.ROW_MAJOR, memory_config=memory_config)


@operation("ttnn.experimental.multi_scale_deformable_attn", family=families.ATTENTION, engine=TORCH)
def multi_scale_deformable_attn(
    value: Tensor,
    grid: Tensor,
    attn: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    align_corners: bool = False,
) -> Tensor:
    """value [N, H, W, D] at grid [N, Q*P, 1, 2] in [-1, 1], P samples a query weighted by attn [N, Q, P] -> [N, Q, D], in rows."""

    def mix(maps: Any, places: Any, weights: Any) -> Any:
        n, queries, points = weights.shape
        found = _sampled(maps.permute(0, 3, 1, 2), places.reshape(n, queries, points, 2), align_corners)
        return (found * weights[:, None]).sum(-1).permute(0, 2, 1)

    if grid.shape[1] != attn.shape[1] * attn.shape[2]:
        raise fatal(
            f"grid {grid.shape} must have a place for every weight of attn {attn.shape}",
            hint=f"grid has [N, {attn.shape[1] * attn.shape[2]}, 1, 2]: queries times points",
        )
    return _computed(mix, (value, grid, attn), memory_config, "multi_scale_deformable_attn")


@operation("ttnn.experimental.fused_msda", family=families.ATTENTION, engine=TORCH)
def fused_msda(
    value: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    spatial_shapes: Sequence[Sequence[int]],
    *,
    align_corners: bool = False,
    locations_in_grid_space: bool = False,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Samples of several maps, weighted and summed for each query and head -> [B, Q, H*D], in rows.

    value [B, S, H, D] (or [B, S, H*D]) holds maps of `spatial_shapes` one after the other; sampling_locations [B, Q, H, L, P, 2] (or
    [B, Q, H, L*P*2]) count in [0, 1] as (x, y), or in [-1, 1] in grid space; attention_weights [B, Q, H, L, P] (or [B, Q, H, L*P]).
    """
    maps = _maps(value, attention_weights, spatial_shapes)

    def mix(values: Any, places: Any, weights: Any) -> Any:
        places = places.reshape(*maps.weighted, 2)
        return maps.mixed(
            values, places if locations_in_grid_space else 2 * places - 1, weights, align_corners
        )

    return _computed(mix, (value, sampling_locations, attention_weights), memory_config, "fused_msda")


@operation("ttnn.experimental.fused_msda_from_offsets", family=families.ATTENTION, engine=TORCH)
def fused_msda_from_offsets(
    value: Tensor,
    reference_points: Tensor,
    sampling_offsets: Tensor,
    attention_weights: Tensor,
    spatial_shapes: Sequence[Sequence[int]],
    *,
    reference_mode: str = "level",
    align_corners: bool = False,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """`fused_msda` at reference_points [B, Q, R, 2] in [0, 1] plus sampling_offsets [B, Q, H, L, P, 2] in pixels of each map.

    "level": a reference point for each map (R == L); "pillar": point p takes reference p mod R (P a multiple of R). Raises RuntimeError for
    another mode, references that do not fit it, and maps with a side longer than 256.
    """
    maps = _maps(value, attention_weights, spatial_shapes)
    *_, levels, points = maps.weighted
    references = reference_points.shape[2]
    if reference_mode not in ("level", "pillar"):
        raise fatal(
            f"reference_mode must be 'level' or 'pillar', got {reference_mode!r}",
            hint="reference_mode='level', or 'pillar'",
        )
    if tuple(reference_points.shape) != (*maps.weighted[:2], references, 2):
        raise fatal(
            f"reference_points {reference_points.shape} must be (batch, queries, references, 2) of {maps.weighted[:2]}",
            hint=f"ttnn.reshape(reference_points, {[*maps.weighted[:2], references, 2]})",
        )
    if references != levels if reference_mode == "level" else points % references:
        raise fatal(
            f"{references} reference points do not fit {levels} maps and {points} points in mode {reference_mode!r}",
            hint=f"'level' takes {levels} reference points, 'pillar' a number that divides {points}",
        )
    if max(side for size in maps.sizes for side in size) > _LONGEST:
        raise fatal(
            f"a map of spatial_shapes {maps.sizes} has a side longer than {_LONGEST}",
            hint=f"cut the map into parts of at most {_LONGEST} x {_LONGEST}",
        )
    steps = [[_pixel(w, align_corners), _pixel(h, align_corners)] for h, w in maps.sizes]

    def mix(values: Any, starts: Any, offsets: Any, weights: Any) -> Any:
        torch = torch_cpu.library()
        scale = torch.tensor(steps, dtype=torch.float32)[:, None]
        if reference_mode == "level":
            starts = starts[:, :, None, :, None]
        else:
            starts = starts.repeat(1, 1, points // references, 1)[:, :, None, None]
        places = starts + offsets.reshape(*maps.weighted, 2) * scale
        return maps.mixed(values, 2 * places - 1, weights, align_corners)

    operands = (value, reference_points, sampling_offsets, attention_weights)
    return _computed(mix, operands, memory_config, "fused_msda_from_offsets")


@operation(
    "ttnn.experimental.can_use_fused_msda_from_offsets_l1_value", family=families.ATTENTION, direct=True
)
def can_use_fused_msda_from_offsets_l1_value(
    value: Tensor,
    reference_points: Tensor,
    sampling_offsets: Tensor,
    attention_weights: Tensor,
    spatial_shapes: Sequence[Sequence[int]],
    *,
    reference_mode: str = "level",
    align_corners: bool = False,
) -> bool:
    """False: what the free memory of a core holds is not emulated, and with `value` in DRAM the results are the same."""
    return False


def _pixel(side: int, align_corners: bool) -> float:
    """What a pixel is of a map's side, in the measure of reference points."""
    if align_corners:
        return 1 / (side - 1) if side > 1 else 0.0
    return 1 / side


@dataclass(frozen=True)
class _Maps:
    """Feature maps one after the other in a value tensor: their sizes (height, width), and the shape of the weights (B, Q, H, L, P)."""

    sizes: tuple[tuple[int, int], ...]
    weighted: tuple[int, int, int, int, int]

    def mixed(self, values: Any, places: Any, weights: Any, align_corners: bool) -> Any:
        """Samples at places [B, Q, H, L, P, 2] in [-1, 1], weighted and summed: [B, Q, H*D]."""
        batch, queries, heads, _, points = self.weighted
        values = values.reshape(batch, values.shape[1], heads, -1)
        weights = weights.reshape(self.weighted)
        total, start = 0, 0
        for level, (h, w) in enumerate(self.sizes):
            flat = values[:, start : start + h * w].permute(0, 2, 3, 1).reshape(batch * heads, -1, h, w)
            at = places[:, :, :, level].permute(0, 2, 1, 3, 4).reshape(batch * heads, queries, points, 2)
            share = weights[:, :, :, level].permute(0, 2, 1, 3).reshape(batch * heads, 1, queries, points)
            total = total + (_sampled(flat, at, align_corners) * share).sum(-1)
            start += h * w
        return total.reshape(batch, -1, queries).permute(0, 2, 1)  # type: ignore[attr-defined]


def _maps(value: Tensor, attention_weights: Tensor, spatial_shapes: Sequence[Sequence[int]]) -> _Maps:
    sizes = tuple((int(h), int(w)) for h, w in spatial_shapes)
    batch, queries, heads = tuple(attention_weights.shape)[:3]
    points = math.prod(tuple(attention_weights.shape)[3:]) // max(len(sizes), 1)
    if value.shape[1] != sum(h * w for h, w in sizes):
        raise fatal(
            f"value {value.shape} must hold the maps of spatial_shapes {[list(s) for s in sizes]}",
            hint=f"value.shape[1] is {sum(h * w for h, w in sizes)}, the sum of height * width of the maps",
        )
    return _Maps(sizes, (batch, queries, heads, len(sizes), points))
