"""Services inside one process: each transfer once, in order, with its metadata; what a device would wait for ends in an error."""

from __future__ import annotations

import re
import struct
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from tt_run.runtime import events
from tt_run.runtime.cores import CoreCoord, CoreRange
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.queues import synchronize_device
from tt_run.runtime.sockets.services.device_to_device import D2DStreamService
from tt_run.runtime.sockets.services.device_to_host import D2HStreamService
from tt_run.runtime.sockets.services.host_to_device import H2DStreamService
from tt_run.runtime.sockets.services.service import StreamService
from tt_run.runtime.sockets.services.stage_gates import (
    UNGATED_SLOT,
    D2DStageGateConfig,
    D2DStageGateMode,
    StageGates,
)
from tt_run.runtime.sockets.services.sync import inbound_socket_service_sync, outbound_socket_service_sync
from tt_run.runtime.sockets.services.transfers import Transfer
from tt_run.runtime.tensor.borders.arrays import from_torch, to_numpy
from tt_run.runtime.tensor.creation.allocation import allocate_tensor_on_device, allocate_tensor_on_host
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.distribution.mappers import (
    ReplicateTensorToMesh,
    ShardTensorToMesh,
    create_mesh_mapper,
)
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.trace import begin_trace_capture, end_trace_capture, execute_trace
from tt_run.runtime.values.shards import Shards

WORKERS = CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))
WORDS = TensorSpec((4, 1, 8), DataType.UINT32, Layout.ROW_MAJOR)
VALUES = np.arange(32, dtype=np.uint32).reshape(4, 1, 8)


@pytest.fixture
def mesh() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(2, 2))
    yield device
    device.close()


def rows_over(mesh: MeshDevice) -> object:
    """Rows over the first axis, copies over the second."""
    return create_mesh_mapper(mesh, MeshMapperConfig([PlacementShard(0), PlacementReplicate()]))


def to_mesh(mesh: MeshDevice, **given: object) -> H2DStreamService:
    return H2DStreamService(mesh, WORDS, mapper=rows_over(mesh), **given)  # type: ignore[arg-type]


def record(mesh: MeshDevice, *words: int) -> Tensor:
    row = np.array(words, np.uint32).reshape(1, 1, 1, -1)
    return from_torch(row, dtype=DataType.UINT32, device=mesh, mesh_mapper=ReplicateTensorToMesh(mesh))


def words(tensor: Tensor) -> list[int]:
    shard = tensor.shards.of(0)
    assert shard is not None
    return [int(word) for word in shard.ravel()]


def each(tensor: Tensor) -> list[np.ndarray]:
    return [shard for shard in tensor.shards.each() if shard is not None]


# --- host to mesh ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [DataType.BFLOAT16, DataType.FLOAT32, DataType.INT32, DataType.UINT16])
def test_bytes_of_any_array_are_those_of_the_tensor(mesh: MeshDevice, dtype: DataType) -> None:
    import ml_dtypes

    kinds = {DataType.BFLOAT16: ml_dtypes.bfloat16, DataType.FLOAT32: np.float32, DataType.INT32: np.int32}
    values = (np.arange(64).reshape(2, 32) - 7).astype(kinds.get(dtype, np.uint16))
    service = H2DStreamService(mesh, TensorSpec((2, 32), dtype, Layout.ROW_MAJOR))
    assert service.payload_size_bytes() == values.nbytes
    service.forward_to_tensor_bytes(values.view(np.uint8))
    service.barrier()
    assert np.array_equal(each(service.get_backing_tensor())[0], values.astype(np.float64))
    with pytest.raises(RuntimeError, match=f"has {values.nbytes} bytes, the array {values.nbytes // 2}"):
        service.forward_to_tensor_bytes(values[:1].copy())
    with pytest.raises(TypeError, match="must be contiguous"):
        service.forward_to_tensor_bytes(values.T)


