"""Settings of the fabric's routers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False, repr=False)
class FabricRouterConfig:
    """What a router may be told; None leaves the default. The emulation has no packets, so it changes nothing."""

    max_packet_payload_size_bytes: int | None = None
