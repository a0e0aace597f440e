"""A descriptor's mesh graph, checked on the way."""

from __future__ import annotations

from mgd.checking import check
from mgd.descriptor import Descriptor
from mgd.errors import RejectedError
from mgd.expanding.instances import expand_checked
from mgd.graph import MeshGraph


def expand(descriptor: Descriptor) -> MeshGraph:
    """The mesh graph of a descriptor: instances by path, links, pins.

    Raises RejectedError, with every violation, when the rules of the descriptor or of the mesh graph refuse it.
    """
    findings = check(descriptor)
    if any(each.is_error for each in findings):
        raise RejectedError(each for each in findings if each.is_error)
    return expand_checked(descriptor)
