"""Finding embeddings of one mesh: row-major backtracking that yields them in canonical order.

Devices are placed in row-major order; candidates are the common neighbours of the neighbours already placed, in the machine's
canonical order. So the first solution is the lexicographically smallest, and grids are almost determined by their first two or
three devices. A RELAXED mesh whose links cannot all have their channels takes the smallest total shortfall, found by bisection
because feasibility is monotone in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from mgd.lean import dataclass, field
from tt_run.plan.placement.demand import MeshDemand
from tt_run.plan.placement.physical import PhysicalGraph

Embedding = tuple[int, ...]  # node index of each device, row-major
_Undo = tuple[int | None, int | None]  # host rank and board that a step bound


class OutOfTime(Exception):
    """The deadline passed: nothing was found, and nothing was proven either."""


@dataclass()
class Clock:
    """A deadline shared by nested searches; looks at the time once in a thousand steps. `now` is replaceable in tests."""

    seconds: float
    now: Callable[[], float] = field(default=time.monotonic, repr=False)
    steps: int = 0
    ends: float = field(init=False)

    def __post_init__(self) -> None:
        self.ends = self.now() + self.seconds

    def tick(self) -> None:
        self.steps += 1
        if self.steps % 1000 == 0 and self.now() > self.ends:
            raise OutOfTime

    def part(self, share: float) -> Clock:
        """A clock for a sub-question that may use a share of what is left."""
        return Clock(max(0.0, self.ends - self.now()) * share, self.now)


@dataclass()
class SearchBudget:
    """How many steps a search spends on one chip for device 0 before it goes on to the next; `ran_out` says whether it ever did."""

    steps: int
    ran_out: bool = False


def embeddings(
    demand: MeshDemand,
    physical: PhysicalGraph,
    clock: Clock,
    *,
    free: frozenset[int] | None = None,
    shortfall: int = 0,
    patience: SearchBudget | None = None,
) -> Iterator[Embedding]:
    """Every embedding in canonical order whose links lack at most `shortfall` channels in total.

    STRICT meshes allow no shortfall; `patience` leaves out those that it runs out for. Raises OutOfTime when the clock runs out.
    """
    yield from _Search(demand, physical, clock, free, 0 if demand.strict else shortfall, patience).run()


def best_embedding(
    demand: MeshDemand, physical: PhysicalGraph, clock: Clock, *, free: frozenset[int] | None = None
) -> Embedding | None:
    """The canonical embedding, or None when there is provably none."""
    full = next(embeddings(demand, physical, clock, free=free), None)
    if full is not None or demand.strict:
        return full
    worst = len(demand.links) * max(demand.channels - 1, 0)
    if worst == 0:
        return None
    found = next(embeddings(demand, physical, clock, free=free, shortfall=worst), None)
    if found is None:
        return None
    low, high = 1, lacking(demand, physical, found)
    while low < high:
        middle = (low + high) // 2
        attempt = next(embeddings(demand, physical, clock, free=free, shortfall=middle), None)
        if attempt is None:
            low = middle + 1
        else:
            found, high = attempt, lacking(demand, physical, attempt)
    return found  # the first of those that lack no more than it


def lacking(demand: MeshDemand, physical: PhysicalGraph, placed: Embedding) -> int:
    """Channels that the links of an embedding lack in total."""
    return sum(max(0, demand.channels - physical.grid[placed[a]].get(placed[b], 0)) for a, b in demand.links)


class _Search:
    def __init__(
        self,
        demand: MeshDemand,
        physical: PhysicalGraph,
        clock: Clock,
        free: frozenset[int] | None,
        shortfall: int,
        patience: SearchBudget | None,
    ) -> None:
        self.demand, self.clock, self.shortfall, self.patience = demand, clock, shortfall, patience
        self.nodes = physical.nodes
        least = demand.channels if shortfall == 0 else 1
        fitting = frozenset(
            node.index
            for node in physical.nodes
            if node.chip.arch == demand.mesh.arch and demand.host in (None, node.host)
        )
        usable = fitting if free is None else fitting & free
        # Only links that could serve count towards a chip's degree.
        self.near = [
            {j: channels for j, channels in row.items() if channels >= least and j in usable}
            if i in usable
            else {}
            for i, row in enumerate(physical.grid)
        ]
        self.usable = self._in_large_components(usable)
        # A look ahead that costs more than it saves where a chain has room to spare.
        self.is_long_chain = min(demand.mesh.dims) == 1 and 2 * demand.size > len(self.usable)
        self.placed: list[int] = []
        self.taken = [False] * len(physical.nodes)
        self.room = [len(row) for row in self.near]  # free usable neighbours
        self.host_of_rank: dict[int, int] = {}
        self.rank_of_board: dict[int, int] = {}  # a board is known by its first chip
        # Of the whole machine: what other meshes have taken does not let two ranks share a host.
        self.distinct_hosts = len({self.nodes[i].host_index for i in fitting}) >= demand.mesh.host_count

    def _in_large_components(self, usable: frozenset[int]) -> list[int]:
        """The chips that are joined to enough others for the whole mesh, in canonical order."""
        found: list[int] = []
        left = set(usable)
        while left:
            component = [left.pop()]
            for node in component:
                fresh = left.intersection(self.near[node])
                left -= fresh
                component.extend(fresh)
            if len(component) >= self.demand.size:
                found.extend(component)
        return sorted(found)

    def run(self) -> Iterator[Embedding]:
        """Depth first with an explicit stack: a mesh may have more devices than Python allows frames."""
        size = self.demand.size
        if size > len(self.usable):
            return
        stack = [self._candidates(0)]
        undone: list[tuple[int, int, _Undo]] = []  # node, what it lacked, how to take it back
        lacks = since_start = 0
        while stack:
            step = next(stack[-1], None)
            if len(stack) == 1:
                since_start = 0
            elif self.patience is not None and since_start > self.patience.steps:
                self.patience.ran_out = True
                step = None
            if step is None:
                stack.pop()
                if undone:
                    node, missing, undo = undone.pop()
                    lacks -= missing
                    self._release(node, undo)
                continue
            node, missing = step
            self.clock.tick()
            since_start += 1
            device = len(stack) - 1
            if lacks + missing > self.shortfall:
                continue
            taken = self._take(device, node)
            if taken is None:
                continue
            if self.is_long_chain and not self._can_go_on(node, size - device - 1):
                self._release(node, taken)
                continue
            if device + 1 == size:
                yield tuple(self.placed)
                self._release(node, taken)
                continue
            lacks += missing
            undone.append((node, missing, taken))
            stack.append(self._candidates(device + 1))

    def _can_go_on(self, head: int, wanted: int) -> bool:
        """Whether a chain that ends in `head` may find `wanted` more chips: so many are within reach, dead ends but one apart."""
        reached = [head]
        seen = {head}
        for node in reached:
            for other in self.near[node]:
                if not self.taken[other] and other not in seen:
                    seen.add(other)
                    reached.append(other)
        ends = sum(len(seen.intersection(self.near[node])) == 1 for node in reached[1:])
        return len(reached) - 1 - max(ends - 1, 0) >= wanted

    def _candidates(self, device: int) -> Iterator[tuple[int, int]]:
        earlier = self.demand.earlier[device]
        later = self.demand.degree[device] - len(earlier)
        slots = self.demand.pins.get(device)
        channels = self.demand.channels
        first = self.near[self.placed[earlier[0]]] if earlier else self.usable
        rest = [self.near[self.placed[e]] for e in earlier]
        for node in first:
            if self.taken[node] or self.room[node] < later:
                continue
            if slots is not None and self.nodes[node].slot not in slots:
                continue
            if any(node not in row for row in rest):
                continue
            yield node, sum(max(0, channels - row[node]) for row in rest)

    def _take(self, device: int, node: int) -> _Undo | None:
        """Occupy a node; None when the rules of hosts forbid it, else what to undo."""
        rank = self.demand.host_rank[device]
        new_rank: int | None = None
        new_board: int | None = None
        if rank >= 0:
            host, board = self.nodes[node].host_index, self.nodes[node].opened[0]
            bound = self.host_of_rank.get(rank)
            if bound is None:
                if self.distinct_hosts and host in self.host_of_rank.values():
                    return None
                new_rank = rank
            elif bound != host:
                return None
            owner = self.rank_of_board.get(board)
            if owner is None:
                new_board = board
            elif owner != rank:
                return None
            if new_rank is not None:
                self.host_of_rank[rank] = host
            if new_board is not None:
                self.rank_of_board[new_board] = rank
        self.taken[node] = True
        self.placed.append(node)
        for other in self.near[node]:
            self.room[other] -= 1
        return new_rank, new_board

    def _release(self, node: int, undo: _Undo) -> None:
        new_rank, new_board = undo
        if new_rank is not None:
            del self.host_of_rank[new_rank]
        if new_board is not None:
            del self.rank_of_board[new_board]
        self.taken[node] = False
        self.placed.pop()
        for other in self.near[node]:
            self.room[other] += 1
