"""Placing meshes on described chips, against the limits that the launcher promises: a mesh must not keep a launch waiting."""

from __future__ import annotations

import time

from mgd.graph import Mesh, MeshGraph
from tests.bench.common import Row
from tests.tt_run.plan.placement.machines import galaxy
from tt_run.plan.placement.physical import PhysicalGraph, build
from tt_run.plan.placement.solve import place

ONE_GALAXY_LIMIT = 2.0
FOUR_GALAXIES_LIMIT = 20.0


def run() -> list[Row]:
    """CPU time of this process, so that other work on the machine does not count, over the promised limit."""
    one = build([galaxy("a", 0, 1)])
    four = build([galaxy(name, number, 4) for number, name in enumerate("cadb")])
    return [
        _row("8x4 torus on one Galaxy", _torus(8, 4, 1), one, ONE_GALAXY_LIMIT),
        _row("32x4 torus over four hosts", _torus(32, 4, 4), four, FOUR_GALAXIES_LIMIT),
    ]


def _torus(rows: int, columns: int, hosts: int) -> MeshGraph:
    kinds = ("RING", "RING")
    return MeshGraph((Mesh(0, "M", "WORMHOLE_B0", (rows, columns), (hosts, 1), kinds, 4, "RELAXED"),))


def _row(name: str, graph: MeshGraph, machine: PhysicalGraph, limit: float) -> Row:
    started = time.process_time()
    placed = place(graph, machine)
    seconds = time.process_time() - started
    assert len(placed.meshes[0].nodes) == graph.meshes[0].device_count
    return Row(f"placement: {name}", seconds / limit, 1.0, detail=f"{seconds * 1e3:.0f} ms of {limit:g} s")
