"""Splits and copies: the same devices, cut over more hosts or made several times."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import mgd
from mgd.authoring import variants
from mgd.authoring.layout import formatted
from mgd.authoring.variants import CannotVary, _divisors, replicate, split
from mgd.systems import System, find
from mgd.systems import replicate as replicate_system
from mgd.systems import split as split_system
from tests.mgd.authoring.texts import text_of
from tests.mgd.fixtures import EACH_SYSTEM

CUTS = [(1, 2), (2, 1), (2, 2), (1, 4), (4, 1)]


@pytest.mark.parametrize("system", EACH_SYSTEM)
def test_every_system_over_two_and_four_hosts_where_that_divides(system: System) -> None:
    before = mgd.expand(mgd.load(system.path))
    for hosts in CUTS:
        meshes = [mesh for mesh in before.meshes if not mesh.is_switch]
        if any(mesh.dims[0] % hosts[0] or mesh.dims[1] % hosts[1] for mesh in meshes):
            with pytest.raises(CannotVary, match="cannot be cut over"):
                split_system(system, hosts)
            continue
        text = split_system(system, hosts)
        after = mgd.expand(mgd.loads(text))
        assert {mesh.host_dims for mesh in after.meshes if not mesh.is_switch} == {hosts}
        assert [mesh.dims for mesh in after.meshes] == [mesh.dims for mesh in before.meshes]
        assert len(after.links) == len(before.links) and len(after.pins) == len(before.pins)
        assert formatted(text) == text


def test_every_mesh_that_does_not_divide_is_named_with_what_would() -> None:
    with pytest.raises(CannotVary) as caught:
        split_system(find("tg"), (3, 2))
    assert [each.code for each in caught.value.diagnostics] == ["MGD012", "MGD012"]
    assert '"gateway" of 1x1' in str(caught.value) and '"galaxy" of 4x8' in str(caught.value)
    assert "rows over 1 or 2 or 4 hosts, columns over 1 or 2 or 4 or 8" in str(caught.value)
    with pytest.raises(CannotVary, match="count from 1"):
        split_system(find("t3000"), (0, 2))


def test_a_text_without_host_topology_gets_one_and_keeps_its_comments() -> None:
    text = text_of(find("t3000")).replace("  host_topology { dims: [1, 1] }\n", "  # hosts: see below\n")
    cut = split(text, (1, 2))
    assert cut.startswith("# Cut over 1x2 hosts.\n") and "# hosts: see below" in cut
    assert mgd.expand(mgd.loads(cut)).meshes[0].host_dims == (1, 2)


@pytest.mark.parametrize("name", ["n150", "n300", "t3000", "loudbox", "galaxy", "galaxy-torus-xy", "p150-x4"])
@pytest.mark.parametrize("count", [2, 3, 8])
def test_copies_are_accepted_and_linked_all_to_all(name: str, count: int) -> None:
    before = mgd.expand(mgd.load(find(name).path))
    descriptor = mgd.loads(replicate_system(find(name), count))
    crowded = (name, count) == ("n150", 8)  # one chip has not the ports for seven neighbours
    assert {each.code for each in mgd.check(descriptor)} - {"MGD071"} == ({"MGD072"} if crowded else set())
    after = mgd.expand(descriptor)
    assert after.mesh_ids == tuple(range(count))
    assert {(mesh.dims, mesh.host_dims, mesh.dim_types) for mesh in after.meshes} == {
        (mesh.dims, mesh.host_dims, mesh.dim_types) for mesh in before.meshes
    }
    assert {frozenset((link.a, link.b)) for link in after.links} == {
        frozenset((a, b)) for a in range(count) for b in range(a)
    }
    assert len(after.pins) == count * len(before.pins)


@pytest.mark.parametrize(
    ("topology", "said", "column", "help"),
    [
        ("device_topology { dims: [2, 3] }", "2x3 devices", 55, "rows over 1 or 2 hosts, columns over 1 or 3"),
        ("device_topology { dims: [8] }", "8 devices", 55, "give it two dimensions"),
        ("device_topology { }", "no shape devices", 30, "give it two dimensions"),
        ("", "no shape devices", 1, "give it two dimensions"),
    ],
)  # fmt: skip
def test_where_a_mesh_that_does_not_divide_says_so(topology: str, said: str, column: int, help: str) -> None:
    text = f'mesh_descriptors {{ name: "M" {topology} }}\n'
    with pytest.raises(CannotVary) as caught:
        split(text, (2, 2))
    [found] = caught.value.diagnostics
    assert found.message == f'mesh descriptor "M" of {said} cannot be cut over 2x2 hosts'
    [label] = found.labels
    assert (label.position.line, label.position.column, found.help) == (1, column, help)


@pytest.mark.parametrize(
    ("dims", "kinds", "closed"),
    [
        ("4, 8", "RING, RING", True),
        ("3, 3", "RING, RING", True),
        ("2, 8", "RING, RING", False),
        ("8, 2", "RING, RING", False),
        ("4, 8", "LINE, RING", False),
        ("4, 8", "RING, LINE", False),
        ("4, 8", "", False),
    ],
)
def test_copies_of_what_has_no_edge_are_linked_by_z(dims: str, kinds: str, closed: bool) -> None:
    text = text_of(find("galaxy")).replace(
        "[8, 4]", f"[{dims}]" + (f" dim_types: [{kinds}]" if kinds else "")
    )
    assert ("assign_z_direction: true" in replicate(text, 2)) == closed


def test_pins_of_copies_name_all_of_them() -> None:
    pin = 'pinnings { logical_fabric_node_id { mesh_id: 0 chip_id: 3 } logical_fabric_node_id { chip_id: 4 } logical_fabric_node_id { mesh_id_regex: "0" chip_id: 5 } }\n'
    made = replicate(text_of(find("t3000")) + pin, 3)
    assert made.count('mesh_id_regex: "0-2"') == 2 and made.count('mesh_id_regex: "0"') == 1


@pytest.mark.parametrize(
    ("own", "count", "channels"), [(4, 2, 4), (4, 13, 4), (4, 14, 3), (1, 12, 1), (1, 200, 1), (0, 2, 1)]
)
def test_copies_have_as_many_channels_as_their_edge_has_ports(own: int, count: int, channels: int) -> None:
    text = text_of(find("t3000")).replace("count: 2", f"count: {own}")
    assert f"ALL_TO_ALL\n    channels {{ count: {channels} policy: RELAXED }}" in replicate(text, count)


def test_one_copy_is_the_text_itself() -> None:
    text = text_of(find("t3000"))
    assert replicate(text, 1) == text


def test_what_has_several_meshes_cannot_be_copied() -> None:
    with pytest.raises(CannotVary, match="stands for a graph"):
        replicate_system(find("tg"), 2)
    with pytest.raises(CannotVary, match="0 meshes"):
        replicate_system(find("t3000"), 0)


def test_a_name_with_quotes_survives() -> None:
    text = text_of(find("n150")).replace('"M0"', r'"a\"b\\c\n\303\251"')
    assert mgd.expand(mgd.loads(replicate(text, 2))).meshes[1].descriptor == 'a"b\\c\né'


def test_sides_are_cut_into_at_most_sixty_four() -> None:
    assert _divisors(12) == [1, 2, 3, 4, 6, 12]
    assert _divisors(130) == [1, 2, 5, 10, 13, 26] and _divisors(192)[-1] == 64


@pytest.mark.parametrize(
    ("dims", "own", "count", "channels"),
    [
        ((2, 4), 4, 3, 4),
        ((2, 4), 4, 25, 2),
        ((8,), 4, 3, 4),
        ((8,), 4, 9, 2),
        (None, 2, 100, 1),
        ((2, 4), 0, 3, 1),
    ],
)
def test_links_have_as_many_channels_as_the_edge_has_ports_for(
    dims: tuple[int, ...] | None, own: int, count: int, channels: int
) -> None:
    topology = None if dims is None else SimpleNamespace(dims=dims)
    template = SimpleNamespace(device_topology=topology, channels=SimpleNamespace(count=own))
    assert variants._link_channels(template, count) == channels  # type: ignore[arg-type]
