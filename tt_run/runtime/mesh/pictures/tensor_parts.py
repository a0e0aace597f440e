"""Which part of the whole tensor each device holds: what the pictures, as text and as SVG, show."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate


class TensorLike(Protocol):
    """What the pictures ask of a tensor."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def layout(self) -> Any: ...
    def tensor_topology(self) -> Any: ...
    def device(self) -> Any: ...
    def host_buffer(self) -> Any: ...
    def storage_type(self) -> Any: ...


# Per tensor dimension: first and one past the last index of the whole tensor, or None where a device holds all of it.
Ranges = tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class ShardInTensor:
    """One device's shard: where the device is, which part of the tensor it holds, and what it is."""

    coord: MeshCoordinate
    ranges: Ranges
    shape: tuple[int, ...]
    dtype: str
    layout: str

    @property
    def slices(self) -> str:
        """The part in index notation: `[0:1, :, :, 32:64]`."""
        return "[" + ", ".join(":" if r is None else f"{r[0]}:{r[1]}" for r in self.ranges) + "]"

    @property
    def annotation(self) -> str:
        """The lines under a device's coordinate."""
        return f"{self.slices}\nShape: {list(self.shape)}\nDtype: {self.dtype}\nLayout: {self.layout}"


def placed_shards(tensor: TensorLike) -> dict[MeshCoordinate, ShardInTensor]:
    """The shard of every device that holds one, by mesh coordinate, from the tensor's topology."""
    topology = tensor.tensor_topology()
    shape = tuple(int(extent) for extent in tensor.shape)
    distribution = tuple(topology.distribution_shape())
    sharded = _sharded_dims(topology.placements(), len(shape))
    found = {}
    for number, coord in enumerate(list(topology.mesh_coords())[: prod(distribution)]):
        chunks = _unravel(number, distribution)
        ranges: list[tuple[int, int] | None] = [None] * len(shape)
        for axis, dim in sharded.items():
            if axis < len(distribution) and distribution[axis] > 1:
                ranges[dim] = (chunks[axis] * shape[dim], (chunks[axis] + 1) * shape[dim])
        found[coord] = ShardInTensor(coord, tuple(ranges), shape, tensor.dtype.name, tensor.layout.name)
    return found


def shard_colors(shards: Iterable[ShardInTensor]) -> dict[Ranges, str]:
    """A colour (hex) for each distinct part: hues evenly around the circle in the order in which parts first appear."""
    parts = list(dict.fromkeys(shard.ranges for shard in shards))
    return {part: _hex(index / len(parts)) for index, part in enumerate(parts)}


def _sharded_dims(placements: Sequence[Any], rank: int) -> dict[int, int]:
    """Distribution axis -> tensor dimension, for axes that shard; a dimension that a reshape has removed shards nothing."""
    found = {}
    for axis, placement in enumerate(placements):
        dim = getattr(placement, "dim", None)
        if dim is not None and -rank <= dim < rank:
            found[axis] = dim % rank
    return found


def _unravel(number: int, extents: Sequence[int]) -> list[int]:
    digits = []
    for extent in reversed(extents):
        number, digit = divmod(number, extent)
        digits.append(digit)
    return digits[::-1]


def _hex(hue: float) -> str:
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.48, 0.80)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
