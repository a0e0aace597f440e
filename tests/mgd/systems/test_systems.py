"""The table of systems against the descriptors it names, and the ways to find one."""

from __future__ import annotations

from collections import Counter

import pytest

import mgd
from mgd.diagnostics import Severity
from mgd.graph import Mesh
from mgd.resources import configs_root
from mgd.systems import (
    System,
    UnknownSystem,
    fabric_type_of,
    find,
    for_cluster_type,
    for_device_count,
    missing_torus_dims,
    systems,
)

ALL = systems()
IDS = [system.name for system in ALL]

# Warnings that a shipped descriptor is right to have: code -> the systems and why.
EXPECTED_WARNINGS: dict[str, tuple[set[str], str]] = {
    "MGD073": (
        {f"{n}-quad-bh-galaxy" for n in range(2, 10)} | {"triple-pod"},
        "as in the published descriptors, these toruses ask for links without naming the Z direction and get Z ports",
    ),
    "MGD052": ({"closetbox"}, "its pods are nested graphs: a descriptor to plan with, not to run"),
    "MGD053": ({"closetbox"}, "its graphs are a CLUSTER of SUPERPODs"),
    "MGD076": ({"closetbox"}, "every pod numbers its meshes from 0"),
}


def test_every_descriptor_is_in_the_table_once() -> None:
    files = {path.stem for path in (configs_root() / "mgd").glob("*.textproto")}
    assert Counter(system.stem for system in ALL) == Counter(files)


def test_every_spelling_means_one_system() -> None:
    spellings = [name for system in ALL for name in (system.name, *system.aliases)]
    assert not [name for name, count in Counter(spellings).items() if count > 1]
    for system in ALL:
        assert {find(name) for name in (system.name, system.stem, *system.aliases)} == {system}


@pytest.mark.parametrize("system", ALL, ids=IDS)
def test_the_row_says_what_the_descriptor_says(system: System) -> None:
    graph = mgd.expand(mgd.load(system.path))
    assert {mesh.arch for mesh in graph.meshes} == {system.arch}
    shapes = Counter((mesh.dims, mesh.host_dims, mesh.is_switch) for mesh in graph.meshes)
    parts: Counter[object] = Counter()
    for part in system.parts:
        parts[part.dims, part.host_dims, part.is_switch] += part.count
    assert shapes == parts
    assert system.devices == graph.device_count
    assert system.hosts == sum(mesh.host_count for mesh in graph.meshes)
    assert system.fabric_type in {_fabric_type(mesh) for mesh in graph.meshes}


def _fabric_type(mesh: Mesh) -> str:
    axes = ("X" if mesh.dim_types[1] == "RING" else "") + ("Y" if mesh.dim_types[0] == "RING" else "")
    return f"TORUS_{axes}" if axes else "MESH"


@pytest.mark.parametrize("system", ALL, ids=IDS)
def test_the_descriptor_is_accepted_without_unexplained_warnings(system: System) -> None:
    findings = mgd.check(mgd.load(system.path))
    assert not [each for each in findings if each.is_error]
    for each in findings:
        if each.severity is Severity.NOTE:
            continue
        names, _why = EXPECTED_WARNINGS.get(each.code, (set(), ""))
        assert system.name in names, f"{each.code}: {each.message}"


def test_every_explained_warning_is_still_given() -> None:
    given = {(each.code, system.name) for system in ALL for each in mgd.check(mgd.load(system.path))}
    assert {(code, name) for code, (names, _) in EXPECTED_WARNINGS.items() for name in names} <= given


@pytest.mark.parametrize("system", ALL, ids=IDS)
def test_the_descriptor_opens_with_a_line_on_what_it_is(system: System) -> None:
    first = system.path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ") and len(first) > 20


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("t3000", "t3k_mesh_graph_descriptor"),
        ("T3K", "t3k_mesh_graph_descriptor"),
        ("quietbox", "t3k_mesh_graph_descriptor"),
        ("LoudBox", "t3k_1x8_mesh_graph_descriptor"),
        ("t3k_1x8_mesh_graph_descriptor.textproto", "t3k_1x8_mesh_graph_descriptor"),
        ("galaxy", "single_galaxy_mesh_graph_descriptor"),
        ("galaxy-1x32", "galaxy_1x32_mesh_graph_descriptor"),
        ("n300", "n300_mesh_graph_descriptor"),
        ("tg", "tg_mesh_graph_descriptor"),
        ("16x4_dual_bh_galaxy_2d", "16x4_dual_bh_galaxy_2d_mesh_graph_descriptor"),
    ],
)
def test_find(name: str, stem: str) -> None:
    assert find(name).stem == stem


def test_a_typo_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(UnknownSystem, match="did you mean galaxy") as caught:
        find("gallaxy")
    assert caught.value.nearest[0] == "galaxy"
    with pytest.raises(UnknownSystem, match="mgd systems"):
        find("qqqqqqqq")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("gallaxy", ("galaxy", "bh-galaxy")),
        ("p15", ("p150", "p150-x8", "p150-x4")),  # of five that are near, three
        ("t3", ("t3000",)),
        ("16x4", ("6-quad-bh-galaxy",)),
    ],
)
def test_so_many_names_are_near(name: str, near: tuple[str, ...]) -> None:
    with pytest.raises(UnknownSystem) as caught:
        find(name)
    assert (caught.value.wanted, caught.value.nearest) == (name, near)
    assert str(caught.value) == f"no system is called '{name}': did you mean {' or '.join(near)}?"


