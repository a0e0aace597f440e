"""`mgd new`: whatever is wished for within reason passes the check and is what was wished for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgd
from mgd.authoring.blueprint import Blueprint, Connection, GraphLinks, MeshTemplate, Pin
from mgd.authoring.draft import CannotDraft, Wishes, drafted, parse_shape
from mgd.authoring.layout import formatted
from tests.examples import examples

sides = st.integers(1, 6)


@st.composite
def wishes(draw: st.DrawFn) -> Wishes:
    hosts = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    shape = (hosts[0] * draw(sides), hosts[1] * draw(sides))
    arch = draw(st.sampled_from(["wormhole", "bh", "Blackhole", "quasar"]))
    if arch == "wormhole" and shape[0] % 2 and shape[1] % 2 and shape != (1, 1):
        shape = (shape[0] * 2, shape[1])
    count = draw(st.integers(1, 6))
    figure = draw(st.sampled_from(["all", "ring", "chain", "none"]))
    pairs = [
        f"{a}-{b}:{draw(st.integers(1, 9))}" for a in range(count) for b in range(a) if draw(st.booleans())
    ]
    return Wishes(
        arch=arch,
        shapes=(shape,),
        hosts=(hosts,),
        wrap=draw(st.sampled_from(["none", "x", "y", "xy"])),
        meshes=count,
        channels=draw(st.integers(1, 16)),
        policy=draw(st.sampled_from(["RELAXED", "STRICT"])),
        links=tuple(pairs) if pairs and draw(st.booleans()) else (figure,),
        z_direction=draw(st.booleans()),
    )


@settings(max_examples=examples(150), deadline=None)
@given(wishes())
def test_what_is_written_passes_the_check_and_says_what_was_wished(given_wishes: Wishes) -> None:
    text = drafted(given_wishes).text()
    descriptor = mgd.loads(text)
    assert not [each for each in mgd.check(descriptor, "runtime") if each.is_error and each.code != "MGD056"]
    assert formatted(text) == text
    graph = mgd.expand(descriptor)
    assert len(graph.meshes) == given_wishes.count
    for mesh in graph.meshes:
        assert (mesh.dims, mesh.host_dims) == (given_wishes.shapes[0], given_wishes.hosts[0])
        assert (mesh.dim_types[0] == "RING", mesh.dim_types[1] == "RING") == (
            "y" in given_wishes.wrap,
            "x" in given_wishes.wrap,
        )
        assert (mesh.channels, mesh.policy) == (given_wishes.channels, given_wishes.policy)
    count = given_wishes.count
    expected = {
        "all": count * (count - 1) // 2,
        "ring": count if count > 2 else count - 1,
        "chain": count - 1,
        "none": 0,
    }
    assert len(graph.links) == expected.get(given_wishes.links[0], len(given_wishes.links))
    assert all(link.z_direction == given_wishes.z_direction for link in graph.links)


def test_meshes_of_different_shapes_and_links_between_devices() -> None:
    text = drafted(
        Wishes(shapes=((1, 1), (4, 8)), links=("0.0-1.5:1", "0-1:2"), link_policy="STRICT", pins=("1.3@2,4",))
    ).text()
    graph = mgd.expand(mgd.loads(text))
    assert [mesh.dims for mesh in graph.meshes] == [(1, 1), (4, 8)]
    assert {(link.a_device, link.b_device, link.channels) for link in graph.links} == {
        (0, 5, 1),
        (None, None, 2),
    }
    assert graph.pins[0].devices == (3,) and graph.pins[0].slots == ((2, 4),)


@pytest.mark.parametrize(
    ("given_wishes", "told"),
    [
        (Wishes(arch="wormwhole"), "there is no architecture 'wormwhole'"),
        (
            Wishes(shapes=((2, 4),), hosts=((1, 3),)),
            "4 columns cannot be cut over 3 hosts: 1, 2, 4 would do, as in --hosts 1x2",
        ),
        (
            Wishes(shapes=((2, 4),), hosts=((3, 1),)),
            "2 rows cannot be cut over 3 hosts: 1, 2 would do, as in --hosts 2x1",
        ),
        (
            Wishes(shapes=((1, 130),), hosts=((1, 3),)),
            "130 columns cannot be cut over 3 hosts: 1, 2, 5, 10, 13, 26 would do",
        ),
        (Wishes(meshes=2, links=("0-2",)), "names mesh 2: there are 2 (0 to 1)"),
        (Wishes(meshes=2, links=("0.1-1.0",)), "names device 1 of mesh 0: there are 1 (0 to 0)"),
        (
            Wishes(shapes=((2, 4),), meshes=2, links=("0.7-1.8",)),
            "names device 8 of mesh 1: there are 8 (0 to 7)",
        ),
        (Wishes(meshes=2, links=("0.0-1",)), "names a device on one side only"),
        (Wishes(meshes=2, links=("1-1",)), "begins and ends at mesh 1"),
        (Wishes(meshes=2, links=("ring", "0-1")), "not both"),
        (Wishes(meshes=2, links=("rng",)), "'rng' is not a link"),
        (Wishes(pins=("0@1",)), "'0@1' is not a pin"),
        (Wishes(pins=("3.0@1,1",)), "names mesh 3"),
        (Wishes(meshes=3, shapes=((1, 1), (2, 2))), "2 shapes for 3 meshes"),
        (Wishes(meshes=10**6), "at most 4096"),
    ],
)
def test_what_cannot_be_is_told(given_wishes: Wishes, told: str) -> None:
    with pytest.raises(CannotDraft) as caught:
        drafted(given_wishes)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("given_wishes", "reasons"),
    [
        (
            Wishes(shapes=((6, 64), (65, 4), (6, 64)), hosts=((4, 3), (2, 8), (4, 3))),
            [
                "6 rows cannot be cut over 4 hosts: 1, 2, 3, 6 would do, as in --hosts 3x2",
                "64 columns cannot be cut over 3 hosts: 1, 2, 4, 8, 16, 32, 64 would do, as in --hosts 3x2",
                "65 rows cannot be cut over 2 hosts: 1, 5, 13 would do, as in --hosts 1x4",
                "4 columns cannot be cut over 8 hosts: 1, 2, 4 would do, as in --hosts 1x4",
            ],
        ),
        (
            Wishes(shapes=((2, 4),), meshes=3, links=("0-1", "0-3", "1.8-2", "x", "rng", "2.7-2.7", "0.7-1.7:3", "4-0")),
            [
                "link '0-3' names mesh 3: there are 3 (0 to 2)",
                "link '1.8-2' names a device on one side only",
                "link '1.8-2' names device 8 of mesh 1: there are 8 (0 to 7)",
                "'x' is not a link: write 0-1, 0-1:4 for 4 channels, 0.3-1.0 for devices, or all, ring, chain, none",
                "'rng' is not a link: write --link ring",
                "link '2.7-2.7' begins and ends at mesh 2",
                "link '4-0' names mesh 4: there are 3 (0 to 2)",
            ],
        ),
        (
            Wishes(shapes=((2, 4),), meshes=2, links=("0-1", "all"), pins=("1.7@1,1", "0", "1.8@1,1", "2.0@1,1")),
            [
                "links are one of all, ring, chain, none, or a list such as 0-1 1-2, not both",
                "'0' is not a pin: write mesh.device@tray,location, such as 0.0@1,1",
                "pin '1.8@1,1' names device 8 of mesh 1: there are 8 (0 to 7)",
                "pin '2.0@1,1' names mesh 2: there are 2 (0 to 1)",
            ],
        ),
        (Wishes(hosts=((1, 1), (1, 1)), meshes=3), ["2 host grids for 3 meshes: give one for all, or one for each"]),
        (Wishes(meshes=4097), ["4097 meshes are too many: at most 4096"]),
    ],
)  # fmt: skip
def test_every_reason_in_full(given_wishes: Wishes, reasons: list[str]) -> None:
    with pytest.raises(CannotDraft) as caught:
        drafted(given_wishes)
    assert list(caught.value.reasons) == reasons
    assert str(caught.value) == "\n       ".join(reasons)


def test_meshes_of_one_kind_share_a_template() -> None:
    """Of four meshes the first, second and last are alike; the third has other hosts."""
    shapes: tuple[tuple[int, int], ...] = ((2, 4), (2, 4), (2, 4), (2, 4))
    made = drafted(Wishes(shapes=shapes, hosts=((1, 1), (1, 1), (1, 2), (1, 1)), wrap="y", channels=3))
    assert made.meshes == ("M0", "M0", "M1", "M0")
    assert [(each.name, each.host_dims, each.dim_types, each.channels) for each in made.templates] == [
        ("M0", (1, 1), ("RING", "LINE"), 3),
        ("M1", (1, 2), ("RING", "LINE"), 3),
    ]


def test_all_reasons_at_once() -> None:
    with pytest.raises(CannotDraft) as caught:
        drafted(Wishes(arch="x", shapes=((2, 4),), hosts=((3, 3),), meshes=2, links=("0-7",)))
    assert str(caught.value).count("\n") == 3


@pytest.mark.parametrize(
    ("given_wishes", "title"),
    [
        (Wishes(shapes=((2, 4),)), "One 2x4 mesh."),
        (Wishes(shapes=((2, 4),), hosts=((1, 2),)), "One 2x4 mesh over 1x2 hosts."),
        (Wishes(shapes=((2, 4),), meshes=2), "2 meshes of 2x4, every pair linked."),
        (Wishes(shapes=((2, 4),), hosts=((1, 2),), meshes=2, links=("ring",)), "2 meshes of 2x4 over 1x2 hosts each in a ring."),
        (Wishes(shapes=((2, 4), (1, 8)), hosts=((1, 2), (1, 1)), links=("chain",)), "2 meshes of 2x4 and 1x8 over 1x1 and 1x2 hosts each in a chain."),
        (Wishes(meshes=3, links=("none",)), "3 meshes of 1x1, not linked."),
        (Wishes(meshes=3, links=("0-1",)), "3 meshes of 1x1, linked."),
        (Wishes(title="Mine"), "Mine"),
    ],
)  # fmt: skip
def test_titles(given_wishes: Wishes, title: str) -> None:
    assert drafted(given_wishes).text().startswith(f"# {title}\n")


@pytest.mark.parametrize(
    ("given_wishes", "short", "pairs"),
    [
        (Wishes(meshes=1), None, []),
        (Wishes(meshes=2), None, [(0, 1, 2)]),
        (Wishes(meshes=3), ("ALL_TO_ALL", 2), []),
        (Wishes(meshes=3, links=("ring",), link_channels=1), ("RING", 1), []),
        (Wishes(meshes=2, links=("ring",)), None, [(0, 1, 2)]),
        (Wishes(meshes=3, z_direction=True, channels=3), None, [(0, 1, 3), (0, 2, 3), (1, 2, 3)]),
        (Wishes(meshes=3, links=("ring",), z_direction=True), None, [(0, 1, 2), (1, 2, 2), (0, 2, 2)]),
        (Wishes(meshes=3, links=("chain",)), None, [(0, 1, 2), (1, 2, 2)]),
        (Wishes(meshes=3, links=("none",)), None, []),
        (Wishes(meshes=3, links=("0-1", "2-1:5"), link_channels=4), None, [(0, 1, 4), (2, 1, 5)]),
    ],
)
def test_what_links_meshes(
    given_wishes: Wishes, short: tuple[str, int] | None, pairs: list[tuple[int, int, int]]
) -> None:
    made = drafted(given_wishes)
    assert (made.links and (made.links.layout, made.links.channels)) == short
    assert [(each.a, each.b, each.channels) for each in made.connections] == pairs


def test_a_blueprint_to_the_letter() -> None:
    closed = MeshTemplate("M0", "BLACKHOLE", (2, 4), (1, 2), ("LINE", "RING"), 3, "STRICT")
    switch = MeshTemplate('S"1', "BLACKHOLE", (1, 2), is_switch=True)
    pin = Pin(0, (0, 7), ((1, 2),), "BH_REV_C")
    links = (Connection(0, 1, 2), Connection(0, 1, 4, "STRICT", True, 3, 1))
    assert (
        Blueprint("One\n\nof each", (closed, switch), ("M0", 'S"1'), links, pins=(pin,)).text()
        == """\
