"""What a collective costs on its actual links: set-up, hops that follow each other, and bytes over the busiest link.

Ring and line algorithms over N devices, each putting in S bytes: on a ring both directions carry half of what a device receives; on a
line the end links carry all of it one way. An all-reduce is a reduce-scatter and an all-gather of its result; `all_reduce_by_gather`, for
small tensors, sends everything to everyone and adds up at the end. Where an implementation passes its whole input through DRAM more slowly
than the links carry it, the data file gives that rate (`local`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model import fabric
from tt_run.runtime.model.work import Collective, Cost, Stream, cost_of
from tt_run.runtime.traffic import DIRECT, PATTERNS, Fabric, Pattern

WRITE = "NOC_UNICAST_WRITE"


def collective(hw: Hardware, work: Collective) -> Cost:
    """Time of one collective, of which all groups of a mesh run their own at once on links of their own."""
    if work.size < 2:
        return cost_of({"latency": 0.0})
    if work.ring and (work.size < 3 or pattern_of(work.kind).one_way):
        work = replace(
            work, ring=False
        )  # two devices have no other way round, and what goes one way does not take it
    if work.kind == "all_reduce":
        return _in_two(hw, work)
    key = f"collectives.{work.implementation}"
    setup = hw.first(f"{key}.{work.kind}.setup", f"{key}.setup")
    setup += work.rows * hw.get(f"{key}.{work.kind}.row", 0.0)
    setup += (work.size - 1) * hw.get(f"{key}.{work.kind}.step", 0.0)
    latency = setup / hw["chip.clock"] + hops(work) * _hop(hw, work)
    link = wire_bytes(work) / (link_bandwidth(hw, work) * _efficiency(hw, work))
    if f"{key}.{work.kind}.local" not in hw:
        return cost_of({"latency": latency, "link": link})
    local = work.bytes / hw[f"{key}.{work.kind}.local"]
    return cost_of({"latency": latency, "link": link, "dram": local}, latency + max(link, local))


def _in_two(hw: Hardware, work: Collective) -> Cost:
    """An all-reduce as the two collectives that it is, each with a set-up of its own."""
    half = None if work.wire is None else work.wire / 2
    first = collective(hw, replace(work, kind="reduce_scatter", wire=half))
    second = collective(hw, replace(work, kind="all_gather", bytes=work.bytes / work.size, wire=half))
    return cost_of(
        {name: first.parts.get(name, 0) + second.parts.get(name, 0) for name in ("latency", "link")}
    )


def hops(work: Collective) -> int:
    """Hops that must follow each other: the way to the farthest device, twice for an all-reduce, and what detours add."""
    way = (work.size // 2 if work.ring else work.size - 1) + work.detour
    return 2 * way if work.kind == "all_reduce" else way


def wire_bytes(work: Collective) -> float:
    """Bytes over the busiest link in one direction: what was counted on actual links, else what the algorithm's pattern makes it.

    On a ring what a pattern sends one way round is sent half each way.
    """
    both = work.ring and work.size > 2 and not pattern_of(work.kind).one_way
    wire = work.bytes * _busiest(work.kind, work.size, both) if work.wire is None else work.wire
    return wire / 2 if both else wire


ALIKE = {
    "all_broadcast": "all_gather",
    "all_reduce_by_gather": "all_gather",
    "all_to_all_dispatch": "all_gather",
    "all_to_all_combine": "all_gather",
}
"""Algorithms with a set-up of their own -> whose pattern their bytes take."""


def pattern_of(algorithm: str) -> Pattern:
    """How the bytes of an algorithm travel; those of an unknown one go straight."""
    name = ALIKE.get(algorithm, algorithm)
    return next((pattern for pattern in PATTERNS if pattern.algorithm == name), DIRECT)


@cache
def _busiest(algorithm: str, size: int, ring: bool) -> float:
    """What the busiest link of a line or ring of so many devices carries of each byte that a device puts in."""
    fabric = Fabric((1, size), (False, ring))
    loads = pattern_of(algorithm).loads([range(size)], 1, fabric)
    return float(max(load.bytes for load in loads.values()))


def link_bandwidth(hw: Hardware, work: Collective) -> float:
    """Bytes per microsecond between two neighbours, all their channels together, one direction."""
    links = work.links or max(int(hw["fabric.channels"]), 1)
    pattern = "FullRingUnicast" if work.ring else "NeighborExchangeLinear"
    return links * fabric.bandwidth(hw, Stream(pattern, WRITE, work.packet, links))


def _hop(hw: Hardware, work: Collective) -> float:
    payload = min(work.packet, max(int(work.bytes / work.size), 16))
    return fabric.hop(hw, "ring" if work.ring else "line", WRITE, payload)


def _efficiency(hw: Hardware, work: Collective) -> float:
    key = f"collectives.{work.implementation}"
    shape = "ring" if work.ring else "line"
    return hw.first(
        f"{key}.{work.kind}.efficiency_{shape}",
        f"{key}.{work.kind}.efficiency",
        f"{key}.efficiency_{shape}",
        f"{key}.efficiency",
    )
