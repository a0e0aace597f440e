"""Small machines, where every placement there is can be written down: the search finds exactly those, in order, and the best of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from mgd.expanding.connections import InterLink
from mgd.graph import Mesh, MeshGraph, PinGroup
from tests.tt_run.plan.placement.machines import galaxy
from tt_run.inputs.clusters.chips import Chip
from tt_run.plan.placement import assign as assigning
from tt_run.plan.placement.assign import assign
from tt_run.plan.placement.demand import MeshDemand, demand_of_meshes, links_between
from tt_run.plan.placement.physical import PhysicalChip, PhysicalGraph, build
from tt_run.plan.placement.regions import between, candidates, links_hold, region_of
from tt_run.plan.placement.search import Clock, OutOfTime, best_embedding, embeddings, lacking

SHAPES = ((1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (1, 4), (3, 1))


def machine(draw: random.Random) -> PhysicalGraph:
    """Up to two hosts with boards of one or two chips, cabled at random."""
    sizes = [draw.randint(2, 3) for _ in range(draw.randint(1, 2))]
    nodes: list[PhysicalChip] = []
    for host, size in enumerate(sizes):
        first = len(nodes)
        cut = draw.randint(0, size)  # chips before it are alone on their boards, of the others two share one
        for place in range(size):
            together = place >= cut and size - cut == 2
            index = first + place
            opened = tuple(first + each for each in range(cut, size)) if together else (index,)
            chip = Chip(index, index + 1, "WORMHOLE_B0", "n300", index, place + 1, draw.randint(0, 1), index)
            nodes.append(PhysicalChip(index, f"h{host}", host, chip, opened))
    grid: list[dict[int, int]] = [{} for _ in nodes]
    z: list[dict[int, int]] = [{} for _ in nodes]
    for table, share in ((grid, 0.75), (z, 0.3)):
        for a, b in itertools.combinations(range(len(nodes)), 2):
            if draw.random() < share:
                table[a][b] = table[b][a] = draw.randint(1, 3)
    ordered = [tuple(dict(sorted(row.items())) for row in table) for table in (grid, z)]
    return PhysicalGraph(
        tuple(nodes),
        tuple(f"h{i}" for i in range(len(sizes))),
        ordered[0],
        ordered[1],
        ("N300",) * len(sizes),
    )


def mesh(draw: random.Random, number: int, shapes: tuple[tuple[int, int], ...] = SHAPES) -> Mesh:
    rows, columns = draw.choice(shapes)
    hosts = draw.choice([(1, 1), (1, 1), (rows, 1), (1, columns)])
    kinds = (draw.choice(["LINE", "RING"]), draw.choice(["LINE", "RING"]))
    policy = draw.choice(["STRICT", "RELAXED", "RELAXED"])
    return Mesh(number, "M", "WORMHOLE_B0", (rows, columns), hosts, kinds, draw.randint(1, 3), policy)


def every(
    demand: MeshDemand, physical: PhysicalGraph, shortfall: int, free: frozenset[int]
) -> list[tuple[int, ...]]:
    """All placements of a mesh that lack at most so many channels, in ascending order."""
    usable = [i for i in sorted(free) if demand.host in (None, physical.nodes[i].host)]
    enough = (
        len({node.host_index for node in physical.nodes if demand.host in (None, node.host)})
        >= demand.mesh.host_count
    )
    shortfall = 0 if demand.strict else shortfall
    return [
        p
        for p in itertools.permutations(usable, demand.size)
        if _fits(demand, physical, p, shortfall, enough)
    ]


def _fits(
    demand: MeshDemand, physical: PhysicalGraph, placed: tuple[int, ...], shortfall: int, enough: bool
) -> bool:
    for device, slots in demand.pins.items():
        if physical.nodes[placed[device]].slot not in slots:
            return False
    hosts: dict[int, set[int]] = {}
    boards: dict[int, set[int]] = {}
    for device, node in enumerate(placed):
        hosts.setdefault(demand.host_rank[device], set()).add(physical.nodes[node].host_index)
        boards.setdefault(physical.nodes[node].opened[0], set()).add(demand.host_rank[device])
    if any(len(found) > 1 for found in (*hosts.values(), *boards.values())):
        return False
    if enough and len(set().union(*hosts.values())) < len(hosts):
        return False
    links = [physical.grid[placed[a]].get(placed[b], 0) for a, b in demand.links]
    return all(links) and sum(max(0, demand.channels - count) for count in links) <= shortfall


def drawn(
    seed: int, meshes: int, shapes: tuple[tuple[int, int], ...] = SHAPES
) -> tuple[PhysicalGraph, list[MeshDemand], MeshGraph]:
    draw = random.Random(seed)
    physical = machine(draw)
    made = tuple(mesh(draw, number, shapes) for number in range(meshes))
    links = []
    for a, b in itertools.combinations(range(meshes), 2):
        for _ in range(draw.randint(0, 2)):
            ends = [draw.randrange(made[i].device_count) if draw.random() < 0.5 else None for i in (a, b)]
            pair = ((a, *ends[:1]), (b, *ends[1:]))
            (one, one_device), (other, other_device) = pair if draw.random() < 0.5 else pair[::-1]
            policy, z_only = draw.choice(["STRICT", "RELAXED"]), draw.random() < 0.2
            links.append(InterLink(one, other, draw.randint(1, 3), policy, one_device, other_device, z_only))
    pins = ()
    if draw.random() < 0.3:
        node = draw.choice(physical.nodes)
        pins = (PinGroup(0, (draw.randrange(made[0].device_count),), (node.slot,), ""),)
    graph = MeshGraph(made, tuple(links), pins=pins)
    return physical, demand_of_meshes(graph, physical), graph


@pytest.mark.parametrize("block", range(8))
def test_every_placement_of_a_mesh_is_found_in_order(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        physical, [demand], _ = drawn(seed, 1)
        clock = Clock(60)
        everything = frozenset(range(len(physical.nodes)))
        worst = len(demand.links) * max(demand.channels - 1, 0)
        for free in (everything, everything - {seed % len(everything)}):
            for shortfall in sorted({0, 1, worst}):
                found = list(embeddings(demand, physical, clock, free=free, shortfall=shortfall))
                assert found == every(demand, physical, shortfall, free), (seed, shortfall)
        wanted = every(demand, physical, worst, everything)
        least = min((lacking(demand, physical, placed) for placed in wanted), default=0)
        first = next((placed for placed in wanted if lacking(demand, physical, placed) == least), None)
        assert best_embedding(demand, physical, clock) == first, seed
        pool = candidates(demand, physical, clock, keep_all=False)
        assert pool.complete and len(pool.regions) == len({frozenset(placed) for placed in wanted})
        for region in pool.regions:
            same = [placed for placed in wanted if set(placed) == set(region.placed)]
            lacks = [lacking(demand, physical, placed) for placed in same]
            assert (region.lacks, region.placed) == (min(lacks), same[lacks.index(min(lacks))])
        kept = candidates(demand, physical, clock, keep_all=True).regions
        assert [region.placed for region in kept] == wanted
        assert all(region == region_of(region.placed, physical, region.lacks) for region in kept)


def _carried(
    physical: PhysicalGraph, a: tuple[int, ...], b: tuple[int, ...], wanted: list[InterLink]
) -> bool:
    """Whether two placed meshes, of which a has the lower id, have the channels that are asked for."""
    z_only = any(link.z_direction for link in wanted)

    def supply(x: int, y: int) -> int:
        return physical.z[x].get(y, 0) + (0 if z_only else physical.grid[x].get(y, 0))

    asked: dict[tuple[int, int], int] = {}
    for link in wanted:
        ends = {link.a: link.a_device, link.b: link.b_device}
        low, high = (ends[number] for number in sorted(ends))
        if low is not None and high is not None:
            asked[a[low], b[high]] = asked.get((a[low], b[high]), 0) + (
                link.channels if link.policy == "STRICT" else 1
            )
    total = sum(link.channels if link.policy == "STRICT" else 1 for link in wanted)
    return sum(supply(x, y) for x in a for y in b) >= total and all(
        supply(*pair) >= n for pair, n in asked.items()
    )


def _together(
    physical: PhysicalGraph, wanted: list[MeshDemand], graph: MeshGraph
) -> Iterator[tuple[int, int]]:
    """Hosts and lacking channels of every way to place all meshes."""
    links = links_between(graph)
    everything = frozenset(range(len(physical.nodes)))
    pools = [
        every(each, physical, len(each.links) * max(each.channels - 1, 0), everything) for each in wanted
    ]
    for placed in itertools.product(*pools):
        opened = [{other for node in each for other in physical.nodes[node].opened} for each in placed]
        if len(set().union(*opened)) < sum(map(len, opened)):
            continue
        if all(_carried(physical, placed[a], placed[b], asked) for (a, b), asked in links.items()):
            hosts = {physical.nodes[node].host_index for each in placed for node in each}
            yield (
                len(hosts),
                sum(lacking(demand, physical, each) for demand, each in zip(wanted, placed, strict=True)),
            )


@pytest.mark.parametrize("seed", [5619, 9091, 10650])
def test_one_channel_more_than_each_by_itself_must_lack(seed: int) -> None:
    """The first assignment lacks two more, which is not yet the least."""
    physical, wanted, graph = drawn(seed, 2 + seed % 3, ((1, 1), (1, 2), (2, 1), (1, 3)))
    found = assign(wanted, links_between(graph), physical, Clock(60))
    assert found.placed is not None
    lacks = sum(lacking(demand, physical, each) for demand, each in zip(wanted, found.placed, strict=True))
    assert lacks == 1


@pytest.mark.parametrize("block", range(8))
def test_meshes_beside_each_other_take_the_fewest_hosts_and_lack_least(block: int) -> None:
    for seed in range(1000 + 40 * block, 1040 + 40 * block):
        physical, wanted, graph = drawn(
            seed, 2 + seed % 2, ((1, 1), (1, 2), (2, 1), (1, 3)) if seed % 2 else SHAPES
        )
        links = links_between(graph)
        found = assign(wanted, links, physical, Clock(60))
        ways = sorted(_together(physical, wanted, graph))
        assert found.proven and (found.placed is None) == (not ways), seed
        solver = assigning._Assigner(
            wanted, assigning._pools(wanted, links, physical, Clock(60)), links, physical
        )
        nested = solver.one_after_another(Clock(60))
        assert (nested is None) == (not ways), seed
        if nested is not None:
            placed = [region.placed for region in nested]
            assert all(_carried(physical, placed[a], placed[b], asked) for (a, b), asked in links.items())
            assert not any(a.opened & b.opened for a, b in itertools.combinations(nested, 2))
            assert all(
                region.lacks == lacking(each, physical, region.placed)
                for each, region in zip(wanted, nested, strict=True)
            )
        if found.placed is None:
            continue
        hosts = {physical.nodes[node].host_index for each in found.placed for node in each}
        lacks = sum(
            lacking(demand, physical, each) for demand, each in zip(wanted, found.placed, strict=True)
        )
        assert (len(hosts), lacks) == ways[0], seed
        opened = [
            other for each in found.placed for other in {o for n in each for o in physical.nodes[n].opened}
        ]
        assert len(opened) == len(set(opened))
        for (a, b), asked in links_between(graph).items():
            assert links_hold(physical, (a, b), found.placed[a], found.placed[b], asked)
            assert _carried(physical, found.placed[a], found.placed[b], asked)
            for (x, y), (grid, z) in between(physical, found.placed[a], found.placed[b]).items():
                assert (grid, z) == (physical.grid[x].get(y, 0), physical.z[x].get(y, 0))


@pytest.mark.parametrize("block", range(4))
def test_two_placed_meshes_carry_their_links_or_do_not(block: int) -> None:
    for seed in range(2000 + 50 * block, 2050 + 50 * block):
        physical, wanted, graph = drawn(seed, 2, ((1, 1), (1, 2), (2, 1)))
        nodes = random.Random(seed).sample(range(len(physical.nodes)), len(physical.nodes))
        placed = tuple(nodes[: wanted[0].size]), tuple(nodes[wanted[0].size :][: wanted[1].size])
        if len(placed[1]) < wanted[1].size:
            continue
        for pair, asked in links_between(graph).items():
            assert links_hold(physical, pair, *placed, asked) == _carried(physical, *placed, asked), seed


@pytest.mark.wide
def test_looking_ahead_saves_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many steps at most, counted when this was written: a branch that is cut later takes more."""
    steps = 0

    def tick(clock: Clock) -> None:
        nonlocal steps
        steps += 1

    monkeypatch.setattr(Clock, "tick", tick)
    told = []
    for meshes, shapes in ((1, SHAPES), (2, SHAPES), (3, ((1, 1), (1, 2), (2, 1), (1, 3)))):
        steps = 0
        for seed in range(3000, 3100):
            physical, wanted, graph = drawn(seed, meshes, shapes)
            assign(wanted, links_between(graph), physical, Clock(60))
        told.append(steps)
    for count, rows, columns in ((4, 4, 2), (8, 2, 2), (2, 4, 4), (3, 8, 1)):
        steps = 0
        physical = build([galaxy(name, number, 2) for number, name in enumerate("ba")])
        meshes = tuple(
            Mesh(i, "M", "WORMHOLE_B0", (rows, columns), (1, 1), ("LINE", "LINE"), 4, "RELAXED")
            for i in range(count)
        )
        ring = tuple(InterLink(i, (i + 1) % count, 2, "STRICT") for i in range(count))
        graph = MeshGraph(meshes, ring)
        assert (
            assign(demand_of_meshes(graph, physical), links_between(graph), physical, Clock(60)).placed
            is not None
        )
        told.append(steps)
    assert all(now <= then for now, then in zip(told, STEPS, strict=True)), told


