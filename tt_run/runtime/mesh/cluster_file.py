"""The emulated machine as a cluster descriptor: the file that the driver of the reference writes about the chips that a process sees.

Source: the published schema of cluster descriptors; reference library 0.81.1 for the call.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.system import SystemMesh, system_mesh

_CHANNELS = {
    "wormhole_b0": tuple(range(16)),
    "blackhole": (*range(8), *range(10, 14)),
}  # 8 and 9 leave a mesh
_DEFAULT_CHANNELS = 2
_PER_TRAY = 8
# The high half-byte of a PCI bus id by the tray of a Galaxy, from the first on.
_TRAY_BUS = {"ubb": (0xC0, 0x80, 0x00, 0x40), "ubb_blackhole": (0x00, 0x40, 0xC0, 0x80)}


def serialize_cluster_descriptor() -> str:
    """Write what this process sees of its machine into a new file, and say its path.

    YAML: the chips under their local ids, their boards, and a line for each ethernet channel between two of them.
    """
    path = Path(tempfile.mkdtemp(prefix="umd_")) / "cluster_descriptor.yaml"
    path.write_text(described(system_mesh()))
    return str(path)


def described(system: SystemMesh) -> str:
    """The cluster descriptor of the chips that are local in a system mesh."""
    arch = "blackhole" if system.machine.arch.upper().startswith("BLACKHOLE") else "wormhole_b0"
    places = {chip: coord for chip, coord in zip(system.ids, system.coords, strict=True) if chip is not None}
    chips = sorted(places)
    board = board_type(system, arch)
    boards = list(_boards(board, chips))
    with_pcie = chips if board != "n300" else [cards[0] for cards in boards]
    data: dict[str, object] = {"arch": dict.fromkeys(chips, arch)}
    if board in ("n150", "n300"):
        data["chips"] = {chip: [places[chip][1], places[chip][0], 0, 0] for chip in chips}
    data["chip_unique_ids"] = {chip: chip + 1 for chip in chips}
    data["ethernet_connections"] = list(_connections(system, places, _CHANNELS[arch]))
    data["chips_with_mmio"] = [{chip: chip} for chip in with_pcie]
    data["io_device_type"] = "PCIe"
    data["harvesting"] = {chip: {"noc_translation": True, "harvest_mask": 0} for chip in chips}
    data["boards"] = [
        [{"board_id": number + 1}, {"board_type": board}, {"chips": cards}]
        for number, cards in enumerate(boards)
    ]
    if board in _TRAY_BUS:
        trays = _TRAY_BUS[board]
        data["chip_to_bus_id"] = {
            chip: f"0x{trays[place // _PER_TRAY % len(trays)] + place % _PER_TRAY + 1:04x}"
            for place, chip in enumerate(chips)
        }
    if board == "p300":
        data["asic_locations"] = {chip: cards.index(chip) for cards in boards for chip in cards}
    # JSON is YAML, but its keys would be texts.
    return "".join(f"{name}: {_flow(value)}\n" for name, value in data.items())


def board_type(system: SystemMesh, arch: str) -> str:
    """The boards that a machine is built of: cards of their own where its kind does not say."""
    machine = system.machine
    if machine.cluster_type in ("GALAXY", "BLACKHOLE_GALAXY"):
        return "ubb" if machine.cluster_type == "GALAXY" else "ubb_blackhole"
    if arch == "wormhole_b0":
        return "n300" if machine.partners else "n150"
    kind = machine.cluster_type.split("_")[0].lower()
    return kind if kind in ("p100", "p300") else "p150"


def _boards(board: str, chips: Sequence[int]) -> Iterator[list[int]]:
    """The chips of each board. On N300 cards the first half of the ids has PCIe, the other half are their partners in order."""
    if board == "n300" and len(chips) % 2 == 0:
        half = len(chips) // 2
        yield from (list(pair) for pair in zip(chips[:half], chips[half:], strict=True))
        return
    size = {"ubb": _PER_TRAY, "ubb_blackhole": _PER_TRAY, "p300": 2}.get(board, 1)
    yield from (list(chips[first : first + size]) for first in range(0, len(chips), size))


def _connections(
    system: SystemMesh, places: dict[int, MeshCoordinate], channels: Sequence[int]
) -> Iterator[list[dict[str, int]]]:
    """A line for each channel of each link between two chips that are here; each chip's channels in ascending order."""
    at = {tuple(coord): chip for chip, coord in places.items()}
    links = [
        (chip, at[there])
        for here, chip in sorted(at.items())
        for axis, extent in enumerate(system.shape)
        if (there := _next(here, axis, extent, system.wraps[axis])) in at
    ]
    degree = max((sum(chip in link for link in links) for chip in places), default=0)
    each = min(system.channels or _DEFAULT_CHANNELS, len(channels) // max(degree, 1))
    free = {chip: iter(channels) for chip in places}
    for link in links:
        for _ in range(each):
            yield [{"chip": chip, "chan": next(free[chip])} for chip in link]


def _next(here: tuple[int, ...], axis: int, extent: int, wraps: bool) -> tuple[int, ...]:
    """The place further along an axis, where a line ends one outside; on a ring the last has the first, which two have already."""
    step = here[axis] + 1
    if step == extent and wraps and extent > 2:
        step = 0
    return tuple(step if d == axis else value for d, value in enumerate(here))


def _flow(value: object) -> str:
    """A value in YAML's short form, numbers as keys."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "".join(f"\n  - {_flow(item)}" for item in value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return value if isinstance(value, str) else json.dumps(value)
