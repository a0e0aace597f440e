"""Data stays on its devices when a mesh is reshaped; tensors follow them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any
from weakref import ref

import numpy as np
import pytest

from tests.runtime.mpi import ROOT, mpirun, run_ranks
from tt_run.runtime.ccl.collectives import all_gather
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.ops import add
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.conversion.devices import from_device
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.mappers import (
    ReplicateTensorToMesh,
    ShardTensor2dMesh,
    ShardTensorToMesh,
)
from tt_run.runtime.tensor.distribution.per_device import get_device_tensors
from tt_run.runtime.tensor.tensor import Tensor

VALUES = np.arange(32, dtype=np.float32).reshape(8, 4)
SNAKE = [0, 1, 2, 3, 7, 6, 5, 4]


@pytest.fixture
def device() -> Iterator[MeshDevice]:
    mesh = open_mesh_device(MeshShape(2, 4))
    yield mesh
    mesh.close()


def on(device: MeshDevice, mapper: Any = None) -> Tensor:
    made = from_torch(VALUES, device=device, mesh_mapper=mapper or ShardTensorToMesh(device, 0))
    assert made is not None
    return made


def chips(tensor: Tensor) -> dict[int, list[float]]:
    """What each chip holds, by its id."""
    device = tensor.device()
    assert device is not None
    held = zip(device.get_device_ids(), tensor.shards.each(), strict=True)
    return {chip: row.ravel().tolist() for chip, row in held if row is not None}


@pytest.mark.parametrize("shape", [(1, 8), (8, 1), (4, 2)])
def test_what_a_chip_holds_it_keeps(device: MeshDevice, shape: tuple[int, int]) -> None:
    tensors = [
        on(device),
        on(device, ShardTensor2dMesh(device, (2, 4), (0, 1))),
        on(device, ReplicateTensorToMesh(device)),
        on(device, ShardTensor2dMesh(device, (2, 2), (0, 1))),
    ]
    before = [chips(tensor) for tensor in tensors]
    texts = [str(tensor.tensor_topology()) for tensor in tensors]
    device.reshape(MeshShape(shape))
    assert [chips(tensor) for tensor in tensors] == before
    for tensor in tensors:
        assert set(tensor.tensor_topology().mesh_coords()) <= set(device.coords)
    device.reshape(MeshShape(2, 4))
    assert [chips(tensor) for tensor in tensors] == before
    assert [str(tensor.tensor_topology()) for tensor in tensors] == texts


def test_old_and_new_tensors_meet_chip_by_chip(device: MeshDevice) -> None:
    old = on(device)
    device.reshape(MeshShape(1, 8))
    new = on(device)
    total = add(old, new).to_numpy(ConcatMeshToTensor(device, 0))
    assert np.array_equal(total, VALUES[SNAKE] + VALUES)
    assert np.array_equal(old.to_numpy(ConcatMeshToTensor(device, 0)), VALUES[SNAKE])
    assert np.array_equal(from_device(old).to_numpy(ConcatMeshToTensor(device, 0)), VALUES[SNAKE])
    gathered = all_gather(old, dim=0, cluster_axis=1)
    assert np.array_equal(gathered.shards.of(3), VALUES[SNAKE])


def test_shards_keep_their_order_and_see_their_device(device: MeshDevice) -> None:
    tensor = on(device)
    parts = get_device_tensors(tensor)
    device.reshape(MeshShape(1, 8))
    for found in (parts, get_device_tensors(tensor)):
        assert [part.to_numpy()[0, 0] for part in found] == VALUES[:, 0].tolist()
        assert [part.device_coords() for part in found] == [
            [MeshCoordinate(0, SNAKE.index(i))] for i in range(8)
        ]
    del tensor
    device.reshape(MeshShape(2, 4))
    assert [part.to_numpy()[0, 0] for part in parts] == VALUES[:, 0].tolist()
    assert parts[4].device_coords() == [MeshCoordinate(1, 0)]


def test_tensors_elsewhere_and_without_a_buffer_stay(device: MeshDevice) -> None:
    submesh = device.create_submesh(MeshShape(2, 2))
    elsewhere, gone = on(submesh), on(device)
    gone.deallocate()
    device.reshape(MeshShape(1, 8))
    assert elsewhere.device_coords() == list(submesh.coords)
    assert not gone.is_allocated()


def test_the_constructor_puts_a_tensor_on_the_mesh_too(device: MeshDevice) -> None:
    tensor = Tensor(on(device))
    device.reshape(MeshShape(1, 8))
    assert tensor.device_coords()[0] == MeshCoordinate(0, 0)
    assert np.array_equal(tensor.to_numpy(ConcatMeshToTensor(device, 0)), VALUES[SNAKE])


def test_a_mesh_keeps_no_tensor_alive_and_forgets_the_dead(device: MeshDevice) -> None:
    kept = on(device)
    for _ in range(2000):
        last = ref(on(device))
    assert last() is None
    assert [resident for resident in device.residents if resident is kept]
    assert len(list(device.residents)) <= 2
    assert len(device.residents._references) <= 512


def digests() -> None:
    """Print a digest of what each chip of this rank holds after a reshape."""
    mesh = open_mesh_device(MeshShape(2, 4))
    old = on(mesh)
    mesh.reshape(MeshShape(1, 8))
    total = add(old, on(mesh))
    for position, row in zip(mesh.local_positions, total.shards.each(), strict=True):
        assert row is not None
        print(mesh.positions[position], hashlib.sha256(row.tobytes()).hexdigest()[:12])
    mesh.close()


@pytest.mark.wide
@pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")
def test_ranks_give_the_bits_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    digests()
    descriptor = str(ROOT / "configs" / "mgd" / "t3k_2x4_two_hosts.textproto")
    program = "from tests.runtime.mesh.test_residents import digests\ndigests()\n"
    done = run_ranks(2, program, env={"TT_MESH_GRAPH_DESC_PATH": descriptor}, timeout=60).check()
    found = "".join(rank.stdout for rank in done.ranks).splitlines()
    assert sorted(found) == sorted(capsys.readouterr().out.splitlines())
