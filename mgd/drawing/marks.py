"""What a drawing should point at, beside the graph itself."""

from __future__ import annotations

from collections.abc import Mapping

from mgd.lean import dataclass, field

Device = tuple[int, int]  # mesh_id, device id
Edge = tuple[int, int, int]  # mesh_id, lower and higher device id
HostRank = tuple[int, int]  # mesh_id, host rank
Ends = tuple[str, ...]  # names of a link's ends, sorted


def end_name(mesh: object, device: int | None) -> str:
    """What one end of a link between meshes is called: `3`, or `3:D7` for a device."""
    return str(mesh) if device is None else f"{mesh}:D{device}"


@dataclass(frozen=True, slots=True)
class Marks:
    """Broken devices, links in meshes, hosts and links between meshes, each drawn as a cross in red; `notes` say why, one line each.

    `labels` replaces the words on a host block, for instance by the machine that a rank runs on.
    """

    devices: frozenset[Device] = frozenset()
    edges: frozenset[Edge] = frozenset()
    hosts: frozenset[HostRank] = frozenset()
    links: frozenset[Ends] = frozenset()
    labels: Mapping[HostRank, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def any_broken(self) -> bool:
        return bool(self.devices or self.edges or self.hosts or self.links)
