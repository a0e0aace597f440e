"""The links of a cluster descriptor: those inside of the host, and the channels that leave it."""

from __future__ import annotations

from tt_run.inputs.clusters.chips import RemoteLink
from tt_run.inputs.clusters.sections import Sections, is_number

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

CHANNELS = {"WORMHOLE_B0": 16, "BLACKHOLE": 14, "QUASAR": 16}


def _endpoint(
    sections: Sections, key: str, number: int, entry: Any, id_key: str, arch: str
) -> tuple[int, int] | None:
    if not isinstance(entry, dict) or not is_number(entry.get(id_key)) or not is_number(entry.get("chan")):
        sections.fail(
            f"{key}: entry {number} needs {{{id_key}: number, chan: number}}, not {sections.shown(key, number - 1)}",
            key,
            number - 1,
        )
        return None
    most = CHANNELS.get(arch, 16)  # no architecture where `arch` is refused already
    if not 0 <= entry["chan"] < most:
        sections.fail(
            f"{key}: entry {number} uses channel {entry['chan']}; {arch or 'a chip'} has channels 0..{most - 1}",
            key,
            number - 1,
        )
        return None
    return entry[id_key], entry["chan"]


def links(sections: Sections, ids: list[int], arch: str) -> tuple[tuple[int, int, int, int], ...]:
    """(chip, channel, chip, channel) of every link inside of the host, each channel once."""
    if sections.values.get("ethernet_connections") is None:
        sections.fail(
            "ethernet_connections is missing or has no list",
            "ethernet_connections",
            help="a host without links has an empty one: ethernet_connections: []",
        )
    key = "ethernet_connections"
    far: dict[tuple[int, int], tuple[int, int]] = {}
    found: list[tuple[int, int, int, int]] = []
    for number, entry in enumerate(sections.section(key, list, []), 1):
        if not isinstance(entry, list) or len(entry) < 2:
            sections.fail(
                f"{key}: entry {number} needs two ends, not {sections.shown(key, number - 1)}",
                key,
                number - 1,
            )
            continue
        ends = [_endpoint(sections, key, number, end, "chip", arch) for end in entry[:2]]
        if ends[0] is None or ends[1] is None:
            continue
        (a, i), (b, j) = ends[0], ends[1]
        unknown = [chip for chip in (a, b) if chip not in ids]
        if unknown:
            sections.fail(
                f"{key}: entry {number} names chip {unknown[0]}, which arch does not list",
                key,
                number - 1,
            )
        elif a == b:
            sections.warn(f"{key}: entry {number} links chip {a} to itself and is ignored", key, number - 1)
        elif far.get((a, i), (b, j)) != (b, j) or far.get((b, j), (a, i)) != (a, i):
            busy = (a, i) if (a, i) in far else (b, j)
            sections.fail(
                f"{key}: entry {number} uses chip {busy[0]} channel {busy[1]} a second time",
                key,
                number - 1,
            )
        elif (a, i) not in far:
            far[(a, i)], far[(b, j)] = (b, j), (a, i)
            found.append((a, i, b, j))
    return tuple(found)


def remote_links(sections: Sections, ids: list[int], arch: str) -> tuple[RemoteLink, ...]:
    """The channels that leave the host."""
    key = "ethernet_connections_to_remote_devices"
    found: list[RemoteLink] = []
    for number, entry in enumerate(sections.section(key, list, []), 1):
        if not isinstance(entry, list) or len(entry) < 2:
            sections.fail(
                f"{key}: entry {number} needs two ends, not {sections.shown(key, number - 1)}",
                key,
                number - 1,
            )
            continue
        near = _endpoint(sections, key, number, entry[0], "chip", arch)
        away = _endpoint(sections, key, number, entry[1], "remote_chip_id", arch)
        if near is None or away is None:
            continue
        if near[0] not in ids:
            sections.fail(
                f"{key}: entry {number} names chip {near[0]}, which arch does not list", key, number - 1
            )
        else:
            found.append(RemoteLink(*near, *away))
    return tuple(found)