def test_torch_arrays_are_bytes_too(mesh: MeshDevice) -> None:
    torch = pytest.importorskip("torch")
    service = H2DStreamService(mesh, TensorSpec((2, 32), DataType.BFLOAT16, Layout.ROW_MAJOR))
    service.forward_to_tensor_bytes(torch.arange(64).reshape(2, 32).bfloat16())
    assert np.array_equal(each(service.get_backing_tensor())[0], np.arange(64.0).reshape(2, 32))


@pytest.mark.parametrize("cut", [False, True])
def test_a_service_fills_the_same_tensor_again_and_again(mesh: MeshDevice, cut: bool) -> None:
    spec = TensorSpec((4, 32), DataType.BFLOAT16, Layout.TILE)
    mapper = ShardTensorToMesh(mesh, dim=0) if cut else ReplicateTensorToMesh(mesh)
    service = H2DStreamService(mesh, spec, mapper=mapper)
    backing, values = service.get_backing_tensor(), np.arange(128.0).reshape(4, 32)
    for step in range(3):
        sent = from_torch(values + step, dtype=DataType.BFLOAT16, layout=Layout.TILE, mesh_mapper=mapper)
        service.forward_to_tensor(sent)
        assert np.array_equal(each(backing)[0], (values + step)[: 1 if cut else 4])
    assert service.get_backing_tensor() is backing
    with pytest.raises(RuntimeError, match="takes a host tensor of"):
        service.forward_to_tensor(from_torch(values[:, :16], dtype=DataType.BFLOAT16, mesh_mapper=mapper))
    with pytest.raises(RuntimeError, match="bytes are those of a ROW_MAJOR tensor"):
        service.forward_to_tensor_bytes(values)


def test_operations_take_each_transfer_once_and_in_order(mesh: MeshDevice) -> None:
    service = to_mesh(mesh, worker_cores=WORKERS, metadata_size_bytes=12)
    taken = []
    for step in range(3):
        service.forward_to_tensor_bytes(VALUES + np.uint32(step), metadata=struct.pack("<3I", step, 0, 8))
    for step in range(3):
        tokens, metadata = inbound_socket_service_sync(service, metadata_size_bytes=12)
        assert words(metadata) == [step, 0, 8]
        assert tuple(metadata.shape) == (1, 1, 1, 3)
        assert np.array_equal(each(service.get_backing_tensor())[0], each(tokens)[0])
        taken.append(tokens)
    for step, tokens in enumerate(taken):
        parts = each(tokens)
        assert [p.tolist() for p in parts] == [
            (VALUES + step)[rows].tolist() for rows in (slice(0, 2), slice(0, 2), slice(2, 4), slice(2, 4))
        ]
    service.barrier()


def test_a_result_waits_for_what_is_streamed_after_the_call(mesh: MeshDevice) -> None:
    service = to_mesh(mesh, worker_cores=WORKERS)
    (first,), (second,) = inbound_socket_service_sync(service), inbound_socket_service_sync(service)
    service.forward_to_tensor_bytes(VALUES)
    service.forward_to_tensor_bytes(VALUES + np.uint32(1))
    assert np.array_equal(each(second)[0], VALUES[:2] + 1)  # read out of order, filled in order
    assert np.array_equal(each(first)[0], VALUES[:2])
    (late,) = inbound_socket_service_sync(service)
    thread = threading.Thread(target=service.forward_to_tensor_bytes, args=(VALUES + np.uint32(2),))
    thread.start()
    synchronize_device(mesh)
    thread.join()
    assert np.array_equal(each(late)[0], VALUES[:2] + 2)


