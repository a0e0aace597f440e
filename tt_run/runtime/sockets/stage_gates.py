"""Gates that hold a stream between stages of a pipeline: their settings, which a service on a device would read."""

from __future__ import annotations

from dataclasses import dataclass

from tt_run.runtime.enums import NamedEnum
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.fields import Checked
from tt_run.runtime.native.refusals import bound

UNGATED_SLOT = 0xFFFF_FFFF
"""The slot of a message that no gate holds."""


@native("ttnn._ttnn.d2d_stream_service.D2DStageGateMode")
class D2DStageGateMode(NamedEnum):
    """What a gate does once a message has passed."""

    KeepOpen = 0
    CloseOnTransit = 1


@bound("ttnn._ttnn.d2d_stream_service.D2DStageGateConfig")
@dataclass(eq=False, repr=False)
class D2DStageGateConfig(Checked, metaclass=Native):
    """How many gates there are, and where a message's metadata say its slot and mode, in bytes."""

    num_gates: int
    slot_id_offset_bytes: int
    gate_mode_offset_bytes: int
