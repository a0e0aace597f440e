"""The numbers of a descriptor against a second computation, made device by device from the rules in words."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from mgd.expansion import expand
from mgd.facts import summary
from mgd.reading import loads
from tests.examples import examples

STEPS = (("N", -1, 0), ("E", 0, 1), ("S", 1, 0), ("W", 0, -1))


class Chord(NamedTuple):
    """An express_links entry; `wrap` is 0 to inherit, 1 for LINE, 2 for RING."""

    dim: int
    start: int
    step: int
    wrap: int


class Grid(NamedTuple):
    """A mesh template."""

    rows: int
    columns: int
    hosts: tuple[int, int]
    rings: tuple[bool, bool]
    channels: int
    chords: tuple[Chord, ...]

    def closes(self, dim: int) -> bool:
        return self.rings[dim] and (self.rows, self.columns)[dim] >= 3

    def text(self) -> str:
        types = ", ".join("RING" if ring else "LINE" for ring in self.rings)
        links = "".join(
            f"express_links {{ dim_idx: {c.dim} pattern {{ start: {c.start} step: {c.step} }} wrap: {c.wrap} }} "
            for c in self.chords
        )
        return (
            f'mesh_descriptors {{ name: "M0" arch: BLACKHOLE '
            f"device_topology {{ dims: [ {self.rows}, {self.columns} ] dim_types: [ {types} ] }} "
            f"host_topology {{ dims: [ {self.hosts[0]}, {self.hosts[1]} ] }} "
            f"channels {{ count: {self.channels} }} {links} }}\n"
        )


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """A mesh of at most 6x8 devices with up to two patterns of chords."""
    hosts = (draw(st.integers(1, 3)), draw(st.integers(1, 2)))
    extents = hosts[0] * draw(st.integers(1, 2)), hosts[1] * draw(st.sampled_from([1, 2, 4]))
    chords = []
    for _ in range(draw(st.integers(0, 2))):
        dim = draw(st.integers(0, 1))
        steps = [n for n in range(2, extents[dim] + 1) if extents[dim] % n == 0]
        if steps:
            chords.append(
                Chord(dim, draw(st.integers(0, 20)), draw(st.sampled_from(steps)), draw(st.integers(0, 2)))
            )
    rings = draw(st.booleans()), draw(st.booleans())
    return Grid(*extents, hosts, rings, draw(st.integers(1, 4)), tuple(chords))


def neighbours(grid: Grid) -> dict[int, list[list[Any]]]:
    """The [neighbour, direction, channels] of every device, each looked for from the device itself."""
    near: dict[int, list[list[Any]]] = {n: [] for n in range(grid.rows * grid.columns)}
    for device, found in near.items():
        for direction, down, right in STEPS:
            row, column = device // grid.columns + down, device % grid.columns + right
            if grid.closes(0):
                row %= grid.rows
            if grid.closes(1):
                column %= grid.columns
            if 0 <= row < grid.rows and 0 <= column < grid.columns:
                found.append([row * grid.columns + column, direction, grid.channels])
    return near


def chords(grid: Grid) -> dict[tuple[int, int], int]:
    """How often each pair of devices is named by a chord that is not a grid link."""
    beside = {(a, each[0]) for a, near in neighbours(grid).items() for each in near}
    counts: dict[tuple[int, int], int] = {}
    for chord in grid.chords:
        length, lines = (grid.rows, grid.columns)[:: 1 if chord.dim == 0 else -1]
        wraps = grid.closes(chord.dim) if chord.wrap == 0 else chord.wrap == 2
        for block in range(length // chord.step):
            first = chord.start % length + block * chord.step
            last = first + chord.step - 1
            if last >= length and not wraps:
                continue
            for line in range(lines):
                ends = [
                    at % length * grid.columns + line if chord.dim == 0 else line * grid.columns + at % length
                    for at in (first, last)
                ]
                pair = (min(ends), max(ends))
                if pair not in beside:
                    counts[pair] = counts.get(pair, 0) + 1
    return counts


@settings(deadline=None, max_examples=examples(80))
@given(grids())
def test_links_and_hosts_of_a_mesh(grid: Grid) -> None:
    text = grid.text() + 'top_level_instance { mesh { mesh_descriptor: "M0" } }'
    facts = summary(expand(loads(text)))
    mesh = facts["meshes"][0]
    near, extra = neighbours(grid), chords(grid)
    directed = sum(map(len, near.values()))
    assert (mesh["grid_links"], facts["intra_links"]) == (directed // 2, directed // 2)
    assert mesh["express_z_links"] == len(extra)
    for (a, b), count in extra.items():
        near[a].append([b, "Z", count])
        near[b].append([a, "Z", count])
    if "adjacency" in mesh:
        assert mesh["adjacency"] == {str(device): sorted(each) for device, each in near.items()}
    directions = [each[1] for found in near.values() for each in found]
    assert mesh["links_by_direction"] == {each: directions.count(each) for each in set(directions)}
    owners: dict[str, list[tuple[int, int]]] = {}
    for row in range(grid.rows):
        for column in range(grid.columns):
            rank = row * grid.hosts[0] // grid.rows * grid.hosts[1] + column * grid.hosts[1] // grid.columns
            owners.setdefault(str(rank), []).append((row, column))
    ranges = {rank: [list(min(each)), list(max(each))] for rank, each in owners.items()}
    assert mesh["host_rank_ranges"] == ranges


ends = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), min_size=2, max_size=3)
wishes = st.tuples(
    ends, st.booleans(), st.integers(1, 9), st.sampled_from(["STRICT", "RELAXED"]), st.booleans()
)


@settings(deadline=None, max_examples=examples(80))
@given(st.lists(wishes, max_size=5), st.sampled_from(["FABRIC", "POD"]))
def test_records_between_meshes(asked: list[Any], kind: str) -> None:
    text, records = "", []
    for nodes, by_device, count, policy, z in asked:
        written = ""
        for mesh_id, device in nodes:
            part = f" device_id: {device}" if by_device else ""
            written += f'nodes {{ mesh {{ mesh_descriptor: "M0" mesh_id: {mesh_id}{part} }} }} '
        text += f"connections {{ {written} channels {{ count: {count} policy: {policy} }} assign_z_direction: {str(z).lower()} }}\n"
        for i in range(len(nodes)):
            record = list(nodes)
            record[0], record[i] = record[i], record[0]
            records.append((record[0], record[1], by_device, count, policy, z))
    instances = "".join(f'instances {{ mesh {{ mesh_descriptor: "M0" mesh_id: {i} }} }} ' for i in range(4))
    graph = f'graph_descriptors {{ name: "G0" type: "{kind}" {instances} {text} }}\n'
    facts = summary(
        expand(
            loads(
                Grid(2, 4, (1, 1), (False, False), 2, ()).text()
                + graph
                + 'top_level_instance { graph { graph_descriptor: "G0" } }'
            )
        )
    )
    assert facts["inter_connections_directed"] == len(records)
    seen = records if kind == "FABRIC" else []
    assert facts["inter_policy"] == (seen[0][4] if seen else "STRICT")
    assert facts["inter_policy_specified"] == bool(seen)
    lifted = {frozenset((a[0], b[0])) for a, b, _, _, _, z in seen if z}
    last = {(a[0], b[0]): count for a, b, by_device, count, _, _ in seen if not by_device}
    assert [
        (each["src_mesh"], each["dst_mesh"], each["channels"], each["z"])
        for each in facts["requested_mesh_links"]
    ] == [(a, b, count, frozenset((a, b)) in lifted) for (a, b), count in sorted(last.items())]
    kept = [(a, b, count) for a, b, by_device, count, _, _ in seen if by_device]
    assert [
        ((each["src_mesh"], each["src_device"]), (each["dst_mesh"], each["dst_device"]), each["channels"])
        for each in facts["requested_device_links"]
    ] == sorted(kept, key=lambda each: (each[0][0], each[1][0]))