def test_the_end_of_each_row_by_itself(mesh: MeshDevice) -> None:
    service = to_mesh(mesh, worker_cores=WORKERS, metadata_size_bytes=4)
    for _ in range(2):
        service.forward_to_tensor_bytes(VALUES, metadata=struct.pack("<I", 5))
        trunk, overhang, metadata = inbound_socket_service_sync(
            service, metadata_size_bytes=4, overhang_size_bytes=12
        )
        assert (tuple(trunk.shape), tuple(overhang.shape)) == ((2, 1, 5), (2, 1, 3))
        assert np.array_equal(np.concatenate([each(trunk)[0], each(overhang)[0]], -1), VALUES[:2])
        assert words(metadata) == [5]
    for size in (3, 32, 64):
        with pytest.raises(RuntimeError, match=f"overhang_size_bytes={size} is no end of a row of 32 bytes"):
            inbound_socket_service_sync(service, metadata_size_bytes=4, overhang_size_bytes=size)


def test_a_trace_takes_and_hands_over_when_it_runs(mesh: MeshDevice) -> None:
    source = to_mesh(mesh, worker_cores=WORKERS, metadata_size_bytes=4)
    sink = D2HStreamService(mesh, WORDS, 4096, mapper=rows_over(mesh), worker_cores=WORKERS)  # type: ignore[arg-type]
    trace = begin_trace_capture(mesh)
    tokens, metadata = inbound_socket_service_sync(source, metadata_size_bytes=4)
    outbound_socket_service_sync(sink, tokens)
    end_trace_capture(mesh, trace)
    sink.barrier()
    for step in range(3):
        source.forward_to_tensor_bytes(VALUES + np.uint32(step), metadata=struct.pack("<I", step))
        execute_trace(mesh, trace, blocking=False)
        assert words(metadata) == [step]
        assert np.array_equal(each(tokens)[0], VALUES[:2] + step)
        assert sink.read_from_tensor_bytes() == (VALUES + np.uint32(step)).tobytes()
    source.barrier()


def test_what_a_device_would_wait_for_ends_in_an_error(mesh: MeshDevice) -> None:
    service = to_mesh(mesh, worker_cores=WORKERS)
    (tokens,) = inbound_socket_service_sync(service)
    with pytest.raises(RuntimeError, match="waits for a transfer that nobody has streamed"):
        to_numpy(tokens, ConcatMeshToTensor(mesh, 0))
    service = to_mesh(mesh, worker_cores=WORKERS)
    for _ in range(3):
        service.forward_to_tensor_bytes(VALUES)
    with pytest.raises(RuntimeError, match="2 transfers wait for the one before them to be taken"):
        service.barrier()


def test_sizes_of_metadata_are_checked(mesh: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="requires worker_cores"):
        to_mesh(mesh, metadata_size_bytes=12)
    with pytest.raises(RuntimeError, match="no words of 4 bytes"):
        to_mesh(mesh, worker_cores=WORKERS, metadata_size_bytes=10)
    service = to_mesh(mesh, worker_cores=WORKERS, metadata_size_bytes=12)
    with pytest.raises(RuntimeError, match="carries 12 bytes of metadata with each transfer, got 8"):
        service.forward_to_tensor_bytes(VALUES, metadata=bytes(8))
    with pytest.raises(RuntimeError, match="metadata_size_bytes=8, and the service carries 12"):
        inbound_socket_service_sync(service, metadata_size_bytes=8)
    with pytest.raises(RuntimeError, match="built with worker_cores"):
        inbound_socket_service_sync(to_mesh(mesh))
    with pytest.raises(TypeError, match=r"takes a ttnn\.H2DStreamService"):
        inbound_socket_service_sync(mesh)
    with pytest.raises(RuntimeError, match="runs no kernels"):
        service.get_service_core(MeshCoordinate(0, 0))


# --- mesh to host ------------------------------------------------------------------------------------------------------


