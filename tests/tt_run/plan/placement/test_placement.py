"""Placements: canonical, correct, deterministic; and the reasons when there is none."""

from __future__ import annotations

import hashlib
import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mgd.diagnostics import Severity
from mgd.expanding.connections import InterLink
from mgd.graph import Mesh, MeshGraph, PinGroup
from tests.tt_run.plan.placement.machines import galaxy, plain_grid, t3000_yaml
from tt_run.errors import InputError, RefusedError
from tt_run.inputs.clusters.chips import Chip, ClusterDescriptor, RemoteLink
from tt_run.inputs.clusters.descriptor import galaxy_slot, parse_cluster, read_cluster
from tt_run.plan.allocation import files, ranks
from tt_run.plan.allocation.of_descriptors import _joined
from tt_run.plan.model import HostSlots
from tt_run.plan.placement import assign as assigning
from tt_run.plan.placement import explain, regions
from tt_run.plan.placement.demand import MeshDemand, demand_of_meshes, links_between, mesh_demand
from tt_run.plan.placement.explain import _constraints, out_of_time
from tt_run.plan.placement.physical import PhysicalGraph, build
from tt_run.plan.placement.search import Clock, OutOfTime, SearchBudget, best_embedding, embeddings
from tt_run.plan.placement.solve import Placed, place
from tt_run.plan.placement.unnamed import discovered_mesh

CORPUS = (
    Path(os.environ.get("TT_RUN_CORPUS", Path(__file__).resolve().parents[5] / "shared" / "corpus"))
    / "clusters"
)


def mesh(
    rows: int,
    columns: int,
    *,
    hosts: tuple[int, int] = (1, 1),
    wraps: str = "LL",
    channels: int = 2,
    policy: str = "RELAXED",
    mesh_id: int = 0,
    arch: str = "WORMHOLE_B0",
) -> Mesh:
    kinds = {"L": "LINE", "R": "RING"}
    return Mesh(
        mesh_id, "M", arch, (rows, columns), hosts, (kinds[wraps[0]], kinds[wraps[1]]), channels, policy
    )


def chips(placed: Placed, number: int = 0) -> list[list[int]]:
    found = placed.meshes[number]
    columns = found.demand.mesh.dims[1]
    ids = [node.chip.chip_id for node in found.nodes]
    return [ids[i : i + columns] for i in range(0, len(ids), columns)]


def assert_embeds(placed: Placed) -> None:
    """Every logical link lies on a physical pair, no chip twice, each host rank on one host."""
    taken = [node.index for found in placed.meshes for node in found.nodes]
    assert len(taken) == len(set(taken))
    for found in placed.meshes:
        for a, b in found.demand.links:
            assert found.nodes[b].index in placed.physical.grid[found.nodes[a].index]
        for rank in range(found.demand.mesh.host_count):
            assert len({node.host for node in found.rank_nodes(rank)}) == 1


@pytest.fixture(scope="module")
def t3000() -> PhysicalGraph:
    return build([parse_cluster(t3000_yaml(), "t3k.yaml")])


@pytest.fixture(scope="module")
def four_galaxies() -> PhysicalGraph:
    return build([galaxy(name, number, 4) for number, name in enumerate("cadb")])


def test_t3000_has_the_published_numbering(t3000: PhysicalGraph) -> None:
    assert chips(place(MeshGraph((mesh(2, 4),)), t3000)) == [[4, 0, 2, 6], [5, 1, 3, 7]]


@pytest.mark.parametrize(("hosts", "visible"), [((1, 2), ["0,1", "2,3"]), ((2, 1), ["0,2", "1,3"])])
def test_two_ranks_of_one_host_get_their_pcie_chips(
    t3000: PhysicalGraph, hosts: tuple[int, int], visible: list[str]
) -> None:
    placed = place(MeshGraph((mesh(2, 4, hosts=hosts),)), t3000)
    assert [placed.meshes[0].visible_devices(rank) for rank in range(2)] == visible


def test_the_order_of_a_file_does_not_matter() -> None:
    reference = chips(place(MeshGraph((mesh(2, 4),)), build([parse_cluster(t3000_yaml(), "x.yaml")])))
    lines = t3000_yaml().splitlines()
    links = [line for line in lines if line.startswith("  - [{chip:")]
    for seed in range(5):
        shuffled = random.Random(seed).sample(links, len(links))
        text = "\n".join([lines[0], lines[1], *shuffled, *lines[2 + len(links) :]]) + "\n"
        assert chips(place(MeshGraph((mesh(2, 4),)), build([parse_cluster(text, "x.yaml")]))) == reference


def test_torus_over_four_shuffled_hosts(four_galaxies: PhysicalGraph) -> None:
    placed = place(MeshGraph((mesh(32, 4, hosts=(4, 1), wraps="RR", channels=4),)), four_galaxies)
    assert_embeds(placed)
    assert len({placed.meshes[0].host_of(rank) for rank in range(4)}) == 4


@pytest.mark.parametrize("hosts", [1, 2, pytest.param(4, marks=pytest.mark.slow)])
def test_ring_of_meshes_fills_the_machine(hosts: int) -> None:
    machine = build([galaxy(name, number, hosts) for number, name in enumerate("cadb"[:hosts])])
    count = 4 * hosts
    meshes = tuple(mesh(4, 2, mesh_id=i, channels=4) for i in range(count))
    ring = tuple(InterLink(i, (i + 1) % count, 2, "RELAXED") for i in range(count))
    placed = place(MeshGraph(meshes, ring), machine)
    assert_embeds(placed)
    assert len(placed.unused) == 0


def test_fewest_hosts_are_used(four_galaxies: PhysicalGraph) -> None:
    meshes = tuple(mesh(4, 2, mesh_id=i, channels=4) for i in range(8))
    placed = place(MeshGraph(meshes), four_galaxies)
    assert len({node.host for found in placed.meshes for node in found.nodes}) == 2


def test_a_region_is_on_every_host_of_its_chips(four_galaxies: PhysicalGraph) -> None:
    placed = place(MeshGraph((mesh(16, 4, hosts=(2, 1), channels=4),)), four_galaxies).meshes[0]
    region = regions.region_of(tuple(node.index for node in placed.nodes), four_galaxies, 0)
    assert region.hosts == sum(1 << host for host in {node.host_index for node in placed.nodes})
    assert region.hosts.bit_count() == 2


