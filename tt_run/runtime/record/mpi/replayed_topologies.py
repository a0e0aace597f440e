"""Communicators of a replay whose ranks lie in a grid, or have neighbours."""

from __future__ import annotations

import sys
from typing import Any

from tt_run.runtime.record.mpi import local
from tt_run.runtime.record.mpi.replayed_communicators import ReplayedIntra


class ReplayedTopology(ReplayedIntra):
    """What all of them say of this rank's neighbours."""

    def _edges(self) -> tuple[list[int], list[int]]:
        raise NotImplementedError

    inoutedges = property(lambda self: self._edges())
    inedges = property(lambda self: self._edges()[0])
    outedges = property(lambda self: self._edges()[1])
    degrees = property(lambda self: tuple(map(len, self._edges())))
    indegree = property(lambda self: len(self._edges()[0]))
    outdegree = property(lambda self: len(self._edges()[1]))


class ReplayedCart(ReplayedTopology):
    """One whose ranks lie in a grid."""

    @property
    def _grid(self) -> local.Grid:
        dims, periods = self._is.facts["grid"]
        return local.Grid(dims, periods, sys.modules["mpi4py.MPI"].PROC_NULL)

    def Get_topology(self) -> Any:
        """CART."""
        return sys.modules["mpi4py.MPI"].CART

    def Get_dim(self) -> int:
        """How many dimensions."""
        return len(self._grid.dims)

    def Get_topo(self) -> tuple[list[int], list[bool], list[int]]:
        """Sizes, whether each wraps, and this rank's place."""
        grid = self._grid
        return grid.dims, grid.periods, grid.coords(self.Get_rank())

    def Get_coords(self, rank: int) -> list[int]:
        """Where a rank is."""
        return self._grid.coords(rank)

    def Get_cart_rank(self, coords: Any) -> int:
        """Who is there."""
        return self._grid.rank(coords)

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Whom a shift comes from, and whom it goes to."""
        return self._grid.shift(self.Get_rank(), direction, disp)

    ndim = dim = property(Get_dim)
    topo = property(Get_topo)
    dims = property(lambda self: self.Get_topo()[0])
    periods = property(lambda self: self.Get_topo()[1])
    coords = property(lambda self: self.Get_topo()[2])

    def _edges(self) -> tuple[list[int], list[int]]:
        found = [rank for axis in range(self.Get_dim()) for rank in self.Shift(axis, 1)]
        return found, found.copy()


class ReplayedGraph(ReplayedTopology):
    """One whose ranks have neighbours, all of which every rank knows."""

    def Get_topology(self) -> Any:
        """GRAPH."""
        return sys.modules["mpi4py.MPI"].GRAPH

    def Get_topo(self) -> tuple[list[int], list[int]]:
        """Where the neighbours of each rank end, and the neighbours."""
        index, edges = self._is.facts["said"]["Get_topo"]
        return list(index), list(edges)

    def Get_dims(self) -> tuple[int, int]:
        """How many ranks, and how many neighbours in all."""
        index, edges = self.Get_topo()
        return len(index), len(edges)

    def Get_neighbors(self, rank: int) -> list[int]:
        """The neighbours of a rank."""
        index, edges = self.Get_topo()
        return edges[index[rank - 1] if rank else 0 : index[rank]]

    def Get_neighbors_count(self, rank: int) -> int:
        """How many it has."""
        return len(self.Get_neighbors(rank))

    topo, dims = property(Get_topo), property(Get_dims)
    index = property(lambda self: self.Get_topo()[0])
    edges = property(lambda self: self.Get_topo()[1])
    nnodes = property(lambda self: self.Get_dims()[0])
    nedges = property(lambda self: self.Get_dims()[1])
    neighbors = property(lambda self: self.Get_neighbors(self.Get_rank()))
    nneighbors = property(lambda self: len(self.neighbors))

    def _edges(self) -> tuple[list[int], list[int]]:
        found = self.Get_neighbors(self.Get_rank())
        return found, found.copy()


class ReplayedDistgraph(ReplayedTopology):
    """One whose ranks were each told their own neighbours."""

    def Get_topology(self) -> Any:
        """DIST_GRAPH."""
        return sys.modules["mpi4py.MPI"].DIST_GRAPH

    def Get_dist_neighbors_count(self) -> Any:
        """How many come in, how many go out, and whether they have weights."""
        return self._is.facts["said"]["Get_dist_neighbors_count"]

    def Get_dist_neighbors(self) -> Any:
        """Who comes in, who goes out, and their weights."""
        return self._is.facts["said"]["Get_dist_neighbors"]

    def _edges(self) -> tuple[list[int], list[int]]:
        sources, targets = self.Get_dist_neighbors()[:2]
        return list(sources), list(targets)
