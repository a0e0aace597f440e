"""Services that another process attaches to by name."""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing import AuthenticationError, Pipe
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.sockets import attaching
from tt_run.runtime.sockets.attaching import Attachment, descriptor_path
from tt_run.runtime.sockets.services.device_to_host import D2HStreamService
from tt_run.runtime.sockets.services.host_to_device import H2DStreamService
from tt_run.runtime.sockets.services.sync import inbound_socket_service_sync, outbound_socket_service_sync
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensorToMesh
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec

WORKERS = CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))
SPEC = TensorSpec((4, 32), DataType.UINT32, Layout.ROW_MAJOR)
VALUES = np.arange(128, dtype=np.uint32).reshape(4, 32)
NAME = f"test-{os.getpid()}"


@pytest.fixture
def mesh() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 2))
    yield device
    device.close()


PRODUCER = """
import struct, sys
import numpy as np, ttnn
service = ttnn.H2DStreamService.connect(sys.argv[1], timeout_ms=20000)
assert service.payload_size_bytes() == 512 and list(service.get_per_shard_spec().shape) == [2, 32]
for step in range(3):
    service.forward_to_tensor_bytes(np.arange(128, dtype=np.uint32).reshape(4, 32) + np.uint32(step), metadata=struct.pack("<I", step))
try:
    service.forward_to_tensor_bytes(np.zeros(3, np.uint32), metadata=bytes(4))
except RuntimeError as error:
    print("refused:", "the array 12" in str(error))
"""


def test_another_program_streams_to_a_mesh(mesh: MeshDevice, tmp_path: Path) -> None:
    service = H2DStreamService(
        mesh, SPEC, mapper=ShardTensorToMesh(mesh, 0), worker_cores=WORKERS, metadata_size_bytes=4
    )
    path = Path(service.export_descriptor(NAME))
    assert path == descriptor_path("h2d_stream_service", NAME)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    program = tmp_path / "producer.py"
    program.write_text(PRODUCER)
    words = [sys.executable, "-m", "tt_run.emulate", str(program), NAME]
    with subprocess.Popen(
        ["timeout", "-k", "2", "60", *words], stdout=subprocess.PIPE, text=True
    ) as producer:
        for step in range(3):
            tokens, metadata = inbound_socket_service_sync(service, metadata_size_bytes=4)
            held = tokens.shards.of(1)
            assert held is not None and np.array_equal(held, VALUES[2:] + step)
            word = metadata.shards.of(0)
            assert word is not None and word.ravel().tolist() == [step]
        told, _ = producer.communicate()
    assert (producer.returncode, told) == (0, "refused: True\n")
    service.barrier()
    del service, tokens, metadata
    assert not path.exists()


def test_another_process_reads_what_leaves_a_mesh(mesh: MeshDevice) -> None:
    service = D2HStreamService(
        mesh, SPEC, 4096, mapper=ShardTensorToMesh(mesh, 0), worker_cores=WORKERS, metadata_size_bytes=4
    )
    service.export_descriptor(NAME)
    reader = D2HStreamService.connect(NAME)
    assert (reader.payload_size_bytes(), reader.metadata_size_bytes()) == (512, 4)
    sent = from_torch(VALUES, dtype=DataType.UINT32, device=mesh, mesh_mapper=ShardTensorToMesh(mesh, 0))
    word = from_torch(
        np.array([[[[7]]]], np.uint32),
        dtype=DataType.UINT32,
        device=mesh,
        mesh_mapper=ReplicateTensorToMesh(mesh),
    )
    found: list[tuple[bytes, bytes]] = []
    waiting = threading.Thread(
        target=lambda: found.append(reader.read_from_tensor_bytes_with_metadata())
    )  # asks before there is anything
    waiting.start()
    for _ in range(2):
        outbound_socket_service_sync(service, sent, metadata=word)
    waiting.join()
    assert found == [(VALUES.tobytes(), struct.pack("<I", 7))]
    held = from_torch(np.zeros_like(VALUES), dtype=DataType.UINT32)
    assert reader.read_from_tensor(held) == struct.pack("<I", 7)
    row = held.shards.of(0)
    assert row is not None and np.array_equal(row, VALUES)
    reader.barrier()
    for call in (
        reader.get_backing_tensor,
        reader.notify_backing_ready,
        lambda: reader.export_descriptor("x"),
    ):
        with pytest.raises(RuntimeError, match="is for the process that made the service"):
            call()
    del service
    with pytest.raises(RuntimeError, match=r"gone|has ended"):
        reader.barrier()


def test_what_cannot_be_attached_to(mesh: MeshDevice, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=f"no process exported the service '{NAME}-none' within 50 ms"):
        H2DStreamService.connect(f"{NAME}-none", timeout_ms=50)
    for name in ("", "a/b", "../x"):
        with pytest.raises(RuntimeError, match="cannot be part of a file's name"):
            H2DStreamService.connect(name)
    path = descriptor_path("d2h_stream_service", f"{NAME}-stale")
    path.write_text(json.dumps({"address": str(tmp_path / "nowhere"), "key": "00"}))
    try:
        with pytest.raises(RuntimeError, match="leads to no service: FileNotFoundError"):
            D2HStreamService.connect(f"{NAME}-stale")
    finally:
        path.unlink()


def test_where_no_thread_starts_any_more_the_service_still_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Python 3.12, from the first exit handler on."""
    asks, hears = Pipe()
    waiting, refused = [hears], threading.Event()

    class Once:
        def accept(self) -> Any:
            refused.wait(20)
            if not waiting:
                raise OSError
            return waiting.pop()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    server = threading.Thread(
        target=attaching._serve, args=(Once(), Path("/no/socket"), lambda *asked: asked)
    )
    server.start()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    refused.set()
    for part in (json.dumps({"a": 1}).encode(), b"body"):
        asks.send_bytes(part)
    assert asks.poll(20) and json.loads(asks.recv_bytes()) == {"a": 1}
    assert asks.recv_bytes() == b"body"
    asks.close()
    server.join(20)
    assert not server.is_alive()


class _Owner:
    """What an exported service belongs to."""


def test_who_has_no_key_is_sent_away_and_others_are_answered() -> None:
    owner, name = _Owner(), f"{NAME}-key"
    path = Path(attaching.export(owner, "h2d", name, {}, lambda request, body: (request, body)))
    address = json.loads(path.read_text())["address"]
    with pytest.raises(AuthenticationError):
        Client(address, "AF_UNIX", authkey=b"guessed")
    with socket.socket(socket.AF_UNIX) as silent:  # and one that goes before it has answered
        silent.connect(address)
    assert Attachment("h2d", name, 2000).ask({"word": 1}, b"body") == ({"word": 1}, b"body")


def test_a_listener_that_is_closed_ends_its_thread() -> None:
    """A signal may wake it with the descriptor gone, and with it whatever knew the address."""
    owner, name = _Owner(), f"{NAME}-closed"
    path = Path(attaching.export(owner, "h2d", name, {}, lambda request, body: (request, body)))
    address = Path(json.loads(path.read_text())["address"])
    listener = Listener(str(address.with_name("other")), "AF_UNIX")
    listener.close()
    del owner
    assert not address.exists()
    attaching._serve(listener, address, lambda request, body: (request, body))
