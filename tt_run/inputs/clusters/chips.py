"""What a described host is: its chips, its links, and the type of cluster that they make (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from mgd.diagnostics import Diagnostic
from mgd.lean import dataclass, field

TAKEN_WHOLE = 2  # chips of the largest board that a process cannot open in part


@dataclass(frozen=True, slots=True)
class Chip:
    """One ASIC of a host: its number in the file, its global identity and where it sits."""

    chip_id: int
    unique_id: int
    arch: str
    board_type: str
    board_id: int
    tray: int
    location: int
    pcie_chip: int  # itself, or the chip of its board through which it is reached


@dataclass(frozen=True, slots=True)
class RemoteLink:
    """A channel that leaves the host: own chip and channel, unique id and channel of the far chip."""

    chip_id: int
    channel: int
    far_unique_id: int
    far_channel: int


@dataclass(frozen=True, slots=True)
class ClusterDescriptor:
    """All chips of one host; `links` holds (chip, channel, chip, channel), each channel once."""

    file: str
    host: str
    arch: str
    chips: Mapping[int, Chip]
    links: tuple[tuple[int, int, int, int], ...]
    remote_links: tuple[RemoteLink, ...] = ()
    warnings: tuple[Diagnostic, ...] = field(default=())

    def opened(self, devices: Collection[int] | None) -> frozenset[int]:
        """The chips that a process opens that sees these PCIe devices (all when None): boards of at most two chips whole."""
        boards: dict[int, list[Chip]] = {}
        for chip in self.chips.values():
            boards.setdefault(chip.board_id, []).append(chip)
        found: set[int] = set()
        for board in boards.values():
            seen = [chip.chip_id for chip in board if devices is None or chip.pcie_chip in devices]
            found.update([chip.chip_id for chip in board] if seen and len(board) <= TAKEN_WHOLE else seen)
        return frozenset(found)

    def local_ids(self, devices: Collection[int] | None) -> dict[int, int]:
        """How a process that sees these PCIe devices numbers the chips that it opens: PCIe chips from 0, then those behind them."""
        chips = sorted(
            (self.chips[chip] for chip in self.opened(devices)),
            key=lambda chip: (chip.pcie_chip != chip.chip_id, chip.pcie_chip, chip.chip_id),
        )
        return {chip.chip_id: number for number, chip in enumerate(chips)}

    @property
    def cluster_type(self) -> str:
        """The name by which default descriptors are chosen: the first match."""
        return cluster_type(self)


def cluster_type(cluster: ClusterDescriptor) -> str:
    """N150, N300, T3K, GALAXY, P150_X4, …: by board type and count; INVALID for mixed boards."""
    kinds = {chip.board_type for chip in cluster.chips.values()}
    if len(kinds) != 1:
        return "INVALID"
    count = len(cluster.chips)
    rules: dict[str, Callable[[], str]] = {
        "n150": lambda: "N150",
        "n300": lambda: _n300_type(cluster),
        "p100": lambda: "P100" if count == 1 else "CUSTOM",
        "p150": lambda: {1: "P150", 2: "P150_X2", 4: "P150_X4", 8: "P150_X8"}.get(count, "CUSTOM"),
        "p300": lambda: {2: "P300", 4: "P300_X2"}.get(count, "CUSTOM"),
        "ubb": lambda: "GALAXY",
        "ubb_blackhole": lambda: "BLACKHOLE_GALAXY",
        "quasar": lambda: "CUSTOM",
    }
    return rules[kinds.pop()]()


def _n300_type(cluster: ClusterDescriptor) -> str:
    neighbours: dict[int, set[int]] = {chip: set() for chip in cluster.chips}
    for a, _, b, _ in cluster.links:
        neighbours[a].add(b)
        neighbours[b].add(a)
    pcie = {chip.pcie_chip for chip in cluster.chips.values()}
    if len(cluster.chips) == 8 and all(len(n) == (3 if c in pcie else 2) for c, n in neighbours.items()):
        return "T3K"
    if len(cluster.chips) == 4 and all(len(n) == 2 for n in neighbours.values()):
        return "N300_2x2"
    return "N300"
