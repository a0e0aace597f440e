"""What the environment makes of a machine: shapes, chip numbers, visible devices, blocks of ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgd.systems import systems
from tests.runtime.mpi import ROOT
from tt_run.runtime.comm.world import Peer, World
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.machine import embed, machine_of
from tt_run.runtime.mesh.system import SystemMesh, find_system_mesh

CONFIGS = ROOT / "configs" / "mgd"


def lone(**environment: str) -> SystemMesh:
    return find_system_mesh(environment, World(0, 1))


def rank_of(
    descriptor: str, places: list[tuple[int | None, int | None]], rank: int, **environment: str
) -> SystemMesh:
    """The system mesh as rank `rank` of a job finds it, whose ranks have these (mesh_id, host_rank)."""
    ranks = World(rank, len(places))
    ranks._peers = tuple(Peer(r, 0, "here", 1, *place) for r, place in enumerate(places))
    return find_system_mesh(
        {"TT_MESH_GRAPH_DESC_PATH": str(CONFIGS / f"{descriptor}.textproto"), **environment}, ranks
    )


def grid(system: SystemMesh) -> list[list[int | None]]:
    rows, columns = system.shape
    return [list(system.ids[r * columns : (r + 1) * columns]) for r in range(rows)]


def test_a_t3000_is_the_default() -> None:
    system = lone()
    assert grid(system) == [[4, 0, 2, 6], [5, 1, 3, 7]]
    assert (system.visible_devices, system.visible_pcie_devices, system.machine.cluster_type) == (8, 4, "T3K")
    assert system.all_local
    assert system.device_id(MeshCoordinate(0, 3)) == 6


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ("0", [[0], [1]]),
        ("0,1", [[0, 2], [1, 3]]),
        ("2,3", [[0, 2], [1, 3]]),
        ("1,0", [[1, 3], [0, 2]]),
        ("0,2", [[2], [0], [1], [3]]),
        ("0,1,2,3", [[4, 0, 2, 6], [5, 1, 3, 7]]),
        (" ", [[4, 0, 2, 6], [5, 1, 3, 7]]),
    ],
)
def test_visible_devices_bring_their_partners(visible: str, expected: list[list[int]]) -> None:
    assert grid(lone(TT_VISIBLE_DEVICES=visible)) == expected


def test_three_cards_are_a_chain() -> None:
    system = lone(TT_VISIBLE_DEVICES="1,2,3")
    assert tuple(system.shape) == (6, 1)
    assert sorted(n for n in system.ids if n is not None) == list(range(6))


@pytest.mark.parametrize(
    ("visible", "text"),
    [("9", "no PCIe device 9"), ("zero", "zero is not a device id"), ("0,-1", "-1 is not a device id")],
)
def test_what_is_no_visible_device_is_an_error(visible: str, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        lone(TT_VISIBLE_DEVICES=visible)


def test_an_n300_is_a_column_by_discovery_and_a_row_by_descriptor() -> None:
    assert grid(lone(TT_RUN_SYSTEM="n300")) == [[0], [1]]
    assert grid(lone(TT_MESH_GRAPH_DESC_PATH=str(CONFIGS / "n300_mesh_graph_descriptor.textproto"))) == [
        [0, 1]
    ]


def test_an_unknown_system_names_near_ones() -> None:
    with pytest.raises(RuntimeError, match="did you mean t3000"):
        lone(TT_RUN_SYSTEM="t300")


@pytest.mark.parametrize("name", [s.name for s in systems() if s.hosts == 1 and s.mesh_count == 1])
def test_every_system_of_one_rank_opens(name: str) -> None:
    system = lone(TT_RUN_SYSTEM=name)
    assert system.all_local
    assert sorted(n for n in system.ids if n is not None) == list(range(len(system.ids)))


def test_each_rank_of_two_numbers_its_own_half() -> None:
    places: list[tuple[int | None, int | None]] = [(0, 0), (0, 1)]
    left, right = (
        rank_of("t3k_2x4_two_hosts", places, r, TT_VISIBLE_DEVICES=v) for r, v in ((0, "0,1"), (1, "2,3"))
    )
    assert grid(left) == [[2, 0, None, None], [3, 1, None, None]]
    assert grid(right) == [[None, None, 0, 2], [None, None, 1, 3]]
    assert left.owners == right.owners == (0, 0, 1, 1, 0, 0, 1, 1)
    # Each takes its own two cards for its machine.
    assert left.machine.cluster_type == right.machine.cluster_type == "N300_2x2"
    assert str(right.local_range.start) == "MeshCoordinate([0, 2])"
    assert (tuple(left.shape), tuple(left.local_shape), left.all_local) == ((2, 4), (2, 2), False)
    with pytest.raises(RuntimeError, match=r"Device at MeshCoordinate\(\[0, 3\]\) is remote"):
        left.device_id(MeshCoordinate(0, 3))
    with pytest.raises(
        RuntimeError,
        match=r"Coordinate MeshCoordinate\(\[2, 0\]\) is out of bounds for shape MeshShape\(\[2, 4\]\)",
    ):
        left.device_id(MeshCoordinate(2, 0))


def test_ranks_may_be_bound_in_any_order_or_left_to_their_number() -> None:
    assert rank_of("t3k_2x4_two_hosts", [(0, 1), (0, 0)], 0).owners[0] == 1
    assert rank_of("t3k_2x4_two_hosts", [(None, None), (None, None)], 1).owners == (0, 0, 1, 1, 0, 0, 1, 1)


def test_meshes_of_their_own() -> None:
    system = rank_of("t3k_2x2_two_meshes", [(0, 0), (1, 0)], 1, TT_VISIBLE_DEVICES="2,3")
    assert (system.mesh_id, grid(system), set(system.owners)) == (1, [[0, 2], [1, 3]], {1})
    left_open = rank_of("t3k_2x2_two_meshes", [(None, None), (None, None)], 1)
    assert (left_open.mesh_id, set(left_open.owners)) == (1, {1})


@pytest.mark.parametrize(
    ("places", "text"),
    [
        ([(0, 0)], "no rank has TT_MESH_HOST_RANK=1"),
        ([(0, 0), (0, 0)], "ranks 0 and 1 both have TT_MESH_HOST_RANK=0"),
        ([(0, 0), (0, 5)], "rank 1 has TT_MESH_HOST_RANK=5, the mesh has 0..1"),
        ([(0, 0), (3, 0)], r"rank 1 has TT_MESH_ID=3, but .* has the meshes \[0\]"),
    ],
)
def test_ranks_that_do_not_fit_the_descriptor(places: list[tuple[int | None, int | None]], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        rank_of("t3k_2x4_two_hosts", places, 0)


def test_sub_contexts_count_their_ranks_apart() -> None:
    ranks = World(1, 2)
    ranks._peers = tuple(Peer(r, 0, "here", 1, 0, 0, subcontext=r) for r in (0, 1))
    path = str(CONFIGS / "n300_mesh_graph_descriptor.textproto")
    assert set(find_system_mesh({"TT_MESH_GRAPH_DESC_PATH": path}, ranks).owners) == {1}


def test_too_few_visible_devices_for_the_block() -> None:
    with pytest.raises(
        RuntimeError, match="TT_VISIBLE_DEVICES=0 exposes 2 devices, but this rank's block of mesh 0 has 4"
    ):
        rank_of("t3k_2x4_two_hosts", [(0, 0), (0, 1)], 0, TT_VISIBLE_DEVICES="0")
    # No chip of a Galaxy brings a partner.
    with pytest.raises(RuntimeError, match=r"name 16 of them(.|\n)* exposes 8 devices, but .* has 16"):
        rank_of("galaxy_8x4_two_hosts", [(0, 0), (0, 1)], 0, TT_VISIBLE_DEVICES="0,1,2,3,4,5,6,7")


def test_a_missing_or_broken_descriptor_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"TT_MESH_GRAPH_DESC_PATH=.*nowhere"):
        lone(TT_MESH_GRAPH_DESC_PATH=str(tmp_path / "nowhere.textproto"))
    broken = tmp_path / "broken.textproto"
    broken.write_text("mesh_descriptors {")
    with pytest.raises(RuntimeError, match="cannot be used"):
        lone(TT_MESH_GRAPH_DESC_PATH=str(broken))


def test_embedding_respects_every_link() -> None:
    machine = machine_of("WORMHOLE_B0", (2, 4))
    near = machine.links()
    links = {chip: sorted(near[chip]) for chip in machine.chips}
    assert embed(links, range(8), (3, 2)) is not None
    assert embed(links, range(8), (3, 3)) is None
    found = embed(links, range(8), (2, 4))
    assert found is not None
    assert all(found[i + 1] in near[found[i]] for i in (0, 1, 2, 4, 5, 6))
    assert all(found[i + 4] in near[found[i]] for i in range(4))


def test_pods_that_repeat_their_ids() -> None:
    places: list[tuple[int | None, int | None]] = [(mesh_id, 0) for mesh_id in range(4)]
    system = rank_of("closetbox_16x2x4", places, 3)
    assert (system.mesh_id, tuple(system.shape), system.all_local) == (3, (2, 4), True)


def test_one_id_for_meshes_of_different_shape(tmp_path: Path) -> None:
    path = tmp_path / "pods.textproto"
    text = (CONFIGS / "closetbox_16x2x4.textproto").read_text()
    small = """mesh_descriptors { name: "small" arch: WORMHOLE_B0 device_topology { dims: [1, 2] }
      host_topology { dims: [1, 1] } channels { count: 2 policy: RELAXED } }
    graph_descriptors { name: "other" type: "SUPERPOD"
      instances { mesh { mesh_descriptor: "small" mesh_id: 0 } } instances { mesh { mesh_descriptor: "small" mesh_id: 1 } }
      graph_topology { layout_type: ALL_TO_ALL channels { count: 2 policy: RELAXED } } }
    """
    last = 'instances { graph { graph_descriptor: "pod" graph_id: 3 } }'
    assert last in text
    path.write_text(small + text.replace(last, last.replace('"pod"', '"other"')))
    with pytest.raises(
        RuntimeError, match=r"several meshes with the id 0 and of different shape: \(2, 4\) and \(1, 2\)"
    ):
        lone(TT_MESH_GRAPH_DESC_PATH=str(path))


def test_devices_have_the_ids_that_the_launcher_knows() -> None:
    from mgd.systems import find

    path = str(find("t3000").path)
    mesh = find_system_mesh(
        {"TT_MESH_GRAPH_DESC_PATH": path, "TT_RUN_DEVICE_IDS": "7,6,5,4,3,2,1,0"}, World(0, 1)
    )
    assert mesh.ids == (7, 6, 5, 4, 3, 2, 1, 0)
    with pytest.raises(RuntimeError, match="does not fit a block of 8 devices"):
        find_system_mesh({"TT_MESH_GRAPH_DESC_PATH": path, "TT_RUN_DEVICE_IDS": "1,2"}, World(0, 1))


@pytest.mark.parametrize("name", ["p150-x2", "p300", "p300-x2", "t3000"])
def test_systems_of_one_shape_are_told_apart_by_their_descriptor(name: str) -> None:
    """As `tt-run --system` names them to a rank."""
    from mgd.systems import find

    system = find(name)
    path = {"TT_MESH_GRAPH_DESC_PATH": str(system.path)}
    assert find_system_mesh(path, World(0, 1)).machine.cluster_type == system.cluster_type
    said = find_system_mesh({**path, "TT_RUN_CLUSTER_TYPE": "CUSTOM"}, World(0, 1))
    assert said.machine.cluster_type == "CUSTOM"


def test_a_rank_counts_the_pcie_chips_of_its_own_block() -> None:
    for rank, ids in ((0, (2, 0, None, None, 3, 1, None, None)), (1, (None, None, 0, 2, None, None, 1, 3))):
        system = rank_of("t3k_2x4_two_hosts", [(0, 0), (0, 1)], rank)
        assert (system.ids, system.visible_devices, system.visible_pcie_devices) == (ids, 4, 2)
