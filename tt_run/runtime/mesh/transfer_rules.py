"""Rules on transfers between host and device, put here by the trace layer: in a capture some are illegal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice

Rule = Callable[["MeshDevice", str], None]
"""Called with the device and `"read"` or `"write"` before the transfer; raises to forbid it."""

_rules: list[Rule] = []


def add_rule(rule: Rule) -> Callable[[], None]:
    """Ask `rule` before every transfer from now on; returns a function that ends it."""
    _rules.append(rule)
    return lambda: _rules.remove(rule)


def check(device: MeshDevice, direction: str) -> None:
    """Raises what a rule raises."""
    for rule in tuple(_rules):
        rule(device, direction)
