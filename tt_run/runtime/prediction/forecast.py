"""From the accounts of all ranks to what is reported: time per region, by class and call site, bounds, links, critical path, changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model.cost import in_program
from tt_run.runtime.model.fabric import bandwidth, hop
from tt_run.runtime.model.validation.errors import errors, has_measurements
from tt_run.runtime.model.work import FORMAT_BYTES, Collective, Cost, Matmul, Stream, Together, Work
from tt_run.runtime.prediction.account import entries, from_json
from tt_run.runtime.prediction.changes import Saving, gains
from tt_run.runtime.prediction.schedule import Schedule, Step, schedule, steps_of

MEBIBYTE = 1 << 20
CLASSES = {
    "binary": "elementwise",
    "norm_after_gather": "norms",
    "movement": "data movement",
    "sdpa": "attention",
    "sdpa_decode_long": "attention",
    "reduction": "reductions",
    "topk": "sorting",
    "sampling": "sampling",
    "sdpa_decode": "attention",
    "layer_norm_decode": "norms",
    "binary_decode": "elementwise",
    "create_heads": "attention heads",
    "create_heads_decode": "attention heads",
    "concat_heads": "attention heads",
    "concat_heads_decode": "attention heads",
    "rms_all_gather": "norms",
    "rotary_decode": "rotary",
    "update_cache": "key and value cache",
    "update_cache_decode": "key and value cache",
    "embedding_decode": "embedding",
    "host": "host and device",
    "reshard": "data movement",
    "to_sharded": "data movement",
    "to_interleaved": "data movement",
}
"""Kernel of the data files -> what the report calls operations of its kind."""
WRITE = "NOC_UNICAST_WRITE"


@dataclass
class Share:
    """Part of a time: how many calls, their microseconds in a pass, and how much of it each bound accounts for."""

    calls: float = 0.0
    us: float = 0.0
    bounds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    group: str = ""

    def add(self, found: Cost, count: float) -> None:
        """So many calls of one cost."""
        self.calls += count
        self.us += found.us * count
        self.bounds[found.bound] += found.us * count

    @property
    def bound(self) -> str:
        """What bounds most of it."""
        return max(self.bounds, key=lambda name: self.bounds[name], default="")


@dataclass
class Region:
    """A stretch of the program: how often it ran, and the time of one pass in parts."""

    name: str
    passes: int
    us: float = 0.0
    prefetched_us: float = 0.0
    """Reading the weights that a prefetcher brings beside all else: a pass takes no less."""
    beside_us: float = 0.0
    """What ran beside other work of the same devices, on another queue or sub-device: parts add up to so much more than `us`."""
    bounds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    classes: dict[str, Share] = field(default_factory=dict)
    sites: dict[str, Share] = field(default_factory=dict)


@dataclass
class Forecast:
    """What is predicted of a run on a system; times in microseconds."""

    hardware: Hardware
    dims: tuple[int, int]
    ranks: int
    regions: list[Region]
    links: list[tuple[int, int, int, float, float]]
    schedule: Schedule
    changes: list[Saving]
    total_us: float
    devices: int

    def to_json(self) -> dict[str, Any]:
        """Plain data: the file that `--predict=FILE` writes."""
        return {
            "format": 1,
            "architecture": self.hardware.architecture,
            "system": self.hardware.system,
            "hardware_file": self.hardware.path,
            "mesh": list(self.dims),
            "devices": self.devices,
            "ranks": self.ranks,
            "total_us": self.total_us,
            "critical_path": {
                "makespan_us": self.schedule.makespan,
                "by_rank_us": self.schedule.critical,
                "waited_us": self.schedule.waited,
                "unfinished_ranks": self.schedule.unfinished,
            },
            "regions": [_region_json(region) for region in self.regions],
            "links": [
                {"mesh": m, "from": a, "to": b, "bytes": carried, "us": us}
                for m, a, b, carried, us in self.links
            ],
            "changes": [asdict(change) for change in self.changes],
            "errors": {name: asdict(error) for name, error in errors().items()},
        }


def _region_json(region: Region) -> dict[str, Any]:
    def share(found: Share) -> dict[str, Any]:
        return {
            "calls": found.calls,
            "us": found.us,
            "bound": found.bound,
            "error": error_of(found.group),
        }

    return {
        "name": region.name,
        "passes": region.passes,
        "us": region.us,
        "overlapped_us": region.beside_us,
        "bounds": dict(region.bounds),
        "classes": {name: share(found) for name, found in region.classes.items()},
        "sites": {name: share(found) for name, found in region.sites.items()},
    }


def group_of(hw: Hardware, work: Work) -> str:
    """The class of the validation that a work's error counts in; none where no measurement tells how wrong such works are."""
    if isinstance(work, Together):
        return group_of(hw, work.works[0])
    if not has_measurements(hw, work):
        return ""
    if isinstance(work, Collective):
        moved = work.bytes * (work.size if work.kind == "all_gather" else 1)
        return "ccl large" if moved >= MEBIBYTE else "ccl small"
    if isinstance(work, Matmul):
        return "matmul large" if min(work.m, work.k, work.n) >= 1024 else "matmul small"
    return "other"


