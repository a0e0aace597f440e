"""What can be drawn of a descriptor, also of one that the rules reject."""

from __future__ import annotations

from mgd.checking import check
from mgd.descriptor import Descriptor
from mgd.drawing.marks import Marks
from mgd.errors import RejectedError
from mgd.expansion import expand_checked
from mgd.graph import MeshGraph


def drawable(descriptor: Descriptor) -> tuple[MeshGraph, Marks, bool]:
    """The graph to draw, what to cross out on it, and whether the rules accept the descriptor.

    Raises RejectedError when nothing of it can be drawn.
    """
    errors = [each for each in check(descriptor) if each.is_error]
    if not errors:
        return expand_checked(descriptor), Marks(), True
    raise RejectedError(errors)
