"""Meshes for the tests of the runtime."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.opening import open_mesh_device
from tt_run.runtime.mesh.shape import MeshShape


@pytest.fixture(scope="module")
def mesh() -> Iterator[MeshDevice]:
    """A 2x4 mesh of one rank."""
    device = open_mesh_device(MeshShape(2, 4))
    yield device
    device.close()


@pytest.fixture(scope="module")
def row() -> Iterator[MeshDevice]:
    """A 1x2 mesh of one rank."""
    device = open_mesh_device(MeshShape(1, 2))
    yield device
    device.close()


@pytest.fixture(scope="module")
def one() -> Iterator[MeshDevice]:
    """A single device."""
    device = open_mesh_device(MeshShape(1, 1))
    yield device
    device.close()
