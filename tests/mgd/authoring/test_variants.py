"""Splits and copies: the same devices, cut over more hosts or made several times."""

from __future__ import annotations

import pytest

import mgd
from mgd.authoring.layout import formatted
from mgd.authoring.variants import CannotVary, replicate, split
from mgd.systems import System, find
from mgd.systems import replicate as replicate_system
from mgd.systems import split as split_system
from tests.mgd.authoring.texts import NAMES, SYSTEMS, text_of

CUTS = [(1, 2), (2, 1), (2, 2), (1, 4), (4, 1)]


@pytest.mark.parametrize("system", SYSTEMS, ids=NAMES)
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
    assert "# hosts: see below" in cut
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