STEPS = [1567, 3146, 3010, 6780, 1927, 18370, 130772]


def test_a_clock_looks_once_in_a_thousand_steps() -> None:
    time = [10.0]
    clock = Clock(5, lambda: time[0])
    time[0] = 15.0
    for _ in range(1000):
        clock.tick()
    assert [clock.part(0.5).ends, clock.ends, clock.steps] == [15.0, 15.0, 1000]
    time[0] = 11.0
    assert clock.part(0.5).ends == 13.0 and clock.part(0.5).now is clock.now
    time[0] = 15.1
    for _ in range(999):
        clock.tick()
    with pytest.raises(OutOfTime):
        clock.tick()
    assert clock.part(0.5).ends == 15.1


@pytest.mark.parametrize("wanted", range(2, 9))
@pytest.mark.parametrize("channels", [(1, 2), (1, 1, 2), (2, 3, 1), (1, 2, 4), (3, 1, 5)])
def test_the_pair_that_lacks_least_is_taken_however_much_it_lacks(
    channels: tuple[int, ...], wanted: int
) -> None:
    """Pairs of chips with a cable of so many channels each: the first that holds all, else the first of the best."""
    nodes = tuple(
        PhysicalChip(i, "h0", 0, Chip(i, i + 1, "WORMHOLE_B0", "n300", i, i + 1, 0, i), (i,))
        for i in range(2 * len(channels))
    )
    grid = tuple({i ^ 1: channels[i // 2]} for i in range(len(nodes)))
    physical = PhysicalGraph(nodes, ("h0",), grid, ({},) * len(nodes), ("N300",))
    asked = Mesh(0, "M", "WORMHOLE_B0", (1, 2), (1, 1), ("LINE", "LINE"), wanted, "RELAXED")
    [demand] = demand_of_meshes(MeshGraph((asked,)), physical)
    expected = min(range(len(channels)), key=lambda pair: (max(0, wanted - channels[pair]), pair))
    assert best_embedding(demand, physical, Clock(30)) == (2 * expected, 2 * expected + 1)


def sites(*lacks: tuple[int, int]) -> PhysicalGraph:
    """Two pairs of chips at each site, linked to each other, which lack so many of nine channels; and one pair that lacks none, alone."""
    have = [9 - each for pair in lacks for each in pair] + [9]
    nodes = tuple(
        PhysicalChip(i, "h0", 0, Chip(i, i + 1, "WORMHOLE_B0", "n300", i, i + 1, 0, i), (i,))
        for i in range(2 * len(have))
    )
    grid = tuple({i ^ 1: have[i // 2]} for i in range(len(nodes)))
    z: list[dict[int, int]] = [{} for _ in nodes]
    for site in range(len(lacks)):
        z[4 * site + 1], z[4 * site + 2] = {4 * site + 2: 1}, {4 * site + 1: 1}
    return PhysicalGraph(nodes, ("h0",), grid, tuple(z), ("N300",))


def linked_pairs(physical: PhysicalGraph) -> tuple[list[MeshDemand], MeshGraph]:
    pairs = tuple(
        Mesh(number, "M", "WORMHOLE_B0", (1, 2), (1, 1), ("LINE", "LINE"), 9, "RELAXED") for number in (0, 1)
    )
    graph = MeshGraph(pairs, (InterLink(0, 1, 1, "STRICT"),))
    return demand_of_meshes(graph, physical), graph


@pytest.mark.parametrize(
    "lacks",
    [
        ((1, 0),),
        ((1, 1), (1, 0)),
        ((2, 2), (1, 2)),
        ((2, 2), (1, 2), (2, 1)),
        ((2, 2), (1, 1)),
        ((3, 3), (1, 2), (4, 4)),
        ((4, 4), (0, 1), (1, 0)),
        ((4, 4), (4, 3), (3, 4), (2, 4)),
        ((8, 8), (4, 5), (0, 0), (0, 1)),
    ],
)
def test_the_site_that_lacks_least_is_taken_however_much_it_lacks(lacks: tuple[tuple[int, int], ...]) -> None:
    physical = sites(*lacks)
    wanted, graph = linked_pairs(physical)
    best = min(range(len(lacks)), key=lambda site: (sum(lacks[site]), site))
    found = assign(wanted, links_between(graph), physical, Clock(60))
    assert found == assigning.Assignment(((4 * best, 4 * best + 1), (4 * best + 2, 4 * best + 3)), True)


def test_a_smaller_shortfall_that_ran_out_of_time_is_not_ruled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    physical = sites((4, 4), (1, 2))
    wanted, graph = linked_pairs(physical)
    solve, tried = assigning._Assigner.solve, []

    def late(solver: assigning._Assigner, hosts: int, lacks: int | None, clock: Clock) -> object:
        tried.append(lacks)
        if lacks:
            raise OutOfTime
        return solve(solver, hosts, lacks, clock)

    monkeypatch.setattr(assigning._Assigner, "solve", late)
    found = assign(wanted, links_between(graph), physical, Clock(60))
    assert tried == [0, None, 4] and found == assigning.Assignment(((0, 1), (2, 3)), False)
