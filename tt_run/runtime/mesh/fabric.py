"""The links of the system mesh as they are: those of the descriptor, without what `--degrade` says is lost."""

from __future__ import annotations

import os
from collections import defaultdict
from functools import cache

from tt_run import contract
from tt_run.degraded import Loss, LossError, check_loss, read_losses
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.system import SystemMesh
from tt_run.runtime.traffic import Fabric, Link


def fabric_of(system: SystemMesh) -> Fabric:
    """The fabric of a mesh. Raises RuntimeError for a loss that names a device, a link or cables that the mesh has not."""
    whole = Fabric((system.shape[0], system.shape[1]), system.wraps)
    lost: dict[Link, float] = defaultdict(float)
    for loss in _losses():
        if loss.mesh_id == system.mesh_id:
            try:
                for link, share in _lost_links(loss, whole, system.channels).items():
                    lost[link] += share
            except LossError as wrong:
                raise fatal(
                    f"--degrade {loss.text}: {wrong}",
                    hint="mgd show draws the devices and their links: --degrade D0-D1",
                ) from None
    return Fabric(whole.dims, whole.wraps, {link: max(1.0 - share, 0.0) for link, share in lost.items()})


def lost_chips(system: SystemMesh) -> dict[int, str]:
    """The devices of a mesh that are lost, each with what said so."""
    return {
        loss.device: loss.text for loss in _losses() if loss.mesh_id == system.mesh_id and loss.other is None
    }


@cache
def _losses() -> tuple[Loss, ...]:
    try:
        return tuple(read_losses(os.environ.get(contract.DEGRADE, "")))
    except LossError as wrong:
        raise fatal(
            f"--degrade: {wrong}", hint="name links and chips as mgd show draws them: --degrade D0-D1"
        ) from None


def _lost_links(loss: Loss, fabric: Fabric, channels: int) -> dict[Link, float]:
    """Both directions of each link that is lost, with the part of its channels that is. Raises LossError."""
    check_loss(loss, fabric.dims[0] * fabric.dims[1], fabric.neighbours, channels)
    if loss.other is None:
        near = fabric.neighbours(loss.device)
        return {link: 1.0 for other in near for link in ((loss.device, other), (other, loss.device))}
    share = 1.0 if loss.cables is None else loss.cables / max(channels, 1)
    return {(loss.device, loss.other): share, (loss.other, loss.device): share}