def test_relaxed_takes_the_smallest_shortfall_and_tells_it() -> None:
    weak = build([parse_cluster(t3000_yaml(channels=1), "weak.yaml")])
    placed = place(MeshGraph((mesh(2, 4, channels=2),)), weak)
    assert [s.channels for s in placed.meshes[0].shortfalls] == [1] * 10
    assert (
        placed.lacking[0] == f"M0D0-D1:{placed.meshes[0].shortfalls[0].wanted - 1}"
        and len(placed.lacking) == 10
    )
    (told,) = explain.shortfalls([(0, 10, ())], "m.textproto")
    assert (told.code, told.severity) == ("TTR178", Severity.WARNING)
    assert "mesh 0: 10 links run on fewer channels" in told.message


def test_pins_move_the_result(t3000: PhysicalGraph) -> None:
    pin = PinGroup(0, (0,), ((4, 1),))
    assert chips(place(MeshGraph((mesh(2, 4),), pins=(pin,)), t3000))[0][0] == 7


@pytest.mark.parametrize(
    ("wanted", "pins", "codes"),
    [
        (mesh(8, 4), (), {"TTR170", "TTR171"}),
        (mesh(2, 4, wraps="LR"), (), {"TTR172", "TTR174"}),
        (mesh(2, 4, channels=4, policy="STRICT"), (), {"TTR172", "TTR173"}),
        (mesh(2, 4), (PinGroup(0, (0,), ((1, 0),)),), {"TTR175"}),
        (mesh(2, 4, arch="BLACKHOLE"), (), {"TTR170"}),
    ],
)
def test_refusals_name_what_stands_in_the_way(
    t3000: PhysicalGraph, wanted: Mesh, pins: tuple[PinGroup, ...], codes: set[str]
) -> None:
    with pytest.raises(RefusedError) as refused:
        place(MeshGraph((wanted,), pins=pins), t3000, file="m.textproto")
    assert {d.code for d in refused.value.diagnostics} == codes


def test_dropping_the_reported_constraint_makes_it_fit(t3000: PhysicalGraph) -> None:
    ring = mesh(2, 4, wraps="LR")
    with pytest.raises(RefusedError):
        place(MeshGraph((ring,)), t3000)
    place(MeshGraph((replace(ring, dim_types=("LINE", "LINE")),)), t3000)


def test_running_out_of_time_is_not_a_proof(four_galaxies: PhysicalGraph) -> None:
    with pytest.raises(RefusedError) as refused:
        place(MeshGraph((mesh(8, 16, hosts=(1, 4), wraps="RR", channels=4),)), four_galaxies, seconds=0.0)
    assert "TTR179" in {d.code for d in refused.value.diagnostics}
    assert "not proven" in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("chips_with_mmio: [{0: 0}", "chips_with_mmio: [{9: 0}", "names chip 9"),
        ("{chip: 0, chan: 0}", "{chip: 0, chan: 25}", "channel 25"),
        (
            "{chip: 0, chan: 0}, {chip: 2, chan: 0}",
            "{chip: 0, chan: 0}, {chip: 12, chan: 0}",
            "names chip 12",
        ),
        ("board_type: n300", "board_type: n900", "unknown board type"),
        ("0: wormhole_b0", "0: blackhole", "chips of one architecture"),
        ("arch: {", "arch: [", "not well-formed"),
        ("board_id: 100", "board_id: x", "needs board_id"),
        ("4: [0, 1, 0, 0], ", "4: [0, 1], ", "four coordinates"),
        ("harvesting: {}", "harvesting: {}\nio_device_type: USB", "PCIe or JTAG"),
        ("harvesting: {}", "harvesting: {}\ncluster_id: a b", "no host name"),
        ("harvesting: {}", "harvesting: {}\nchip_pci_bdfs: {4: '0000:01:00.0'}", "not in chips_with_mmio"),
        ("harvesting: {}", "harvesting: {}\nchip_pci_bdfs: {0: '01:00'}", "not an address"),
        ("harvesting: {}", "harvesting: {}\nchip_to_bus_id: {0: 'c1'}", "hexadecimal"),
        ("harvesting: {}", "harvesting: {}\nasic_locations: [1]", "must be a map"),
        ("harvesting: {}", "harvesting: {}\nasic_locations: {0: x}", "not a number"),
        ("harvesting: {}", "harvesting: {}\nchip_unique_ids: {0: -1}", "64 bits"),
        ("[{0: 0}, ", "[{0: x}, ", "device number"),
        ("[{0: 0}, ", "[true, ", "device number"),
        ("arch: {", "arch: {0: !!int , ", "not well-formed"),
        ("arch: {", f"deep: {'[' * 100_000}", "nested deeper than 200 levels"),
    ],
)
def test_bad_descriptors_are_named(old: str, new: str, words: str) -> None:
    text = t3000_yaml()
    assert old in text
    with pytest.raises(InputError) as bad:
        parse_cluster(text.replace(old, new, 1), "bad.yaml")
    assert words in " ".join(f"{found.message} {found.help}" for found in bad.value.diagnostics)


def test_a_chip_in_two_places_is_told() -> None:
    text = (
        t3000_yaml() + "chip_unique_ids: {" + ", ".join(f"{chip}: {70 + chip}" for chip in range(8)) + "}\n"
    )
    machine = build([parse_cluster(text, "a.yaml"), parse_cluster(text, "b.yaml")])
    told = [finding for finding in machine.findings if finding.code == "TTR162"]
    assert len(told) == 8 and all("belongs to two chips" in finding.message for finding in told)
    assert told[0].labels[0].position.file in ("a.yaml", "b.yaml")


def test_host_blocks_that_stand_in_the_way_are_told() -> None:
    machine = build([galaxy(name, number, 2) for number, name in enumerate("ab")])
    wanted = mesh(16, 4, hosts=(1, 2), channels=4)
    with pytest.raises(RefusedError) as refused:
        place(MeshGraph((wanted,)), machine, file="m.textproto")
    told = [finding for finding in refused.value.diagnostics if finding.code == "TTR176"]
    assert told and any("with host_topology 2x1" in finding.message for finding in told)
    assert "host_topology { dims: [2, 1] }" in {finding.help for finding in told}


def test_host_blocks_are_turned_only_where_they_divide_the_mesh() -> None:
    machine = build([plain_grid(3, 2)])
    turned = {
        rows: [
            text
            for _, text, *_ in explain._relaxations(mesh_demand(wanted, (), machine, processes=1), machine)
        ]
        for rows in (2, 3)
        for wanted in [mesh(rows, 2, hosts=(1, 2), arch="BLACKHOLE")]
    }
    assert "with host_topology 2x1" in turned[2]
    assert turned[3] == ["if its host blocks were ignored"]


def test_one_sided_cables_are_told_and_not_used() -> None:
    left, right = galaxy("a", 0, 2), galaxy("b", 1, 2)
    deaf = replace(right, remote_links=())
    graph = build([left, deaf])
    assert all(graph.nodes[j].host == node.host for node in graph.nodes for j in graph.grid[node.index])
    assert {finding.code for finding in graph.findings} == {"TTR163"}


