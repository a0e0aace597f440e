"""Pins, expanded: which devices of which mesh may sit on which slots (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from mgd.descriptor import AsicPinning, BoardRevision, Descriptor, LogicalFabricNodeId, PhysicalAsicPosition
from mgd.expanding.patterns import read_pattern
from mgd.graph import Mesh, PinGroup
from mgd.names import type_name

SLOTS = range(256)
"""What patterns over trays and ASIC locations range over."""

cached_pattern = lru_cache(maxsize=1024)(read_pattern)


def pin_groups(descriptor: Descriptor, meshes: Sequence[Mesh]) -> tuple[PinGroup, ...]:
    """All groups, by mesh id, those of one mesh in the order of the entries."""
    devices = {mesh.mesh_id: mesh.device_count for mesh in meshes if not mesh.is_switch}
    groups = [group for entry in descriptor.pinnings for group in entry_groups(entry, devices)]
    return tuple(sorted(groups, key=lambda group: group.mesh_id))


def entry_groups(entry: AsicPinning, devices: dict[int, int]) -> Iterator[PinGroup]:
    """The groups of one entry, meshes ascending; `devices` counts those of each mesh."""
    slots = tuple(
        dict.fromkeys(slot for position in entry.physical_asic_position for slot in position_slots(position))
    )
    revision = "" if not entry.board_revision else type_name(BoardRevision, entry.board_revision)
    chosen: dict[int, list[int]] = {}
    # One at a slot makes it a pattern entry too.
    any_pattern = next(written_patterns(entry), None) is not None
    for node in entry.logical_fabric_node_id:
        for mesh_id, chips in node_devices(node, devices):
            chosen.setdefault(mesh_id, []).extend(chips)
    for mesh_id in sorted(chosen):
        if chips := chosen[mesh_id]:  # patterns that match no device make no group
            yield PinGroup(mesh_id, tuple(dict.fromkeys(chips) if any_pattern else chips), slots, revision)


def node_devices(node: LogicalFabricNodeId, devices: dict[int, int]) -> Iterator[tuple[int, Sequence[int]]]:
    """The devices that one logical node names, per mesh."""
    if not node.mesh_id_regex:
        meshes: Sequence[int] = (node.mesh_id or 0,)
    else:
        meshes = cached_pattern(node.mesh_id_regex).select(tuple(sorted(devices)))
    for mesh_id in meshes:
        if not node.chip_id_regex:
            yield mesh_id, (node.chip_id or 0,)
        elif mesh_id in devices:
            yield mesh_id, _chips(node.chip_id_regex, devices[mesh_id])


@lru_cache(maxsize=64)
def _chips(pattern: str, count: int) -> tuple[int, ...]:
    return cached_pattern(pattern).select(range(count))


def position_slots(position: PhysicalAsicPosition) -> Iterator[tuple[int, int]]:
    """The (tray, ASIC location) slots that one physical position names."""
    for tray in _numbers(position.tray_id, position.tray_id_regex):
        for location in _numbers(position.asic_location, position.asic_location_regex):
            yield tray, location


def _numbers(literal: int | None, pattern: str) -> Sequence[int]:
    return _chips(pattern, len(SLOTS)) if pattern else (literal or 0,)


def written_patterns(
    entry: AsicPinning,
) -> Iterator[tuple[LogicalFabricNodeId | PhysicalAsicPosition, str, str]]:
    """Every pattern of an entry: the message that holds it, the field, the text."""
    for node in entry.logical_fabric_node_id:
        yield from (
            (node, name, text) for name in ("mesh_id_regex", "chip_id_regex") if (text := getattr(node, name))
        )
    for position in entry.physical_asic_position:
        for name in ("tray_id_regex", "asic_location_regex"):
            if text := getattr(position, name):
                yield position, name, text
