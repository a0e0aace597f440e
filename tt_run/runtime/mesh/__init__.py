"""Meshes of devices: shapes and coordinates, the system mesh of the process, mesh devices, pictures of them."""

from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.ranges import (
    MeshCoordinateRange,
    MeshCoordinateRangeSet,
    compute_distribution_to_mesh_mapping,
)
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.opening import (
    close_device,
    close_mesh_device,
    create_mesh_device,
    open_device,
    open_mesh_device,
)
from tt_run.runtime.mesh.system import SystemMesh, SystemMeshDescriptor, system_mesh
from tt_run.runtime.mesh.view import FabricNodeId, MeshDeviceView

__all__ = [
    "FabricNodeId",
    "MeshCoordinate",
    "MeshCoordinateRange",
    "MeshCoordinateRangeSet",
    "MeshDevice",
    "MeshDeviceView",
    "MeshShape",
    "SystemMesh",
    "SystemMeshDescriptor",
    "close_device",
    "close_mesh_device",
    "compute_distribution_to_mesh_mapping",
    "create_mesh_device",
    "open_device",
    "open_mesh_device",
    "system_mesh",
]
