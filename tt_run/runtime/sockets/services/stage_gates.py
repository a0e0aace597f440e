"""Gates that hold a stream between stages of a pipeline until the slot that a transfer is for may be filled. Source: reference library 0.81.1."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tt_run.runtime.comm.deadlines import Patience
from tt_run.runtime.comm.world import seconds_to_wait
from tt_run.runtime.enums import NamedEnum
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, coordinate_hint
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.fields import Checked
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.sockets.services.transfers import WORD, Transfer
from tt_run.runtime.sockets.streams import LOOK, others_may_send

UNGATED_SLOT = 0xFFFF_FFFF
"""The slot of a message that no gate holds."""


@native("ttnn._ttnn.d2d_stream_service.D2DStageGateMode")
class D2DStageGateMode(NamedEnum):
    """What a gate does once a message has passed."""

    KeepOpen = 0
    CloseOnTransit = 1


@native_class("ttnn._ttnn.d2d_stream_service.D2DStageGateConfig")
@dataclass(eq=False, repr=False)
class D2DStageGateConfig(Checked, metaclass=Native):
    """How many gates there are, and where a message's metadata say its slot and mode, in bytes."""

    num_gates: int
    slot_id_offset_bytes: int
    gate_mode_offset_bytes: int


class StageGates:
    """The gates of a receiver: a transfer whose metadata name slot i passes on a device while gate i of that device is open; all begin closed."""

    def __init__(self, config: D2DStageGateConfig | None, mesh: MeshDevice, metadata_bytes: int) -> None:
        self.count = 0 if config is None else config.num_gates
        self._config, self._mesh = config, mesh
        self._open: set[tuple[int, int]] = set()
        if config is None or not self.count:
            return
        for name in ("slot_id_offset_bytes", "gate_mode_offset_bytes"):
            offset = getattr(config, name)
            if offset % WORD or not 0 <= offset <= metadata_bytes - WORD:
                raise fatal(
                    f"D2DStageGateConfig: {name}={offset} is no word of the {metadata_bytes} bytes of metadata",
                    hint=f"a multiple of {WORD} up to {metadata_bytes - WORD}"
                    if metadata_bytes
                    else "metadata_size_bytes=12 where the service is made",
                )

    def set(self, coord: MeshCoordinate, gate: int, open: bool) -> None:
        """Open or close a gate of one device of this rank."""
        place = self._place(coord, gate)
        (self._open.add if open else self._open.discard)(place)

    def is_open(self, coord: MeshCoordinate, gate: int) -> bool:
        """Whether a gate of one device of this rank is open."""
        return self._place(coord, gate) in self._open

    def _place(self, coord: MeshCoordinate, gate: int) -> tuple[int, int]:
        index = self._mesh.index_of(coord)
        if index is None or index not in self._mesh.local_positions:
            raise fatal(
                f"stage gate: the device {coord} is not one of this rank's on {self._mesh.shape}",
                hint=coordinate_hint(self._mesh.shape),
            )
        if not 0 <= gate < self.count:
            raise fatal(
                f"stage gate {gate} is none of {self.count}",
                "gate < num_gates",
                hint=f"0 to {self.count - 1}" if self.count else "stage_gate=ttnn.D2DStageGateConfig(…)",
            )
        return self._mesh.local_positions.index(index), gate

    def pass_through(self, transfer: Transfer) -> None:
        """Let a transfer pass where its gate is open. Waits while another thread may open it; raises RuntimeError where none can."""
        config = self._config
        if config is None or not self.count or transfer.metadata is None:
            return
        for place, row in enumerate(transfer.metadata.each()):
            if row is None:
                continue
            words = row.reshape(-1)
            slot = int(words[config.slot_id_offset_bytes // WORD])
            if slot >= self.count:  # UNGATED_SLOT and its like
                continue
            self._await(place, slot)
            if int(words[config.gate_mode_offset_bytes // WORD]) == D2DStageGateMode.CloseOnTransit.value:
                self._open.discard((place, slot))

    def _await(self, place: int, slot: int) -> None:
        patience = Patience()
        while (place, slot) not in self._open:
            patience.look()
            if not others_may_send() or patience.over(seconds_to_wait()):
                coord = self._mesh.coords[self._mesh.local_positions[place]]
                raise fatal(
                    f"inbound_socket_service_sync: the transfer for slot {slot} waits at its closed gate on {coord}",
                    hint=f"receiver.set_stage_gate(ttnn.MeshCoordinate{tuple(coord)}, {slot}, True) before the result is read",
                )
            time.sleep(LOOK)