def prefetched(hw: Hardware, work: Work) -> float:
    """Microseconds of reading the weights of matmuls that go round a ring of cores, which a prefetcher does beside other work."""
    if isinstance(work, Together):
        return sum(prefetched(hw, one) for one in work.works)
    if not isinstance(work, Matmul) or work.program != "ring":
        return 0.0
    return work.batch * work.k * work.n * FORMAT_BYTES[work.weights] / hw["dram.sharded"]


def class_of(work: Work) -> str:
    """What the report calls a work."""
    if isinstance(work, Together):
        return "fused with collectives"
    if isinstance(work, Collective):
        return "collectives"
    return "matmuls" if isinstance(work, Matmul) else CLASSES.get(work.name, work.name)


def error_of(group: str) -> float | None:
    """The median error of a class on rows that calibration left out; None where there is none."""
    found = errors().get(group)
    return None if found is None else found.median


def forecast(parts: Sequence[dict[str, Any]], hw: Hardware, dims: tuple[int, int]) -> Forecast:
    """The forecast of a job from the parts of its ranks."""
    wire = bandwidth(hw, Stream("NeighborExchangeLinear", WRITE, 4096)) * max(hw["fabric.channels"], 1)
    message = hop(hw, "line", WRITE, 4096)
    orders: dict[int, Sequence[Step]] = {}
    busiest: dict[str, Any] = {"works": [], "entries": [], "regions": {}, "overlapped": []}
    most = -1.0
    for number, part in enumerate(parts):
        costs = [in_program(hw, from_json(work)).us for work in part["works"]]
        lanes, us = _busiest_lanes(part, hw)
        orders[part.get("rank", number)] = steps_of(part, costs, lanes, message, wire)
        if us > most:
            busiest, most = _only(part, lanes), us
    counted = _counted(busiest)
    return Forecast(
        hw,
        dims,
        len(parts),
        _regions(busiest, hw),
        _links(parts, wire),
        schedule(orders),
        gains(hw, counted)[:5],
        max(most, 0.0),
        len({(part["mesh_id"], device) for part in parts for lane in part["lanes"] for device in lane}),
    )


def _busiest_lanes(part: dict[str, Any], hw: Hardware) -> tuple[set[int], float]:
    """The lanes of the device that has most to do, and its microseconds: submeshes without a device in common run side by side."""
    spent, read = [0.0] * len(part["lanes"]), [0.0] * len(part["lanes"])
    for entry, count in entries(part):
        spent[entry.lane] += in_program(hw, entry.work).us * count
        read[entry.lane] += prefetched(hw, entry.work) * count
    for _, lane, us in part["overlapped"]:
        spent[lane] -= us
    by_device: dict[int, float] = defaultdict(float)
    for devices, us, prefetch in zip(part["lanes"], spent, read, strict=True):
        for device in devices:
            by_device[device] += max(us, prefetch)
    if not by_device:
        return set(), 0.0
    device = max(by_device, key=lambda d: by_device[d])
    return {n for n, devices in enumerate(part["lanes"]) if device in devices}, by_device[device]


def _only(part: dict[str, Any], lanes: set[int]) -> dict[str, Any]:
    """A part with the entries of some lanes."""
    entries, beside = (part[key] for key in ("entries", "overlapped"))
    return {
        **part,
        "entries": [entry for entry in entries if entry[4] in lanes],
        "overlapped": [found for found in beside if found[1] in lanes],
    }


def _counted(part: dict[str, Any]) -> list[tuple[Work, int]]:
    counts: dict[Work, int] = defaultdict(int)
    for entry, count in entries(part):
        counts[entry.work] += count
    return list(counts.items())


def _regions(part: dict[str, Any], hw: Hardware) -> list[Region]:
    regions = {name: Region(name, passes) for name, passes in part["regions"].items()}
    for entry, count in entries(part):
        region = regions.setdefault(entry.region, Region(entry.region, 1))
        found, each = in_program(hw, entry.work), count / max(region.passes, 1)
        region.us += found.us * each
        region.bounds[found.bound] += found.us * each
        region.prefetched_us += prefetched(hw, entry.work) * each
        for table, name in (
            (region.classes, class_of(entry.work)),
            (region.sites, f"{entry.site}  {entry.label}"),
        ):
            group = group_of(hw, entry.work)
            share = table.setdefault(name, Share(group=group))
            share.group = share.group and group
            share.add(found, each)
    for name, _, us in part["overlapped"]:
        regions[name].beside_us += us / max(regions[name].passes, 1)
    for region in regions.values():
        region.us -= region.beside_us
        region.bounds["dram"] += max(region.prefetched_us - region.us, 0.0)
        region.us = max(region.us, region.prefetched_us)
    return sorted(regions.values(), key=lambda region: -region.us * region.passes)


def _links(parts: Iterable[dict[str, Any]], wire: float) -> list[tuple[int, int, int, float, float]]:
    """The busiest first: mesh, from, to, bytes, microseconds. Every rank of a mesh counted all of its links."""
    carried: dict[tuple[int, int, int], float] = {}
    for part in parts:
        for mesh, a, b, size in part["links"]:
            carried[(mesh, a, b)] = max(carried.get((mesh, a, b), 0.0), size)
    return sorted(((*link, size, size / wire) for link, size in carried.items()), key=lambda found: -found[3])