@pytest.mark.parametrize(
    ("board", "near", "far", "is_z"),
    [
        ("ubb_blackhole", 8, 9, True),
        ("ubb_blackhole", 8, 7, False),
        ("ubb_blackhole", 7, 9, False),
        ("ubb", 8, 9, False),
    ],
)
def test_only_z_channels_at_both_ends_of_a_blackhole_galaxy_link_in_z(
    board: str, near: int, far: int, is_z: bool
) -> None:
    """Inside of a host and between hosts alike; a cable counts once, though both ends list it."""
    chips = {number: Chip(number, number + 1, "BLACKHOLE", board, 5, 1, number + 1, 0) for number in range(2)}
    inside = ClusterDescriptor("a.yaml", "a", "BLACKHOLE", chips, ((0, near, 1, far),))
    left = ClusterDescriptor(
        "a.yaml", "a", "BLACKHOLE", {0: chips[0]}, (), (RemoteLink(0, near, 2, far), RemoteLink(0, 3, 99, 3))
    )
    right = ClusterDescriptor("b.yaml", "b", "BLACKHOLE", {1: chips[1]}, (), (RemoteLink(1, far, 1, near),))
    for machine, outside in ((build([inside]), 0), (build([left, right]), 1), (build([right, left]), 1)):
        linked, bare = (machine.z, machine.grid) if is_z else (machine.grid, machine.z)
        assert (linked, bare) == (({1: 1}, {0: 1}), ({}, {}))
        assert (machine.outside, machine.findings) == (outside, ())


def test_hosts_without_descriptions_are_filled_in_order() -> None:
    graph = MeshGraph((mesh(2, 4, hosts=(1, 2)), mesh(2, 4, hosts=(1, 2), mesh_id=1)))
    made = ranks.allocate_on_hosts(graph, (HostSlots("b", 2), HostSlots("a", 2)))
    assert [(r.mesh_id, r.mesh_host_rank, r.host, r.slot) for r in made.ranks] == [
        (0, 0, "b", 0),
        (0, 1, "b", 1),
        (1, 0, "a", 0),
        (1, 1, "a", 1),
    ]
    assert files.rankfile(made) == "rank 0=b slot=0\nrank 1=b slot=1\nrank 2=a slot=0\nrank 3=a slot=1\n"
    with pytest.raises(RefusedError, match="4 host blocks"):
        ranks.allocate_on_hosts(graph, (HostSlots("a", 1),))
    assert [finding.code for finding in made.findings] == ["TTR182"]
    assert "several ranks share a, b" in made.findings[0].message
    spread = ranks.allocate_on_hosts(graph, tuple(HostSlots(name, 1) for name in "abcdef"))
    assert [finding.code for finding in spread.findings] == ["TTR181"]
    assert "2 hosts without a rank: e, f" in spread.findings[0].message


def test_generated_files_hold_the_placement(t3000: PhysicalGraph) -> None:
    import yaml

    placed = place(MeshGraph((mesh(2, 4, hosts=(1, 2)),)), t3000)
    found = ranks.allocate_on_machines(placed, {"t3k.yaml": "/x/t3k.yaml"}, local_host="here")
    assert [(rank.host, rank.slot) for rank in found.ranks] == [("here", 0), ("here", 1)]
    made = files.files(found, [files.DescriptorRanks("/x/m.textproto", found.ranks)], mock=True)
    bindings = yaml.safe_load(made["rank_bindings.yaml"])
    assert [b["env_overrides"]["TT_VISIBLE_DEVICES"] for b in bindings["rank_bindings"]] == ["0,1", "2,3"]
    assert yaml.safe_load(made["phase2_mock_mapping.yaml"]) == {
        "rank_to_cluster_mock_cluster_desc": {"0": "/x/t3k.yaml", "1": "/x/t3k.yaml"}
    }
    devices = json.loads(made["placement.json"])["meshes"][0]["devices"]
    assert [device["chip"] for device in devices] == [4, 0, 2, 6, 5, 1, 3, 7]


# --- recorded answers of the reference, where they are at hand ---------------------------------------------------------


def recorded() -> list[tuple[str, dict]]:
    if not (CORPUS / "expected.json").is_file():
        return []
    entries = json.loads((CORPUS / "expected.json").read_text())
    return [(name, entry) for name, entry in entries.items() if not name.endswith("_mapping.yaml")]


@pytest.mark.skipif(not recorded(), reason="the recorded cluster descriptors are not on this machine")
@pytest.mark.parametrize(("name", "entry"), recorded())
def test_recorded_clusters(name: str, entry: dict) -> None:
    cluster = read_cluster(CORPUS / name)
    graph = build([cluster])
    assert (
        sum(len(row) for row in graph.grid) // 2 + sum(len(row) for row in graph.z) // 2
        == entry["neighbour_pairs"]
    )
    assert len(cluster.remote_links) == entry["links_to_other_hosts"]
    assert cluster.cluster_type == entry.get("cluster_type", cluster.cluster_type)
    alone = discovered_mesh(graph, Clock(30))
    for seen in entry.get("observed", []):
        dims = seen["dims"] or seen.get("shape")
        if dims is None:
            continue
        wanted = (
            alone
            if seen["dims"] is None
            else Mesh(
                0,
                "M",
                cluster.arch,
                tuple(dims),
                (1, 1),
                tuple(seen["dim_types"]),
                seen["channels"],
                seen["policy"],
            )
        )
        assert wanted.dims == tuple(dims)
        found = best_embedding(mesh_demand(wanted, (), graph, processes=1), graph, Clock(30))
        assert (found is None) == (seen["result"] == "refused"), seen["logical"]
        if found is not None and seen["equals_canonical_rule"]:
            ids = [graph.nodes[i].chip.chip_id for i in found]
            assert [ids[i : i + dims[1]] for i in range(0, len(ids), dims[1])] == seen["chip_at"], seen[
                "logical"
            ]


@pytest.mark.skipif(not recorded(), reason="the recorded cluster descriptors are not on this machine")
def test_recorded_split_t3000() -> None:
    graph = build([read_cluster(CORPUS / f"t3k_split_rank_{rank}.yaml") for rank in range(2)])
    placed = place(MeshGraph((mesh(2, 4, hosts=(1, 2)),)), graph)
    assert_embeds(placed)
    assert not placed.meshes[0].shortfalls
    assert {placed.meshes[0].host_of(rank) for rank in range(2)} == set(graph.hosts)


def test_links_tell_their_channels(t3000: PhysicalGraph) -> None:
    told = place(MeshGraph((mesh(2, 4),)), t3000).as_json()["meshes"]
    assert isinstance(told, list)
    assert told[0]["links"][0] == {"link": [0, 1], "channels": 2}
    assert len(told[0]["links"]) == 10


