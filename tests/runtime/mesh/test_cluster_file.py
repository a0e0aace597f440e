"""The machine as a cluster descriptor: what the launcher reads in it is the machine that a process sees."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml

from mgd.systems import find
from tt_run.inputs.clusters.descriptor import parse_cluster, read_cluster
from tt_run.runtime.comm.world import World
from tt_run.runtime.mesh import cluster_file
from tt_run.runtime.mesh.system import find_system_mesh


@pytest.mark.parametrize(
    ("system", "kind", "chips", "links", "channels"),
    [
        ("n150", "N150", 1, 0, 0),
        ("n300", "N300", 2, 1, 2),
        ("n300-2x2", "N300_2x2", 4, 4, 2),
        ("t3000", "T3K", 8, 10, 2),
        ("galaxy", "GALAXY", 32, 52, 2),
        ("exabox", "GALAXY", 32, 52, 4),
        ("p100", "P100", 1, 0, 0),
        ("p150-x8", "P150_X8", 8, 10, 2),
        ("p300-x2", "P300_X2", 4, 4, 2),
        ("bh-galaxy", "BLACKHOLE_GALAXY", 32, 52, 2),
    ],
)
def test_the_launcher_reads_the_machine_in_it(
    system: str, kind: str, chips: int, links: int, channels: int
) -> None:
    mesh = find_system_mesh({"TT_RUN_SYSTEM": system}, World(0, 1))
    read = parse_cluster(cluster_file.described(mesh), "cluster_descriptor.yaml")
    assert (len(read.chips), read.cluster_type) == (chips, kind)
    wires = Counter(frozenset((a, b)) for a, _, b, _ in read.links)
    assert len(wires) == links and set(wires.values()) <= {channels}
    assert max(Counter(end for a, i, b, j in read.links for end in ((a, i), (b, j))).values(), default=1) == 1
    at = {chip: tuple(coord) for chip, coord in zip(mesh.ids, mesh.coords, strict=True)}
    assert all(sum(abs(p - q) for p, q in zip(*(at[c] for c in wire), strict=True)) == 1 for wire in wires)


def test_a_ring_has_a_link_from_its_last_chip_to_its_first() -> None:
    path = find("galaxy-torus-xy").path
    mesh = find_system_mesh({"TT_MESH_GRAPH_DESC_PATH": str(path), "TT_MESH_ID": "0"}, World(0, 1))
    read = parse_cluster(cluster_file.described(mesh), "cluster_descriptor.yaml")
    assert len({frozenset((a, b)) for a, _, b, _ in read.links}) == 2 * 32


def test_what_is_written_of_two_chips_of_a_card() -> None:
    mesh = find_system_mesh({"TT_RUN_SYSTEM": "n300"}, World(0, 1))
    assert yaml.safe_load(cluster_file.described(mesh)) == {
        "arch": {0: "wormhole_b0", 1: "wormhole_b0"},
        "chips": {0: [0, 0, 0, 0], 1: [0, 1, 0, 0]},
        "chip_unique_ids": {0: 1, 1: 2},
        "ethernet_connections": [
            [{"chip": 0, "chan": channel}, {"chip": 1, "chan": channel}] for channel in (0, 1)
        ],
        "chips_with_mmio": [{0: 0}],
        "io_device_type": "PCIe",
        "harvesting": {chip: {"noc_translation": True, "harvest_mask": 0} for chip in (0, 1)},
        "boards": [[{"board_id": 1}, {"board_type": "n300"}, {"chips": [0, 1]}]],
    }


def test_each_call_writes_a_file_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cluster_file.tempfile, "tempdir", str(tmp_path))
    first, second = (Path(cluster_file.serialize_cluster_descriptor()) for _ in range(2))
    assert first != second and first.name == second.name == "cluster_descriptor.yaml"
    assert first.read_text() == second.read_text()
    assert read_cluster(first).chips
