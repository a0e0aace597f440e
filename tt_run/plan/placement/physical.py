"""The physical graph: every chip of every host in canonical order, and how many channels join each pair."""

from __future__ import annotations

from collections.abc import Sequence

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from mgd.lean import dataclass
from tt_run.inputs.clusters.chips import TAKEN_WHOLE, Chip, ClusterDescriptor, RemoteLink

Z_CHANNELS = (8, 9)  # of a Blackhole Galaxy: these never serve grid links inside a mesh


@dataclass(frozen=True, slots=True)
class PhysicalChip:
    """A chip in the canonical order by (host, tray, location); `index` is its number in that order.

     `opened` lists the chips that a process opens with it: boards of at most two chips are taken whole, larger ones chip by chip
    . Chips that are opened together belong to one rank.
    """

    index: int
    host: str
    host_index: int
    chip: Chip
    opened: tuple[int, ...]

    @property
    def slot(self) -> tuple[int, int]:
        """(tray, location), what pins name."""
        return (self.chip.tray, self.chip.location)

    def __str__(self) -> str:
        return f"{self.host} tray {self.chip.tray} location {self.chip.location} (chip {self.chip.chip_id})"


@dataclass(frozen=True, slots=True)
class PhysicalGraph:
    """`grid[i]` and `z[i]` map a neighbour's index to the channels of the pair, in ascending order of the neighbour.

    `cluster_types` is the type of each host's descriptor; `findings` tells one-sided cables, `outside` counts those that leave the job.
    """

    nodes: tuple[PhysicalChip, ...]
    hosts: tuple[str, ...]
    grid: tuple[dict[int, int], ...]
    z: tuple[dict[int, int], ...]
    cluster_types: tuple[str, ...]
    findings: tuple[Diagnostic, ...] = ()
    outside: int = 0

    @property
    def is_galaxy(self) -> bool:
        return all(kind in ("GALAXY", "BLACKHOLE_GALAXY") for kind in self.cluster_types)

    def chips_of(self, host_index: int) -> list[PhysicalChip]:
        return [node for node in self.nodes if node.host_index == host_index]


def build(clusters: Sequence[ClusterDescriptor]) -> PhysicalGraph:
    """Join hosts by unique ids; a cable counts when both ends list it. Hosts of one name are told apart by their order.

    The order of links, chips and unique ids in the files does not influence the result.
    """
    findings: list[Diagnostic] = [warning for cluster in clusters for warning in cluster.warnings]
    names = distinct_names(clusters)
    places = sorted(range(len(clusters)), key=lambda i: names[i])
    order = {cluster: number for number, cluster in enumerate(places)}
    everyone = [
        (names[i], order[i], chip) for i, cluster in enumerate(clusters) for chip in cluster.chips.values()
    ]
    everyone.sort(key=lambda item: (item[0], item[2].tray, item[2].location, item[2].unique_id))
    boards: dict[tuple[int, int], list[int]] = {}
    for index, (_, host_index, chip) in enumerate(everyone):
        boards.setdefault((host_index, chip.board_id), []).append(index)
    nodes = tuple(
        PhysicalChip(index, host, host_index, chip, tuple(board) if len(board) <= TAKEN_WHOLE else (index,))
        for index, (host, host_index, chip) in enumerate(everyone)
        for board in [boards[host_index, chip.board_id]]
    )
    by_unique: dict[int, PhysicalChip] = {}
    for node in nodes:
        other = by_unique.setdefault(node.chip.unique_id, node)
        if other is not node:
            findings.append(
                Diagnostic(
                    "TTR162",
                    f"unique id {node.chip.unique_id} belongs to two chips: {other} and {node}",
                    (Label(Position(clusters[places[node.host_index]].file)),),
                    "give every chip of the job its own chip_unique_ids",
                )
            )
    wiring = _Wiring(len(nodes))
    for position, cluster in enumerate(clusters):
        galaxy_z = cluster.cluster_type == "BLACKHOLE_GALAXY"
        own = {n.chip.chip_id: n.index for n in nodes if n.host_index == order[position]}
        for a, i, b, j in cluster.links:
            wiring.add(own[a], own[b], galaxy_z and i in Z_CHANNELS and j in Z_CHANNELS)
    outside = _join_hosts(clusters, by_unique, wiring, findings)
    return PhysicalGraph(
        nodes,
        tuple(names[i] for i in places),
        wiring.sorted(wiring.grid),
        wiring.sorted(wiring.z),
        tuple(clusters[i].cluster_type for i in places),
        tuple(findings),
        outside,
    )


class _Wiring:
    def __init__(self, size: int) -> None:
        self.grid: list[dict[int, int]] = [{} for _ in range(size)]
        self.z: list[dict[int, int]] = [{} for _ in range(size)]

    def add(self, a: int, b: int, z: bool) -> None:
        table = self.z if z else self.grid
        table[a][b] = table[a].get(b, 0) + 1
        table[b][a] = table[b].get(a, 0) + 1

    @staticmethod
    def sorted(table: list[dict[int, int]]) -> tuple[dict[int, int], ...]:
        return tuple(dict(sorted(row.items())) for row in table)


def distinct_names(clusters: Sequence[ClusterDescriptor]) -> list[str]:
    """Host names; a name that several descriptors share gets `_<rank>` appended, as the reference does."""
    names = [cluster.host for cluster in clusters]
    return [f"{name}_{i}" if names.count(name) > 1 else name for i, name in enumerate(names)]


def _join_hosts(
    clusters: Sequence[ClusterDescriptor],
    by_unique: dict[int, PhysicalChip],
    wiring: _Wiring,
    findings: list[Diagnostic],
) -> int:
    """Add the cables between hosts that both sides list; warn of one-sided ones; count those that leave the job."""
    listed: dict[tuple[int, int, int, int], tuple[ClusterDescriptor, RemoteLink]] = {}
    outside = 0
    for cluster in clusters:
        for link in cluster.remote_links:
            near = cluster.chips[link.chip_id].unique_id
            if link.far_unique_id not in by_unique:
                outside += 1
            else:
                listed[(near, link.channel, link.far_unique_id, link.far_channel)] = (cluster, link)
    for (near, i, far, j), (cluster, _) in sorted(listed.items(), key=lambda item: item[0]):
        if (far, j, near, i) not in listed:
            findings.append(
                Diagnostic(
                    "TTR163",
                    f"one-sided cable: {by_unique[near]} channel {i} names {by_unique[far]} channel {j}, which does not name it back",
                    (Label(Position(cluster.file)),),
                    "list the cable in both hosts' ethernet_connections_to_remote_devices; it is not used",
                    Severity.WARNING,
                )
            )
        elif near < far:
            galaxy_z = cluster.cluster_type == "BLACKHOLE_GALAXY"
            z = galaxy_z and i in Z_CHANNELS and j in Z_CHANNELS
            wiring.add(by_unique[near].index, by_unique[far].index, z)
    return outside