def test_the_table_names_chips_by_row(t3000: PhysicalGraph) -> None:
    table = place(MeshGraph((mesh(2, 4, hosts=(1, 2)),)), t3000).table().splitlines()
    assert [line.split()[-5:] for line in table[1:]] == [["4", "0", "/", "5", "1"], ["2", "6", "/", "3", "7"]]


def test_a_machine_without_such_chips_is_no_matter_of_size(t3000: PhysicalGraph) -> None:
    with pytest.raises(RefusedError) as caught:
        place(MeshGraph((mesh(1, 1, arch="BLACKHOLE"),)), t3000)
    assert caught.value.diagnostics[0].help.startswith("describe a machine with BLACKHOLE chips")


def test_ranks_of_one_galaxy_share_its_board() -> None:
    galaxy_alone = build([galaxy("a", 0, 1)])
    placed = place(MeshGraph((mesh(8, 4, hosts=(2, 1), channels=4),)), galaxy_alone)
    assert_embeds(placed)
    opened = [placed.meshes[0].visible_devices(rank).split(",") for rank in range(2)]
    assert len(set(opened[0]) | set(opened[1])) == 32


def test_several_descriptors_are_one_job_and_a_part_for_each() -> None:
    graphs = [MeshGraph((mesh(1, 2),), file=f"{number}.textproto") for number in range(3)]
    joined = _joined(graphs)
    assert joined.file == "0.textproto"
    made = ranks.allocate_on_hosts(joined, [HostSlots(host, 1) for host in "abc"])
    parts = files.parts_of(made, [(graph.file, graph) for graph in graphs])
    assert [[(rank.rank, rank.host) for rank in part.ranks] for part in parts] == [
        [(0, "a")],
        [(0, "b")],
        [(0, "c")],
    ]


def test_no_two_meshes_open_one_card(t3000: PhysicalGraph) -> None:
    placed = place(MeshGraph(tuple(mesh(1, 1, mesh_id=i) for i in range(4))), t3000)
    assert sorted(found.visible_devices(0) for found in placed.meshes) == ["0", "1", "2", "3"]
    with pytest.raises(RefusedError):
        place(MeshGraph(tuple(mesh(1, 1, mesh_id=i) for i in range(5))), t3000)


def test_a_switch_takes_chips_and_no_rank(t3000: PhysicalGraph) -> None:
    switch = replace(mesh(2, 2, mesh_id=1), is_switch=True)
    graph = MeshGraph((mesh(2, 2), switch), (InterLink(0, 1, 2, "RELAXED"),))
    placed = place(graph, t3000)
    assert_embeds(placed)
    made = ranks.allocate_on_machines(placed, {})
    assert [(rank.rank, rank.mesh_id) for rank in made.ranks] == [(0, 0)]
    assert [part.ranks[0].mesh_id for part in files.parts_of(made, [("m.textproto", graph)])] == [0]


def test_parallel_requests_add_up(t3000: PhysicalGraph) -> None:
    def fits(*links: InterLink) -> bool:
        try:
            return bool(place(MeshGraph((mesh(2, 2), mesh(2, 2, mesh_id=1)), links), t3000).meshes)
        except RefusedError:
            return False

    between = InterLink(0, 1, 2, "STRICT", a_device=1, b_device=0)
    assert fits(between)
    assert fits(between, InterLink(0, 1, 2, "STRICT"))
    assert not fits(between, InterLink(0, 1, 3, "STRICT"))
    assert not fits(between, between)
    assert not fits(between, InterLink(0, 1, 1, "RELAXED", z_direction=True))  # a T3000 has no Z channels


def test_one_process_takes_the_largest_shape_and_all_channels(t3000: PhysicalGraph) -> None:
    assert discovered_mesh(t3000, Clock(30)).dims == (2, 4)
    cut = build([parse_cluster(t3000_yaml(without=(1, 3)), "cut.yaml")])
    found = discovered_mesh(cut, Clock(30))
    assert (found.dims, found.channels, found.policy) == ((8, 1), 2, "STRICT")
    assert_embeds(place(MeshGraph((found,)), cut))


def test_a_chip_alone_is_a_mesh_of_one() -> None:
    found = discovered_mesh(build([plain_grid(1, 1)]), Clock(30))
    assert (found.dims, found.channels, found.policy) == ((1, 1), 1, "STRICT")


def test_one_weak_pair_has_a_shape_and_no_place() -> None:
    links = [line for line in t3000_yaml().splitlines() if line.startswith("  - [{chip:")]
    weak = build([parse_cluster(t3000_yaml().replace(links[0] + "\n", ""), "weak.yaml")])
    found = discovered_mesh(weak, Clock(30))
    assert found.dims == (2, 4)
    with pytest.raises(RefusedError) as refused:
        place(MeshGraph((found,)), weak)
    assert "TTR173" in {d.code for d in refused.value.diagnostics}


@pytest.mark.wide
def test_many_long_chains_find_a_place_beside_each_other() -> None:
    placed = place(
        MeshGraph(tuple(mesh(1, 8, mesh_id=i, channels=4) for i in range(4))), build([galaxy("a", 0, 1)])
    )
    assert_embeds(placed)
    assert not placed.unused


def test_a_chain_over_every_chip_is_found_or_excluded() -> None:
    """Half of the links of a Galaxy are gone: the search has to see dead ends coming."""
    whole = galaxy("a", 0, 1)
    kept = [link for number, link in enumerate(whole.links) if number % 5 != 3]
    machine = build([replace(whole, links=tuple(kept))])
    found = best_embedding(mesh_demand(mesh(32, 1, channels=1), (), machine, processes=1), machine, Clock(30))
    assert found is None or len(set(found)) == 32


def test_relaxed_meshes_lack_as_little_as_they_can_together(t3000: PhysicalGraph) -> None:
    """Four links of one channel: the first mesh must not take the place that the second one needs."""
    text = t3000_yaml()
    for a, b in ((0, 2), (1, 3)):
        line = next(
            each
            for each in text.splitlines()
            if each.startswith(f"  - [{{chip: {a},") and f"{{chip: {b}," in each
        )
        text = text.replace(line + "\n", "")
    machine = build([parse_cluster(text, "weak.yaml")])
    placed = place(MeshGraph((mesh(1, 2), mesh(2, 2, mesh_id=1))), machine)
    assert_embeds(placed)
    assert not any(found.shortfalls for found in placed.meshes)