def test_records_alone(mesh: MeshDevice) -> None:
    service = D2HStreamService(mesh, None, 4096, worker_cores=WORKERS, metadata_size_bytes=12)
    assert service.payload_size_bytes() == 0
    for step in range(3):
        outbound_socket_service_sync(service, metadata=record(mesh, step, 0, 32))
    with pytest.raises(RuntimeError, match="3 transfers were handed over and not read"):
        service.barrier()
    assert [struct.unpack("<3I", service.read_metadata())[0] for _ in range(3)] == [0, 1, 2]
    service.barrier()
    with pytest.raises(RuntimeError, match="nothing was handed over"):
        service.read_metadata()
    with pytest.raises(RuntimeError, match="carries metadata alone"):
        service.get_backing_tensor()
    with pytest.raises(
        RuntimeError, match="carries 12 bytes of metadata with each transfer, and metadata is left out"
    ):
        outbound_socket_service_sync(service)
    with pytest.raises(RuntimeError, match=r"metadata is UINT32 \[1, 1, 1, 2\], 8 bytes"):
        outbound_socket_service_sync(service, metadata=record(mesh, 1, 2))
    uneven = from_torch(
        np.arange(4, dtype=np.uint32).reshape(4, 1, 1, 1).repeat(3, 3),
        dtype=DataType.UINT32,
        device=mesh,
        mesh_mapper=ShardTensorToMesh(mesh, 0),
    )
    outbound_socket_service_sync(service, metadata=uneven)
    with pytest.raises(RuntimeError, match="the metadata of device 1 is"):
        service.read_metadata()


@pytest.mark.parametrize("cut", ["rows", "all", "none"])
def test_tensors_come_back_whole(mesh: MeshDevice, cut: str) -> None:
    mapper = {"rows": rows_over(mesh), "all": ShardTensorToMesh(mesh, 0), "none": None}[cut]
    service = D2HStreamService(
        mesh,
        WORDS,
        4096,
        mapper=mapper,
        worker_cores=WORKERS,
        metadata_size_bytes=4,  # type: ignore[arg-type]
    )
    for step in range(2):
        sent = from_torch(
            VALUES + np.uint32(step),
            dtype=DataType.UINT32,
            device=mesh,
            mesh_mapper=mapper or ReplicateTensorToMesh(mesh),
        )
        outbound_socket_service_sync(service, sent, metadata=record(mesh, step))
    payload, metadata = service.read_from_tensor_bytes_with_metadata()
    assert np.array_equal(np.frombuffer(payload, np.uint32).reshape(VALUES.shape), VALUES)
    assert metadata == struct.pack("<I", 0)
    held = allocate_tensor_on_host(service.get_per_shard_spec(), mesh)
    assert service.read_from_tensor(held) == struct.pack("<I", 1)
    assert np.array_equal(each(held)[0], VALUES[: {"rows": 2, "all": 1, "none": 4}[cut]] + 1)
    with pytest.raises(RuntimeError, match="input is left out"):
        outbound_socket_service_sync(service, metadata=record(mesh, 1))
    with pytest.raises(RuntimeError, match="input is shape"):
        outbound_socket_service_sync(service, record(mesh, 1), metadata=record(mesh, 1))


def test_without_workers_the_host_says_when_the_tensor_is_ready(mesh: MeshDevice) -> None:
    service = D2HStreamService(mesh, WORDS, 4096, mapper=rows_over(mesh))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="notify_backing_ready is what would do it"):
        service.read_from_tensor_bytes()
    sent = from_torch(VALUES, dtype=DataType.UINT32, mesh_mapper=rows_over(mesh))  # type: ignore[arg-type]
    service.get_backing_tensor().overwrite(sent.shards)
    service.notify_backing_ready()
    assert service.read_from_tensor_bytes() == VALUES.tobytes()
    workers = D2HStreamService(mesh, WORDS, 4096, worker_cores=WORKERS)
    with pytest.raises(RuntimeError, match="workers ack write_ack directly"):
        workers.notify_backing_ready()


# --- mesh to mesh ------------------------------------------------------------------------------------------------------


