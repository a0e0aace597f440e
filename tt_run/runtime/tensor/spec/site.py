"""The mesh positions over which the shards of a tensor are counted, and which of them this rank holds.

A mesh device is a site. Host tensors keep a snapshot of the mesh they were distributed for, so that they outlive its closing
and reshaping; a tensor that was never distributed sits at the single position of `SINGLE`, on every rank.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

from mgd.lean import dataclass
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape


class Site(Protocol):
    """What the tensor layer asks of a mesh: positions are row-major numbers of coordinates, the same on every rank."""

    @property
    def shape(self) -> MeshShape: ...
    @property
    def coords(self) -> Sequence[MeshCoordinate]: ...
    @property
    def local_coords(self) -> Sequence[MeshCoordinate]: ...
    @property
    def local_positions(self) -> Sequence[int]: ...
    @property
    def group(self) -> Any: ...
    def owner_rank(self, position: int, /) -> int: ...


@dataclass(frozen=True, eq=False)
class HostSite:
    """Positions of host shards: the mesh they were cut for, without its devices. `owners` lists the group rank of each position."""

    shape: MeshShape
    coords: tuple[MeshCoordinate, ...]
    local_positions: tuple[int, ...]
    owners: tuple[int, ...]
    group: Any = None

    @classmethod
    def of(cls, site: Site) -> HostSite:
        """A snapshot of a mesh device."""
        if isinstance(site, HostSite):
            return site
        coords = tuple(site.coords)
        return cls(
            site.shape,
            coords,
            tuple(site.local_positions),
            tuple(site.owner_rank(p) for p in range(len(coords))),
            site.group,
        )

    @property
    def local_coords(self) -> tuple[MeshCoordinate, ...]:
        """Coordinates of the positions that this rank holds."""
        return tuple(self.coords[p] for p in self.local_positions)

    def owner_rank(self, position: int) -> int:
        """Group rank that holds a position."""
        return self.owners[position]


@lru_cache(maxsize=64)
def local_site(dims: tuple[int, ...]) -> HostSite:
    """A site of which every position is on this rank."""
    coords = coords_of(dims)
    return HostSite(MeshShape(dims), coords, tuple(range(len(coords))), (0,) * len(coords))


@lru_cache(maxsize=256)
def coords_of(dims: tuple[int, ...]) -> tuple[MeshCoordinate, ...]:
    """All coordinates of a mesh shape, row-major."""
    return tuple(MeshCoordinate(c) for c in itertools.product(*map(range, dims)))


def holds_everything(site: Site) -> bool:
    """Whether this rank holds every position, so that no other rank has to be asked."""
    return len(site.local_positions) == len(site.coords)
