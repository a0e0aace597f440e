"""Every word that is said of a cluster descriptor, with its place, and what is understood of one that is accepted: `clusters.txt`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.words import same_as_read
from tt_run.errors import InputError
from tt_run.inputs.clusters.descriptor import parse_cluster

# An n300: two chips, one of them behind the other.
SECTIONS = {
    "arch": "{0: wormhole_b0, 1: wormhole_b0}",
    "chips_with_mmio": "[{0: 0}]",
    "boards": "[[{board_id: 5}, {board_type: n300}, {chips: [0, 1]}]]",
    "ethernet_connections": "[[{chip: 0, chan: 8}, {chip: 1, chan: 0}]]",
    "harvesting": "{}",
    "chips": "{0: [0, 0, 0, 0], 1: [1, 0, 0, 0]}",
}
FIRST_BOARD = "{board_id: 5}, {board_type: n300}, {chips: [0, 1]}"
FIRST_LINK = "{chip: 0, chan: 8}, {chip: 1, chan: 0}"
LEAVING = "{chip: 0, chan: 8}, {remote_chip_id: 77, chan: 5}"
AWAY = "ethernet_connections_to_remote_devices"
CHANGES: list[dict[str, str | None]] = [
    {},
    {"cluster_id": "a-b.c_1"},
    {"cluster_id": "'a b'"},
    {"cluster_id": "x" * 128},
    {"cluster_id": "x" * 129},
    {"arch": "{0: wormhole_b0, -1: wormhole_b0}"},
    {"arch": "{0: wormhole_b0, true: wormhole_b0}"},
    {"arch": "{}"},
    {"arch": "{0: wormhole_b0,\n  0x1: wormhole_b1}"},
    {"arch": None},
    {"arch": "{0: wormhole_b0, 1: blackhole}"},
    {"arch": "[]"},
    {"chips_with_mmio": "[]"},
    {"chips_with_mmio": "[{0: 0}, {0: -1}]"},
    {"chips_with_mmio": "[0, x]"},
    {"chips_with_mmio": "[0,\n  7]"},
    {"chips_with_mmio": "[{0: 0, x: 1}]"},
    {"chips_with_mmio": "[{0: 0},\n {}]"},
    {"boards": "[]"},
    {"boards": "[[" + FIRST_BOARD + "],\n  [{board_id: 6}, {board_type: n300}, {chips: [1]}]]"},
    {"boards": "[[" + FIRST_BOARD + "],\n  [{board_id: 6}, {board_type: n300}, {chips: [x, 9]}]]"},
    {"boards": "[[" + FIRST_BOARD + "],\n  [{board_id: 6}, {board_type: n9}, {chips: []}]]"},
    {"boards": "[[" + FIRST_BOARD + "],\n  [{board_id: 6}, {board_type: n300}]]"},
    {"boards": "[[{board_id: 5}, {board_type: n300}, {chips: [0]}]]"},
    {
        "boards": "[[{board_id: 5}, {board_type: n300}, {chips: [0]}], [{board_id: 6}, {board_type: n300}, {chips: [1]}]]"
    },
    {"boards": "[{board_id: 5, board_type: n300, chips: [0, 1]}]"},
    {"chip_unique_ids": "{0: 7, 1: 7}"},
    {"chip_unique_ids": "{0: 7}"},
    {"chip_unique_ids": "{0: 0, 1: 18446744073709551615}"},
    {"chip_unique_ids": "{0: -1, 1: 18446744073709551616}"},
    {"chip_to_bus_id": "{0: 0xc1, 1: '0xC2'}"},
    {"chip_to_bus_id": "{0: c1, 1: '0x'}"},
    {"chip_to_bus_id": "{0: 0xc1,\n  true: x}"},
    {"asic_locations": "{0: 0, 1: -1}"},
    {"asic_locations": "{0: true, 1: 1}"},
    {"harvesting": None},
    {"chips": None},
    {"chips": "{0: [0, 0, 0]}"},
    {"chips": "{1: [0, 0, 0, x]}"},
    {"chips": "{0: [0, 0, 0, 0]}"},
    {"io_device_type": "JTAG"},
    {"io_device_type": "USB"},
    {"chip_pci_bdfs": "{0: 0000:01:00.0}"},
    {"chip_pci_bdfs": "{1: 0000:01:00.0}"},
    {"chip_pci_bdfs": "{0: 0000:01:00.8}"},
    {"ethernet_connections": "[[" + FIRST_LINK + "],\n  [{chip: 0, chan: 8}, {chip: 1, chan: 1}]]"},
    {"ethernet_connections": "[[" + FIRST_LINK + "],\n  [{chip: 0, chan: 9}]]"},
    {"ethernet_connections": "[[" + FIRST_LINK + "],\n  [{chip: 0, chan: 9}, {chip: 7, chan: 1}]]"},
    {"ethernet_connections": "[[" + FIRST_LINK + "],\n  [{chip: 0, chan: 9}, {chip: 1, chan: 0}]]"},
    {"ethernet_connections": "[[" + FIRST_LINK + "],\n  [{chip: 1, chan: 0}, {chip: 0, chan: 8}]]"},
    {"ethernet_connections": "[[{chip: 0, chan: 8}, {chip: 1, chan: 0}], x]"},
    {"ethernet_connections": None},
    {"ethernet_connections": "{}"},
    {
        "arch": "{0: blackhole, 1: blackhole}",
        "boards": "[[{board_id: 5}, {board_type: p300}, {chips: [0, 1]}]]",
    },
    {
        "arch": "{0: wormhole_b0, 1: wormhole_b0, 2: wormhole_b0}",
        "boards": "[[{board_id: 5}, {board_type: n300}, {chips: [0, 1, 2]}]]",
        "ethernet_connections": "[]",
        "chips": "{1: [1,0,0,0], 2: [2,0,0,0]}",
    },
    {
        "boards": "[[{board_id: 5}, {board_type: ubb}, {chips: [0, 1]}]]",
        "chip_to_bus_id": "{0: 0xc1, 1: 0xc1}",
    },
    {"boards": "[[{board_id: 5}, {board_type: ubb}, {chips: [0, 1]}]]"},
    {"nonsense": "1"},
    {"harvestingg": "{}", "harvesting": None},
    {"ethernet_connections_to_remote_devices": "{}"},
    {"ethernet_connections": "[[" + FIRST_LINK + "],\n  [{chip: 0, chan: 9}, {chip: 0, chan: 10}]]"},
    {"ethernet_connections": "[[{chip: 0, chan: 15}, {chip: 1, chan: 16}]]"},
    {"arch": "{}", "ethernet_connections": "[[{chip: 0, chan: 16}, {chip: 1, chan: 0}]]"},
    {
        "arch": "{0: blackhole, 1: blackhole}",
        "asic_locations": "{0: 0, 1: 1}",
        "boards": "[[{board_id: 5}, {board_type: p300a}, {chips: [0, 1]}]]",
    },
    {"chips_with_mmio": "[{0: 0}, {1: 1}]", "chips": None, "chip_unique_ids": "{0: 3, 1: 4, 2: 5}"},
    {"ethernet_connections": "[]"},
    {
        "boards": "[[{board_id: 5}, {board_type: N300}, {chips: [0]}], [{board_id: 2}, {board_type: n300}, {chips: [1]}]]",
        "chips_with_mmio": "[{0: 0}, {1: 1}]",
    },
    {"boards": "[[{board_id: 5}, {board_type: n300}, {chips: [0, 1]}], 7]"},
    {
        AWAY: "[[{chip: 0, chan: 8}, {remote_chip_id: 77, chan: 5}], [{chip: 1, chan: 15}, {remote_chip_id: 78, chan: 15}]]"
    },
    {AWAY: "[[" + LEAVING + "],\n  [{chip: 2, chan: 8}, {remote_chip_id: 77, chan: 16}]]"},
    {AWAY: "[[" + LEAVING + "],\n  [{chip: 2, chan: 8}, {remote_chip_id: 77, chan: 15}]]"},
    {AWAY: "[[" + LEAVING + "],\n  x]"},
    {AWAY: "[[" + LEAVING + "],\n  [{chip: 0, chan: -1}, {remote_chip_id: 77}]]"},
    dict.fromkeys(
        ("ethernet_connections", AWAY),
        "[x,\n  [{chip: 0, chan: -1}, {chip: 1, chan: 0}],\n  [{chip: 0, chan: 0}, 3],\n  [{chip: 9, chan: 0}, {chip: 0, chan: 0}]]",
    ),
    {
        "arch": "{0: wormhole_b0, 1: wormhole_b0, 2: wormhole_b0}",
        "boards": "[[{board_id: 0}, {board_type: n300}, {chips: [0, 1]}], [{board_id: 9}, {board_type: ubb}, {chips: [2]}]]",
        "chips_with_mmio": "[0, 2]",
        "chip_to_bus_id": "{2: 0xc1}",
    },
]


def told(changes: dict[str, str | None]) -> Iterator[str]:
    text = "".join(f"{key}: {value}\n" for key, value in {**SECTIONS, **changes}.items() if value is not None)
    yield "with " + (", ".join(f"{key}: {value}" for key, value in changes.items()) or "nothing else")
    try:
        cluster = parse_cluster(text, "c.yaml")
    except InputError as error:
        found = error.diagnostics
    else:
        found = cluster.warnings
        for chip in cluster.chips.values():
            yield f"  {chip}"
        yield f"  links {cluster.links}, away {cluster.remote_links}, type {cluster.cluster_type}, host {cluster.host}"
    for each in found:
        place = each.position
        assert place is not None
        yield f"  {place.line}:{place.column} {each.severity.value} {each.code}: {each.message}"
        if each.help:
            yield f"    help: {each.help}"


def test_the_words_on_every_cluster_descriptor() -> None:
    lines = [line for changes in CHANGES for line in told(changes)]
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("clusters.txt"))
