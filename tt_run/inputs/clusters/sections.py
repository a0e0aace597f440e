"""The sections of a cluster descriptor, each read into values of Python; every complaint has the place of its entry.

What each key means and which traps it has: https://github.com/tenstorrent/tt-umd, the files that `ClusterDescriptor` serializes.
"""

from __future__ import annotations

import re

from mgd.diagnostics import Diagnostic, Label, Severity
from mgd.documents import Document
from tt_run.errors import InputError
from tt_run.inputs.findings import nearest

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

ARCHES = {
    "wormhole_b0": "WORMHOLE_B0",
    "wormhole": "WORMHOLE_B0",
    "blackhole": "BLACKHOLE",
    "quasar": "QUASAR",
}
BOARD_ALIASES = {
    "p150a": "p150",
    "p150b": "p150",
    "p150c": "p150",
    "p300a": "p300",
    "p300b": "p300",
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

_NAMED = 20
"""Unknown keys that are named; a file of thousands is another one."""


class Sections:
    """One document, read key by key. Complaints are collected; `stop_if_broken` raises them together."""

    def __init__(self, document: Document, values: dict[Any, Any]) -> None:
        self.document = document
        self.values = values
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def fail(self, message: str, *path: str | int, help: str = "") -> None:
        """An error at the entry that `path` leads to."""
        self.errors.append(Diagnostic("TTR160", message, (Label(self.document.place(*path)),), help))

    def warn(self, message: str, *path: str | int, help: str = "") -> None:
        """A warning at the entry that `path` leads to."""
        where = (Label(self.document.place(*path)),)
        self.warnings.append(Diagnostic("TTR161", message, where, help, severity=Severity.WARNING))

    def shown(self, *path: str | int) -> str:
        """An entry as messages show it, on one line and cut where it is long."""
        node = self.document.find(*path)
        return "nothing" if node is None else node.shown() or "nothing"

    def stop_if_broken(self) -> None:
        """Raises InputError with everything found so far if there is an error in it."""
        if self.errors:
            raise InputError([*self.errors, *self.warnings])

    def unknown_keys(self) -> None:
        """Warns of keys that nothing reads, of the first ones by name."""
        unknown = [key for key in self.values if key not in KNOWN_KEYS]
        for key in unknown[:_NAMED]:
            close = nearest(str(key), KNOWN_KEYS)
            help = f"did you mean {close}?" if close else ""
            self.warn(f"unknown key {str(key)[:40]!r} is ignored", key, help=help)
        if len(unknown) > _NAMED:
            self.warn(f"{len(unknown) - _NAMED:,} more unknown keys are ignored", unknown[_NAMED])

    def section(self, key: str, kind: type, default: Any) -> Any:
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, kind):
            self.fail(f"{key} must be a {'map' if kind is dict else 'list'}, not {self.shown(key)}", key)
            return default
        return value

    def arches(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for chip, word in self.section("arch", dict, {}).items():
            if not is_number(chip) or chip < 0:
                self.fail(f"arch: chip ids are non-negative numbers, not {chip!r}", "arch", chip)
            elif str(word).lower() not in ARCHES:
                self.fail(
                    f"arch: chip {chip} has the unknown architecture {self.shown('arch', chip)}",
                    "arch",
                    chip,
                    help=f"one of {', '.join(ARCHES)}",
                )
            else:
                found[chip] = ARCHES[str(word).lower()]
        if not found and not self.errors:
            self.fail("arch is missing or empty: it defines which chips there are", "arch")
        if len(set(found.values())) > 1:
            self.fail(
                f"arch: one host has chips of one architecture, here are {', '.join(sorted(set(found.values())))}",
                "arch",
            )
        return found

    def mmio(self, ids: list[int]) -> set[int]:
        found: set[int] = set()
        for number, entry in enumerate(self.section("chips_with_mmio", list, []), 1):
            nodes = entry if isinstance(entry, dict) else {entry: entry} if is_number(entry) else {}
            if not nodes or not all(is_number(node) and node >= 0 for node in nodes.values()):
                self.fail(
                    f"chips_with_mmio: entry {number} needs {{chip: device number}} or a chip, not {self.shown('chips_with_mmio', number - 1)}",
                    "chips_with_mmio",
                    number - 1,
                )
                continue
            for chip in nodes:
                if not is_number(chip) or chip not in ids:
                    self.fail(
                        f"chips_with_mmio: entry {number} names chip {chip!r}, which arch does not list",
                        "chips_with_mmio",
                        number - 1,
                    )
                else:
                    found.add(chip)
        if ids and not found and not self.errors:
            self.fail(
                "chips_with_mmio is empty: without a PCIe chip no chip can be reached", "chips_with_mmio"
            )
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
            if not is_number(merged.get("board_id")) or not isinstance(merged.get("chips"), list):
                self.fail(
                    f"boards: entry {number} needs board_id, board_type and chips", "boards", number - 1
                )
                continue
            if kind not in BOARDS:
                self.fail(
                    f"boards: entry {number} has the unknown board type {merged.get('board_type')!r}",
                    "boards",
                    number - 1,
                    help=f"one of {', '.join(sorted(BOARDS))}",
                )
            for chip in merged["chips"]:
                if not is_number(chip) or chip not in ids:
                    self.fail(
                        f"boards: entry {number} names chip {chip!r}, which arch does not list",
                        "boards",
                        number - 1,
                    )
                elif chip in found:
                    self.fail(f"boards: chip {chip} is on two boards", "boards", number - 1)
                else:
                    found[chip] = (kind, merged["board_id"])
        missing = [chip for chip in ids if chip not in found]
        if missing and not self.errors:
            self.fail(f"boards: no board lists chip {', '.join(map(str, missing))}", "boards")
        return found

    def unique_ids(self, ids: list[int]) -> dict[int, int]:
        given = self.section("chip_unique_ids", dict, {})
        if not given:
            return {chip: chip << 32 for chip in ids}
        found: dict[int, int] = {}
        owner: dict[int, int] = {}
        for chip in ids:
            value = given.get(chip)
            if not is_number(value):
                self.fail(f"chip_unique_ids: chip {chip} has no unique id", "chip_unique_ids", chip)
            elif not 0 <= value < 2**64:
                self.fail(
                    f"chip_unique_ids: {value} of chip {chip} is no number of 64 bits",
                    "chip_unique_ids",
                    chip,
                )
            elif value in owner:
                self.fail(
                    f"chip_unique_ids: chips {owner[value]} and {chip} have the same unique id {value}",
                    "chip_unique_ids",
                    chip,
                )
            else:
                owner[value] = chip
                found[chip] = value
        return found

    def bus_ids(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for chip, value in self.section("chip_to_bus_id", dict, {}).items():
            if is_number(value):
                found[chip] = value
            elif isinstance(value, str) and re.match(r"0[xX][0-9a-fA-F]+\Z", value):
                found[chip] = int(value, 16)
            else:
                self.fail(
                    f"chip_to_bus_id: chip {chip} has {self.shown('chip_to_bus_id', chip)}, not a hexadecimal number such as 0x00c1",
                    "chip_to_bus_id",
                    chip,
                )
        return found

    def places(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for chip, value in self.section("asic_locations", dict, {}).items():
            if is_number(value) and value >= 0:
                found[chip] = value
            else:
                self.fail(
                    f"asic_locations: chip {chip} has {self.shown('asic_locations', chip)}, not a number from 0 on",
                    "asic_locations",
                    chip,
                )
        return found

    def check_the_rest(self, ids: list[int], arch: str, mmio: set[int]) -> None:
        """Keys that say nothing about where a mesh fits, but without which the runtime opens no mock cluster."""
        if "harvesting" not in self.values:
            self.warn(
                "harvesting is missing: TT-Metal opens no such mock cluster",
                help="where nothing is harvested: harvesting: {}",
            )
        coordinates = self.section("chips", dict, {})
        for chip, value in coordinates.items():
            if not isinstance(value, list) or len(value) != 4 or not all(map(is_number, value)):
                self.fail(
                    f"chips: chip {chip} has {self.shown('chips', chip)}, not four coordinates [x, y, rack, shelf]",
                    "chips",
                    chip,
                )
        remote = [chip for chip in ids if chip not in mmio and chip not in coordinates]
        if arch == "WORMHOLE_B0" and mmio and remote:
            self.warn(
                f"chips: no coordinates for chip {remote[0]}, which has no PCIe: TT-Metal opens no such mock cluster",
                "chips",
                help=f"add {remote[0]}: [x, y, rack, shelf]",
            )
        device = self.values.get("io_device_type", "PCIe")
        if device not in ("PCIe", "JTAG"):
            self.fail(
                f"io_device_type is {self.shown('io_device_type')}", "io_device_type", help="PCIe or JTAG"
            )
        name = self.values.get("cluster_id")
        if name is not None and not re.match(r"[A-Za-z0-9._-]{1,128}\Z", str(name)):
            self.fail(
                f"cluster_id {self.shown('cluster_id')} is no host name",
                "cluster_id",
                help="letters, digits, dots, dashes and underscores, up to 128",
            )
        for chip, address in self.section("chip_pci_bdfs", dict, {}).items():
            if chip not in mmio:
                self.fail(f"chip_pci_bdfs: chip {chip} is not in chips_with_mmio", "chip_pci_bdfs", chip)
            elif not re.match(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\Z", str(address)):
                self.fail(
                    f"chip_pci_bdfs: chip {chip} has {self.shown('chip_pci_bdfs', chip)}, not an address such as 0000:01:00.0",
                    "chip_pci_bdfs",
                    chip,
                )


def is_number(value: object) -> bool:
    """A YAML integer; Python takes `true` for one, too."""
    return isinstance(value, int) and not isinstance(value, bool)
