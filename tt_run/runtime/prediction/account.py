"""What a rank is asked to do, kept by region, call site and work, in an order that a schedule can follow.

A region is a stretch that repeats: a training step, a trace's replay, the part between two signposts, or what a line waits for again and
again (`synchronize_device`) where there are no steps; what is in none is the program's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tt_run.runtime.model.work import Collective, Kernel, Matmul, Together, Work

PROGRAM = "program"
STEP = "step "
AWAITED = "until "
KINDS: dict[str, type[Work]] = {
    "matmul": Matmul,
    "kernel": Kernel,
    "collective": Collective,
    "together": Together,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece of work of one call site in one region; `label` is the name of the function called, `lane` the devices that ran it."""

    region: str
    site: str
    label: str
    work: Work
    lane: int = 0


@dataclass
class WorkAccount:
    """The work of one rank so far. `order` lists stretches of local work, each as works by number and lane and what of them ran beside
    others, between what it met other ranks in.

    `lanes` are the meshes of devices that work ran on, of this rank or not: submeshes that share no device run side by side.
    """

    rank: int
    mesh_id: int
    counts: dict[Entry, int] = field(default_factory=lambda: defaultdict(int))
    regions: dict[str, int] = field(default_factory=dict)
    order: list[list[Any]] = field(default_factory=list)
    lanes: dict[tuple[int, ...], int] = field(default_factory=dict)
    numbers: dict[Work, int] = field(default_factory=dict)
    _flows: dict[Hashable, list[Any]] = field(default_factory=dict)
    overlapped: dict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))
    """Microseconds of a region and lane that ran beside other work of the same devices."""
    _pending: dict[Entry, int] = field(default_factory=lambda: defaultdict(int))
    """What is in no region yet; what a line has waited for stands under the name of that stretch."""
    _awaited: dict[str, int] = field(default_factory=dict)

    def lane_of(self, devices: tuple[int, ...]) -> int:
        """The number of the mesh of these devices."""
        return self.lanes.setdefault(devices, len(self.lanes))

    def flow(self, key: Hashable, carried: Callable[[], Mapping[tuple[int, int], float]]) -> None:
        """One more run of a collective; `carried` is asked once for what each link carries, so that a call costs the same on any mesh."""
        if key not in self._flows:
            self._flows[key] = [0, carried()]
        self._flows[key][0] += 1

    def links(self) -> dict[tuple[int, int], float]:
        """Bytes over each link."""
        found: dict[tuple[int, int], float] = defaultdict(float)
        for count, carried in self._flows.values():
            for link, size in carried.items():
                found[link] += count * size
        return found

    def add(
        self,
        region: str | None,
        site: str,
        label: str,
        work: Work,
        meeting: str = "",
        lane: int = 0,
    ) -> None:
        """One call. Without a region it waits for the end of the step that it belongs to. `meeting` names what ranks met in."""
        counts = self._pending if region is None else self.counts
        counts[Entry(region or "", site, label, work, lane)] += 1
        number = self.numbers.setdefault(work, len(self.numbers))
        if meeting:
            self.order.append([meeting, number, lane])
        else:
            run: dict[tuple[int, int], int] = self._stretch()[1]
            run[number, lane] = run.get((number, lane), 0) + 1

    def overlap(self, region: str | None, lane: int, us: float) -> None:
        """So much of the last call's time ran beside other work of its devices."""
        self.overlapped[region or "", lane] += us
        beside: dict[int, float] = self._stretch()[2]
        beside[lane] = beside.get(lane, 0.0) + us

    def _stretch(self) -> list[Any]:
        """The stretch of local work that is under way."""
        if not self.order or self.order[-1][0] != "":
            self.order.append(["", {}, {}])
        return self.order[-1]

    def message(self, meeting: str, nbytes: float) -> None:
        """A message to another rank (`send …`) or from it (`recv …`), with its bytes."""
        self.order.append([meeting, nbytes])

    def waited(self, site: str) -> None:
        """A line waits for what was added without a region since the last wait: a stretch of its own, unless a step ends later."""
        stretch = f"{AWAITED}{site}"
        if self._move("", stretch, self._pending):
            self._awaited[stretch] = self._awaited.get(stretch, 0) + 1

    def close(self, region: str) -> None:
        """What was added without a region since the last call was one pass of `region`."""
        for stretch in ("", *self._awaited):
            self._move(stretch, region, self.counts)
        self._awaited.clear()
        self.regions[region] = self.regions.get(region, 0) + 1

    def _move(self, stretch: str, region: str, counts: dict[Entry, int]) -> bool:
        """Give what is pending under a name to a region; False where there is nothing."""
        moved = [entry for entry in self._pending if entry.region == stretch]
        for entry in moved:
            counts[replace(entry, region=region)] += self._pending.pop(entry)
        for lane in [lane for name, lane in self.overlapped if name == stretch]:
            self.overlapped[region, lane] += self.overlapped.pop((stretch, lane))
        return bool(moved)

    def part(self) -> dict[str, Any]:
        """The account as plain data."""
        if not any(name.startswith(STEP) for name in self.regions):
            for stretch in [stretch for stretch, passes in self._awaited.items() if passes > 1]:
                self._move(stretch, stretch, self.counts)
                self.regions[stretch] = self._awaited.pop(stretch)
        if self._pending:
            stepped = any(name.startswith(STEP) for name in self.regions)
            self.close(
                "after the last step" if stepped else "rest of the program" if self.regions else PROGRAM
            )
        if self.counts and not self.lanes:
            self.lane_of((0,))
        return {
            "mesh_id": self.mesh_id,
            "lanes": [list(devices) for devices in self.lanes],
            "works": [as_json(work) for work in self.numbers],
            "entries": [
                [e.region, e.site, e.label, self.numbers[e.work], e.lane, count]
                for e, count in self.counts.items()
            ],
            "regions": self.regions,
            "links": [[self.mesh_id, a, b, carried] for (a, b), carried in sorted(self.links().items())],
            "overlapped": [[*key, us] for key, us in self.overlapped.items()],
            "order": [
                ["", [[*key, count] for key, count in step[1].items()], list(step[2].items())]
                if step[0] == ""
                else step
                for step in self.order
            ],
        }


def as_json(work: Work) -> dict[str, Any]:
    """A work as plain data, its kind among its fields."""
    kind = next(name for name, cls in KINDS.items() if isinstance(work, cls))
    if isinstance(work, Together):
        return {"kind_of_work": kind, "works": [as_json(one) for one in work.works]}
    return {"kind_of_work": kind, **asdict(work)}


def from_json(data: dict[str, Any]) -> Work:
    """The work of `as_json`."""
    fields = dict(data)
    cls = KINDS[fields.pop("kind_of_work")]
    if "works" in fields:
        fields["works"] = tuple(from_json(one) for one in fields["works"])
    if fields.get("grid"):
        fields["grid"] = tuple(fields["grid"])
    return cls(**fields)


def entries(part: dict[str, Any]) -> Iterator[tuple[Entry, int]]:
    """The entries of a part with their counts."""
    works = [from_json(data) for data in part["works"]]
    for region, site, label, number, lane, count in part["entries"]:
        yield Entry(region, site, label, works[number], lane), count
