"""The words of kernel descriptions: processors, networks on chip, sources of code."""

from __future__ import annotations

from tt_run.runtime.enums import NamedEnum
from tt_run.runtime.native.classes import native


@native("ttnn._ttnn.types.NOC_MODE")
class NOC_MODE(NamedEnum):
    """Whether a processor keeps to one network on chip."""

    DM_DEDICATED_NOC = 0
    DM_DYNAMIC_NOC = 1


@native("ttnn._ttnn.types.DataMovementProcessor")
class DataMovementProcessor(NamedEnum):
    """A processor of a core that moves data."""

    RISCV_0 = 0
    RISCV_1 = 1
    RISCV_2 = 2
    RISCV_3 = 3
    RISCV_4 = 4
    RISCV_5 = 5
    RISCV_6 = 6
    RISCV_7 = 7


@native("ttnn._ttnn.program_descriptor.KernelDescriptor.SourceType")
class SourceType(NamedEnum):
    """Whether a kernel's source is a path or the code itself."""

    FILE_PATH = 0
    SOURCE_CODE = 1


@native("ttnn._ttnn.program_descriptor.UnpackToDestMode")
class UnpackToDestMode(NamedEnum):
    """Precision in which a circular buffer is unpacked into the destination registers."""

    UnpackToDestFp32 = 0
    Default = 1
