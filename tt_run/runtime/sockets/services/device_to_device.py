"""A service that streams tensors from one mesh to another, device by device. Source: reference library 0.81.1.

A transfer is a tensor over a `MeshSocket`, and a second one with its metadata. Where the service shares the fabric with the program
(`share_fabric_links`), a transfer leaves once the program has lent it the links by `release_fabric_links`, and `wait_for_fabric_links` takes
them back.
"""

from __future__ import annotations

from tt_run.runtime import guard
from tt_run.runtime.comm.world import world
from tt_run.runtime.cores import CoreCoord, CoreRange
from tt_run.runtime.enums import BufferType
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.sockets.config import MeshCoreCoord, SocketConfig, SocketConnection, SocketMemoryConfig
from tt_run.runtime.sockets.services.service import StreamService
from tt_run.runtime.sockets.services.stage_gates import D2DStageGateConfig, StageGates
from tt_run.runtime.sockets.services.transfers import Delivery, Transfer, words_tensor
from tt_run.runtime.sockets.socket import MeshSocket, create_socket_pair
from tt_run.runtime.sockets.streams import describe
from tt_run.runtime.sockets.transfer import recv_async, send_async
from tt_run.runtime.tensor.distribution.mappers import Mapper, create_mesh_mapper
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor


class _End(StreamService):
    """What both ends share: a socket and the links that are lent."""

    def __init__(
        self,
        mesh: MeshDevice,
        global_spec: TensorSpec,
        mapper: Mapper,
        workers: CoreRange,
        metadata_size_bytes: int,
        share_fabric_links: bool,
    ) -> None:
        super().__init__(mesh, global_spec, mapper, workers, metadata_size_bytes)
        self._shares = share_fabric_links
        self._lent = 0

    def use(self, socket: MeshSocket) -> None:
        """Use a socket from now on."""
        self._socket = socket


@native("ttnn._ttnn.d2d_stream_service.D2DStreamServiceSender")
class D2DStreamServiceSender(_End, metaclass=Native):
    """The end that `outbound_socket_service_sync` hands tensors to."""

    _bound_name = "ttnn._ttnn.d2d_stream_service.D2DStreamServiceSender"
    _words: Tensor | None
    _waits = False

    def hand_over(self, transfer: Transfer) -> None:
        """Send what an operation has put into the backing tensor, at once or when the links are lent.

        Raises RuntimeError while the transfer before waits for them: a device would overwrite it.
        """
        if self._waits:
            raise fatal(
                "outbound_socket_service_sync: the transfer before has not left, since the links were not lent to the sender",
                hint="sender.release_fabric_links() after each transfer, and sender.wait_for_fabric_links() before the next",
            )
        assert transfer.shards is not None
        self.get_backing_tensor().overwrite(transfer.shards)
        if transfer.metadata is not None:
            self._words = words_tensor(self._device, self._metadata)
            self._words.overwrite(transfer.metadata)
        self._waits = True
        if not self._shares or self._lent:
            self._leave()

    def _leave(self) -> None:
        self._waits, self._lent = False, max(self._lent - 1, 0)
        send_async.compute(self.get_backing_tensor(), self._socket)
        if self._metadata:
            send_async.compute(self._words, self._socket)

    def release_fabric_links(self) -> None:
        """Lend the links for one transfer: the one that waits, or the next."""
        self._lent += 1
        if self._waits:
            self._leave()

    def wait_for_fabric_links(self) -> None:
        """Return when what the links were lent for has left. Raises RuntimeError when there is nothing that could: a device waits for ever."""
        if self._shares and self._lent:
            raise fatal(
                "wait_for_fabric_links: the links were lent and nothing was handed over that could leave",
                hint="ttnn.experimental.deepseek_prefill.outbound_socket_service_sync(sender, tensor) first",
            )

    get_consumed_sem_addr = StreamService._address
    get_data_ready_counter_addr = StreamService._address