def test_a_list_of_links_is_needed() -> None:
    head, tail = t3000_yaml().split("ethernet_connections:")
    rest = tail[tail.index("chips_with_mmio") :]
    parse_cluster(f"{head}ethernet_connections: []\n{rest}", "good.yaml")
    with pytest.raises(InputError, match="has no list"):
        parse_cluster(f"{head}ethernet_connections:\n{rest}", "bad.yaml")


@pytest.mark.parametrize(
    ("kind", "bus", "slot"),
    [("ubb", 0xC1, (1, 1)), ("ubb_blackhole", 0x48, (2, 8)), ("ubb", 0xC9, (0, 0)), ("ubb", 0x51, (0, 0))],
)
def test_a_bus_id_says_the_slot_of_a_galaxy(kind: str, bus: int, slot: tuple[int, int]) -> None:
    assert galaxy_slot(kind, bus) == slot


def refusal(machine: PhysicalGraph, graph: MeshGraph) -> list[str]:
    """Code and message of every reason why a graph has no place."""
    with pytest.raises(RefusedError) as refused:
        place(graph, machine)
    return [f"{found.code} {found.message} {found.help}" for found in refused.value.diagnostics]


def test_links_that_cannot_hold_together_are_named_and_no_others() -> None:
    """Cards in a column: the first one can be linked to two others, not to three."""
    column = build([parse_cluster(t3000_yaml(), "t3k.yaml")])
    meshes = tuple(mesh(1, 2, mesh_id=i) for i in range(4))
    star = tuple(InterLink(0, i, 1, "STRICT") for i in (1, 2, 3))
    (reason,) = refusal(
        column,
        MeshGraph(meshes, (*star, *(InterLink(i, j, 1, "STRICT") for i, j in ((1, 2), (2, 3), (1, 3))))),
    )
    assert "not with the links between them: 1-2, 2-3, 1-3 cannot hold together" in reason
    place(MeshGraph(meshes, star[:2]), column)


def test_linked_meshes_that_do_not_fit_beside_each_other(t3000: PhysicalGraph) -> None:
    meshes = tuple(mesh(1, 1, mesh_id=i) for i in range(5))  # no two open one of the four cards
    graph = MeshGraph(meshes, (InterLink(0, 1, 1, "RELAXED"),))
    (reason,) = refusal(t3000, graph)
    assert reason.startswith("TTR177 the 5 meshes do not fit beside each other, though each fits alone")


@pytest.mark.parametrize(("revision", "kept"), [(2, "BH_REV_AB"), (3, "BH_REV_C")])
def test_pins_for_a_board_revision_hold_on_boards_of_that_revision(revision: int, kept: str) -> None:
    cluster = parse_cluster(t3000_yaml(), "cards.yaml")
    chips = {
        number: replace(chip, arch="BLACKHOLE", board_id=(revision << 32) + 100)
        for number, chip in cluster.chips.items()
    }
    machine = build([replace(cluster, chips=chips)])
    slot = machine.nodes[0].slot
    for asked in ("BH_REV_AB", "BH_REV_C", "WH"):
        demand = mesh_demand(
            mesh(1, 2, arch="BLACKHOLE"), [PinGroup(0, (1,), (slot,), asked)], machine, processes=1
        )
        assert demand.pins == ({1: {slot}} if asked == kept else {}), asked


def test_what_belongs_to_no_line_names_the_file() -> None:
    found = out_of_time(2, "mesh.textproto")
    assert [str(label.position) for label in found.labels] == ["mesh.textproto"]
    assert not out_of_time(2, "").labels


def test_the_most_channels_between_two_meshes_are_told(t3000: PhysicalGraph) -> None:
    meshes = (mesh(2, 2), mesh(2, 2, mesh_id=1))
    for channels in (7, 6):
        (reason,) = refusal(t3000, MeshGraph(meshes, (InterLink(0, 1, channels, "STRICT"),)))
        assert f"want {channels} channels" in reason and "count: 4" in reason


def test_constraints_that_only_fail_together_are_named(t3000: PhysicalGraph) -> None:
    """A 2x4 with a ring and thick links: neither alone would do."""
    wanted = mesh(2, 4, wraps="LR", channels=3, policy="STRICT", hosts=(1, 2))
    reasons = refusal(t3000, MeshGraph((wanted,)))
    assert any(reason.startswith("TTR172") for reason in reasons)
    wanted = mesh(4, 2, wraps="RL", hosts=(1, 1))
    assert any("dim_types: [LINE, LINE]" in reason for reason in refusal(t3000, MeshGraph((wanted,))))


def test_pins_to_slots_that_are_not_there_are_told(t3000: PhysicalGraph) -> None:
    (reason, *_) = refusal(t3000, MeshGraph((mesh(2, 4),), pins=(PinGroup(0, (3,), ((9, 9),)),)))
    assert "none of the slots of device 3" in reason


def test_the_corners_of_a_whole_galaxy_are_no_pins_of_the_user() -> None:
    whole = galaxy("a", 0, 1)
    corner = {chip for chip, each in whole.chips.items() if (each.tray, each.location) == (1, 1)}
    moved = {
        number: replace(chip, tray=1, location=30) if number in corner else chip
        for number, chip in whole.chips.items()
    }
    reasons = refusal(build([replace(whole, chips=moved)]), MeshGraph((mesh(8, 4, channels=4),)))
    assert any("always pinned" in reason for reason in reasons)