def pair(mesh: MeshDevice, **given: object) -> tuple[object, object, MeshDevice, MeshDevice]:
    above, below = (mesh.create_submesh(MeshShape(1, 2), MeshCoordinate(row, 0)) for row in range(2))
    spec = TensorSpec((4, 1, 8), DataType.UINT32, Layout.ROW_MAJOR)
    ends = D2DStreamService.create_pair(
        above,
        below,
        spec,
        ShardTensorToMesh(above, 0),
        4096,
        WORKERS,
        WORKERS,
        **given,  # type: ignore[arg-type]
    )
    return *ends, above, below


def test_ends_that_own_their_links(mesh: MeshDevice) -> None:
    sender, receiver, above, _ = pair(mesh, metadata_size_bytes=12, share_fabric_links=False)
    for step in range(3):
        sent = from_torch(
            VALUES + np.uint32(step),
            dtype=DataType.UINT32,
            device=above,
            mesh_mapper=ShardTensorToMesh(above, 0),
        )
        backing = outbound_socket_service_sync(sender, sent, metadata=record(above, step, 1, 2))
        assert backing is sender.get_backing_tensor()  # type: ignore[attr-defined]
    for step in range(3):
        tokens, metadata = inbound_socket_service_sync(receiver, metadata_size_bytes=12)
        assert [p.tolist() for p in each(tokens)] == [
            (VALUES + step)[:2].tolist(),
            (VALUES + step)[2:].tolist(),
        ]
        assert words(metadata) == [step, 1, 2]


def test_another_process_attaches_to_a_mesh_of_one_rank() -> None:
    shared = SimpleNamespace(_device=SimpleNamespace(owner_ranks=(0, 1, 0)))
    with pytest.raises(RuntimeError, match="export_descriptor: the mesh has devices of ranks 0, 1, and"):
        StreamService.require_own_mesh(shared, "export_descriptor")  # type: ignore[arg-type]


def test_bytes_are_those_of_each_element(mesh: MeshDevice) -> None:
    sender, _, above, _ = pair(mesh, share_fabric_links=False)
    heard: list[int] = []
    leave = events.subscribe(lambda event: heard.append(event.bytes) if event.kind == "send" else None)
    outbound_socket_service_sync(sender, allocate_tensor_on_device(sender.get_per_shard_spec(), above))  # type: ignore[attr-defined]
    leave()
    assert heard[-1] == 2 * 8 * 4


def test_links_are_lent_for_each_transfer(mesh: MeshDevice) -> None:
    sender, receiver, above, below = pair(mesh)
    sent = allocate_tensor_on_device(sender.get_per_shard_spec(), above)  # type: ignore[attr-defined]
    for _ in range(2):
        sender.wait_for_fabric_links()  # type: ignore[attr-defined]
        receiver.wait_for_fabric_links()  # type: ignore[attr-defined]
        receiver.release_fabric_links()  # type: ignore[attr-defined]
        outbound_socket_service_sync(sender, sent)
        sender.release_fabric_links()  # type: ignore[attr-defined]
        (tokens,) = inbound_socket_service_sync(receiver)
        assert each(tokens)[0].sum() == 0
    outbound_socket_service_sync(sender, sent)
    with pytest.raises(RuntimeError, match="the transfer before has not left"):
        outbound_socket_service_sync(sender, sent)
    sender.release_fabric_links()  # type: ignore[attr-defined]
    (tokens,) = inbound_socket_service_sync(receiver)
    with pytest.raises(RuntimeError, match="links were not lent to the receiver"):
        each(tokens)
    for _ in range(2):  # lent for two
        sender.release_fabric_links()  # type: ignore[attr-defined]
    receiver.release_fabric_links()  # type: ignore[attr-defined]
    synchronize_device(below)
    outbound_socket_service_sync(sender, sent)
    with pytest.raises(RuntimeError, match="nothing was handed over that could leave"):
        sender.wait_for_fabric_links()  # type: ignore[attr-defined]
    inbound_socket_service_sync(receiver)
    receiver.release_fabric_links()  # type: ignore[attr-defined]
    synchronize_device(below)
    receiver.release_fabric_links()  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="a transfer that no operation takes"):
        receiver.wait_for_fabric_links()  # type: ignore[attr-defined]