@native("ttnn._ttnn.d2d_stream_service.D2DStreamServiceReceiver")
class D2DStreamServiceReceiver(_End, metaclass=Native):
    """The end that `inbound_socket_service_sync` takes tensors from."""

    _bound_name = "ttnn._ttnn.d2d_stream_service.D2DStreamServiceReceiver"
    gates: StageGates

    def ask(self) -> Delivery:
        """The next transfer: asked for now, waited for when it is read."""
        landing = self.like_backing()
        recv_async.compute(landing, self._socket)
        words = None
        if self._metadata:
            words = words_tensor(self._device, self._metadata)
            recv_async.compute(words, self._socket)

        def take() -> Transfer:
            if self._shares and not self._lent:
                raise fatal(
                    "inbound_socket_service_sync: the transfer cannot land, since the links were not lent to the receiver",
                    hint="receiver.release_fabric_links() before its result is read",
                )
            transfer = Transfer(landing.shards, None if words is None else words.shards)
            self.gates.pass_through(transfer)
            self._lent = max(self._lent - 1, 0)
            self.get_backing_tensor().overwrite(landing.shards)
            return transfer

        return take

    def release_fabric_links(self) -> None:
        """Lend the links for one transfer."""
        self._lent += 1

    def wait_for_fabric_links(self) -> None:
        """Return when the transfers that were asked for have landed, and the links are back. Raises RuntimeError when none was asked for."""
        self.finish()
        if self._shares and self._lent:
            raise fatal(
                "wait_for_fabric_links: the links were lent for a transfer that no operation takes",
                hint="ttnn.experimental.deepseek_prefill.inbound_socket_service_sync(receiver) first",
            )

    def get_num_stage_gates(self) -> int:
        """How many gates hold transfers back, 0 for none."""
        return self.gates.count

    def set_stage_gate(self, coord: MeshCoordinate, gate: int, open: bool) -> None:
        """Open or close a gate of a device. Raises RuntimeError for one that there is not."""
        self.gates.set(coord, gate, open)

    def is_stage_gate_open(self, coord: MeshCoordinate, gate: int) -> bool:
        """Whether a gate of a device lets transfers pass."""
        return self.gates.is_open(coord, gate)

    get_consumed_counter_addr = StreamService._address
    get_data_ready_sem_addr = StreamService._address
    get_stage_gate_descriptor = StreamService._address


