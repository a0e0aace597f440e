"""How the chunked gated delta rule is laid over cores: one kernel, two phases, or producers that feed receivers."""

from __future__ import annotations

from typing import ClassVar

from mgd.lean import dataclass
from tt_run.runtime.native.classes import Native
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.tuning.base import Tuning


class _Spelled(Tuning):
    """Printed with Python's own words."""

    _separator: ClassVar[str] = ", "

    def _text(self, value: object) -> str:
        return repr(value)


@native_class("ttnn._ttnn.operations.transformer.ChunkGdnMonoProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class ChunkGdnMonoProgramConfig(_Spelled, metaclass=Native):
    """One kernel does all."""


@native_class("ttnn._ttnn.operations.transformer.ChunkGdnPhasedProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class ChunkGdnPhasedProgramConfig(_Spelled, metaclass=Native):
    """Preparation of the chunks, then the scan over them."""

    use_mcast: bool = True
    scan_serial: bool = False
    prep_serial: bool = False


@native_class("ttnn._ttnn.operations.transformer.ChunkGdnFusedProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class ChunkGdnFusedProgramConfig(_Spelled, metaclass=Native):
    """Producers prepare chunks while receivers scan; None lets the operation choose."""

    num_producers: int | None = None
    num_receivers: int | None = None
    row_local: bool | None = None
    handoff_depth: int | None = None
    unicast: bool = True
    posted: bool = False
    producer_pool: bool | None = None
    pool_extra_share: float | None = None
    handoff_checks: bool = False
    handoff_fault: int = 0


@native_class("ttnn._ttnn.operations.experimental.kda.QkvCausalConv1dSiluProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class QkvCausalConv1dSiluProgramConfig(Tuning, metaclass=Native):
    """How many channels of a convolution a core takes at once."""

    channel_chunk_size: int
