"""Links and chips that are lost: what `--degrade` says, read once before a launch and again by each rank.

    D0-D1        nothing goes over the link between devices 0 and 1 any more
    D0-D1:1      one of its cables (channels) is lost, the others carry on
    M1D4-D5      the same of devices of mesh 1; without M, of mesh 0
    D5           chip 5 is lost, and all of its links

Devices are numbered row by row in their mesh, as reports and drawings do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from mgd.lean import dataclass

_FORM = re.compile(r"(?:M(\d+) ?)?D?(\d+)(?: ?- ?D?(\d+)(?: ?: ?(\d+))?)?", re.IGNORECASE)


class LossError(ValueError):
    """A loss that cannot be read, or that a mesh has not; the text says what is wrong and how to write it."""


@dataclass(frozen=True)
class Loss:
    """One loss in a mesh: a chip (`other` is None), or a link or `cables` of it (None: all)."""

    text: str
    mesh_id: int
    device: int
    other: int | None = None
    cables: int | None = None


def read_loss(text: str) -> Loss:
    """What one `--degrade` says. Raises LossError."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise LossError(
            f"{text!r} names no link and no chip: write D0-D1, D0-D1:1 (one cable of it) or D5 (a chip)"
        )
    mesh, device, other, cables = (None if word is None else int(word) for word in found.groups())
    if other == device:
        raise LossError(f"{text!r}: a link joins two devices")
    if cables == 0:
        raise LossError(
            f"{text!r}: no cable is lost; write the number of those that are, or D{device}-D{other} for all"
        )
    return Loss(text.strip(), mesh or 0, int(device or 0), other, cables)


def read_losses(text: str) -> list[Loss]:
    """Losses, apart by commas or on lines of their own. Raises LossError."""
    return [read_loss(word) for word in re.split(r"[,\n]", text) if word.strip()]


def check_loss(loss: Loss, devices: int, near: Callable[[int], Collection[int]], channels: int) -> None:
    """Raises LossError for a loss of what a mesh of so many devices has not; `near` are those that a device has links of `channels` to."""
    for device in (loss.device, loss.other or 0):
        if device >= devices:
            raise LossError(f"mesh {loss.mesh_id} has devices D0..D{devices - 1}, not D{device}")
    if loss.other is None:
        return
    others = near(loss.device)
    if loss.other not in others:
        raise LossError(
            f"no link joins D{loss.device} to D{loss.other}; D{loss.device} has links to "
            + (", ".join(f"D{other}" for other in sorted(others)) or "none")
        )
    if loss.cables is not None and loss.cables > max(channels, 1):
        raise LossError(f"the link has {channels} channels, not {loss.cables}")
