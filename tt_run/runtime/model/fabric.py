"""What the Ethernet fabric carries: packets per second of a pattern, and the time of one hop.

A router spends a time per packet (handling) and per byte, so small packets reach a small part of the wire; beyond that the wire, or
the router's buffers when both directions are busy, cap the rate. Patterns differ in how many writes a router does for a packet.
"""

from __future__ import annotations

import re

from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model.validation.points import NotCovered
from tt_run.runtime.model.work import Cost, Ping, Stream, cost_of

FAMILIES = {
    "NeighborExchange": "exchange",
    "SingleSenderMesh": "single_mesh",
    "SingleSender": "single",
    "MeshMulticast": "mesh",
    "FullRing": "ring",
    "HalfRing": "ring",
    "Linear": "line",
    "UnidirLinear": "line",
}
"""First letters of a pattern -> the family whose bandwidth cap it shares."""


def family(pattern: str) -> str:
    """The family of a pattern; an unknown one is counted as a line."""
    return next((name for start, name in FAMILIES.items() if pattern.startswith(start)), "line")


def nearest(hw: Hardware, pattern: str, write: str) -> str:
    """The pattern that is known with this kind of write and is most like `pattern`: of the same words (`Ring`, `Unicast`, …).

    Raises NotCovered where the write is unknown, or no known pattern has half of the words.
    """
    start, end = "fabric.packet.", f".{write}.handling"
    known = [key.removeprefix(start).removesuffix(end) for key in hw.numbers if key.endswith(end)]
    if pattern in known:
        return pattern
    words = set(re.findall("[A-Z][a-z]+", pattern))
    shared = {name: _alike(words, set(re.findall("[A-Z][a-z]+", name))) for name in known}
    best = max(sorted(shared), key=lambda name: shared[name], default="")
    if not best or shared[best][0] < 0.5:
        raise NotCovered(f"no measurement of any system calibrates {pattern} with {write}")
    return best


def _alike(one: set[str], other: set[str]) -> tuple[float, float]:
    """Which part of the shorter name's words both have, then of all words."""
    both = len(one & other)
    return both / max(min(len(one), len(other)), 1), both / max(len(one | other), 1)


def stream(hw: Hardware, work: Stream) -> Cost:
    """Time of one packet of a steady stream on one link, in microseconds; `bandwidth` divides its bytes by it."""
    key = f"fabric.packet.{work.pattern}.{work.write}"
    handling = hw[f"{key}.handling"] + work.packet * hw[f"{key}.per_byte"]
    if work.links > 1:
        handling *= hw[f"fabric.several_links.{work.write}"]
    wire = work.packet / hw[f"fabric.cap.{family(work.pattern)}"]
    return cost_of({"latency": handling, "link": wire}, max(handling, wire))


def bandwidth(hw: Hardware, work: Stream) -> float:
    """Bytes per microsecond that one link carries of this stream."""
    return work.packet / stream(hw, work).us


def hop(hw: Hardware, topology: str, write: str, payload: int) -> float:
    """Microseconds that one packet of `payload` bytes takes over one link, router to router (`line`, `ring` or `mesh` routing)."""
    return hw[f"fabric.hop.{topology}"] * hw[f"fabric.hop_of.{write}"] + payload * hw["fabric.hop_per_byte"]


def ping(hw: Hardware, work: Ping) -> Cost:
    """Time there and back of one packet, without the sender's own overhead."""
    topology = "mesh" if "Mesh" in work.pattern else "ring" if "Ring" in work.pattern else "line"
    return cost_of({"latency": 2 * work.hops * hop(hw, topology, work.write, work.payload)})
