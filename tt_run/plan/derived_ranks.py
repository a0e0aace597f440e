"""Ranks that no binding file lists: one for each host block of a descriptor, mesh after mesh."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mgd.diagnostics import Position
from mgd.graph import MeshGraph
from mgd.lean import dataclass, field
from tt_run.inputs.bindings import Binding, RankBindings
from tt_run.plan.model import GeneratedFile

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.inputs.hosts.rankfiles import Rankfile
    from tt_run.plan.placement.solve import Placed


@dataclass(frozen=True)
class Derived:
    """Bindings, the graphs of their descriptors, files to be written, and why an allocated rank went where it is."""

    bindings: RankBindings
    graphs: Mapping[Path, MeshGraph]
    files: tuple[GeneratedFile, ...] = ()
    why: Mapping[int, str] = field(default_factory=dict)
    placed: Placed | None = None  # which chip each device sits on, where machines were described
    rankfile: Rankfile | None = None  # where rank pins keep the ranks from filling the hosts in order


CHOSEN_BY_THE_PROGRAM = Path("(chosen by the program)")
"""In the place of a descriptor: the emulated runtime takes the system that fits the mesh which the program opens first."""


def lone_rank() -> Derived:
    """One emulated rank on whatever system its program needs."""
    nowhere = Position("")
    return Derived(RankBindings("", (Binding(0, 0, nowhere, nowhere, 0),), CHOSEN_BY_THE_PROGRAM), {})


def bindings_of(graph: MeshGraph, descriptor: Path) -> RankBindings:
    """One rank for each host block of each mesh: mesh-major, then by host rank (as the reference library 0.81.1 numbers them)."""
    nowhere = Position(str(descriptor))
    places = [
        (mesh.mesh_id, host_rank)
        for mesh in sorted(graph.meshes, key=lambda mesh: mesh.mesh_id)
        if not mesh.is_switch
        for host_rank in range(mesh.host_count)
    ]
    bindings = tuple(
        Binding(rank, mesh_id, nowhere, nowhere, host_rank)
        for rank, (mesh_id, host_rank) in enumerate(places)
    )
    return RankBindings(str(descriptor), bindings, descriptor)
