"""`mgd diff`: sees every change of the topology and none of the text."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mgd
from mgd.authoring import compare
from mgd.authoring.compare import differences
from mgd.systems import System, find
from tests.examples import examples
from tests.mgd.authoring.texts import SMALL, SYSTEMS, text_of, untidy
from tests.mgd.fixtures import EACH_SYSTEM, TOP, fabric, link, mesh


def told(a: str, b: str) -> list[str]:
    return [str(each) for each in differences(mgd.expand(mgd.loads(a)), mgd.expand(mgd.loads(b)))]


@pytest.mark.parametrize("system", EACH_SYSTEM)
def test_a_system_is_itself_and_no_other(system: System) -> None:
    graph = mgd.expand(mgd.load(system.path))
    assert differences(graph, graph) == []
    for other in SYSTEMS[:6]:
        same = differences(graph, mgd.expand(mgd.load(other.path))) == []
        assert same == (other is system)


def test_no_two_shipped_systems_are_the_same_but_those_that_are_two_boards() -> None:
    graphs = [
        (system.name, mgd.expand(mgd.load(system.path))) for system in SYSTEMS if system.mesh_count == 1
    ]
    same = [(a, b) for n, (a, x) in enumerate(graphs) for b, y in graphs[:n] if not differences(x, y)]
    assert same == [("p150", "p100")]  # both are one Blackhole chip


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_layout_comments_and_names_are_no_difference(data: st.DataObject) -> None:
    system = data.draw(st.sampled_from(SMALL))
    renamed = text_of(system).replace('"M0"', '"chips"').replace('"fabric"', '"G"')
    assert told(text_of(system), data.draw(untidy(renamed))) == []


T3K = text_of(find("t3000"))
PAIR = text_of(find("dual-t3000"))
GALAXY = text_of(find("galaxy"))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (T3K, T3K.replace("[2, 4]", "[4, 4]"), ["~ mesh 0 shape: 2x4 -> 4x4"]),
        (T3K, T3K.replace("[1, 1]", "[1, 2]"), ["~ mesh 0 hosts: 1x1 -> 1x2"]),
        (T3K, T3K.replace("[2, 4]", "[2, 4] dim_types: [LINE, RING]"), ["~ mesh 0 wraps: none -> X"]),
        (T3K, T3K.replace("[2, 4]", "[2, 4] dim_types: [RING, LINE]"), []),
        (T3K, T3K.replace(" policy: RELAXED", ""), []),
        (
            T3K,
            T3K.replace("count: 2 policy: RELAXED", "count: 4 policy: STRICT"),
            ["~ mesh 0 channels: 2 RELAXED -> 4 STRICT"],
        ),
        (T3K, T3K.replace("WORMHOLE_B0", "BLACKHOLE"), ["~ architecture: WORMHOLE_B0 -> BLACKHOLE"]),
        (PAIR, PAIR.replace("[2, 4]", "[2, 2]"), ["~ meshes 0 to 1 shape: 2x4 -> 2x2"]),
        (
            PAIR,
            T3K,
            ["- mesh 1: 2x4 on 1x1 hosts, 2 RELAXED", "- link 0 - 1: 2 RELAXED"],
        ),
        (
            PAIR,
            PAIR.replace("    channels { count: 2 policy: RELAXED }", "    channels { count: 3 }"),
            ["~ link 0 - 1: 2 RELAXED -> 3 STRICT"],
        ),
        (
            PAIR,
            PAIR.replace("mesh_id: 0 } }\n    nodes", "mesh_id: 0 device_id: 3 } }\n    nodes").replace(
                "mesh_id: 1 } }\n    channels", "mesh_id: 1 device_id: 0 } }\n    channels"
            ),
            ["- link 0 - 1: 2 RELAXED", "+ link 0:D3 - 1:D0: 2 RELAXED"],
        ),
        (
            GALAXY,
            GALAXY.replace("tray_id: 1", "tray_id: 2"),
            [
                "- pin mesh 0 devices 0: tray 1 location 1",
                "+ pin mesh 0 devices 0: tray 2 location 1",
            ],
        ),
        (
            T3K,
            T3K.replace("  channels", "  express_connections { src: 0 dst: 7 }\n  channels"),
            ["~ mesh 0 express connections: none -> 0-7"],
        ),
    ],
)
def test_each_kind_of_change(a: str, b: str, expected: list[str]) -> None:
    assert told(a, b) == expected


EIGHT = ", ".join(f"tray {1 + n} location 1" for n in range(8))


def pinned(slots: int, times: int = 1, revision: str = "") -> str:
    places = "".join(f"physical_asic_position {{ tray_id: {1 + n} asic_location: 1 }} " for n in range(slots))
    board = f"board_revision: {revision}" if revision else ""
    return (
        mesh()
        + f"pinnings {{ logical_fabric_node_id {{ mesh_id: 0 chip_id: 3 }} {places}{board} }}\n" * times
        + TOP
    )


def express(*ends: tuple[int, int]) -> str:
    return mesh(extra="".join(f"express_connections {{ src: {a} dst: {b} }} " for a, b in ends)) + TOP


CHORDS = ((0, 2), (0, 7), (1, 3), (1, 6), (2, 5), (3, 4), (4, 6))
PLAIN = mesh() + TOP
STRICT_LINK = link("0", "1", "count: 2 policy: STRICT")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (PLAIN, express((0, 7)), ["~ mesh 0 express connections: none -> 0-7"]),
        (PLAIN, express((7, 0), (0, 7)), ["~ mesh 0 express connections: none -> 0-7 x2"]),
        (PLAIN, express(*CHORDS[:6]), ["~ mesh 0 express connections: none -> 0-2, 0-7, 1-3, 1-6, 2-5, 3-4"]),
        (PLAIN, express(*CHORDS), ["~ mesh 0 express connections: none -> 0-2, 0-7, 1-3, 1-6, 2-5, 3-4, and 1 more"]),
        (PLAIN, pinned(1), ["+ pin mesh 0 devices 3: tray 1 location 1"]),
        (PLAIN, pinned(8), [f"+ pin mesh 0 devices 3: {EIGHT}"]),
        (PLAIN, pinned(10), [f"+ pin mesh 0 devices 3: {EIGHT} and 2 more"]),
        (PLAIN, pinned(1, 2), ["+ pin mesh 0 devices 3: tray 1 location 1 x2"]),
        (PLAIN, pinned(1, 1, "WH"), ["+ pin mesh 0 devices 3: tray 1 location 1 (WH)"]),
        (text_of(find("t3000-two-meshes")), text_of(find("t3000-switch")), ["~ mesh 1 kind: mesh -> switch"]),
        (text_of(find("n300-2x2")), text_of(find("t3000-switch")), ["+ mesh 1: switch, 2x2 on 1x1 hosts, 2 RELAXED", "+ link 0 - 1: 2 RELAXED"]),
        (PLAIN, mesh().replace("[ 2, 4 ]", "[ 2, 4 ] dim_types: [ RING, RING ]") + fabric(1), ["~ mesh 0 wraps: none -> X"]),
        (mesh() + fabric(1), mesh() + mesh("4, 4", name="M1").replace("[ 4, 4 ]", "[ 4, 4 ] dim_types: [ RING, RING ]") + fabric(2).replace('"M0" mesh_id: 1', '"M1" mesh_id: 1'), ["+ mesh 1: 4x4 on 1x1 hosts, 2 RELAXED, torus XY"]),
        (mesh() + fabric(2, STRICT_LINK), mesh() + fabric(2, STRICT_LINK.replace("channels", "assign_z_direction: true channels")), ["~ link 0 - 1: 2 STRICT -> 2 STRICT, Z ports"]),
    ],
)  # fmt: skip
def test_how_changes_are_told(a: str, b: str, expected: list[str]) -> None:
    assert told(a, b) == expected


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ([(3,)], "mesh 3"),
        ([(1, 2)], "mesh 1/2"),
        ([(0,), (1,)], "meshes 0 to 1"),
        ([(4,), (5,), (6,)], "meshes 4 to 6"),
        ([(0,), (2,)], "meshes 0, 2"),
        ([(0, 0), (0, 1)], "meshes 0/0, 0/1"),
        ([(n,) for n in range(0, 16, 2)], "meshes 0, 2, 4, 6, 8, 10, 12, 14"),
        ([(n,) for n in range(0, 20, 2)], "meshes 0, 2, 4, 6, 8, 10, 12, 14 and 2 more"),
    ],
)
def test_meshes_that_change_alike_are_named_together(keys: list[tuple[int, ...]], name: str) -> None:
    assert compare._names(keys) == name


def test_links_of_nested_graphs_are_named_by_the_way_to_their_ends() -> None:
    links = [title for title, _ in compare._links(mgd.expand(mgd.load(find("closetbox").path))).values()]
    assert len(links) == len(set(links)) == 28
    assert {"link 0/0 - 0/1", "link 3/2 - 3/3", "link graph 0 - graph 1", "link graph 2 - graph 3"} <= set(
        links
    )


def test_meshes_of_nested_graphs_are_told_apart_by_the_way_to_them() -> None:
    graph = mgd.expand(mgd.load(find("closetbox").path))
    keys = [compare._key(each) for each in graph.meshes]
    assert keys == [(pod, number) for pod in range(4) for number in range(4)]
    assert compare._title(keys[6]) == "1/2"


def test_the_difference_turns_round() -> None:
    for a, b in ((PAIR, T3K), (T3K, GALAXY)):
        forward = differences(mgd.expand(mgd.loads(a)), mgd.expand(mgd.loads(b)))
        back = differences(mgd.expand(mgd.loads(b)), mgd.expand(mgd.loads(a)))
        assert {(each.what, each.after, each.before) for each in forward} == {
            (each.what, each.before, each.after) for each in back
        }


def test_a_link_that_stands_twice_counts_between_devices_and_not_between_meshes() -> None:
    """Between meshes the last record of a pair counts; between devices each adds its channels."""
    for ends, more in (
        (("0", "1"), []),
        (("0.3", "1.4"), ["~ link 0:D3 - 1:D4: 2 RELAXED -> 2 RELAXED; 2 RELAXED"]),
    ):
        one = link(*ends, "count: 2 policy: RELAXED")
        once, twice = (mesh() + fabric(2, text) for text in (one, one * 2))
        assert told(once, twice) == more
    first, second = (link("0.3", "1.4", f"count: {count} policy: RELAXED") for count in (1, 2))
    assert told(mesh() + fabric(2, first + second), mesh() + fabric(2, second + first)) == []