@native("ttnn._ttnn.d2d_stream_service.D2DStreamService")
class D2DStreamService(metaclass=Native):
    """Makes the two ends of a service between meshes of one shape: both in one call, or each on its rank."""

    def __init__(self) -> None:
        raise TypeError("ttnn._ttnn.d2d_stream_service.D2DStreamService: No constructor defined!")

    @staticmethod
    def create_pair(
        sender_mesh: MeshDevice,
        receiver_mesh: MeshDevice,
        global_spec: TensorSpec,
        mapper: Mapper,
        fifo_size_bytes: int,
        sender_worker_cores: CoreRange,
        receiver_worker_cores: CoreRange,
        socket_buffer_type: BufferType = BufferType.L1,
        metadata_size_bytes: int = 0,
        share_fabric_links: bool = True,
        stage_gate: D2DStageGateConfig | None = None,
    ) -> tuple[D2DStreamServiceSender, D2DStreamServiceReceiver]:
        """Both ends, which this process has. Raises RuntimeError for meshes of different shapes."""
        if sender_mesh.shape != receiver_mesh.shape:
            raise fatal(
                f"D2DStreamService: the sender's mesh is {sender_mesh.shape}, the receiver's {receiver_mesh.shape}",
                "sender_mesh.shape() == receiver_mesh.shape()",
                hint="submeshes of one shape: mesh_device.create_submesh(shape, offset)",
            )
        common = metadata_size_bytes, share_fabric_links
        sender = D2DStreamServiceSender(
            sender_mesh, global_spec, _on(mapper, sender_mesh), sender_worker_cores, *common
        )
        receiver = D2DStreamServiceReceiver(
            receiver_mesh, global_spec, _on(mapper, receiver_mesh), receiver_worker_cores, *common
        )
        receiver.gates = StageGates(stage_gate, receiver_mesh, metadata_size_bytes)
        config = _socket(sender_mesh, socket_buffer_type, fifo_size_bytes)
        for end, socket in zip(
            (sender, receiver), create_socket_pair(sender_mesh, receiver_mesh, config), strict=True
        ):
            end.use(socket)
        return sender, receiver

    @staticmethod
    def create_sender(
        sender_mesh: MeshDevice,
        global_spec: TensorSpec,
        mapper: Mapper,
        fifo_size_bytes: int,
        sender_worker_cores: CoreRange,
        receiver_worker_cores: CoreRange,
        sender_rank: int,
        receiver_rank: int,
        socket_buffer_type: BufferType = BufferType.L1,
        metadata_size_bytes: int = 0,
        share_fabric_links: bool = True,
    ) -> D2DStreamServiceSender:
        """The sending end, on the rank `sender_rank`; waits until the other end is built. Raises RuntimeError on any other rank."""
        _require_rank("create_sender", "sender_rank", sender_rank)
        end = D2DStreamServiceSender(
            sender_mesh, global_spec, mapper, sender_worker_cores, metadata_size_bytes, share_fabric_links
        )
        _meet(end, socket_buffer_type, fifo_size_bytes, sender_rank, receiver_rank)
        return end

    @staticmethod
    def create_receiver(
        receiver_mesh: MeshDevice,
        global_spec: TensorSpec,
        mapper: Mapper,
        fifo_size_bytes: int,
        sender_worker_cores: CoreRange,
        receiver_worker_cores: CoreRange,
        sender_rank: int,
        receiver_rank: int,
        socket_buffer_type: BufferType = BufferType.L1,
        metadata_size_bytes: int = 0,
        share_fabric_links: bool = True,
        stage_gate: D2DStageGateConfig | None = None,
    ) -> D2DStreamServiceReceiver:
        """The receiving end, on the rank `receiver_rank`; waits until the other end is built. Raises RuntimeError on any other rank."""
        _require_rank("create_receiver", "receiver_rank", receiver_rank)
        end = D2DStreamServiceReceiver(
            receiver_mesh, global_spec, mapper, receiver_worker_cores, metadata_size_bytes, share_fabric_links
        )
        end.gates = StageGates(stage_gate, receiver_mesh, metadata_size_bytes)
        _meet(end, socket_buffer_type, fifo_size_bytes, sender_rank, receiver_rank)
        return end


def _require_rank(method: str, name: str, rank: int) -> None:
    if world().rank != rank:
        raise fatal(
            f"{method}: {name} is {rank}, and this is rank {world().rank}",
            hint=f"if ttnn.distributed_context_get_rank() == {rank}: …",
        )


def _meet(
    end: D2DStreamServiceSender | D2DStreamServiceReceiver,
    kind: BufferType,
    fifo: int,
    sender: int,
    receiver: int,
) -> None:
    """Agree with the other rank on what is carried, and connect."""
    here = world()
    if min(sender, receiver) >= 0 and max(sender, receiver) < here.size and sender != receiver:
        carried = f"{describe(end.get_per_shard_spec())}, {end.metadata_bytes} bytes of metadata"
        shape = f"mesh {end.device.shape}"
        detail = f"from rank {sender} to rank {receiver}, {shape}, {carried}"
        guard.collective(
            here.group(sorted((sender, receiver))), guard.Signature("D2DStreamService", detail=detail)
        )
    end.use(MeshSocket(end.device, _socket(end.device, kind, fifo, sender, receiver)))


def _socket(mesh: MeshDevice, kind: BufferType, fifo: int, *ranks: int) -> SocketConfig:
    """A connection from each device to the one in its place."""
    core = CoreCoord(0, 0)
    connections = [
        SocketConnection(MeshCoreCoord(coord, core), MeshCoreCoord(coord, core)) for coord in mesh.coords
    ]
    return SocketConfig(connections, SocketMemoryConfig(kind, fifo), *ranks)


def _on(mapper: Mapper, mesh: MeshDevice) -> Mapper:
    """The same mapper over a mesh."""
    return create_mesh_mapper(mesh, mapper.unwrap().config())
