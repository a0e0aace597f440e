"""Sockets between the host and a device."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tt_run.runtime import events
from tt_run.runtime.enums import BufferType, DataType
from tt_run.runtime.listeners.ledger import Ledger
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.sockets.config import MeshCoreCoord
from tt_run.runtime.sockets.host import D2HSocket, H2DMode, H2DSocket
from tt_run.runtime.sockets.host_transfer import recv_async_h2d, send_async_d2h
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import CoreCoord
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.traffic import Fabric

VALUES = np.arange(64, dtype=np.float32).reshape(2, 32)


@pytest.fixture
def mesh() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 2))
    yield device
    device.close()


def core(column: int) -> MeshCoreCoord:
    return MeshCoreCoord(MeshCoordinate(0, column), CoreCoord(0, 0))


def to_device(mesh: MeshDevice) -> H2DSocket:
    socket = H2DSocket(mesh, core(1), BufferType.L1, 4096, H2DMode.HOST_PUSH)
    socket.set_page_size(64)
    return socket


def to_host(mesh: MeshDevice) -> D2HSocket:
    socket = D2HSocket(mesh, core(0), 4096)
    socket.set_page_size(64)
    return socket


def host(values: Any, dtype: DataType = DataType.BFLOAT16) -> Tensor:
    return from_torch(values, dtype=dtype)


def zeros(mesh: MeshDevice) -> Tensor:
    return from_torch(
        np.zeros_like(VALUES), dtype=DataType.BFLOAT16, device=mesh, mesh_mapper=ReplicateTensorToMesh(mesh)
    )


@pytest.mark.parametrize("first", ["write", "receive"])
def test_the_host_fills_one_device_in_either_order(mesh: MeshDevice, first: str) -> None:
    socket, output = to_device(mesh), zeros(mesh)
    if first == "write":
        socket.write_tensor(host(VALUES))
    (received,) = recv_async_h2d(output, socket)
    assert received.storage is output.storage
    if first == "receive":
        socket.write_tensor(host(VALUES[:1]))
        socket.write_tensor(host(VALUES[1:]))
    left, right = output.shards.each()
    assert not np.any(left) and np.array_equal(right, VALUES)
    socket.barrier()
    assert (socket.get_page_size(), socket.get_h2d_mode()) == (64, H2DMode.HOST_PUSH)
    assert socket.get_active_cores() == [core(1)] and socket.get_mesh_device() is mesh


def test_a_device_sends_to_the_host(mesh: MeshDevice) -> None:
    socket = to_host(mesh)
    tensor = from_torch(
        np.stack([VALUES, VALUES + 1]),
        dtype=DataType.BFLOAT16,
        device=mesh,
        mesh_mapper=ShardTensorToMesh(mesh, dim=0),
    )
    assert not socket.has_data()
    assert send_async_d2h(tensor, socket) == []
    assert socket.has_data()
    with pytest.raises(RuntimeError, match="64 elements were sent and not read"):
        socket.barrier()
    out = host(np.zeros_like(VALUES))
    socket.read_tensor(out)
    assert np.array_equal(out.shards.data[0], VALUES)
    socket.barrier()
    send_async_d2h(tensor, socket)
    assert socket.discard_pending_pages() == 2
    assert not socket.has_data()


def test_torch_tensors_at_both_ends(mesh: MeshDevice) -> None:
    torch = pytest.importorskip("torch")
    down, up, tensor = to_device(mesh), D2HSocket(mesh, core(1), 4096), zeros(mesh)
    up.set_page_size(64)
    sent = torch.arange(64, dtype=torch.bfloat16).reshape(2, 32)
    down.write_tensor(sent)
    send_async_d2h(recv_async_h2d(tensor, down)[0], up)
    received = torch.zeros(2, 32, dtype=torch.bfloat16)
    up.read_tensor(received)
    assert torch.equal(received, sent)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda s, t: s.write_tensor(t), "takes a host tensor"),
        (lambda s, t: s.write_tensor(host(VALUES[:1, :3])), "no multiple of the page size 64"),
        (lambda s, t: s.set_page_size(4097), "must be positive and fit the FIFO of 4096 bytes"),
        (lambda s, t: s.set_page_size(0), "must be positive and fit the FIFO of 4096 bytes"),
        (
            lambda s, t: (s.write_tensor(host(VALUES, DataType.FLOAT32)), recv_async_h2d(t, s), t.shards),
            "FLOAT32 data, the tensor is",
        ),
        (lambda s, t: (recv_async_h2d(t, s), t.shards), "holds 0 of the 64 elements"),
        (lambda s, t: (s.write_tensor(host(VALUES)), s.barrier()), "written and never received"),
        (lambda s, t: s.write(None, 1), "raw pointer"),
        (lambda s, t: H2DSocket.connect("none", 20), "no process exported the service 'none' within 20 ms"),
    ],
)
def test_refusals(mesh: MeshDevice, action: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        action(to_device(mesh), zeros(mesh))


def test_what_leaves_a_device_is_booked(mesh: MeshDevice) -> None:
    ledger = Ledger(Fabric((1, 2)))
    leave = events.subscribe(ledger.note)
    try:
        send_async_d2h(zeros(mesh), to_host(mesh))
    finally:
        leave()
    (stream,) = ledger.part()["streams"]
    assert stream["name"] == "send_async_d2h" and stream["bytes"] > 0


SERVER = """
import sys
import numpy as np, ttnn
h2d, d2h = ttnn.H2DSocket.connect(sys.argv[1], 20000), ttnn.D2HSocket.connect(sys.argv[1], timeout_ms=20000)
h2d.set_page_size(64)
d2h.set_page_size(64)
assert d2h.discard_pending_pages() == 0 and not d2h.has_data()
d2h.barrier(1000)
for step in range(3):
    h2d.write_tensor(ttnn.from_torch(np.full((2, 32), step, np.float32), dtype=ttnn.bfloat16))
    result = ttnn.from_torch(np.zeros((2, 32), np.float32), dtype=ttnn.bfloat16)
    d2h.read_tensor(result)
    print(float(result.cpu().to_list()[1][31]) if hasattr(result, "to_list") else result)
h2d.barrier(5000)
try:
    h2d.get_mesh_device()
except RuntimeError as error:
    print("for the process that made" in str(error))
"""


def test_another_process_writes_and_reads(mesh: MeshDevice, tmp_path: Path) -> None:
    down, up, tensor = to_device(mesh), D2HSocket(mesh, core(1), 4096), zeros(mesh)
    up.set_page_size(64)
    name = f"test-{os.getpid()}"
    assert down.export_descriptor(name) == f"/dev/shm/tt_h2d_{name}.bin"
    assert up.export_descriptor(name) == f"/dev/shm/tt_d2h_{name}.bin"
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    words = [sys.executable, "-m", "tt_run.emulate", str(program), name]
    with subprocess.Popen(["timeout", "-k", "2", "60", *words], stdout=subprocess.PIPE, text=True) as server:
        for step in range(3):
            recv_async_h2d(tensor, down)
            held = tensor.shards.of(1)
            assert held is not None
            assert np.array_equal(held, np.full((2, 32), step))
            send_async_d2h(tensor, up)
        told, _ = server.communicate()
    assert (server.returncode, told.split()) == (0, ["0.0", "1.0", "2.0", "True"])
    up.barrier()
    with pytest.raises(RuntimeError, match="64 elements are still under way after"):
        send_async_d2h(tensor, up)
        D2HSocket.connect(name).barrier(20)
