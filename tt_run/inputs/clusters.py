"""Cluster descriptors: the chips of one host and their ethernet links, from YAML to checked values.

Format and traps: cluster specification, sections 1 to 4. Every complaint names the file, the key, the chip or the entry, and why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from tt_run.errors import InputError
from tt_run.inputs.chips import Chip, ClusterDescriptor, RemoteLink
from tt_run.inputs.document import refuse_depth
from tt_run.inputs.findings import nearest

ARCHES = {
    "wormhole_b0": "WORMHOLE_B0",
    "wormhole": "WORMHOLE_B0",
    "blackhole": "BLACKHOLE",
    "quasar": "QUASAR",
}
CHANNELS = {"WORMHOLE_B0": 16, "BLACKHOLE": 14, "QUASAR": 16}
BOARD_ALIASES = {
    "p150a": "p150",
    "p150c": "p150",
    "p300a": "p300",
    "p300c": "p300",
    "ubb_wormhole": "ubb",
}
BOARDS = {"n150", "n300", "p100", "p150", "p300", "ubb", "ubb_blackhole", "quasar"}
KNOWN_KEYS = {
    "arch",
    "chips",
    "chip_unique_ids",
    "ethernet_connections",
    "ethernet_connections_to_remote_devices",
    "chips_with_mmio",
    "io_device_type",
    "harvesting",
    "chip_to_boardtype",
    "boards",
    "chip_to_bus_id",
    "asic_locations",
    "chip_pci_bdfs",
    "cluster_id",
}

# The high half-byte of a Galaxy's PCI bus id says the tray, the low one the place on it (section 3).
GALAXY_TRAYS = {
    "ubb": {0xC0: 1, 0x80: 2, 0x00: 3, 0x40: 4},
    "ubb_blackhole": {0x00: 1, 0x40: 2, 0xC0: 3, 0x80: 4},
}


def read_cluster(path: Path, *, host: str | None = None) -> ClusterDescriptor:
    """Read one cluster descriptor. `host` replaces the default name (cluster_id, else the file's name).

    Raises InputError with everything that is wrong with the file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(_error(str(path), f"cannot read the cluster descriptor: {problem}")) from None
    return parse_cluster(text, str(path), host=host)


def parse_cluster(text: str, file: str, *, host: str | None = None) -> ClusterDescriptor:
    """`read_cluster` for text that is already at hand."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        refuse_depth(text, loader)
        document = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError, LookupError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = Position(file, mark.line + 1, mark.column + 1) if mark else Position(file)
        reason = getattr(problem, "problem", None) or str(problem)
        raise InputError(
            _error(file, f"the cluster descriptor is not well-formed YAML: {reason}", where)
        ) from None
    if not isinstance(document, dict):
        raise InputError(_error(file, "a cluster descriptor is a map with the keys arch, chips_with_mmio, …"))
    return _Reader(file, document).read(host)


def _error(file: str, message: str, where: Position | None = None, help: str = "") -> Diagnostic:
    return Diagnostic("TTR160", message, (Label(where or Position(file)),), help)


class _Reader:
    """Collects every complaint about one document, then raises them together."""

    def __init__(self, file: str, document: Mapping[str, Any]) -> None:
        self.file = file
        self.document = document
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def fail(self, message: str, help: str = "") -> None:
        self.errors.append(_error(self.file, message, help=help))

    def warn(self, message: str, help: str = "") -> None:
        self.warnings.append(
            Diagnostic("TTR161", message, (Label(Position(self.file)),), help, severity=Severity.WARNING)
        )

    def stop_if_broken(self) -> None:
        if self.errors:
            raise InputError([*self.errors, *self.warnings])

    def read(self, host: str | None) -> ClusterDescriptor:
        for key in self.document:
            if key not in KNOWN_KEYS:
                close = nearest(str(key), KNOWN_KEYS)
                self.warn(f"unknown key {key!r} is ignored", f"did you mean {close}?" if close else "")
        arches = self.arches()
        ids = sorted(arches)
        arch = arches[ids[0]] if ids else ""
        mmio = self.mmio(ids)
        boards = self.boards(ids)
        unique = self.unique_ids(ids)
        links = self.links(ids, arch)
        remote = self.remote_links(ids, arch)
        bus = self.bus_ids()
        places = self.places()
        self.check_the_rest(ids, arch, mmio)
        self.stop_if_broken()
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
        self.check_places(chips)
        self.check_reachable(ids, mmio, boards)
        self.stop_if_broken()
        name = host or str(self.document.get("cluster_id") or Path(self.file).name)
        return ClusterDescriptor(self.file, name, arch, chips, links, remote, tuple(self.warnings))

    # --- one method per key ------------------------------------------------------------------------------------------

    def section(self, key: str, kind: type, default: Any) -> Any:
        value = self.document.get(key, default)
        if value is None:
            value = default
        if not isinstance(value, kind):
            self.fail(f"{key} must be a {'map' if kind is dict else 'list'}, not {type(value).__name__}")
            return default
        return value

    def arches(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for chip, word in self.section("arch", dict, {}).items():
            if not _is_number(chip) or chip < 0:
                self.fail(f"arch: chip ids are non-negative numbers, not {chip!r}")
            elif str(word).lower() not in ARCHES:
                self.fail(
                    f"arch: chip {chip} has the unknown architecture {word!r}", f"one of {', '.join(ARCHES)}"
                )
            else:
                found[chip] = ARCHES[str(word).lower()]
        if not found and not self.errors:
            self.fail("arch is missing or empty: it defines which chips there are")
        if len(set(found.values())) > 1:
            self.fail(
                f"arch: one host has chips of one architecture, here are {', '.join(sorted(set(found.values())))}"
            )
        return found

    def mmio(self, ids: list[int]) -> set[int]:
        found: set[int] = set()
        for number, entry in enumerate(self.section("chips_with_mmio", list, []), 1):
            nodes = entry if isinstance(entry, dict) else {entry: entry} if _is_number(entry) else {}
            if not nodes or not all(_is_number(node) and node >= 0 for node in nodes.values()):
                self.fail(
                    f"chips_with_mmio: entry {number} needs {{chip: device number}} or a chip, not {entry!r}"
                )
                continue
            for chip in nodes:
                if not _is_number(chip) or chip not in ids:
                    self.fail(
                        f"chips_with_mmio: entry {number} names chip {chip!r}, which arch does not list"
                    )
                else:
                    found.add(chip)
        if ids and not found and not self.errors:
            self.fail("chips_with_mmio is empty: without a PCIe chip no chip can be reached")
        return found

    def boards(self, ids: list[int]) -> dict[int, tuple[str, int]]:
        """Board type and board id of every chip."""
        found: dict[int, tuple[str, int]] = {}
        for number, entry in enumerate(self.section("boards", list, []), 1):
            merged: dict[str, Any] = {}
            for part in entry if isinstance(entry, list) else [entry]:
                if isinstance(part, dict):
                    merged.update(part)
            kind = str(merged.get("board_type", "")).lower()
            kind = BOARD_ALIASES.get(kind, kind)
            if not _is_number(merged.get("board_id")) or not isinstance(merged.get("chips"), list):
                self.fail(f"boards: entry {number} needs board_id, board_type and chips")
                continue
            if kind not in BOARDS:
                self.fail(
                    f"boards: entry {number} has the unknown board type {merged.get('board_type')!r}",
                    f"one of {', '.join(sorted(BOARDS))}",
                )
            for chip in merged["chips"]:
                if not _is_number(chip) or chip not in ids:
                    self.fail(f"boards: entry {number} names chip {chip!r}, which arch does not list")
                elif chip in found:
                    self.fail(f"boards: chip {chip} is on two boards")
                else:
                    found[chip] = (kind, merged["board_id"])
        missing = [chip for chip in ids if chip not in found]
        if missing and not self.errors:
            self.fail(f"boards: no board lists chip {', '.join(map(str, missing))}")
        return found

    def unique_ids(self, ids: list[int]) -> dict[int, int]:
        given = self.section("chip_unique_ids", dict, {})
        if not given:
            return {chip: chip << 32 for chip in ids}
        found: dict[int, int] = {}
        owner: dict[int, int] = {}
        for chip in ids:
            value = given.get(chip)
            if not _is_number(value):
                self.fail(f"chip_unique_ids: chip {chip} has no unique id")
            elif not 0 <= value < 2**64:
                self.fail(f"chip_unique_ids: {value} of chip {chip} is no number of 64 bits")
            elif value in owner:
                self.fail(f"chip_unique_ids: chips {owner[value]} and {chip} have the same unique id {value}")
            else:
                owner[value] = chip
                found[chip] = value
        return found

    def endpoint(self, key: str, number: int, entry: Any, id_key: str, arch: str) -> tuple[int, int] | None:
        if (
            not isinstance(entry, dict)
            or not _is_number(entry.get(id_key))
            or not _is_number(entry.get("chan"))
        ):
            self.fail(f"{key}: entry {number} needs {{{id_key}: number, chan: number}}, not {entry!r}")
            return None
        if not 0 <= entry["chan"] < CHANNELS.get(arch, 16):
            self.fail(
                f"{key}: entry {number} uses channel {entry['chan']}; {arch} has channels 0..{CHANNELS[arch] - 1}"
            )
            return None
        return entry[id_key], entry["chan"]

    def links(self, ids: list[int], arch: str) -> tuple[tuple[int, int, int, int], ...]:
        if self.document.get("ethernet_connections") is None:
            self.fail(
                "ethernet_connections is missing or has no list",
                "a host without links has an empty one: ethernet_connections: []",
            )
        far: dict[tuple[int, int], tuple[int, int]] = {}
        found: list[tuple[int, int, int, int]] = []
        for number, entry in enumerate(self.section("ethernet_connections", list, []), 1):
            if not isinstance(entry, list) or len(entry) < 2:
                self.fail(f"ethernet_connections: entry {number} needs two ends, not {entry!r}")
                continue
            ends = [self.endpoint("ethernet_connections", number, end, "chip", arch) for end in entry[:2]]
            if ends[0] is None or ends[1] is None:
                continue
            (a, i), (b, j) = ends[0], ends[1]
            unknown = [chip for chip in (a, b) if chip not in ids]
            if unknown:
                self.fail(
                    f"ethernet_connections: entry {number} names chip {unknown[0]}, which arch does not list"
                )
            elif a == b:
                self.warn(f"ethernet_connections: entry {number} links chip {a} to itself and is ignored")
            elif far.get((a, i), (b, j)) != (b, j) or far.get((b, j), (a, i)) != (a, i):
                busy = (a, i) if (a, i) in far else (b, j)
                self.fail(
                    f"ethernet_connections: entry {number} uses chip {busy[0]} channel {busy[1]} a second time"
                )
            elif (a, i) not in far:
                far[(a, i)], far[(b, j)] = (b, j), (a, i)
                found.append((a, i, b, j))
        return tuple(found)

    def remote_links(self, ids: list[int], arch: str) -> tuple[RemoteLink, ...]:
        key = "ethernet_connections_to_remote_devices"
        found: list[RemoteLink] = []
        for number, entry in enumerate(self.section(key, list, []), 1):
            if not isinstance(entry, list) or len(entry) < 2:
                self.fail(f"{key}: entry {number} needs two ends, not {entry!r}")
                continue
            near = self.endpoint(key, number, entry[0], "chip", arch)
            away = self.endpoint(key, number, entry[1], "remote_chip_id", arch)
            if near is None or away is None:
                continue
            if near[0] not in ids:
                self.fail(f"{key}: entry {number} names chip {near[0]}, which arch does not list")
            else:
                found.append(RemoteLink(*near, *away))
        return tuple(found)

    def bus_ids(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for chip, value in self.section("chip_to_bus_id", dict, {}).items():
            if _is_number(value):
                found[chip] = value
            elif isinstance(value, str) and re.match(r"0[xX][0-9a-fA-F]+\Z", value):
                found[chip] = int(value, 16)
            else:
                self.fail(
                    f"chip_to_bus_id: chip {chip} has {value!r}, not a hexadecimal number such as 0x00c1"
                )
        return found

    def places(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for chip, value in self.section("asic_locations", dict, {}).items():
            if _is_number(value) and value >= 0:
                found[chip] = value
            else:
                self.fail(f"asic_locations: chip {chip} has {value!r}, not a number from 0 on")
        return found

    def check_the_rest(self, ids: list[int], arch: str, mmio: set[int]) -> None:
        """Keys that say nothing about where a mesh fits, but without which the runtime opens no mock cluster (section 2)."""
        if "harvesting" not in self.document:
            self.warn(
                "harvesting is missing: TT-Metal opens no such mock cluster",
                "where nothing is harvested: harvesting: {}",
            )
        coordinates = self.section("chips", dict, {})
        for chip, value in coordinates.items():
            if not isinstance(value, list) or len(value) != 4 or not all(map(_is_number, value)):
                self.fail(f"chips: chip {chip} has {value!r}, not four coordinates [x, y, rack, shelf]")
        remote = [chip for chip in ids if chip not in mmio and chip not in coordinates]
        if arch == "WORMHOLE_B0" and mmio and remote:
            self.warn(
                f"chips: no coordinates for chip {remote[0]}, which has no PCIe: TT-Metal opens no such mock cluster",
                f"add {remote[0]}: [x, y, rack, shelf]",
            )
        device = self.document.get("io_device_type", "PCIe")
        if device not in ("PCIe", "JTAG"):
            self.fail(f"io_device_type is {device!r}", "PCIe or JTAG")
        name = self.document.get("cluster_id")
        if name is not None and not re.match(r"[A-Za-z0-9._-]{1,128}\Z", str(name)):
            self.fail(
                f"cluster_id {name!r} is no host name",
                "letters, digits, dots, dashes and underscores, up to 128",
            )
        for chip, address in self.section("chip_pci_bdfs", dict, {}).items():
            if chip not in mmio:
                self.fail(f"chip_pci_bdfs: chip {chip} is not in chips_with_mmio")
            elif not re.match(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\Z", str(address)):
                self.fail(f"chip_pci_bdfs: chip {chip} has {address!r}, not an address such as 0000:01:00.0")

    # --- across keys -------------------------------------------------------------------------------------------------

    def check_places(self, chips: Mapping[int, Chip]) -> None:
        seats: dict[tuple[int, int, int], int] = {}
        for chip in chips.values():
            galaxy = chip.board_type in GALAXY_TRAYS
            seat = (chip.tray, chip.location, 0 if galaxy else chip.board_id)
            if seat in seats:
                hint = (
                    "give each chip its chip_to_bus_id"
                    if galaxy
                    else "check chips_with_mmio and asic_locations"
                )
                self.fail(
                    f"chips {seats[seat]} and {chip.chip_id} share tray {chip.tray}, location {chip.location}",
                    hint,
                )
                return
            seats[seat] = chip.chip_id

    def check_reachable(self, ids: list[int], mmio: set[int], boards: Mapping[int, tuple[str, int]]) -> None:
        served = {boards[chip][1] for chip in mmio}
        for chip in ids:
            if boards[chip][1] not in served:
                self.fail(f"chip {chip} has no PCIe chip on its board {boards[chip][1]}: nothing reaches it")


def _is_number(value: object) -> bool:
    """A YAML integer; Python takes `true` for one, too."""
    return isinstance(value, int) and not isinstance(value, bool)


def galaxy_slot(kind: str, bus: int | None) -> tuple[int, int]:
    """(tray, location) of a Galaxy's chip by its PCI bus id, (0, 0) where it says neither (section 3)."""
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
