"""Several meshes: candidate regions per shape, then an assignment that is disjoint and linked (section 6.4).

A region is a set of chips with the first embedding on it in canonical order. Meshes of one shape share their candidates. The
assignment goes through meshes in id order and regions in canonical order, and looks ahead along the requested links, so that a ring of
meshes fails early. Objectives: fewest hosts, then canonical order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mgd.graph import InterLink
from mgd.lean import dataclass
from tt_run.plan.placement.demand import MeshDemand
from tt_run.plan.placement.physical import PhysicalGraph
from tt_run.plan.placement.search import Clock, Embedding, embeddings, lacking

MOST_REGIONS = 20_000  # per shape; beyond it "no placement" is no longer a proof
MOST_EMBEDDINGS = 400_000


@dataclass(frozen=True, slots=True)
class Region:
    """The chips that the ranks of one candidate open as a bit mask, its hosts as a bit mask, and the embedding."""

    opened: int
    hosts: int
    placed: Embedding


@dataclass(frozen=True, slots=True)
class Candidates:
    """The regions of one shape; `complete` is False when there are more than were enumerated."""

    regions: tuple[Region, ...]
    complete: bool


def candidates(demand: MeshDemand, physical: PhysicalGraph, clock: Clock, *, keep_all: bool) -> Candidates:
    """Regions of a mesh in canonical order. `keep_all` keeps every embedding of a region (links or pins tell devices apart)."""
    # A mesh that fits with all channels somewhere may still have to take a weaker place beside others.
    shortfall = 0 if demand.strict else len(demand.links) * max(demand.channels - 1, 0)
    found: dict[object, tuple[int, int, Region]] = {}
    complete = True
    for number, placed in enumerate(embeddings(demand, physical, clock, shortfall=shortfall)):
        chips = sum(1 << node for node in placed)
        lacks = lacking(demand, physical, placed) if shortfall else 0
        key: object = placed if keep_all else chips
        if key not in found or lacks < found[key][0]:
            hosts = opened = 0
            for node in placed:
                hosts |= 1 << physical.nodes[node].host_index
                for other in physical.nodes[node].opened:
                    opened |= 1 << other
            found[key] = (lacks, number, Region(opened, hosts, placed))
        if len(found) >= MOST_REGIONS or number >= MOST_EMBEDDINGS:
            complete = False
            break
    ordered = sorted(found.values(), key=lambda entry: entry[:2])
    return Candidates(tuple(region for _, _, region in ordered), complete)


@dataclass(frozen=True, slots=True)
class Assignment:
    """An embedding per mesh (in the order of the demands), or None; `proven` says whether "none" or "fewest hosts" is a proof."""

    placed: tuple[Embedding, ...] | None
    proven: bool


def assign(
    demands: Sequence[MeshDemand],
    links: dict[tuple[int, int], list[InterLink]],
    physical: PhysicalGraph,
    clock: Clock,
) -> Assignment:
    """Place every mesh disjointly so that each requested link has its channels. Raises OutOfTime."""
    by_shape: dict[tuple[object, ...], Candidates] = {}
    told_apart = {
        mesh_id
        for pair, wanted in links.items()
        for mesh_id in pair
        if any(link.a_device is not None or link.b_device is not None for link in wanted)
    }
    pools: list[Candidates] = []
    for demand in demands:
        keep_all = demand.mesh.mesh_id in told_apart
        key = (*demand.shape_key(), keep_all)
        if key not in by_shape:
            by_shape[key] = candidates(demand, physical, clock, keep_all=keep_all)
        pools.append(by_shape[key])
    complete = all(pool.complete for pool in pools)
    solver = _Assigner(demands, pools, links, physical, clock)
    devices = sum(demand.size for demand in demands)
    sizes = sorted((len(physical.chips_of(h)) for h in range(len(physical.hosts))), reverse=True)
    fewest = next((n for n in range(1, len(sizes) + 1) if sum(sizes[:n]) >= devices), len(sizes) + 1)
    for hosts in range(fewest, len(physical.hosts) + 1):
        found = next(solver.solve(hosts), None)
        if found is not None:
            return Assignment(tuple(region.placed for region in found), complete)
    return Assignment(None, complete)


class _Assigner:
    def __init__(
        self,
        demands: Sequence[MeshDemand],
        pools: Sequence[Candidates],
        links: dict[tuple[int, int], list[InterLink]],
        physical: PhysicalGraph,
        clock: Clock,
    ) -> None:
        self.demands, self.pools, self.physical, self.clock = demands, pools, physical, clock
        number = {demand.mesh.mesh_id: i for i, demand in enumerate(demands)}
        self.neighbours: list[list[tuple[int, list[InterLink]]]] = [[] for _ in demands]
        for (a, b), wanted in links.items():
            self.neighbours[number[a]].append((number[b], wanted))
            self.neighbours[number[b]].append((number[a], wanted))
        self.link_cache: dict[tuple[int, Embedding, int, Embedding], bool] = {}

    def solve(self, most_hosts: int) -> Iterator[list[Region]]:
        """Assignments that use at most so many hosts, in canonical order."""
        yield from self._place([], 0, 0, most_hosts)

    def _place(self, chosen: list[Region], chips: int, hosts: int, most: int) -> Iterator[list[Region]]:
        mesh = len(chosen)
        if mesh == len(self.demands):
            yield list(chosen)
            return
        for region in self.pools[mesh].regions:
            self.clock.tick()
            used = hosts | region.hosts
            if region.opened & chips or bin(used).count("1") > most:
                continue
            if not self._links_hold(mesh, region, chosen):
                continue
            chosen.append(region)
            if self._neighbours_can_follow(mesh, chosen, chips | region.opened):
                yield from self._place(chosen, chips | region.opened, used, most)
            chosen.pop()

    def _links_hold(self, mesh: int, region: Region, chosen: list[Region]) -> bool:
        return all(
            self._linked(mesh, region.placed, other, chosen[other].placed, wanted)
            for other, wanted in self.neighbours[mesh]
            if other < len(chosen)
        )

    def _neighbours_can_follow(self, mesh: int, chosen: list[Region], chips: int) -> bool:
        """Each mesh still to be placed that links to this one needs at least one free, linked region."""
        for other, wanted in self.neighbours[mesh]:
            if other < len(chosen):
                continue
            if not any(
                not region.opened & chips
                and self._linked(other, region.placed, mesh, chosen[mesh].placed, wanted)
                for region in self.pools[other].regions
            ):
                return False
        return True

    def _linked(
        self, a: int, placed_a: Embedding, b: int, placed_b: Embedding, wanted: list[InterLink]
    ) -> bool:
        key = (a, placed_a, b, placed_b) if a < b else (b, placed_b, a, placed_a)
        known = self.link_cache.get(key)
        if known is None:
            ids = self.demands[key[0]].mesh.mesh_id, self.demands[key[2]].mesh.mesh_id
            known = self.link_cache[key] = links_hold(self.physical, ids, key[1], key[3], wanted)
        return known


def links_hold(
    physical: PhysicalGraph,
    ids: tuple[int, int],
    placed_a: Embedding,
    placed_b: Embedding,
    wanted: Sequence[InterLink],
) -> bool:
    """Whether all links requested between two placed meshes have their channels; parallel requests add up.

    One request for the Z direction makes the pair of meshes a Z pair (MGD specification, section 7.5), which Z channels alone serve.
    """
    z_only = any(link.z_direction for link in wanted)
    supply = {
        pair: express if z_only else grid + express
        for pair, (grid, express) in between(physical, placed_a, placed_b).items()
    }
    total = 0
    between_devices: dict[tuple[int, int], int] = {}
    for link in wanted:
        count = link.channels if link.policy == "STRICT" else 1
        total += count
        ends = (link.a_device, link.b_device) if link.a == ids[0] else (link.b_device, link.a_device)
        if ends[0] is not None and ends[1] is not None:
            pair = (placed_a[ends[0]], placed_b[ends[1]])
            between_devices[pair] = between_devices.get(pair, 0) + count
    return sum(supply.values()) >= total and all(
        supply.get(pair, 0) >= count for pair, count in between_devices.items()
    )


def between(
    physical: PhysicalGraph, placed_a: Embedding, placed_b: Embedding
) -> dict[tuple[int, int], tuple[int, int]]:
    """(grid, Z) channels of every pair of chips that joins two placed meshes."""
    ends = set(placed_b)
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for node in placed_a:
        for other in {*physical.grid[node], *physical.z[node]} & ends:
            found[(node, other)] = (physical.grid[node].get(other, 0), physical.z[node].get(other, 0))
    return found