def test_links_that_could_not_be_tried_in_time_are_passed_over(
    t3000: PhysicalGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are tried all the same."""
    meshes = tuple(mesh(1, 2, mesh_id=i) for i in range(3))
    links = (InterLink(0, 1, 1, "STRICT"), InterLink(1, 2, 9, "STRICT"))
    whole = MeshGraph(meshes, links)
    [told] = refusal(t3000, whole)
    assert "meshes 1 and 2 want 9 channels" in told
    real, late = assigning.assign, []

    def assign(wanted: Any, links: Any, *words: Any) -> Any:
        if (0, 1) not in links:
            late.append(links)
            raise OutOfTime
        return real(wanted, links, *words)

    monkeypatch.setattr(explain, "assign", assign)
    assert refusal(t3000, whole) == [told] and late


def test_a_link_that_could_not_be_left_out_in_time_stays_named(
    t3000: PhysicalGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not proven to be needless is told; the others are left out all the same."""
    meshes = tuple(mesh(1, 2, mesh_id=i) for i in range(4))
    pairs = ((0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (1, 3))
    whole = MeshGraph(meshes, tuple(InterLink(a, b, 1, "STRICT") for a, b in pairs))
    real = assigning.assign

    def assign(wanted: Any, links: Any, *words: Any) -> Any:
        if len(links) == len(pairs) - 1 and (0, 1) not in links:
            raise OutOfTime
        return real(wanted, links, *words)

    monkeypatch.setattr(explain, "assign", assign)
    [told] = refusal(t3000, whole)
    named = told.split("links between them: ")[1].split(" cannot hold")[0].split(", ")
    assert "0-1" in named and len(named) < len(pairs)


def test_one_process_is_told_from_several_by_its_number(four_galaxies: PhysicalGraph) -> None:
    graph = MeshGraph((mesh(8, 4, hosts=(2, 1)),))
    for processes, slots in ((None, TRAYS), (1, {(1, 1)}), (2, TRAYS)):
        assert demand_of_meshes(graph, four_galaxies, processes=processes)[0].pins[0] == slots
    switch = replace(mesh(8, 4, hosts=(2, 1), mesh_id=1), is_switch=True)
    alone = demand_of_meshes(MeshGraph((mesh(8, 4), switch)), four_galaxies)
    assert [each.pins[0] for each in alone] == [{(1, 1)}] * 2, "a switch is no process"


TRAYS = {(tray, 1) for tray in range(1, 5)}


@pytest.mark.parametrize(
    ("shape", "processes", "pinned"),
    [
        ((8, 4), 1, {0: {(1, 1)}, 3: TRAYS, 28: TRAYS, 31: TRAYS}),
        ((8, 4), 2, {0: TRAYS, 3: TRAYS, 28: TRAYS, 31: TRAYS}),
        ((4, 16), 1, {0: {(1, 1)}, 15: TRAYS, 48: TRAYS, 63: TRAYS}),
        ((16, 2), 2, {0: TRAYS, 1: TRAYS, 30: TRAYS, 31: TRAYS}),
        ((32, 1), 1, {}),
        ((4, 4), 1, {}),
    ],
)
def test_the_corners_of_whole_galaxies_are_pinned(
    four_galaxies: PhysicalGraph,
    t3000: PhysicalGraph,
    shape: tuple[int, int],
    processes: int,
    pinned: dict[int, set[tuple[int, int]]],
) -> None:
    assert mesh_demand(mesh(*shape), (), four_galaxies, processes=processes).pins == pinned
    assert mesh_demand(mesh(*shape), (), t3000, processes=processes).pins == {}


def test_fewer_hosts_that_ran_out_of_time_are_not_ruled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = build([galaxy("a", 0, 2), galaxy("b", 1, 2)])
    wanted = [mesh_demand(mesh(8, 4, channels=4), (), machine, processes=1)]
    proven = assigning.assign(wanted, {}, machine, Clock(60))
    assert proven.placed is not None and proven.proven
    search, asked = assigning._Assigner.least_lacking, []

    def late_at_first(*words: Any) -> Any:
        asked.append(words[1])
        if len(asked) == 1:
            raise OutOfTime
        return search(*words)

    monkeypatch.setattr(assigning._Assigner, "least_lacking", late_at_first)
    found = assigning.assign(wanted, {}, machine, Clock(60))
    assert asked == [1, 2]
    assert found.placed is not None and not found.proven


def test_fewer_hosts_leave_time_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number of hosts has half of the time that is left, the last one all of it while nothing ran out before."""
    machine = build([galaxy(name, number, 3) for number, name in enumerate("abc")])
    wanted = [mesh_demand(mesh(8, 4, channels=4), (), machine, processes=1)]
    shares: list[float] = []

    def none_yet(solver: Any, hosts: int, clock: Clock) -> Any:
        shares.append((clock.ends - ends) / 1000 + 1)
        return None, True

    monkeypatch.setattr(assigning._Assigner, "least_lacking", none_yet)
    whole = Clock(1000)
    ends = whole.ends
    assert assigning.assign(wanted, {}, machine, whole) == assigning.Assignment(None, True)
    assert [round(share, 1) for share in shares] == [0.5, 0.5, 1.0]


def test_what_is_dropped_is_gone_and_nothing_else(four_galaxies: PhysicalGraph) -> None:
    ring = mesh(8, 16, hosts=(1, 4), wraps="RR", channels=4, policy="STRICT")
    pins = (PinGroup(0, (0,), ((1, 1),)),)
    demand = replace(mesh_demand(ring, pins, four_galaxies, processes=4), host="a")
    constraints = _constraints(demand, four_galaxies)
    names = [
        "STRICT channels",
        "wrap on dimension 0",
        "wrap on dimension 1",
        "pins",
        "rank pin",
        "host blocks",
    ]
    assert list(constraints) == names
    for name, drop in constraints.items():
        left = _constraints(drop(demand), four_galaxies)
        if name == "host blocks":
            assert set(drop(demand).host_rank) == {-1}
        else:
            assert list(left) == [other for other in names if other != name]


def test_not_found_is_never_mixed_with_proven_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "LEAST_STEPS", 1)
    monkeypatch.setattr(regions, "MOST_STEPS", 1)
    monkeypatch.setattr(assigning, "NESTED_STEPS", 1)
    reasons = refusal(
        build([galaxy("a", 0, 1)]), MeshGraph(tuple(mesh(4, 4, mesh_id=i, channels=4) for i in range(2)))
    )
    assert [reason.split()[0] for reason in reasons] == ["TTR179"]
    assert "not proven" in reasons[0]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("harvesting:", "harvestings:", ["did you mean harvesting?", "harvesting is missing"]),
        ("4: [0, 1, 0, 0], ", "", ["no coordinates for chip 4"]),
        ("chips: {0: [0, 0, 0, 0], ", "chips: {", []),
    ],
)
def test_what_only_the_hardware_runtime_misses_is_told(old: str, new: str, words: list[str]) -> None:
    assert old in t3000_yaml()
    told = parse_cluster(t3000_yaml().replace(old, new, 1), "odd.yaml").warnings
    assert len(told) == len(words)
    assert all(word in f"{found.message} {found.help}" for word, found in zip(words, told, strict=True))


def test_both_wraps_are_told_when_one_is_not_enough() -> None:
    torus = mesh(4, 4, wraps="RR", channels=1, arch="BLACKHOLE")
    (*_, reason) = refusal(build([plain_grid(4, 4)]), MeshGraph((torus,)))
    assert "on both dimensions" in reason and "dim_types: [LINE, LINE]" in reason


def test_several_descriptors_keep_their_pins_when_placed_together(t3000: PhysicalGraph) -> None:
    """Each pin goes with its mesh, whose number changes, to the chip that its own descriptor names."""
    slots = [next(node.slot for node in t3000.nodes if node.chip.chip_id == chip) for chip in (3, 1)]
    graphs = [MeshGraph((mesh(1, 2, mesh_id=5),), pins=(PinGroup(5, (0,), (slot,)),)) for slot in slots]
    placed = place(_joined(graphs), t3000)
    assert [chips(placed, number)[0][0] for number in range(2)] == [3, 1]


def test_hosts_of_one_name_are_told_apart_by_their_number() -> None:
    parts = [replace(parse_cluster(t3000_yaml(), "a.yaml"), host=name) for name in ("a", "b", "a")]
    assert build(parts).hosts == ("a_0", "a_2", "b")


def test_every_cable_out_of_the_job_is_counted_and_one_to_itself_is_none() -> None:
    alone = parse_cluster(t3000_yaml(), "a.yaml")
    own = alone.chips[0].unique_id
    loop = (RemoteLink(0, 12, own, 13), RemoteLink(0, 13, own, 12))
    away = tuple(RemoteLink(0, channel, 99, 1) for channel in (7, 8, 9))
    machine = build([replace(alone, remote_links=(*loop, *away))])
    assert (machine.outside, machine.grid) == (3, build([alone]).grid)


def test_a_large_host_is_better_than_two() -> None:
    """Two meshes that the small host, though the first by name, cannot both hold."""
    small, large = plain_grid(1, 2), plain_grid(2, 4)
    far = {number: replace(chip, unique_id=100 + chip.unique_id) for number, chip in large.chips.items()}
    machine = build([replace(small, host="a"), replace(large, host="b", chips=far)])
    meshes = tuple(mesh(1, 2, mesh_id=number, channels=1, arch="BLACKHOLE") for number in range(2))
    placed = place(MeshGraph(meshes), machine)
    assert [found.host_of(0) for found in placed.meshes] == ["b", "b"] and placed.proven
    assert place(MeshGraph(meshes[:1]), machine).meshes[0].host_of(0) == "a"


def test_meshes_of_several_descriptors_are_numbered_through() -> None:
    first = MeshGraph((mesh(1, 2),))
    pin = PinGroup(9, (0,), ((1, 0),))
    second = MeshGraph(
        (mesh(1, 2, mesh_id=9), mesh(1, 3, mesh_id=4)), (InterLink(4, 9, 1, "STRICT"),), (pin,)
    )
    joined = _joined([first, second, first])
    assert [(each.mesh_id, each.dims) for each in joined.meshes] == [
        (0, (1, 2)),
        (1, (1, 3)),
        (2, (1, 2)),
        (3, (1, 2)),
    ]
    assert [(link.a, link.b) for link in joined.links] == [(1, 2)]
    assert [each.mesh_id for each in joined.pins] == [2]


def test_a_switch_before_a_mesh_has_no_rank() -> None:
    machine = build([parse_cluster(t3000_yaml(), "t3k.yaml")])
    switch = replace(mesh(2, 2), is_switch=True)
    placed = place(MeshGraph((switch, mesh(2, 2, mesh_id=1))), machine)
    [rank] = ranks.allocate_on_machines(placed, {}).ranks
    node = placed.meshes[1].nodes[0]
    assert (rank.rank, rank.mesh_id, rank.chips[0]) == (0, 1, node.chip.chip_id)
    assert rank.why == (
        f"its 4 devices fit the chips of t3k.yaml beginning at tray {node.chip.tray}, location {node.chip.location}"
    )


def test_letters_that_are_none_of_ascii_stay_as_they_are() -> None:
    assert files.fingerprint(b"x", ["z", "ü"]) == hashlib.sha256(b"x\0" + '["z","ü"]'.encode()).hexdigest()
    rank = ranks.AllocatedRank(0, 0, 0, "a", 0, "why", env={"COLOUR": "grün"})
    assert '      COLOUR: "grün"\n' in files.bindings_yaml((rank,), "m.textproto")


@pytest.mark.parametrize(
    ("shape", "steps", "count"), [((2, 4), 15, 4), ((2, 2), 14, 24), ((1, 8), 27, 28), ((1, 3), 9, 32)]
)
def test_a_search_that_needs_all_of_its_steps_has_them(
    t3000: PhysicalGraph, shape: tuple[int, int], steps: int, count: int
) -> None:
    """The steps from each chip for device 0 count by themselves; with one fewer some chip is left early."""
    demand = mesh_demand(mesh(*shape, channels=1), (), t3000, processes=1)
    for given in (steps - 1, steps):
        patience = SearchBudget(given)
        found = list(embeddings(demand, t3000, Clock(60), patience=patience))
        assert (len(found), patience.ran_out) == (count, given < steps)


def test_a_single_chip_is_a_mesh_without_a_descriptor() -> None:
    found = discovered_mesh(build([plain_grid(1, 1)]), Clock(60))
    wanted = mesh(1, 1, channels=1, policy="STRICT", arch="BLACKHOLE")
    assert found == replace(wanted, descriptor="M0")


class Shares(Clock):
    """A clock that writes down which share of its time each question has."""

    def part(self, share: float) -> Clock:
        told.append(share)
        return Clock(60)


told: list[float] = []


@pytest.mark.parametrize(
    ("meshes", "links", "shares"),
    [
        ((mesh(2, 4, wraps="LR"),), (), [0.2, 0.1]),
        ((mesh(4, 2, wraps="RL"),), (), [0.2, 0.1]),
        ((mesh(3, 3, wraps="RR"),), (), [0.2, 0.1, 0.1, 0.1]),
        ((mesh(2, 2), mesh(2, 2, mesh_id=1)), (InterLink(0, 1, 6, "STRICT"),), [0.2] * 5),
        (tuple(mesh(1, 1, mesh_id=i) for i in range(5)), (InterLink(0, 1, 1, "STRICT"),), [*[0.2] * 6, 0.5]),
        (
            tuple(mesh(1, 2, mesh_id=i) for i in range(4)),
            tuple(InterLink(a, b, 1, "STRICT") for a in range(4) for b in range(a)),
            [*[0.2] * 10, 0.5, *[0.2] * 6],
        ),
    ],
)
def test_each_question_has_its_share_of_the_time(
    t3000: PhysicalGraph, meshes: tuple[Mesh, ...], links: tuple[InterLink, ...], shares: list[float]
) -> None:
    graph = MeshGraph(meshes, links)
    told.clear()
    explain.why_not(demand_of_meshes(graph, t3000), links_between(graph), t3000, "m", Shares(60))
    assert told == shares


@pytest.mark.parametrize(("wraps", "shape"), [("LR", (2, 4)), ("RL", (4, 2))])
def test_a_wrap_that_is_in_the_way_is_told_once(
    t3000: PhysicalGraph, wraps: str, shape: tuple[int, int]
) -> None:
    reasons = refusal(t3000, MeshGraph((mesh(*shape, wraps=wraps),)))
    assert [reason.split()[0] for reason in reasons] == ["TTR172", "TTR174"]


def test_a_mesh_that_does_not_fit_alone_is_told_without_its_links(t3000: PhysicalGraph) -> None:
    graph = MeshGraph(
        (mesh(2, 2, wraps="LR"), mesh(1, 3, wraps="LR", mesh_id=1)), (InterLink(0, 1, 9, "STRICT"),)
    )
    assert all(
        "between them" not in reason and "beside each other" not in reason for reason in refusal(t3000, graph)
    )


def test_a_mesh_that_fits_alone_has_no_reason_of_its_own(t3000: PhysicalGraph) -> None:
    graph = MeshGraph((mesh(2, 2),))
    [found] = explain.why_not(demand_of_meshes(graph, t3000), {}, t3000, "m", Clock(60))
    assert found.message == "these constraints cannot hold together on this machine"


def together() -> MeshGraph:
    """No three chips of the grid form a ring, and no two ranks share the board of chips 0 and 4."""
    slots = {node.chip.chip_id: node.slot for node in build([parse_cluster(t3000_yaml(), "t")]).nodes}
    pins = tuple(PinGroup(0, (device,), (slots[chip],)) for device, chip in ((0, 0), (1, 4)))
    return MeshGraph((mesh(1, 3, hosts=(1, 3), wraps="LR"),), pins=pins)


def test_two_constraints_that_cannot_hold_together(t3000: PhysicalGraph) -> None:
    assert refusal(t3000, together()) == [
        "TTR177 mesh 0 (1x3) has no place on the links of this machine: its pins and host blocks cannot hold together"
        " drop two of them or more, pins first"
    ]
    told.clear()
    explain.why_not(demand_of_meshes(together(), t3000), {}, t3000, "m", Shares(60))
    assert told == [0.2, *[0.1] * 9]


def test_a_mesh_of_two_hosts_has_blocks(t3000: PhysicalGraph) -> None:
    demand = mesh_demand(mesh(1, 2, hosts=(1, 2)), (), t3000, processes=2)
    assert list(_constraints(demand, t3000)) == ["host blocks"]


@pytest.mark.parametrize(("chips", "more"), [(6, ""), (7, "; and 1 more"), (8, "; and 2 more")])
def test_chips_that_have_too_few_neighbours_are_named_in_part(chips: int, more: str) -> None:
    machine = build([replace(plain_grid(1, chips), links=())])
    graph = MeshGraph((mesh(1, 2, channels=1, arch="BLACKHOLE"),))
    with pytest.raises(RefusedError) as refused:
        place(graph, machine)
    [found] = refused.value.diagnostics
    assert found.notes == (f"short: {'; '.join(map(str, machine.nodes[:6]))}{more}",)


def test_pins_to_nothing_on_a_whole_galaxy_are_told_beside_its_corners() -> None:
    graph = MeshGraph((mesh(8, 4, channels=4),), pins=(PinGroup(0, (5,), ((9, 9),)),))
    assert [reason.partition(" would fit ")[2] for reason in refusal(build([galaxy("a", 0, 1)]), graph)] == [
        "without any pins; this machine has none of the slots of device 5; the corners of a whole-Galaxy mesh are always"
        " pinned, to location 1 of the trays drop the pinnings, or name other slots",
        "without the pin of device 5 free device 5",
    ]


def two_pinned() -> tuple[PhysicalGraph, list[MeshDemand]]:
    """Two hosts, and two meshes that are both pinned to the first, which has room for one."""
    cards = [parse_cluster(t3000_yaml(), f"{name}.yaml", host=name) for name in "ab"]
    chips = {n: replace(chip, unique_id=chip.unique_id + 1000) for n, chip in cards[1].chips.items()}
    machine = build([cards[0], replace(cards[1], chips=chips)])
    meshes = MeshGraph((mesh(2, 4), mesh(2, 4, mesh_id=1)))
    return machine, demand_of_meshes(meshes, machine, hosts={0: "a", 1: "a"})


def test_each_rank_pin_that_is_in_the_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, wanted = two_pinned()
    told.clear()
    reasons = [each.message for each in explain.why_not(wanted, {}, machine, "m", Shares(60))]
    assert reasons == [f"the meshes would fit if mesh {number} were not pinned to a" for number in (0, 1)]
    assert told == [0.2, 0.2, 0.1, 0.1]
    real = assigning.assign

    def late(wanted: Any, *words: Any) -> Any:
        if wanted[0].host is None:
            raise OutOfTime
        return real(wanted, *words)

    monkeypatch.setattr(explain, "assign", late)
    assert [each.message for each in explain.why_not(wanted, {}, machine, "m", Clock(60))] == reasons[1:]


@pytest.mark.parametrize(("count", "more"), [(12, ""), (13, " and 1 more")])
def test_links_that_nothing_was_proven_of_are_named_in_part(
    t3000: PhysicalGraph, monkeypatch: pytest.MonkeyPatch, count: int, more: str
) -> None:
    monkeypatch.setattr(explain, "assign", lambda *_: assigning.Assignment(None, False))
    links = {(0, other): [InterLink(0, other, 1, "STRICT")] for other in range(1, count + 1)}
    found = explain._conflict([], links, t3000, "m", Clock(60))
    assert (
        f": {', '.join(f'0-{other}' for other in range(1, 13))}{more} cannot hold together" in found.message
    )


def test_fewer_channels_that_could_not_be_tried_in_time_are_not_offered(
    t3000: PhysicalGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = assigning.assign

    def late(wanted: Any, links: Any, *words: Any) -> Any:
        if links and links[0, 1][0].channels == 5:
            raise OutOfTime
        return real(wanted, links, *words)

    graph = MeshGraph((mesh(2, 2), mesh(2, 2, mesh_id=1)), (InterLink(0, 1, 6, "STRICT"),))
    monkeypatch.setattr(explain, "assign", late)
    wanted = demand_of_meshes(graph, t3000)
    [found] = explain.why_not(wanted, links_between(graph), t3000, "m", Clock(60))
    assert found.help == "link other meshes, or leave this link out"


def test_the_largest_of_the_free_hosts_is_counted_on() -> None:
    """Two small meshes share the middle host, since the large one is needed whole; a third host is not taken for one of them."""
    grids = {"a": plain_grid(1, 2), "b": plain_grid(2, 2), "c": plain_grid(2, 4)}
    hosts = [
        replace(
            grid,
            host=name,
            chips={n: replace(chip, unique_id=100 * ord(name) + n) for n, chip in grid.chips.items()},
        )
        for name, grid in grids.items()
    ]
    shapes = ((1, 2), (1, 2), (2, 4))
    meshes = tuple(
        mesh(*shape, mesh_id=number, channels=1, arch="BLACKHOLE") for number, shape in enumerate(shapes)
    )
    placed = place(MeshGraph(meshes), build(hosts))
    assert [found.host_of(0) for found in placed.meshes] == ["b", "b", "c"] and placed.proven
