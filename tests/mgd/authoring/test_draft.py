"""`mgd new`: whatever is wished for within reason passes the check and is what was wished for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgd
from mgd.authoring.draft import CannotDraft, Wishes, drafted, parse_shape
from mgd.authoring.layout import formatted

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


@settings(max_examples=150, deadline=None)
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
        (Wishes(shapes=((2, 4),), hosts=((1, 3),)), "4 columns cannot be cut over 3 hosts: 1, 2, 4 would do"),
        (Wishes(shapes=((2, 4),), hosts=((3, 1),)), "2 rows cannot be cut over 3 hosts: 1, 2 would do"),
        (Wishes(meshes=2, links=("0-2",)), "names mesh 2: there are 2 (0 to 1)"),
        (Wishes(meshes=2, links=("0.1-1.0",)), "names device 1 of mesh 0, which has 1 (0 to 0)"),
        (
            Wishes(shapes=((2, 4),), meshes=2, links=("0.7-1.8",)),
            "names device 8 of mesh 1, which has 8 (0 to 7)",
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


def test_all_reasons_at_once() -> None:
    with pytest.raises(CannotDraft) as caught:
        drafted(Wishes(arch="x", shapes=((2, 4),), hosts=((3, 3),), meshes=2, links=("0-7",)))
    assert str(caught.value).count("\n") == 3


@pytest.mark.parametrize(("text", "shape"), [("2x4", (2, 4)), (" 1X32 ", (1, 32)), ("8,4", (8, 4))])
def test_shapes(text: str, shape: tuple[int, int]) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize("text", ["", "2", "2x", "0x4", "-1x4", "2x4x1", "axb", "2x99999999999"])
def test_bad_shapes(text: str) -> None:
    with pytest.raises(ValueError, match="is not a shape"):
        parse_shape(text)