# One
#
# of each

mesh_descriptors {
  name: "M0"
  arch: BLACKHOLE
  device_topology { dims: [2, 4] dim_types: [LINE, RING] }
  host_topology { dims: [1, 2] }
  channels { count: 3 policy: STRICT }
}

switch_descriptors {
  name: "S\\"1"
  arch: BLACKHOLE
  device_topology { dims: [1, 2] }
  channels { count: 1 policy: RELAXED }
}

pinnings {
  logical_fabric_node_id { mesh_id: 0 chip_id: 0 }
  logical_fabric_node_id { mesh_id: 0 chip_id: 7 }
  physical_asic_position { tray_id: 1 asic_location: 2 }
  board_revision: BH_REV_C
}

graph_descriptors {
  name: "fabric"
  type: "FABRIC"
  instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
  instances { switch { switch_descriptor: "S\\"1" switch_id: 1 } }
  connections {
    nodes { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
    nodes { switch { switch_descriptor: "S\\"1" switch_id: 1 } }
    channels { count: 2 policy: RELAXED }
  }
  connections {
    nodes { mesh { mesh_descriptor: "M0" mesh_id: 0 device_id: 3 } }
    nodes { switch { switch_descriptor: "S\\"1" switch_id: 1 device_id: 1 } }
    channels { count: 4 policy: STRICT }
    assign_z_direction: true
  }
}

top_level_instance { graph { graph_descriptor: "fabric" graph_id: 0 } }
"""
    )
    for more, single in (
        ({}, True),
        ({"links": GraphLinks("RING", 1)}, False),
        ({"connections": links}, False),
    ):
        assert Blueprint("x", (closed,), ("M0",), **more).is_single == single  # type: ignore[arg-type]
    assert not Blueprint("x", (closed,), ("M0", "M0")).is_single


@pytest.mark.parametrize(("text", "shape"), [("2x4", (2, 4)), (" 1X32 ", (1, 32)), ("8,4", (8, 4))])
def test_shapes(text: str, shape: tuple[int, int]) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize("text", ["", "2", "2x", "0x4", "-1x4", "2x4x1", "axb", "2x99999999999"])
def test_bad_shapes(text: str) -> None:
    with pytest.raises(ValueError, match="is not a shape"):
        parse_shape(text)
