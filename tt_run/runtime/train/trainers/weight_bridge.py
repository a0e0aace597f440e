"""Weights from the rank that trains to the one that makes completions: through host memory, as bytes between two ranks."""

from __future__ import annotations

import json
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import distributed
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.train.autograd.axis_placement import first_shard, is_replicated
from tt_run.runtime.values.bfloat16 import BFLOAT16

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

TTML_RANK, TTT_RANK = 0, 1
"""The rank that trains, and the one that makes completions."""
SENDER_RANK, RECEIVER_RANK = TTML_RANK, TTT_RANK
_RANKS = {"sender": SENDER_RANK, "receiver": RECEIVER_RANK}
_LENGTH = struct.Struct("<Q")
# One tag for each kind of message and direction, so that a rank never meets its own.
_MANIFEST, _READY, _TAKEN, _WEIGHT = 101, 102, 103, 104
_MET = b"ready"
_KINDS = {DataType.BFLOAT16: BFLOAT16, DataType.FLOAT32: np.dtype(np.float32)}


class WeightBridge(ABC):
    """What carries weights by name between two ranks: both `connect`, one sends as often as the other receives, both meet at `barrier`."""

    @abstractmethod
    def connect(self) -> None:
        """Meet the other rank; both call it once."""

    @abstractmethod
    def send_weights(self, weights: dict[str, Value]) -> None:
        """Send weights that every device has whole."""

    @abstractmethod
    def receive_weights(self) -> list[dict[str, Value]]:
        """The weights, once for each target."""

    @abstractmethod
    def barrier(self) -> None:
        """Return when the other rank is here too."""


class HostWeightBridge(WeightBridge):
    """Weights through host memory. Raises RuntimeError before the ranks have met, and on a rank that has the other role."""

    def __init__(
        self, *, role: str, peer_rank: int, mesh: Any = None, submeshes: Sequence[Any] | None = None
    ) -> None:
        own = own_rank("HostWeightBridge")
        if role not in _RANKS:
            raise ValueError(f"HostWeightBridge: role must be 'sender' or 'receiver', got {role!r}")
        if own != _RANKS[role]:
            raise RuntimeError(
                f"HostWeightBridge: role={role!r} but local MPI rank is {own} (expected {_RANKS[role]})"
            )
        if role == "sender" and mesh is None:
            raise ValueError("HostWeightBridge.init_sender requires a mesh; help: mesh=context.get_device()")
        if role == "receiver" and not submeshes:
            raise ValueError(
                "HostWeightBridge.init_receiver requires a non-empty submeshes list; help: submeshes=[mesh]"
            )
        self._role, self._peer, self._targets = role, int(peer_rank), list(submeshes or ())

    @classmethod
    def init_sender(cls, *, mesh: Any, peer_rank: int) -> HostWeightBridge:
        """The end that sends the weights of a mesh."""
        return cls(role="sender", peer_rank=peer_rank, mesh=mesh)

    @classmethod
    def init_receiver(cls, *, mesh: Any, peer_rank: int, submeshes: Sequence[Any]) -> HostWeightBridge:
        """The end that lays what it receives on each of `submeshes`."""
        return cls(role="receiver", peer_rank=peer_rank, mesh=mesh, submeshes=submeshes)

    def connect(self) -> None:
        """Meet the other rank."""
        self.barrier()

    def send_weights(self, weights: dict[str, Value]) -> None:
        """Send them in order of their names. Raises ValueError for one that is cut, not in tiles, or no float; RuntimeError at the other end."""
        self._require("sender", "send_weights")
        for name, value in weights.items():
            _require_sendable(name, value)
        names = sorted(weights)
        entries = [
            {"key": name, "shape": list(weights[name].shape), "dtype": weights[name].dtype.name}
            for name in names
        ]
        send_sized(json.dumps(entries).encode(), self._peer, _MANIFEST)
        for name in names:
            kind = _KINDS[weights[name].dtype]
            send_sized(first_shard(weights[name]).astype(kind).tobytes(), self._peer, _WEIGHT)

    def receive_weights(self) -> list[dict[str, Value]]:
        """The weights in tiles on every device of each target. Raises RuntimeError at the other end."""
        self._require("receiver", "receive_weights")
        found: list[dict[str, Value]] = [{} for _ in self._targets]
        for entry in json.loads(receive_sized(self._peer, _MANIFEST)):
            dtype = DataType[entry["dtype"]]
            array = np.frombuffer(receive_sized(self._peer, _WEIGHT), _KINDS[dtype]).reshape(entry["shape"])
            for own, target in zip(found, self._targets, strict=True):
                laid = from_torch(array.astype(np.float32), dtype=dtype, layout=Layout.TILE, device=target)
                assert laid is not None
                own[entry["key"]] = laid
        return found

    def barrier(self) -> None:
        """Return when the other rank is here too."""
        # One side sends first, or both would wait to be heard.
        if self._role == "sender":
            distributed.distributed_context_send_bytes(_MET, self._peer, _READY)
            distributed.distributed_context_recv_bytes(len(_MET), self._peer, _TAKEN)
        else:
            distributed.distributed_context_recv_bytes(len(_MET), self._peer, _READY)
            distributed.distributed_context_send_bytes(_MET, self._peer, _TAKEN)

    def _require(self, role: str, name: str) -> None:
        if self._role != role:
            raise RuntimeError(f"HostWeightBridge.{name} called on a {self._role}")


def send_sized(body: bytes, peer: int, tag: int) -> None:
    """Bytes with their number ahead of them."""
    distributed.distributed_context_send_bytes(_LENGTH.pack(len(body)), peer, tag)
    distributed.distributed_context_send_bytes(body, peer, tag)


def receive_sized(peer: int, tag: int) -> bytes:
    """What `send_sized` sent."""
    (size,) = _LENGTH.unpack(distributed.distributed_context_recv_bytes(_LENGTH.size, peer, tag))
    return distributed.distributed_context_recv_bytes(size, peer, tag)


def own_rank(owner: str) -> int:
    """The number of this rank. Raises RuntimeError before the ranks have met."""
    if not distributed.distributed_context_is_initialized():
        raise RuntimeError(
            f"{owner}: ttnn distributed context is not initialized. Call ttnn.init_distributed_context() (receiver) or "
            "AutoContext.get_instance().initialize_distributed_context(*sys.argv) (sender) before constructing the bridge."
        )
    return int(distributed.distributed_context_get_rank())


def _require_sendable(name: str, value: Value) -> None:
    if value.dtype not in _KINDS:
        raise ValueError(f"WeightBridge: tensor {name!r} has dtype={value.dtype}, expected ttnn.bfloat16")
    if value.layout is not Layout.TILE:
        raise ValueError(
            f"WeightBridge: tensor {name!r} has layout={value.layout}, expected ttnn.TILE_LAYOUT"
        )
    if not is_replicated(value, None):
        raise ValueError(
            f"WeightBridge: tensor {name!r} is not fully replicated across the mesh (placements={value.tensor_topology().placements()}); "
            "help: train with data parallelism alone, whose devices all have whole weights"
        )
