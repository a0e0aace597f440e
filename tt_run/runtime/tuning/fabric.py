"""Settings of the fabric's routers."""

from __future__ import annotations

from dataclasses import dataclass

from tt_run.runtime.native.classes import Native
from tt_run.runtime.native.fields import Checked
from tt_run.runtime.native.refusals import native_class


@native_class("ttnn._ttnn.fabric.FabricRouterConfig")
@dataclass(eq=False, repr=False)
class FabricRouterConfig(Checked, metaclass=Native):
    """What a router may be told; None leaves the default. The emulation has no packets, so it changes nothing."""

    max_packet_payload_size_bytes: int | None = None