@pytest.mark.parametrize(
    ("cluster", "fabric", "stem"),
    [
        ("N150", "MESH", "n150_mesh_graph_descriptor"),
        ("N300", "MESH", "n300_mesh_graph_descriptor"),
        ("N300_2x2", "MESH", "n300_2x2_mesh_graph_descriptor"),
        ("T3K", "MESH", "t3k_mesh_graph_descriptor"),
        ("T3K", "TORUS_XY", "t3k_mesh_graph_descriptor"),
        ("GALAXY", "MESH", "single_galaxy_mesh_graph_descriptor"),
        ("GALAXY", "TORUS_X", "single_galaxy_torus_x_graph_descriptor"),
        ("GALAXY", "TORUS_XY", "single_galaxy_torus_xy_graph_descriptor"),
        ("BLACKHOLE_GALAXY", "TORUS_Y", "single_bh_galaxy_torus_y_graph_descriptor"),
        ("TG", "MESH", "tg_mesh_graph_descriptor"),
        ("P100", "MESH", "p100_mesh_graph_descriptor"),
        ("P150", "MESH", "p150_mesh_graph_descriptor"),
        ("P150_X2", "MESH", "p150_x2_mesh_graph_descriptor"),
        ("P150_X4", "MESH", "p150_x4_mesh_graph_descriptor"),
        ("P150_X8", "MESH", "p150_x8_mesh_graph_descriptor"),
        ("P300", "MESH", "p300_mesh_graph_descriptor"),
        ("P300_X2", "MESH", "p300_x2_mesh_graph_descriptor"),
        ("SIMULATOR_WORMHOLE_B0", "MESH", "n150_mesh_graph_descriptor"),
        ("SIMULATOR_BLACKHOLE", "MESH", "p150_mesh_graph_descriptor"),
        ("SIMULATOR_QUASAR", "TORUS_X", "p150_mesh_graph_descriptor"),
    ],
)
def test_choice_by_cluster_type(cluster: str, fabric: str, stem: str) -> None:
    assert for_cluster_type(cluster, fabric).stem == stem


def test_a_custom_cluster_has_no_default() -> None:
    with pytest.raises(UnknownSystem, match="needs a descriptor of its own"):
        for_cluster_type("CUSTOM")
    with pytest.raises(UnknownSystem, match="known: N150"):
        for_cluster_type("T4K")


def test_choice_by_device_count_is_that_of_the_training_guide() -> None:
    assert (for_device_count(8).shape, for_device_count(32).shape) == ((1, 8), (1, 32))
    with pytest.raises(UnknownSystem, match="n300-2x2") as caught:
        for_device_count(4)
    assert "p150-x4" in caught.value.nearest


@pytest.mark.parametrize(
    ("config", "cluster", "fabric"),
    [
        ("FABRIC_1D_RING", "GALAXY", "TORUS_XY"),
        ("FABRIC_1D_NEIGHBOR_EXCHANGE", "BLACKHOLE_GALAXY", "TORUS_XY"),
        ("FABRIC_1D_RING", "T3K", "MESH"),
        ("FABRIC_2D_TORUS_X", "GALAXY", "TORUS_X"),
        ("FabricConfig.FABRIC_2D_TORUS_XY", "GALAXY", "TORUS_XY"),
        ("FABRIC_2D", "GALAXY", "MESH"),
        ("DISABLED", "GALAXY", "MESH"),
    ],
)
def test_fabric_type_of_a_configuration(config: str, cluster: str, fabric: str) -> None:
    assert fabric_type_of(config, cluster) == fabric


def test_a_configuration_may_not_ask_for_a_torus_that_the_file_lacks() -> None:
    def mesh(dims: tuple[int, int], types: tuple[str, str]) -> Mesh:
        return Mesh(0, "M0", "WORMHOLE_B0", dims, (1, 1), types, 2, "RELAXED")

    galaxy = mesh((8, 4), ("LINE", "RING"))
    assert missing_torus_dims("TORUS_X", galaxy) == ()
    assert missing_torus_dims("TORUS_XY", galaxy) == (0,)
    assert missing_torus_dims("MESH", galaxy) == ()
    assert missing_torus_dims("TORUS_Y", mesh((2, 4), ("LINE", "LINE"))) == ()
    for extent in (1, 3):
        assert missing_torus_dims("TORUS_Y", mesh((extent, 2), ("LINE", "LINE"))) == (0,)
        assert missing_torus_dims("TORUS_XY", mesh((2, extent), ("LINE", "LINE"))) == (1,)


def test_what_is_known_of_a_system_of_several_parts() -> None:
    """Four 1x1 meshes beside one of 4x8; a mesh beside a switch; eight meshes over several hosts."""
    known = {
        name: (each.shape, each.mesh_count, each.hosts, each.devices, each.layout)
        for name in ("tg", "t3000-switch", "quad-bh-galaxy-8x4x4-z")
        for each in [find(name)]
    }
    assert known == {
        "tg": ((4, 8), 5, 5, 36, "4 × 1x1 + 4x8"),
        "t3000-switch": ((2, 2), 1, 2, 8, "2x2 + switch 2x2"),
        "quad-bh-galaxy-8x4x4-z": ((4, 4), 8, 12, 128, "4 × 4x4 + 4 × 4x4"),
    }
