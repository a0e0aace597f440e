"""Groups of devices that share experts: which experts a group holds, who takes part, and what dispatch and combine check alike.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from tt_run.runtime.ccl.exchange.groups import DeviceGroup
from tt_run.runtime.enums import Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
METADATA_WORDS = 3
"""Words of metadata a token: the device it came from (row-major on the mesh), its row there, and which of its experts this is."""


def first_expert(groups: Sequence[DeviceGroup], group: DeviceGroup, per_chip: int) -> int:
    """The first expert of a group: those of the groups before it come first."""
    return sorted(groups, key=min).index(group) * len(group) * per_chip


def check_ring(tensor: Tensor, cluster_axis: int, topology: Any, num_links: int) -> None:
    """Raises RuntimeError unless the devices along the axis make a ring that the links serve."""
    members = tuple(on_device(tensor, kind="dispatch").shape)[cluster_axis]
    if members % 2 or members < 4:
        raise fatal(
            f"a ring needs an even number of devices, at least four; axis {cluster_axis} has {members}",
            hint="cluster_axis= the other axis, or a mesh with 4, 6, 8 … devices along it",
        )
    if topology not in (Topology.Ring, Topology.Torus):
        raise fatal(f"topology must be Ring or Torus, got {topology}", hint="topology=ttnn.Topology.Ring")
    if not 1 <= num_links <= 4:
        raise fatal(f"num_links must be 1 to 4, got {num_links}", hint="num_links=1")


def check_choices(number: int, indices: Tensor) -> None:
    """Raises RuntimeError unless each token has so many experts."""
    if indices.shape[-1] != number:
        raise fatal(
            f"indices {indices.shape} do not have num_experts_per_tok={number} columns",
            hint=f"num_experts_per_tok={indices.shape[-1]}, or ttnn.topk(scores, {number}) for the indices",
        )


def in_groups(groups: Sequence[DeviceGroup], positions: Sequence[int]) -> list[tuple[int, DeviceGroup]]:
    """Each local device that takes part, with its group."""
    group_of = {p: group for group in groups for p in group}
    return [(position, group_of[position]) for position in positions if position in group_of]


def shards_found(found: Mapping[int, Array], positions: Sequence[int], like: Array) -> Shards:
    """What was found for each local device; nothing for those that take no part."""
    return Shards.from_each([found.get(p) for p in positions], like=like)
