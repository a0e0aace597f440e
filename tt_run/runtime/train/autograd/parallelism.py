"""Which axis of the mesh carries which kind of parallelism ("Distributed Training Guide").

The counter starts at axis 0; data parallelism takes the next axis, then fully sharded data parallelism, then context parallelism, which
cuts positions, then tensor parallelism. On a mesh with a side of 1, which is a
line, exactly one kind may be on and takes the side that is longer than 1: the guide's `[1, 32]` is "axis 0" in its words, while only
axis 1 has the 32 devices, so that one is reported.
"""

from __future__ import annotations

from mgd.lean import dataclass
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.positions import RingLayout

_MISMATCH = "The number of parallelization axes must be equal to the number of mesh shape dimensions"


KINDS = ("ddp", "fsdp", "cp", "tp")
"""In the order in which they take axes."""


@dataclass()
class DistributedConfig:
    """Which kinds of parallelism a program wants; `cp_layout` says which positions a device has, "contiguous" or "zigzag"."""

    enable_ddp: bool = False
    enable_tp: bool = False
    enable_cp: bool = False
    enable_fsdp: bool = False
    cp_layout: str = "contiguous"

    @property
    def enabled(self) -> tuple[str, ...]:
        on = {"ddp": self.enable_ddp, "fsdp": self.enable_fsdp, "cp": self.enable_cp, "tp": self.enable_tp}
        return tuple(name for name in KINDS if on[name])


@dataclass(frozen=True)
class Axis:
    """A mesh axis and its number of devices; None and 1 for parallelism that is off."""

    axis: int | None = None
    size: int = 1


class ParallelismContext:
    """The axes of a device mesh of shape (rows, columns).

    Raises RuntimeError, with the guide's sentence, when the number of kinds does not fit the shape. On a single device every kind that is
    on has size 1. Raises ValueError for a `cp_layout` that there is not.
    """

    def __init__(self, config: DistributedConfig, shape: tuple[int, int]) -> None:
        if not isinstance(config, DistributedConfig):
            raise TypeError(
                f"ParallelismContext: config is a DistributedConfig, not {type_name(config)}; help: ttml.autograd.DistributedConfig(enable_tp=True)"
            )
        self._layout = RingLayout.from_string(config.cp_layout)
        axes = _axes(config, shape)
        self._ddp = axes.get("ddp", Axis())
        self._fsdp = axes.get("fsdp", Axis())
        self._cp = axes.get("cp", Axis())
        self._tp = axes.get("tp", Axis())
        self._config = config

    @classmethod
    def of_axes(cls, ddp: Axis | None, tp: Axis | None, cp: Axis | None = None) -> ParallelismContext:
        """The axes as they are named; None for parallelism that is off."""
        made = cls.__new__(cls)
        made._ddp, made._cp, made._tp, made._fsdp = ddp or Axis(), cp or Axis(), tp or Axis(), Axis()
        made._layout = RingLayout.Contiguous
        made._config = DistributedConfig(ddp is not None, tp is not None, cp is not None)
        return made

    def __repr__(self) -> str:
        axes = ", ".join(
            f"{name}={found}" for name, found in (("ddp", self._ddp), ("cp", self._cp), ("tp", self._tp))
        )
        return f"ParallelismContext({axes})"

    def get_ddp_axis(self) -> int | None:
        """The mesh axis of data parallelism, None when it is off."""
        return self._ddp.axis

    def get_fsdp_axis(self) -> int | None:
        """The mesh axis over which parameters are cut and batches dealt, None when that is off."""
        return self._fsdp.axis

    def get_fsdp_size(self) -> int:
        """Devices along that axis, 1 when it is off."""
        return self._fsdp.size

    def get_tp_axis(self) -> int | None:
        """The mesh axis of tensor parallelism, None when it is off."""
        return self._tp.axis

    def get_cp_axis(self) -> int | None:
        """The mesh axis of context parallelism, None when it is off."""
        return self._cp.axis

    def get_cp_size(self) -> int:
        """Devices along the context-parallel axis, 1 when it is off."""
        return self._cp.size

    def get_cp_layout(self) -> RingLayout:
        """Which positions each of them has."""
        return self._layout

    def get_ddp_size(self) -> int:
        """Devices along the data-parallel axis, 1 when it is off."""
        return self._ddp.size

    def get_tp_size(self) -> int:
        """Devices along the tensor-parallel axis, 1 when it is off."""
        return self._tp.size

    def is_ddp_enabled(self) -> bool:
        """Whether data parallelism is on."""
        return self._config.enable_ddp

    def is_fsdp_enabled(self) -> bool:
        """Whether parameters are cut over an axis of data."""
        return self._config.enable_fsdp

    def is_cp_enabled(self) -> bool:
        """Whether context parallelism is on."""
        return self._config.enable_cp

    def is_tp_enabled(self) -> bool:
        """Whether tensor parallelism is on."""
        return self._config.enable_tp


def _axes(config: DistributedConfig, shape: tuple[int, int]) -> dict[str, Axis]:
    wanted = config.enabled
    long_axes = [axis for axis, size in enumerate(shape) if size > 1]
    if not long_axes:
        return {name: Axis(None, 1) for name in wanted}
    if len(wanted) != len(long_axes):
        kinds = ", ".join(f"{name}={name in wanted}".lower() for name in KINDS)
        hint = (
            "enable exactly one of enable_ddp, enable_fsdp, enable_cp and enable_tp on a line of devices"
            if len(long_axes) == 1
            else "enable two of enable_ddp, enable_fsdp, enable_cp and enable_tp on a mesh of two dimensions"
        )
        raise RuntimeError(
            f"{_MISMATCH}. Mesh shape [{shape[0]}, {shape[1]}] has {len(long_axes)} dimension(s) longer than 1, "
            f"enabled: {kinds}. help: {hint}"
        )
    return {name: Axis(axis, shape[axis]) for name, axis in zip(wanted, long_axes, strict=True)}
