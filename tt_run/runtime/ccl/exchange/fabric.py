"""The fabric configuration, and what it allows.

The reference sends nothing before `set_fabric_config`; the documents' programs never call it. So a program that sets no fabric may
use every collective, one that sets a 1-D fabric gets the limits of a 1-D fabric, and strict mode (TT_RUN_STRICT=1 or
`set_strict`) also insists that a fabric is set before the mesh is opened. Source: reference library 0.81.1.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from mgd.lean import dataclass, replace
from tt_run import contract
from tt_run.runtime.enums import FabricConfig, FabricReliabilityMode, FabricTensixConfig
from tt_run.runtime.errors import fatal, incompatible
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate

ONE_DIMENSIONAL = frozenset(
    (FabricConfig.FABRIC_1D, FabricConfig.FABRIC_1D_RING, FabricConfig.FABRIC_1D_NEIGHBOR_EXCHANGE)
)


@dataclass(frozen=True)
class State:
    """What the programs and the environment have chosen."""

    config: FabricConfig = FabricConfig.DISABLED
    reliability: FabricReliabilityMode = FabricReliabilityMode.STRICT_INIT
    strict: bool | None = None


_state = State()


def current() -> State:
    """What `check_collective` depends on: another object after each change."""
    return _state


def _change(**fields: Any) -> None:
    global _state
    _state = replace(_state, **fields)


def set_fabric_config(
    config: FabricConfig | int,
    reliability_mode: FabricReliabilityMode = FabricReliabilityMode.STRICT_INIT,
    num_planes: int | None = None,
    fabric_tensix_config: FabricTensixConfig = FabricTensixConfig.DISABLED,
    fabric_udm_mode: object = None,
    fabric_manager_mode: object = None,
    router_config: object = None,
) -> None:
    """Choose the routing of meshes opened from now on.

    A member's number stands for the member, as the reference takes it; suites say `fabric_config: True`. Raises TypeError for anything else, RuntimeError for another than DISABLED while a mesh is open. Planes, tensix, UDM, manager and router settings tune hardware; the emulation has nothing that they change.
    """
    if isinstance(config, int) and config in {member.value for member in FabricConfig}:
        config = FabricConfig(int(config))
    if not isinstance(config, FabricConfig):
        members = " | ".join(f"ttnn.{member}" for member in FabricConfig)
        raise incompatible(
            "set_fabric_config", (f"set_fabric_config(config: {members}, …) -> None",), (config,)
        )
    if config is not FabricConfig.DISABLED and MeshDevice.any_open():
        raise fatal(
            f"SetFabricConfig({config.name}) is not allowed while devices are still open: it would reinitialize the control plane "
            "underneath running fabric kernels and dangle the ControlPlane& held by the fabric firmware initializer. Close the mesh "
            "device before changing the fabric config to a non-DISABLED value.",
            hint="call ttnn.set_fabric_config(…) before ttnn.open_mesh_device(…)",
        )
    choose(config, reliability_mode)


def choose(
    config: FabricConfig, reliability: FabricReliabilityMode = FabricReliabilityMode.STRICT_INIT
) -> None:
    """Set the routing whatever is open: for training, which opens its meshes one after the other."""
    _change(config=config, reliability=reliability)


def get_fabric_config() -> FabricConfig:
    """The routing that was chosen, DISABLED when none was."""
    return _state.config


def set_strict(strict: bool | None) -> None:
    """Insist on the reference's prerequisites (True), don't (False), or do as TT_RUN_STRICT says at the next collective (None)."""
    _change(strict=strict)


def strict() -> bool:
    """Whether the reference's prerequisites are enforced."""
    if _state.strict is None:
        _change(strict=os.environ.get(contract.STRICT, "").strip().lower() in ("1", "true", "on", "yes"))
    return bool(_state.strict)


def check_collective(mesh_shape: Iterable[int], cluster_axis: int | None) -> None:
    """Raise RuntimeError when the fabric cannot carry a collective over this group."""
    _require_fabric()
    if _state.config not in ONE_DIMENSIONAL or cluster_axis is not None:
        return
    if sum(1 for length in mesh_shape if length > 1) > 1:
        raise fatal(
            "1D fabric on a 2D mesh_device requires cluster_axis to be set",
            "cluster_axis.has_value()",
            hint="name cluster_axis, or ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_2D) before opening the mesh",
        )


def check_route(sender: MeshCoordinate, receiver: MeshCoordinate) -> None:
    """Raise RuntimeError when the fabric has no route between two devices of a mesh."""
    _require_fabric()
    apart = sum(1 for a, b in zip(sender, receiver, strict=True) if a != b)
    if apart > 1 and _state.config in ONE_DIMENSIONAL:
        raise fatal(
            f"Routing coordinates {sender} and {receiver} invalid for 1D fabric",
            "sender_coord[0] == receiver_coord[0] || sender_coord[1] == receiver_coord[1]",
            hint="send along one row or column, or ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_2D) before opening the mesh",
        )


def packet_header_bytes() -> int:
    """Bytes of a fabric packet's header: one of two dimensions has more of a route to say. A program that sets no fabric has the shorter one."""
    _require_fabric()
    return 48 if _state.config in ONE_DIMENSIONAL or _state.config is FabricConfig.DISABLED else 96


def _require_fabric() -> None:
    if strict() and _state.config is FabricConfig.DISABLED:
        raise fatal(
            "Trying to get un-initialized fabric context",
            "fabric_context_ != nullptr",
            hint="ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D) before opening the mesh",
        )
