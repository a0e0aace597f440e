"""Where a mesh among several may go: its candidate regions, and whether two of them carry the links between their meshes."""

from __future__ import annotations

from collections.abc import Sequence

from mgd.expanding.connections import InterLink
from mgd.lean import dataclass
from tt_run.plan.placement.demand import MeshDemand
from tt_run.plan.placement.physical import PhysicalGraph
from tt_run.plan.placement.search import Clock, Embedding, SearchBudget, embeddings, lacking

MOST_STEPS = 1_000_000  # per shape, shared by the chips where device 0 may sit; beyond it "no placement" is no longer a proof
LEAST_STEPS = 20_000  # for each of those chips


@dataclass(frozen=True, slots=True)
class Region:
    """The chips that the ranks of a candidate open, those linked to its own, and its hosts, as bit masks; the channels that its
    links lack; the embedding."""

    opened: int
    around: int
    hosts: int
    lacks: int
    placed: Embedding


@dataclass(frozen=True, slots=True)
class Candidates:
    """The regions of one shape; `complete` is False when there are more than were enumerated."""

    regions: tuple[Region, ...]
    complete: bool


def candidates(demand: MeshDemand, physical: PhysicalGraph, clock: Clock, *, keep_all: bool) -> Candidates:
    """Regions of a mesh in canonical order, each with the embedding that lacks least. `keep_all` keeps every embedding of a region
    (links tell devices apart)."""
    # A mesh that fits with all channels somewhere may still have to take a weaker place beside others.
    shortfall = 0 if demand.strict else len(demand.links) * max(demand.channels - 1, 0)
    patience = SearchBudget(max(LEAST_STEPS, MOST_STEPS // max(len(physical.nodes), 1)))
    found: dict[object, tuple[int, Embedding]] = {}
    for placed in embeddings(demand, physical, clock, shortfall=shortfall, patience=patience):
        lacks = lacking(demand, physical, placed) if shortfall else 0
        key: object = placed if keep_all else sum(1 << node for node in placed)
        if key not in found or lacks < found[key][0]:
            found[key] = (lacks, placed)
    ordered = sorted(found.values(), key=lambda entry: entry[1])  # as embeddings come
    return Candidates(
        tuple(region_of(placed, physical, lacks) for lacks, placed in ordered), not patience.ran_out
    )


def region_of(placed: Embedding, physical: PhysicalGraph, lacks: int) -> Region:
    """The region of an embedding."""
    hosts = opened = around = 0
    for node in placed:
        hosts |= 1 << physical.nodes[node].host_index
        for other in physical.nodes[node].opened:
            opened |= 1 << other
        for other in (*physical.grid[node], *physical.z[node]):
            around |= 1 << other
    return Region(opened, around, hosts, lacks, placed)


def links_hold(
    physical: PhysicalGraph,
    ids: tuple[int, int],
    placed_a: Embedding,
    placed_b: Embedding,
    wanted: Sequence[InterLink],
) -> bool:
    """Whether all links requested between two placed meshes have their channels; parallel requests add up.

    One request for the Z direction makes the pair of meshes a Z pair (reference library 0.81.1), which Z channels alone serve.
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
