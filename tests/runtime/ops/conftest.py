"""Meshes for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device


@pytest.fixture(scope="module")
def mesh() -> Iterator[MeshDevice]:
    """A 2x4 mesh of one rank."""
    device = open_mesh_device(MeshShape(2, 4))
    yield device
    device.close()


@pytest.fixture(scope="module")
def one() -> Iterator[MeshDevice]:
    """A single device."""
    device = open_mesh_device(MeshShape(1, 1))
    yield device
    device.close()
