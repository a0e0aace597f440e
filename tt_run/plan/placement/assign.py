"""Several meshes on one machine: regions that are disjoint and linked, on the fewest hosts, in canonical order.

Meshes take regions in id order. After each step the regions that are still free are counted: a mesh that keeps none, a neighbour that
keeps none beside this one, and hosts that cannot hold the rest any more end the branch, so that full machines and rings fail early.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from mgd.expanding.connections import InterLink
from mgd.lean import dataclass
from tt_run.plan.placement.demand import MeshDemand
from tt_run.plan.placement.physical import PhysicalGraph
from tt_run.plan.placement.regions import Candidates, Region, candidates, links_hold, region_of
from tt_run.plan.placement.search import Clock, Embedding, OutOfTime, SearchBudget, embeddings, lacking

Links = dict[tuple[int, int], list[InterLink]]
NESTED_STEPS = 2_000  # per chip for device 0, where meshes are placed one after another


@dataclass(frozen=True, slots=True)
class Assignment:
    """An embedding per mesh (in the order of the demands), or None; `proven` says whether "none" or "fewest hosts" is a proof."""

    placed: tuple[Embedding, ...] | None
    proven: bool


def assign(demands: Sequence[MeshDemand], links: Links, physical: PhysicalGraph, clock: Clock) -> Assignment:
    """Place every mesh disjointly so that each requested link has its channels. Raises OutOfTime."""
    pools = _pools(demands, links, physical, clock)
    if any(pool.complete and not pool.regions for pool in pools):
        return Assignment(None, True)
    solver = _Assigner(demands, pools, links, physical)
    proven = all(pool.complete for pool in pools)
    enough = solver.fewest_hosts()
    for hosts in range(enough, len(physical.hosts) + 1):
        is_last = hosts == len(physical.hosts)
        part = clock if is_last and proven else clock.part(0.5)
        try:
            found, is_least = solver.least_lacking(hosts, part)
        except OutOfTime:
            if is_last and proven:
                raise
            proven = False
            continue
        if found is not None:
            return Assignment(tuple(region.placed for region in found), proven and is_least)
    if proven:
        return Assignment(None, True)
    nested = solver.one_after_another(clock)
    return Assignment(None if nested is None else tuple(region.placed for region in nested), False)


def _pools(
    demands: Sequence[MeshDemand], links: Links, physical: PhysicalGraph, clock: Clock
) -> list[Candidates]:
    """The candidates of each mesh; meshes of one shape share theirs."""
    told_apart = {
        mesh_id
        for pair, wanted in links.items()
        for mesh_id in pair
        if any(None not in (link.a_device, link.b_device) for link in wanted)  # one end alone asks no more
    }
    by_shape: dict[tuple[object, ...], Candidates] = {}
    pools: list[Candidates] = []
    for demand in demands:
        keep_all = demand.mesh.mesh_id in told_apart
        key = (*demand.shape_key(), keep_all)
        if key not in by_shape:
            by_shape[key] = candidates(demand, physical, clock, keep_all=keep_all)
        pools.append(by_shape[key])
    return pools


def _sums_from(numbers: Sequence[int]) -> list[int]:
    """The sum of the numbers from each one on, and of none."""
    return list(accumulate(reversed(numbers), initial=0))[::-1]


class _Assigner:
    def __init__(
        self,
        demands: Sequence[MeshDemand],
        pools: Sequence[Candidates],
        links: Links,
        physical: PhysicalGraph,
    ) -> None:
        self.demands, self.physical = demands, physical
        self.regions = list({id(pool): list(pool.regions) for pool in pools}.values())
        order = list(dict.fromkeys(id(pool) for pool in pools))
        self.pool_of = [order.index(id(pool)) for pool in pools]
        number = {demand.mesh.mesh_id: i for i, demand in enumerate(demands)}
        self.neighbours: list[list[tuple[int, list[InterLink]]]] = [[] for _ in demands]
        for (a, b), wanted in links.items():
            self.neighbours[number[a]].append((number[b], wanted))
            self.neighbours[number[b]].append((number[a], wanted))
        self.known: dict[tuple[int, Embedding, int, Embedding], bool] = {}
        self.chips_of_host = [
            sum(1 << node.index for node in physical.chips_of(h)) for h in range(len(physical.hosts))
        ]
        # What the meshes from each one on need at least: chips, and channels that their links must lack.
        least = [min((region.lacks for region in pool.regions), default=0) for pool in pools]
        self.chips_from = _sums_from([demand.size for demand in demands])
        self.lacks_from = _sums_from(least)

    def fewest_hosts(self) -> int:
        """How many of the largest hosts hold as many chips as all meshes have devices."""
        sizes = sorted((mask.bit_count() for mask in self.chips_of_host), reverse=True)
        held = 0
        for number, size in enumerate(sizes, 1):
            held += size
            if held >= self.chips_from[0]:
                return number
        return len(sizes) + 1

    def least_lacking(self, hosts: int, clock: Clock) -> tuple[list[Region] | None, bool]:
        """The first assignment in canonical order on at most so many hosts among those whose links lack the fewest channels, and
        whether that is certain. Raises OutOfTime when none was found in time."""
        low = self.lacks_from[0]
        found = self.solve(hosts, low, clock)
        if found is not None or all(demand.strict for demand in self.demands):
            return found, True
        found = self.solve(hosts, None, clock)
        if found is None:
            return None, True
        high, low = sum(region.lacks for region in found), low + 1
        try:
            while low < high:
                middle = (low + high) // 2
                better = self.solve(hosts, middle, clock)
                if better is None:
                    low = middle + 1
                else:
                    found, high = better, sum(region.lacks for region in better)
            return found, True  # the first that lacks no more than any that it was sought among
        except OutOfTime:
            return found, False

    def solve(self, hosts: int, lacking: int | None, clock: Clock) -> list[Region] | None:
        """The first assignment in canonical order on at most so many hosts that lacks at most so many channels (None: any number)."""
        chosen: list[Region] = []
        alive = [[r for r in regions if r.hosts.bit_count() <= hosts] for regions in self.regions]
        return chosen if self._place(chosen, 0, 0, alive, hosts, lacking, clock) else None

    def _place(
        self,
        chosen: list[Region],
        opened: int,
        used: int,
        alive: list[list[Region]],
        hosts: int,
        lacking: int | None,
        clock: Clock,
    ) -> bool:
        mesh = len(chosen)
        if mesh == len(self.demands):
            return True
        for region in alive[self.pool_of[mesh]]:
            clock.tick()
            if lacking is not None and region.lacks + self.lacks_from[mesh + 1] > lacking:
                continue
            if not self._links_hold(mesh, region, chosen):
                continue
            taken, reached = opened | region.opened, used | region.hosts
            left = [
                [r for r in regions if not r.opened & taken and (r.hosts | reached).bit_count() <= hosts]
                for regions in alive
            ]
            chosen.append(region)
            rest = None if lacking is None else lacking - region.lacks
            if self._others_can_follow(mesh, region, left, reached, hosts) and self._place(
                chosen, taken, reached, left, hosts, rest, clock
            ):
                return True
            chosen.pop()
        return False

    def _others_can_follow(
        self, mesh: int, region: Region, left: list[list[Region]], reached: int, hosts: int
    ) -> bool:
        """The meshes still to be placed keep regions, those linked to this one keep linked regions, and the hosts hold them all."""
        if any(not left[self.pool_of[other]] for other in range(mesh + 1, len(self.demands))):
            return False
        cover = 0
        for pool in {self.pool_of[other] for other in range(mesh + 1, len(self.demands))}:
            for other_region in left[pool]:
                cover |= other_region.opened
        free = sorted(
            ((cover & mask).bit_count() for h, mask in enumerate(self.chips_of_host) if not reached >> h & 1),
            reverse=True,
        )
        inside = sum(
            (cover & mask).bit_count() for h, mask in enumerate(self.chips_of_host) if reached >> h & 1
        )
        if inside + sum(free[: hosts - reached.bit_count()]) < self.chips_from[mesh + 1]:
            return False
        return all(
            any(self._linked(other, r, mesh, region, wanted) for r in left[self.pool_of[other]])
            for other, wanted in self.neighbours[mesh]
            if other > mesh
        )

    def _links_hold(self, mesh: int, region: Region, chosen: Sequence[Region]) -> bool:
        return all(
            self._linked(mesh, region, other, chosen[other], wanted)
            for other, wanted in self.neighbours[mesh]
            if other < len(chosen)
        )

    def _linked(self, a: int, region_a: Region, b: int, region_b: Region, wanted: list[InterLink]) -> bool:
        if not region_a.around & region_b.opened:
            return False
        if b < a:
            a, region_a, b, region_b = b, region_b, a, region_a
        key = (a, region_a.placed, b, region_b.placed)
        known = self.known.get(key)
        if known is None:
            ids = self.demands[a].mesh.mesh_id, self.demands[b].mesh.mesh_id
            known = self.known[key] = links_hold(self.physical, ids, region_a.placed, region_b.placed, wanted)
        return known

    def one_after_another(self, clock: Clock) -> list[Region] | None:
        """An assignment found without candidates, each mesh on what the earlier ones left: for shapes with too many of them.

        Says nothing when it finds none.
        """
        chosen: list[Region] = []
        return chosen if self._nest(chosen, frozenset(range(len(self.physical.nodes))), clock) else None

    def _nest(self, chosen: list[Region], free: frozenset[int], clock: Clock) -> bool:
        mesh = len(chosen)
        if mesh == len(self.demands):
            return True
        demand = self.demands[mesh]
        worst = 0 if demand.strict else len(demand.links) * max(demand.channels - 1, 0)
        patience = SearchBudget(NESTED_STEPS)
        for placed in embeddings(demand, self.physical, clock, free=free, shortfall=worst, patience=patience):
            region = region_of(placed, self.physical, lacking(demand, self.physical, placed))
            if not self._links_hold(mesh, region, chosen):
                continue
            chosen.append(region)
            opened = {other for node in placed for other in self.physical.nodes[node].opened}
            if self._nest(chosen, free - opened, clock):
                return True
            chosen.pop()
        return False