def test_gates_hold_transfers_back(mesh: MeshDevice) -> None:
    gate = D2DStageGateConfig(2, 0, 4)
    sender, receiver, above, _ = pair(mesh, metadata_size_bytes=8, share_fabric_links=False, stage_gate=gate)
    sent = allocate_tensor_on_device(sender.get_per_shard_spec(), above)  # type: ignore[attr-defined]
    once, kept = D2DStageGateMode.CloseOnTransit.value, D2DStageGateMode.KeepOpen.value
    for slot, mode in ((UNGATED_SLOT, kept), (1, once), (1, kept), (1, kept)):
        outbound_socket_service_sync(sender, sent, metadata=record(above, slot, mode))
    results = [inbound_socket_service_sync(receiver, metadata_size_bytes=8) for _ in range(4)]
    assert words(results[0][1]) == [UNGATED_SLOT, kept]
    both = [MeshCoordinate(0, column) for column in range(2)]
    receiver.set_stage_gate(both[0], 1, True)  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="the transfer for slot 1 waits at its closed gate on"):
        each(results[1][0])
    for coord in both:
        receiver.set_stage_gate(coord, 1, True)  # type: ignore[attr-defined]
    assert words(results[1][1]) == [1, once]
    assert not receiver.is_stage_gate_open(both[1], 1)  # type: ignore[attr-defined]
    for coord in both:
        receiver.set_stage_gate(coord, 1, True)  # type: ignore[attr-defined]
    assert words(results[3][1]) == [1, kept]
    assert receiver.is_stage_gate_open(both[1], 1)  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="stage gate 2 is none of 2"):
        receiver.set_stage_gate(both[0], 2, True)  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="slot_id_offset_bytes=6 is no word of the 8 bytes"):
        pair(mesh, metadata_size_bytes=8, stage_gate=D2DStageGateConfig(2, 6, 4))


def test_meshes_of_a_pair_have_one_shape(mesh: MeshDevice) -> None:
    other = mesh.create_submesh(MeshShape(1, 1), MeshCoordinate(0, 0))
    with pytest.raises(RuntimeError, match="the sender's mesh is"):
        D2DStreamService.create_pair(mesh, other, WORDS, ShardTensorToMesh(mesh, 0), 4096, WORKERS, WORKERS)
    with pytest.raises(TypeError, match="No constructor defined"):
        D2DStreamService()


def test_a_gate_holds_its_own_device_and_slot_alone(mesh: MeshDevice) -> None:
    """Words of a transfer over two devices: the first device's has no gate, the second's waits at gate 0."""
    gates = StageGates(D2DStageGateConfig(2, 0, 4), mesh, 8)
    first, second = mesh.coords[0], mesh.coords[1]
    rows = np.array([[UNGATED_SLOT, 1], [0, 1]], np.uint32)
    transfer = Transfer(None, Shards(rows, (0, 1)))
    gates.set(first, 0, True)
    with pytest.raises(RuntimeError, match=f"slot 0 waits at its closed gate on {re.escape(str(second))}"):
        gates.pass_through(transfer)
    gates.set(second, 0, True)
    gates.pass_through(transfer)
    assert gates.is_open(first, 0) and not gates.is_open(second, 0), "it closes behind what has passed"


@pytest.mark.parametrize(("offset", "fits"), [(0, True), (4, True), (8, False), (12, False), (2, False)])
def test_the_word_of_a_slot_lies_within_the_metadata(mesh: MeshDevice, offset: int, fits: bool) -> None:
    config = D2DStageGateConfig(1, offset, 4)
    if fits:
        StageGates(config, mesh, 8)
    else:
        with pytest.raises(RuntimeError, match="is no word of the 8 bytes of metadata"):
            StageGates(config, mesh, 8)
