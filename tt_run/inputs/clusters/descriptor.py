"""Cluster descriptors: the chips of one host and their ethernet links, from YAML to checked values.

Every complaint names the file, the line, the key, the chip or the entry, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mgd.diagnostics import Diagnostic, Label, Position
from mgd.documents import DocumentError, read
from tt_run.errors import InputError
from tt_run.inputs.clusters import links as cluster_links
from tt_run.inputs.clusters.chips import Chip, ClusterDescriptor
from tt_run.inputs.clusters.sections import Sections

# The high half-byte of a Galaxy's PCI bus id says the tray, the low one the place on it.
GALAXY_TRAYS = {
    "ubb": {0xC0: 1, 0x80: 2, 0x00: 3, 0x40: 4},
    "ubb_blackhole": {0x00: 1, 0x40: 2, 0xC0: 3, 0x80: 4},
}


def read_cluster(path: Path, *, host: str | None = None) -> ClusterDescriptor:
    """Read one cluster descriptor. `host` replaces the default name (cluster_id, else the file's name).

    Raises InputError with everything that is wrong with the file.
    """
    try:
        data = path.read_bytes()
    except OSError as problem:
        told = f"cannot read the cluster descriptor: {problem.strerror or problem}"
        raise InputError(_error(Position(str(path)), told)) from None
    return parse_cluster(data, str(path), host=host)


def parse_cluster(text: str | bytes, file: str, *, host: str | None = None) -> ClusterDescriptor:
    """`read_cluster` for a text that is already at hand."""
    try:
        document = read(text, file=file)
        values = document.value()
    except DocumentError as problem:
        told = f"the cluster descriptor is not well-formed YAML: {problem.reason}"
        raise InputError(_error(problem.position, told, problem.help)) from None
    if not isinstance(values, dict):
        told = "a cluster descriptor is a map with the keys arch, chips_with_mmio, …"
        where = document.position(document.root)
        raise InputError(_error(where if where.line else Position(where.file, 1, 1), told))
    return _described(Sections(document, values), file, host)


def _error(where: Position, message: str, help: str = "") -> Diagnostic:
    return Diagnostic("TTR160", message, (Label(where),), help)


def _described(sections: Sections, file: str, host: str | None) -> ClusterDescriptor:
    """The host that the sections describe; raises InputError with every complaint."""
    sections.unknown_keys()
    arches = sections.arches()
    ids = sorted(arches)
    arch = arches[ids[0]] if ids else ""
    mmio = sections.mmio(ids)
    boards = sections.boards(ids)
    unique = sections.unique_ids(ids)
    links = cluster_links.links(sections, ids, arch)
    remote = cluster_links.remote_links(sections, ids, arch)
    bus = sections.bus_ids()
    places = sections.places()
    sections.check_the_rest(ids, arch, mmio)
    sections.stop_if_broken()
    trays = {board_id: rank for rank, board_id in enumerate(sorted({b for _, b in boards.values()}), 1)}
    distance = _pcie_distance(mmio, boards, links)
    chips: dict[int, Chip] = {}
    for chip in ids:
        kind, board_id = boards[chip]
        if kind in GALAXY_TRAYS:
            tray, location = galaxy_slot(kind, bus.get(chip))
        else:
            tray = trays[board_id]
            location = distance.get(chip, (0, chip))[0] if arch == "WORMHOLE_B0" else places.get(chip, 0)
        pcie = distance.get(chip, (0, chip))[1]
        chips[chip] = Chip(chip, unique[chip], arch, kind, board_id, tray, location, pcie)
    _check_places(sections, chips)
    _check_reachable(sections, ids, mmio, boards)
    sections.stop_if_broken()
    name = host or str(sections.values.get("cluster_id") or Path(file).name)
    return ClusterDescriptor(file, name, arch, chips, links, remote, tuple(sections.warnings))


def _check_places(sections: Sections, chips: Mapping[int, Chip]) -> None:
    seats: dict[tuple[int, int, int | None], int] = {}
    for chip in chips.values():
        galaxy = chip.board_type in GALAXY_TRAYS
        seat = (chip.tray, chip.location, None if galaxy else chip.board_id)
        if seat in seats:
            hint = (
                "give each chip its chip_to_bus_id" if galaxy else "check chips_with_mmio and asic_locations"
            )
            sections.fail(
                f"chips {seats[seat]} and {chip.chip_id} share tray {chip.tray}, location {chip.location}",
                "chip_to_bus_id" if galaxy else "boards",
                help=hint,
            )
            return
        seats[seat] = chip.chip_id


def _check_reachable(
    sections: Sections, ids: list[int], mmio: set[int], boards: Mapping[int, tuple[str, int]]
) -> None:
    served = {boards[chip][1] for chip in mmio}
    for chip in ids:
        if boards[chip][1] not in served:
            sections.fail(
                f"chip {chip} has no PCIe chip on its board {boards[chip][1]}: nothing reaches it", "boards"
            )


def galaxy_slot(kind: str, bus: int | None) -> tuple[int, int]:
    """(tray, location) of a Galaxy's chip by its PCI bus id, (0, 0) where it says neither."""
    if bus is None:
        return 0, 0
    tray, location = GALAXY_TRAYS[kind].get(bus & 0xF0, 0), bus & 0x0F
    return (tray, location) if tray and 1 <= location <= 8 else (0, 0)


def _pcie_distance(
    mmio: set[int], boards: Mapping[int, tuple[str, int]], links: tuple[tuple[int, int, int, int], ...]
) -> dict[int, tuple[int, int]]:
    """(hops, PCIe chip) of every chip on its own board; a remote chip off the board's wiring counts as one hop away."""
    beside: dict[int, set[int]] = {}
    for a, _, b, _ in links:
        if a in boards and b in boards and boards[a][1] == boards[b][1]:
            beside.setdefault(a, set()).add(b)
            beside.setdefault(b, set()).add(a)
    found = {chip: (0, chip) for chip in mmio}
    wave = sorted(mmio)
    while wave:
        following: list[int] = []
        for chip in wave:
            for other in sorted(beside.get(chip, ())):
                if other not in found:
                    found[other] = (found[chip][0] + 1, found[chip][1])
                    following.append(other)
        wave = following
    for chip, (_, board) in boards.items():
        if chip not in found:
            owners = [m for m in sorted(mmio) if boards[m][1] == board]
            if owners:
                found[chip] = (1, owners[0])
    return found
