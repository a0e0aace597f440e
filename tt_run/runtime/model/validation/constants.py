"""Rows that name a number of the hardware itself: a data sheet's, or one that a report measured (`DRAM spec @12GT`, `single link one-way`).

They are answered with the number of the data file that stands for them, in the row's unit.
"""

from __future__ import annotations

import re

from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model.fabric import ping
from tt_run.runtime.model.validation.points import NotCovered, Point
from tt_run.runtime.model.validation.quantities import RATES, TIMES, first_word
from tt_run.runtime.model.work import Ping
from tt_run.runtime.tile import TILE_SIZE

# How a constant is called -> the number of the data file that stands for it, and its unit where the row has none; the first that matches.
NAMES = (
    (r"1 ?Ki?B packet", "measured.packet_1k_hop", "ns"),
    (r"8.hop round trip", "measured.round_trip_8_hops", "ns"),
    (r"ring hop", "fabric.ring_hop", "ns"),
    (r"matmul peak.*measured|measured.*matmul peak", "measured.matmul_peak", "TFLOPS"),
    (r"matmul peak|peak.*(flops|matmul)", "peak", "TFLOPS"),
    (r"(DRAM|GDDR).*(size|capacity)", "dram.size", "GB"),
    (r"(DRAM|GDDR).*(banks|channels)", "dram.banks", ""),
    (r"DRAM.sharded", "dram.sharded", "GB/s"),
    (r"interleaved", "dram.interleaved", "GB/s"),
    (r"flash.?decode|KV read|attention.*read", "dram.attention", "GB/s"),
    (r"decode.*@ ?12", "dram.decode_12gt", "GB/s"),
    (r"decode.*@ ?14", "dram.decode_14gt", "GB/s"),
    (r"DRAM.*(ubench|stream|measured).*@ ?12", "dram.stream_12gt", "GB/s"),
    (r"DRAM.*(ubench|stream|measured).*@ ?14", "dram.stream_14gt", "GB/s"),
    (r"DRAM.*@ ?12", "dram.spec_12gt", "GB/s"),
    (r"DRAM.*@ ?14", "dram.spec_14gt", "GB/s"),
    (r"(DRAM|GDDR).*spec|(DRAM|GDDR).*bandwidth", "dram.spec", "GB/s"),
    (r"(ethernet|eth) subsystem", "fabric.subsystem", "ns"),
    (r"link one.way|raw link", "fabric.raw_link", "ns"),
    (r"ethernet|\beth\b|\bwire\b|link.*(rate|bandwidth|theoretical)", "fabric.wire", "GB/s"),
    (r"(links|channels|cables) (between|per|to)", "fabric.channels", ""),
    (r"op.to.op|between op", "dispatch.between", "us"),
    (r"host dispatch|dispatch.*host|untraced dispatch", "dispatch.host", "us"),
    (r"cycles per tile|tile.*cycles", "matmul.cycles_per_tile", "cycles"),
    (r"\bclock|\bAI.?CLK", "chip.clock", "GHz"),
    (r"\bL1\b|\bSRAM\b", "chip.l1", "KiB"),
    (r"cores.*(used|usable)|(used|usable).*cores", "chip.cores_used", ""),
    (r"\bcores\b", "chip.cores", ""),
)
# Unit of a constant -> what one of it is in the unit that the model keeps such numbers in.
UNITS = {
    **TIMES,
    **{unit: 1e3 * worth for unit, worth in RATES.items()},
    "TFLOPS": 1e6,
    "TFLOP/s": 1e6,
    "GFLOPS": 1e3,
    "GHz": 1e3,
    "MHz": 1.0,
    "B": 1.0,
    "KB": 1 << 10,
    "KiB": 1 << 10,
    "MB": 1 << 20,
    "MiB": 1 << 20,
    "GB": 1e9,
    "GiB": 1 << 30,
    **dict.fromkeys(("", "cores", "channels", "links", "cables", "banks", "cycles", "cycles/tile"), 1.0),
}


def constant(point: Point) -> tuple[str, float]:
    """The number that stands for a row's constant, and what it is divided by to be in the row's unit. Raises NotCovered."""
    found = next((entry for entry in NAMES if re.search(entry[0], point.op, re.IGNORECASE)), None)
    if found is None:
        raise NotCovered(f"{point.op!r} is not a number that the model uses")
    unit = first_word(point.unit) or found[2]
    if unit not in UNITS:
        raise NotCovered(f"unit {point.unit!r}: constants are told in {', '.join(filter(None, UNITS))}")
    return found[1], UNITS[unit]


def value(hw: Hardware, key: str) -> float:
    """A number of the data file; those that follow from others are worked out. Raises NotCovered where there is none."""
    if key == "peak":
        return hw["chip.cores_used"] * hw["chip.clock"] * 2 * TILE_SIZE**3 / hw["matmul.cycles_per_tile"]
    if key in hw:
        return hw[key]
    if key in HOPS:
        payload, hops, ways = HOPS[key]
        return ping(hw, Ping("LatencyLinearUnicast", "NOC_UNICAST_WRITE", payload, hops)).us / 2 * ways
    raise NotCovered(f"the data file of {hw.architecture} has no {key}")


HOPS = {
    "measured.packet_1k_hop": (1024, 1, 1),
    "measured.round_trip_8_hops": (16, 4, 2),
    "fabric.ring_hop": (16, 1, 1),
}
"""Times that nobody published for an architecture -> payload, hops and ways of the ping that takes as long."""
