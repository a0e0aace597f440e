"""All rules over one descriptor."""

from __future__ import annotations

from mgd.descriptor import Descriptor
from mgd.diagnostics import Diagnostic


def check(descriptor: Descriptor, profile: str = "full") -> list[Diagnostic]:
    """Every violation."""
    return list(descriptor.notices)
