"""Functions of `ttnn.device` and `ttnn.core` around devices that few programs call. Source: reference library 0.81.1."""

from __future__ import annotations

import faulthandler
from collections.abc import Sequence
from typing import Any

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import FabricTensixConfig
from tt_run.runtime.errors import fatal, incompatible
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, coordinate_hint
from tt_run.runtime.mesh.hardware import DispatchCoreAxis, DispatchCoreType
from tt_run.runtime.mesh.opening import set_default_device
from tt_run.runtime.mesh.workers import DispatchCoreConfig
from tt_run.runtime.native.arguments import public
from tt_run.runtime.tile import TILE_SIZE

_PAD = "pad_to_tile_shape(unpadded_shape: collections.abc.Sequence[int]) -> list"


def clear_default_device() -> None:
    """No device is used any more where none is named."""
    set_default_device(None)


@public
def create_dispatch_core_config(
    *,
    type: DispatchCoreType | None = None,
    axis: DispatchCoreAxis | None = None,
    fabric_tensix_config: FabricTensixConfig | None = None,
) -> DispatchCoreConfig:
    """Which cores dispatch, by keywords alone."""
    return DispatchCoreConfig(type, axis, fabric_tensix_config)


def pad_to_tile_shape(unpadded_shape: Sequence[int]) -> list[int]:
    """The shape with whole tiles in its last two dimensions. Raises TypeError unless it is a list or tuple of four sizes."""
    given: Any = unpadded_shape
    fits = isinstance(given, (list, tuple)) and len(given) == 4
    if not fits or not all(isinstance(size, int) and size >= 0 for size in given):
        raise incompatible("pad_to_tile_shape", (_PAD,), (given,))
    return [*given[:2], *(-(-size // TILE_SIZE) * TILE_SIZE for size in given[2:])]


@public
def set_root_dir(root_dir: str) -> None:
    """Accepted: nothing here is read from the reference's tree of sources."""


def is_program_realtime_profiler_active() -> bool:
    """False: no chip reports its programs while they run; `tt-run --timeline FILE` has the times of a run."""
    return False


@public
def worker_core_from_logical_core(
    mesh_device: MeshDevice, mesh_coord: MeshCoordinate, logical_core: CoreCoord
) -> CoreCoord:
    """Where a core of one device is on its network. Raises RuntimeError for a coordinate that is not in the mesh."""
    if not all(0 <= place < extent for place, extent in zip(mesh_coord, mesh_device.shape, strict=True)):
        raise fatal(
            f"Coordinate {mesh_coord} not found in mesh {mesh_device.shape}",
            hint=coordinate_hint(mesh_device.shape),
        )
    return mesh_device.worker_core_from_logical_core(logical_core)


def dump_stack_trace_on_segfault() -> None:
    """Print every thread's frames of Python, should the process end by a fault of memory."""
    faulthandler.enable()
