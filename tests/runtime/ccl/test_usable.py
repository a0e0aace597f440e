"""Links and topologies that programs choose by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mgd.systems import find
from tests.runtime.mpi import ROOT
from tt_run.runtime.ccl.usable import (
    get_all_fabric_mesh_ids,
    get_all_mgd_fabric_types,
    get_num_links,
    get_usable_topology,
)
from tt_run.runtime.comm.world import World
from tt_run.runtime.enums import Topology
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.mesh.system import find_system_mesh
from tt_run.runtime.tensor.borders.arrays import from_torch


@pytest.mark.parametrize(
    ("shape", "axis", "asked", "found"),
    [
        ((1, 8), 1, Topology.Ring, Topology.Ring),
        ((1, 4), 1, Topology.Ring, Topology.Linear),
        ((2, 4), 1, Topology.Ring, Topology.Linear),
        ((2, 4), None, Topology.Torus, Topology.Mesh),
        ((1, 8), None, None, Topology.Linear),
        ((1, 8), 0, Topology.Ring, Topology.Ring),  # one device, which has no ends
        ((2, 4), 0, Topology.Ring, Topology.Linear),
        ((2, 1), 1, Topology.Ring, Topology.Ring),
    ],
)
def test_a_ring_only_where_devices_close_to_one(
    shape: tuple[int, int], axis: int | None, asked: Topology | None, found: Topology
) -> None:
    mesh = open_mesh_device(MeshShape(*shape))
    tensor = from_torch(np.zeros((2, 2), np.float32), device=mesh)
    assert get_usable_topology(tensor, asked, axis) is found
    assert get_num_links(mesh, axis) >= 1
    with pytest.raises(RuntimeError, match="cluster_axis must be"):
        get_num_links(mesh, 2)
    with pytest.raises(RuntimeError, match="needs a tensor on a device"):
        get_usable_topology(from_torch(np.zeros((2, 2), np.float32)))
    mesh.close()


@pytest.mark.parametrize(
    ("name", "axis", "asked", "found"),
    [
        ("galaxy", None, Topology.Torus, Topology.Mesh),
        ("galaxy-torus-x", None, Topology.Torus, Topology.Mesh),
        ("galaxy-torus-x", 0, Topology.Ring, Topology.Linear),
        ("galaxy-torus-x", 1, Topology.Ring, Topology.Ring),
        ("galaxy-torus-y", 0, Topology.Ring, Topology.Ring),
        ("galaxy-torus-xy", None, Topology.Torus, Topology.Torus),
        ("galaxy-torus-xy", None, Topology.Ring, Topology.Ring),
    ],
)
def test_a_torus_closes_along_the_axes_that_wrap(
    name: str, axis: int | None, asked: Topology, found: Topology
) -> None:
    system = find_system_mesh(
        {"TT_MESH_GRAPH_DESC_PATH": str(find(name).path), "TT_MESH_ID": "0"}, World(0, 1)
    )
    mesh = MeshDevice(system, system.shape, tuple(range(len(system.ids))))
    tensor = from_torch(np.zeros((2, 2), np.float32), device=mesh)
    assert get_usable_topology(tensor, asked, axis) is found
    mesh.close()


@pytest.mark.parametrize(
    ("wraps", "found"), [((False, True), Topology.Ring), ((False, False), Topology.Linear)]
)
def test_two_devices_of_a_ring_of_two_close_however_they_are_laid_out(
    wraps: tuple[bool, bool], found: Topology
) -> None:
    whole = find_system_mesh({}, World(0, 1))
    two = replace(whole, shape=MeshShape(1, 2), ids=whole.ids[:2], owners=whole.owners[:2], wraps=wraps)
    mesh = MeshDevice(two, MeshShape(2, 1), (0, 1))
    tensor = from_torch(np.zeros((2, 2), np.float32), device=mesh)
    assert get_usable_topology(tensor, Topology.Ring, 0) is found
    assert get_usable_topology(tensor, Topology.Ring, 1) is Topology.Ring  # one device has no ends
    mesh.close()


@pytest.mark.parametrize(
    ("descriptor", "kind", "meshes"),
    [
        ("t3k_mesh", "MESH", 1),
        ("dual_t3k_mesh", "MESH", 2),
        ("single_bh_galaxy_torus_x", "TORUS_X", 1),
        ("3_quad_bh_galaxy_3x32x4_torus", "TORUS_XY", 3),
    ],
)
def test_every_mesh_of_the_descriptor_is_told(
    monkeypatch: pytest.MonkeyPatch, descriptor: str, kind: str, meshes: int
) -> None:
    path = ROOT / "configs" / "mgd" / f"{descriptor}_graph_descriptor.textproto"
    monkeypatch.setenv("TT_MESH_GRAPH_DESC_PATH", str(path))
    assert [int(mesh) for mesh in get_all_fabric_mesh_ids()] == list(range(meshes))
    assert [found.name for found in get_all_mgd_fabric_types()] == [kind] * meshes
