"""Distances and bisections against a search over the links themselves."""

from __future__ import annotations

from collections import deque
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgd
from mgd import measures
from mgd.expanding.connections import InterLink
from mgd.graph import Link, Mesh, MeshGraph
from mgd.measures import measure_graph, measure_mesh
from mgd.systems import find
from tests.examples import examples


def mesh(
    dims: tuple[int, int],
    types: tuple[str, str] = ("LINE", "LINE"),
    channels: int = 1,
    express: tuple[Link, ...] = (),
    mesh_id: int = 0,
) -> Mesh:
    return Mesh(mesh_id, "M0", "BLACKHOLE", dims, (1, 1), types, channels, "RELAXED", express=express)


def longest_way(nodes: int, pairs: list[tuple[int, int]]) -> int:
    longest = 0
    for start in range(nodes):
        found, pending = {start: 0}, deque([start])
        while pending:
            here = pending.popleft()
            for a, b in pairs:
                for near, far in ((a, b), (b, a)):
                    if near == here and far not in found:
                        found[far] = found[here] + 1
                        pending.append(far)
        longest = max(longest, *found.values())
    return longest


kinds = st.tuples(st.sampled_from(["LINE", "RING"]), st.sampled_from(["LINE", "RING"]))


@settings(max_examples=examples(60), deadline=None)
@given(st.tuples(st.integers(1, 6), st.integers(1, 6)), kinds)
def test_links_and_diameter_of_any_mesh(dims: tuple[int, int], types: tuple[str, str]) -> None:
    one = mesh(dims, types)
    links = one.grid_links()
    measures = measure_mesh(one)
    assert measures.links == len(links) and measures.wraps == sum(link.wrap for link in links)
    assert measures.diameter == longest_way(one.device_count, [(link.a, link.b) for link in links])


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from([(2, 2), (2, 4), (4, 2), (4, 4), (1, 8), (2, 6)]), kinds, st.integers(1, 4))
def test_the_bisection_is_that_of_the_best_halves(
    dims: tuple[int, int], types: tuple[str, str], channels: int
) -> None:
    """For these shapes no cut into equal halves is narrower than the best straight one."""
    one = mesh(dims, types, channels)
    links = one.grid_links()
    halves = combinations(range(one.device_count), one.device_count // 2)
    best = min(
        sum((link.a in half) != (link.b in half) for link in links) for half in map(set, halves) if 0 in half
    )
    assert measure_mesh(one).bisection == best * channels


def test_an_express_link_shortens_the_way() -> None:
    chord = Link(0, 7, "Z", 1)
    assert measure_mesh(mesh((1, 8))).diameter == 7
    assert measure_mesh(mesh((1, 8), express=(chord,))).diameter == 4
    assert measure_mesh(mesh((100, 100), express=(chord,))).diameter is None


@pytest.mark.parametrize(
    ("links", "islands", "diameter", "bisection"),
    [
        ([], 4, None, 0),
        ([(0, 1), (1, 2), (2, 3)], 1, 3, 2),
        ([(0, 1), (1, 2), (2, 3), (3, 0)], 1, 2, 4),
        ([(0, 1), (2, 3)], 2, None, 0),
        ([(0, 0), (0, 1), (0, 2), (0, 3)], 1, 2, 4),
    ],
)
def test_meshes_among_each_other(
    links: list[tuple[int, int]], islands: int, diameter: int | None, bisection: int
) -> None:
    meshes = tuple(mesh((1, 2), mesh_id=i) for i in range(4))
    found = measure_graph(MeshGraph(meshes, tuple(InterLink(a, b, 2, "RELAXED") for a, b in links)))
    assert found is not None
    assert (found.islands, found.diameter, found.bisection) == (islands, diameter, bisection)


def test_what_has_no_measure_among_meshes() -> None:
    assert measure_graph(MeshGraph((mesh((1, 2)),))) is None
    assert measure_graph(mgd.expand(mgd.load(find("closetbox").path))) is None
    ring = measure_graph(mgd.expand(mgd.load(find("bh-glx-split-4x2").path)))
    assert ring is not None and ring.diameter == 24 and ring.bisection is None


@pytest.mark.parametrize(("most", "diameter"), [(12, 3), (11, None)])
def test_what_would_take_too_long_is_not_searched(
    monkeypatch: pytest.MonkeyPatch, most: int, diameter: int | None
) -> None:
    """Four meshes times three links."""
    monkeypatch.setattr(measures, "MOST_STEPS", most)
    meshes = tuple(mesh((1, 2), mesh_id=i) for i in range(4))
    found = measure_graph(MeshGraph(meshes, tuple(InterLink(i, i + 1, 2, "RELAXED") for i in range(3))))
    assert found is not None and found.diameter == diameter
