"""Both ends of a socket in one process."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.runtime.mpi import ROOT
from tt_run.runtime import catalog, events, queues
from tt_run.runtime.enums import BufferType, DataType, Layout
from tt_run.runtime.mesh import MeshCoordinate, MeshCoordinateRange, MeshShape, open_mesh_device
from tt_run.runtime.sockets.config import (
    MeshCoreCoord,
    SocketConfig,
    SocketConnection,
    SocketEndpoint,
    SocketMemoryConfig,
)
from tt_run.runtime.sockets.socket import MeshSocket, _unreceived, create_socket_pair
from tt_run.runtime.sockets.transfer import recv_async, send_async
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import CoreCoord

MEMORY = SocketMemoryConfig(BufferType.L1, 4096)


def connection(sender, receiver, core=(0, 0)):
    return SocketConnection(
        MeshCoreCoord(MeshCoordinate(*sender), CoreCoord(*core)),
        MeshCoreCoord(MeshCoordinate(*receiver), CoreCoord(*core)),
    )


STRAIGHT = [connection(c, c) for c in MeshCoordinateRange(MeshShape(2, 2))]


@pytest.fixture
def meshes():
    device = open_mesh_device(MeshShape(2, 4))
    yield device.create_submeshes(MeshShape(2, 2))
    device.close()


def filled(mesh, seed, shape=(4, 8)):
    values = np.random.default_rng(seed).standard_normal((4 * shape[0], shape[1])).astype(np.float32)
    return from_torch(
        values,
        dtype=DataType.BFLOAT16,
        layout=Layout.TILE,
        device=mesh,
        mesh_mapper=ShardTensorToMesh(mesh, dim=0),
    )


def zeros(mesh, shape=(4, 8), dtype=DataType.BFLOAT16):
    return from_torch(
        np.zeros(shape, np.float32),
        dtype=dtype,
        layout=Layout.TILE,
        device=mesh,
        mesh_mapper=ReplicateTensorToMesh(mesh),
    )


def content(tensor):
    return [np.array(shard) for shard in tensor.shards.each()]


def test_what_the_ends_say(meshes):
    sender, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    assert sender.get_socket_endpoint_type() is SocketEndpoint.SENDER
    assert str(receiver.get_socket_endpoint_type()) == "SocketEndpoint.RECEIVER"
    assert (sender.get_mesh_device(), receiver.get_mesh_device()) == tuple(meshes)
    assert str(receiver.get_active_cores()[1]) == "MeshCoreCoord(device=MeshCoordinate([0, 1]), core=(0,0))"
    assert len(sender.get_connection_config()) == 4
    assert repr(sender).startswith("<ttnn._ttnn.mesh_socket.MeshSocket object at 0x")
    assert [name for name in dir(SocketConfig(STRAIGHT, MEMORY)) if not name.startswith("_")] == []


def test_shards_arrive_in_order_whichever_end_comes_first(meshes):
    sender, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    sent = [filled(meshes[0], seed) for seed in range(3)]
    received = [zeros(meshes[1]) for _ in range(3)]
    assert recv_async(received[0], receiver) == [received[0]]
    assert [send_async(tensor, sender) for tensor in sent] == [[], [], []]
    for tensor in received[1:]:
        recv_async(tensor, receiver)
    # Read backwards: each still holds what was sent in its turn.
    for tensor, original in zip(received[::-1], sent[::-1], strict=True):
        assert [a.tobytes() for a in content(tensor)] == [a.tobytes() for a in content(original)]


def test_who_listens_does_not_wait_for_what_comes_later(meshes):
    sender, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    source, target, heard = filled(meshes[0], 1), zeros(meshes[1]), []
    leave = events.subscribe(lambda event: heard.append(event.name))
    try:
        recv_async(target, receiver)
        send_async(source, sender)
    finally:
        leave()
    assert [name for name in heard if name.startswith("ttnn.")] == [
        "ttnn.experimental.recv_async",
        "ttnn.experimental.send_async",
    ]
    assert [a.tobytes() for a in content(target)] == [a.tobytes() for a in content(source)]


def test_the_direct_forms_carry_the_same(meshes):
    sender, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    source, target = filled(meshes[0], 1), zeros(meshes[1])
    catalog.find("ttnn.experimental.send_direct_async")(source, sender)
    catalog.find("ttnn.experimental.recv_direct_async")(target, receiver)
    assert [a.tobytes() for a in content(target)] == [a.tobytes() for a in content(source)]


def test_devices_without_a_connection_keep_their_shard(meshes):
    crossed = [connection((0, 0), (1, 1)), connection((1, 0), (0, 1))]
    sender, receiver = create_socket_pair(*meshes, SocketConfig(crossed, MEMORY))
    source, target = filled(meshes[0], 1), filled(meshes[1], 2)
    before = content(target)
    send_async(source, sender)
    recv_async(target, receiver)
    after, shards = content(target), content(source)
    assert [a.tobytes() for a in after] == [a.tobytes() for a in (before[0], shards[2], before[2], shards[0])]


def test_what_was_sent_is_the_value_at_that_time(meshes):
    sender, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    source, target = filled(meshes[0], 1), zeros(meshes[1])
    wanted = content(source)
    send_async(source, sender)
    source.overwrite(filled(meshes[0], 2).shards)
    recv_async(target, receiver)
    queues.synchronize_device(meshes[1])
    assert [a.tobytes() for a in content(target)] == [a.tobytes() for a in wanted]


def test_one_buffer_may_receive_again_and_again(meshes):
    sender, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    target = zeros(meshes[1])
    for seed in range(3):
        recv_async(target, receiver)
        send_async(filled(meshes[0], seed), sender)
    assert content(target)[0].tobytes() == content(filled(meshes[0], 2))[0].tobytes()


def message(error):
    return str(error.value).partition("info:\n")[2]


def test_refusals_in_the_references_words(meshes):
    config = SocketConfig(STRAIGHT, MEMORY)
    sender, receiver = create_socket_pair(*meshes, config)
    here, there = filled(meshes[0], 0), zeros(meshes[1])
    cases = [
        (lambda: send_async(here, receiver), "send_async op requires a SENDER socket"),
        (lambda: recv_async(there, sender), "recv_async op requires a RECEIVER socket"),
        (
            lambda: create_socket_pair(*meshes, SocketConfig([], MEMORY)),
            "Socket connection config cannot be empty.",
        ),
        (
            lambda: create_socket_pair(*meshes, SocketConfig([STRAIGHT[0]] * 2, MEMORY)),
            "Cannot reuse receiver cores in a single socket.",
        ),
        (
            lambda: MeshSocket(meshes[0], SocketConfig(STRAIGHT, MEMORY, 0, 1)),
            "Invalid socket sender rank 0 or receiver rank 1 specified.",
        ),
    ]
    for call, text in cases:
        with pytest.raises(RuntimeError) as error:
            call()
        assert message(error) == text
    with pytest.raises(RuntimeError, match="the socket on"):
        send_async(filled(meshes[1], 0), sender)
    with pytest.raises(RuntimeError, match=r"outside of MeshShape\(\[2, 2\]\)"):
        create_socket_pair(*meshes, SocketConfig([connection((0, 0), (0, 3))], MEMORY))
    with pytest.raises(RuntimeError, match="create_socket_pair inside one process"):
        MeshSocket(meshes[0], config)
    with pytest.raises(TypeError, match="come together"):
        SocketConfig(STRAIGHT, MEMORY, 0)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        send_async(here, "socket")


def test_a_tensor_of_another_spec_is_an_error_at_the_read(meshes):
    sender, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    target = zeros(meshes[1], dtype=DataType.FLOAT32)
    send_async(filled(meshes[0], 0), sender)
    recv_async(target, receiver)
    with pytest.raises(
        RuntimeError, match=r"waits for .* FLOAT32, TILE, but the sender sent .* BFLOAT16, TILE"
    ):
        _ = target.shards


def test_a_receive_that_nobody_feeds_is_an_error_and_no_hang(meshes):
    _, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    target = zeros(meshes[1])
    recv_async(target, receiver)
    with pytest.raises(RuntimeError, match="never sent"):
        queues.synchronize_device(meshes[1])


def test_a_thread_waits_for_what_another_sends(meshes):
    sender, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    target, found, reading = zeros(meshes[1]), [], threading.Event()

    def read() -> None:
        recv_async(target, receiver)
        reading.set()
        found.append(target.shards.data.sum())

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(10)
    source = filled(meshes[0], 0)
    send_async(source, sender)
    reader.join(30)
    assert found == [target.shards.data.sum()] and found[0] != 0


def test_events_of_a_transfer(meshes):
    sender, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    seen = []
    stop = events.subscribe(seen.append)
    try:
        send_async(filled(meshes[0], 0), sender)
        recv_async(zeros(meshes[1]), receiver)
    finally:
        stop()
    moved = [e for e in seen if e.kind in ("send", "recv")]
    assert [(e.kind, e.bytes, e.messages, e.devices) for e in moved] == [
        ("send", 2048, 4, (0, 1, 4, 5)),
        ("recv", 2048, 4, (2, 3, 6, 7)),
    ]


def test_what_nobody_asks_for_is_remembered_with_its_line(meshes):
    left, right = meshes
    sender, receiver = create_socket_pair(left, right, SocketConfig(STRAIGHT, MEMORY))
    before = len(_unreceived())
    recv_async(filled(right, 1), receiver)  # ahead of what is sent
    for number in range(3):
        catalog.find("ttnn.experimental.send_direct_async")(filled(left, number), sender)
    found = _unreceived()[before:]
    assert len(found) == 2
    assert found[0].startswith(f"send_direct_async at {__file__}:") and found[0].endswith(
        "(shape [4, 8], BFLOAT16, TILE)"
    )
    for _ in range(2):
        recv_async(filled(right, 1), receiver)
    assert len(_unreceived()) == before


def test_a_program_of_one_rank_tells_of_it_at_its_end(tmp_path):
    program = (
        "import ttnn\n"
        "md = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))\n"
        "a, b = md.create_submeshes(ttnn.MeshShape(1, 1))\n"
        "core = ttnn.MeshCoreCoord(ttnn.MeshCoordinate(0, 0), ttnn.CoreCoord(0, 0))\n"
        "memory = ttnn.SocketMemoryConfig(ttnn.BufferType.L1, 4096)\n"
        "config = ttnn.SocketConfig([ttnn.SocketConnection(core, core)], memory)\n"
        "sender, _ = ttnn.create_socket_pair(a, b, config)\n"
        "ttnn.experimental.send_async(ttnn.ones((32, 32), ttnn.bfloat16, ttnn.TILE_LAYOUT, a), sender)\n"
    )
    for end, told in (("", True), ("{}['missing']\n", False)):
        path = tmp_path / "program.py"
        path.write_text(program + end)
        done = subprocess.run(
            [sys.executable, "-m", "tt_run.emulate", str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=ROOT,
        )
        assert (
            "warning[TTG010]: rank 0 ended without receiving a tensor: send_async at " in done.stderr
        ) is told
        assert (":8 (shape [32, 32], BFLOAT16, TILE)" in done.stderr) is told
