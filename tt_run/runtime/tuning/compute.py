"""Precision of compute kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mgd.lean import dataclass
from tt_run.runtime.enums import MathFidelity, NamedEnum
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.fields import Checked
from tt_run.runtime.native.refusals import native_class, with_note

if TYPE_CHECKING:
    from tt_run.runtime.mesh.hardware import Arch


@native("ttnn._ttnn.operations.core.ThrottleLevel")
class ThrottleLevel(NamedEnum):
    """How far the matrix engine is slowed down to save power."""

    NO_THROTTLE = 0
    LEVEL_1 = 1
    LEVEL_2 = 2
    LEVEL_3 = 3
    LEVEL_4 = 4
    LEVEL_5 = 5


@native("ttnn._ttnn.operations.core.DeviceComputeKernelConfig")
class DeviceComputeKernelConfig(metaclass=Native):
    """The kind of argument that takes any architecture's precision settings; make a `WormholeComputeKernelConfig`."""

    def __init__(self) -> None:
        raise with_note(
            TypeError("ttnn._ttnn.operations.core.DeviceComputeKernelConfig: no constructor defined!"),
            "make a ttnn.WormholeComputeKernelConfig",
        )


@native_class("ttnn._ttnn.operations.core.WormholeComputeKernelConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class WormholeComputeKernelConfig(Checked, metaclass=Native):
    """Precision settings of compute kernels, of Wormhole and Blackhole alike; equal only to itself."""

    math_fidelity: MathFidelity = MathFidelity.Invalid
    math_approx_mode: bool = True
    fp32_dest_acc_en: bool = False
    packer_l1_acc: bool = False
    dst_full_sync_en: bool = False
    throttle_level: ThrottleLevel = ThrottleLevel.NO_THROTTLE


def init_device_compute_kernel_config(
    arch: Arch,
    device_kernel_config: WormholeComputeKernelConfig | None = None,
    *,
    math_fidelity: MathFidelity = MathFidelity.LoFi,
    math_approx_mode: bool = True,
    fp32_dest_acc_en: bool = False,
    packer_l1_acc: bool = False,
    dst_full_sync_en: bool = False,
    throttle_level: ThrottleLevel = ThrottleLevel.NO_THROTTLE,
) -> WormholeComputeKernelConfig:
    """The given settings, or new ones from the keywords; every architecture takes the same ones."""
    return device_kernel_config or WormholeComputeKernelConfig(
        math_fidelity=math_fidelity,
        math_approx_mode=math_approx_mode,
        fp32_dest_acc_en=fp32_dest_acc_en,
        packer_l1_acc=packer_l1_acc,
        dst_full_sync_en=dst_full_sync_en,
        throttle_level=throttle_level,
    )


def layernorm_default_compute_config(arch: Arch) -> WormholeComputeKernelConfig:
    """The precision of a layer norm that is given none."""
    return WormholeComputeKernelConfig(
        math_fidelity=MathFidelity.HiFi4, math_approx_mode=False, fp32_dest_acc_en=True
    )


def rmsnorm_default_compute_config(arch: Arch) -> WormholeComputeKernelConfig:
    """The precision of an RMS norm that is given none."""
    return WormholeComputeKernelConfig(math_fidelity=MathFidelity.HiFi4, math_approx_mode=True)
