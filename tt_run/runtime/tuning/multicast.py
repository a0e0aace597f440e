"""How a core's data reach other cores of a chip: settings that kernels take, held here as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tt_run.runtime.cores import CoreCoord, CoreRangeSet
from tt_run.runtime.enums import NamedEnum
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.fields import Checked
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.tuning.choices import NOC, TransferMode


@native("ttnn._ttnn.mcast_host.McastDataReady")
class McastDataReady(NamedEnum):
    """How receivers learn that data are there."""

    Flag = 0
    Counter = 1


@native("ttnn._ttnn.mcast_host.McastCoreOrder")
class McastCoreOrder(NamedEnum):
    """In which order cores send."""

    RowMajor = 0
    ColumnMajor = 1


@native("ttnn._ttnn.mcast_host.McastSenderPlacement")
class McastSenderPlacement(NamedEnum):
    """Where the sender of each group sits."""

    Uniform = 0
    Staggered = 1


@native_class("ttnn._ttnn.mcast_host.McastConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class McastConfig(Checked, metaclass=Native):
    """Network, handshake and mode of a multicast."""

    noc: NOC = NOC.RISCV_0_default
    handshake: bool = True
    handshake_cores: CoreRangeSet | None = None
    data_ready: McastDataReady = McastDataReady.Flag
    irregular_receiver_set_mode: TransferMode = TransferMode.Multicast


@native_class("ttnn._ttnn.mcast_host.McastFixedSenderConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class McastFixedSenderConfig(Checked, metaclass=Native):
    """One sender for each group, by its number."""

    sender_index: int = 0
    placement: McastSenderPlacement = McastSenderPlacement.Uniform


@native_class("ttnn._ttnn.mcast_host.McastExplicitFixedSenderConfig")
@dataclass(eq=False, repr=False)
class McastExplicitFixedSenderConfig(Checked, metaclass=Native):
    """One sender for each group, named."""

    senders_per_group: Sequence[CoreCoord]


@native_class("ttnn._ttnn.mcast_host.McastRotatingSenderConfig")
@dataclass(eq=False, repr=False)
class McastRotatingSenderConfig(Checked, metaclass=Native):
    """Senders that take turns."""

    sender_cores: CoreRangeSet | None = None
    sender_order: McastCoreOrder | None = None
