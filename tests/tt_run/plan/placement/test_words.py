"""Every word on placements, found or refused: of a T3000, of Galaxies and of grids of cards: `words.txt`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mgd.expanding.connections import InterLink
from mgd.graph import Mesh, MeshGraph, PinGroup
from tests.tt_run.plan.placement.machines import galaxy, plain_grid, t3000_yaml
from tests.tt_run.plan.placement.test_placement import mesh
from tests.words import same_as_read
from tt_run.errors import RefusedError
from tt_run.inputs.clusters.chips import ClusterDescriptor, RemoteLink
from tt_run.inputs.clusters.descriptor import parse_cluster
from tt_run.plan.placement.physical import PhysicalGraph, build
from tt_run.plan.placement.solve import place, shortfall_findings


def card(host: str, *, channels: int = 2, remote: tuple[RemoteLink, ...] = ()) -> ClusterDescriptor:
    text = (
        t3000_yaml(channels=channels)
        + "chip_unique_ids: {"
        + ", ".join(f"{c}: {ord(host) * 100 + c}" for c in range(8))
        + "}\n"
    )
    return replace(parse_cluster(text, f"{host}.yaml", host=host), remote_links=remote)


def z_galaxy(host: str, number: int) -> ClusterDescriptor:
    """A Blackhole Galaxy whose cables on channels 8 and 9 serve no grid."""
    made = galaxy(host, number, 2, channels=2)
    chips = {n: replace(c, arch="BLACKHOLE", board_type="ubb_blackhole") for n, c in made.chips.items()}
    other = galaxy("x", number + 1, 2).chips
    near, far = other[0].unique_id, other[31].unique_id
    cables = (RemoteLink(0, 8, far, 9), RemoteLink(0, 9, far, 3), RemoteLink(31, 9, near, 8))
    cables += (RemoteLink(31, 3, near, 9),)
    inside = ((0, 8, 5, 9), (0, 9, 5, 8), (1, 8, 6, 3), (2, 3, 7, 9), (3, 3, 9, 4))
    return replace(
        made,
        arch="BLACKHOLE",
        chips=chips,
        links=(*made.links, *inside),
        remote_links=(*made.remote_links, *cables),
    )


T3K = build([parse_cluster(t3000_yaml(), "t3k.yaml")])
WEAK = build([parse_cluster(t3000_yaml(channels=1, without=(1, 3)), "weak.yaml")])
CABLES = (
    RemoteLink(7, 12, ord("b") * 100, 12),
    RemoteLink(7, 13, ord("b") * 100, 13),
    RemoteLink(6, 12, 4, 3),
)
PAIR_OF_CARDS = [
    card("a", remote=CABLES),
    card("b", remote=(RemoteLink(0, 12, ord("a") * 100 + 7, 12), RemoteLink(1, 12, 5, 5))),
]
PAIR = build(PAIR_OF_CARDS)
# Two hosts without a link inside.
BARE = build(
    [
        replace(card(host, remote=node.remote_links), links=())
        for host, node in zip("ab", PAIR_OF_CARDS, strict=True)
    ]
)
TWICE = build([card("a"), replace(card("b"), host="a")])
GALAXIES = build([galaxy("b", 0, 2), galaxy("a", 1, 2)])
BLACK = build([z_galaxy("b", 0), z_galaxy("a", 1)])
WHOLE = parse_cluster(t3000_yaml(), "t3k.yaml")
# Two squares without a link between them.
HALVES = build(
    [replace(WHOLE, links=tuple(link for link in WHOLE.links if {link[0], link[2]} not in ({0, 2}, {1, 3})))]
)
GRID = build([plain_grid(3, 4)])


def linked(*links: InterLink, meshes: tuple[Mesh, ...]) -> MeshGraph:
    return MeshGraph(meshes, links)


TWO = (mesh(2, 2), mesh(2, 2, mesh_id=1))
CASES: dict[str, tuple[PhysicalGraph, MeshGraph]] = {
    "whole": (T3K, MeshGraph((mesh(2, 4, hosts=(1, 2)),))),
    "turned": (T3K, MeshGraph((mesh(4, 2, hosts=(2, 1)),))),
    "too large": (T3K, MeshGraph((mesh(3, 4), mesh(2, 2, mesh_id=1)))),
    "too large together": (T3K, MeshGraph((mesh(2, 3), mesh(2, 3, mesh_id=1)))),
    "no such chips": (T3K, MeshGraph((mesh(2, 2, arch="BLACKHOLE"),))),
    "too few of such chips": (GRID, MeshGraph((mesh(4, 4, arch="BLACKHOLE"),))),
    "ring": (T3K, MeshGraph((mesh(2, 4, wraps="LR"),))),
    "both rings": (GRID, MeshGraph((mesh(3, 4, wraps="RR", arch="BLACKHOLE", channels=1),))),
    "strict": (T3K, MeshGraph((mesh(2, 4, channels=3, policy="STRICT"),))),
    "strict and weaker than one": (WEAK, MeshGraph((mesh(2, 4, channels=2, policy="STRICT"),))),
    "relaxed": (T3K, MeshGraph((mesh(2, 3, channels=3),))),
    "a missing cable": (WEAK, MeshGraph((mesh(2, 4, channels=1),))),
    "a star of degree": (GRID, MeshGraph((mesh(4, 3, wraps="LR", arch="BLACKHOLE", channels=1),))),
    "hosts": (PAIR, MeshGraph((mesh(2, 4, hosts=(2, 2)),))),
    "hosts across": (PAIR, MeshGraph((mesh(1, 2, hosts=(1, 2)),))),
    "one block across hosts": (BARE, MeshGraph((mesh(1, 2, channels=1),))),
    "one block that no host has, nor all": (BARE, MeshGraph((mesh(1, 2, channels=2, policy="STRICT"),))),
    "neither strict nor relaxed": (HALVES, MeshGraph((mesh(1, 5, channels=1, policy="STRICT"),))),
    "no place, and nothing to drop": (HALVES, MeshGraph((mesh(1, 5, channels=1),))),
    "both rings, and a pin to nothing": (GRID, MeshGraph((mesh(3, 4, wraps="RR", arch="BLACKHOLE", channels=1),), pins=(PinGroup(0, (0,), ((9, 9),)),))),
    "hosts that turn": (GALAXIES, MeshGraph((mesh(16, 4, hosts=(1, 2), channels=4),))),
    "hosts that cannot turn": (GALAXIES, MeshGraph((mesh(3, 4, hosts=(1, 2), channels=4),))),
    "hosts that could turn": (GALAXIES, MeshGraph((mesh(2, 3, hosts=(2, 1), channels=9, policy="STRICT"),))),
    "pins": (T3K, MeshGraph((mesh(2, 4),), pins=(PinGroup(0, (0,), ((3, 0),)), PinGroup(0, (7,), ((1, 0), (2, 0)))))),
    "pins that contradict": (T3K, MeshGraph((mesh(2, 4),), pins=(PinGroup(0, (0,), ((3, 0),)), PinGroup(0, (0,), ((1, 0),))))),
    "pins to nothing": (T3K, MeshGraph((mesh(2, 4),), pins=(PinGroup(0, (3, 4), ((9, 9),)),))),
    "a ring and pins, each of which is in the way": (GRID, MeshGraph((mesh(2, 4, wraps="LR", arch="BLACKHOLE", channels=1),), pins=(PinGroup(0, (0,), ((1, 0),)), PinGroup(0, (0,), ((2, 0),))))),
    "two": (T3K, linked(InterLink(0, 1, 2, "STRICT"), meshes=TWO)),
    "two with too many channels": (T3K, linked(InterLink(0, 1, 5, "STRICT"), meshes=TWO)),
    "two with one channel at most": (WEAK, linked(InterLink(0, 1, 2, "STRICT"), meshes=TWO)),
    "two by devices, with one channel at most": (WEAK, linked(InterLink(0, 1, 2, "STRICT", 0, 3), meshes=TWO)),
    "two relaxed": (T3K, linked(InterLink(0, 1, 5, "RELAXED"), meshes=TWO)),
    "two by devices": (T3K, linked(InterLink(0, 1, 2, "STRICT", 1, 0), InterLink(1, 0, 2, "STRICT", 2, 3), meshes=TWO)),
    "two by devices that are apart": (T3K, linked(InterLink(0, 1, 2, "STRICT", 0, 3), InterLink(0, 1, 2, "STRICT", 1, 0), meshes=TWO)),
    "two by Z": (T3K, linked(InterLink(0, 1, 1, "STRICT", z_direction=True), meshes=TWO)),
    "three in a ring": (T3K, linked(*(InterLink(a, b, 1, "STRICT") for a, b in ((0, 1), (1, 2), (0, 2))), meshes=tuple(mesh(1, 2, mesh_id=i) for i in range(3)))),
    "four around one": (T3K, linked(*(InterLink(0, i, 1, "STRICT") for i in range(1, 4)), meshes=tuple(mesh(1, 2, mesh_id=i) for i in range(4)))),
    "five singles": (T3K, MeshGraph(tuple(mesh(1, 1, mesh_id=i) for i in range(5)))),
    "Galaxies": (GALAXIES, MeshGraph((mesh(16, 4, hosts=(2, 1), wraps="RR", channels=4),))),
    "half Galaxies": (GALAXIES, linked(InterLink(0, 1, 8, "STRICT"), InterLink(1, 2, 8, "STRICT"), meshes=tuple(mesh(4, 4, mesh_id=i, channels=4) for i in range(3)))),
    "Blackhole Galaxies": (BLACK, MeshGraph((mesh(8, 4, arch="BLACKHOLE", channels=2, wraps="LR"), mesh(8, 4, mesh_id=1, arch="BLACKHOLE", channels=2)))),
    "linked by Z": (BLACK, linked(InterLink(0, 1, 2, "STRICT", z_direction=True), meshes=(mesh(8, 4, arch="BLACKHOLE"), mesh(8, 4, mesh_id=1, arch="BLACKHOLE")))),
    "linked by too many of Z": (BLACK, linked(InterLink(0, 1, 3, "STRICT", z_direction=True), meshes=(mesh(8, 4, arch="BLACKHOLE"), mesh(8, 4, mesh_id=1, arch="BLACKHOLE")))),
    "a host of one name twice": (TWICE, MeshGraph((mesh(2, 4, hosts=(1, 2)), mesh(2, 4, mesh_id=1)))),
    "a line of all": (GRID, MeshGraph((mesh(1, 12, arch="BLACKHOLE", channels=1),))),
    "a line that is too long": (GRID, MeshGraph((mesh(13, 1, arch="BLACKHOLE", channels=1),))),
}  # fmt: skip


def test_the_words_on_every_placement() -> None:
    lines = []
    for name, machine in (
        ("T3K", T3K),
        ("WEAK", WEAK),
        ("PAIR", PAIR),
        ("TWICE", TWICE),
        ("GALAXIES", GALAXIES),
        ("BLACK", BLACK),
    ):
        joined = sum(
            machine.nodes[j].host != node.host for node in machine.nodes for j in machine.grid[node.index]
        )
        lines.append(
            f"{name}: {machine.hosts} {machine.cluster_types}, {machine.outside} cables lead outside, {joined} ends join hosts, "
            f"{sum(map(len, machine.grid))} grid, {sum(map(len, machine.z))} Z, {sum(sum(row.values()) for row in machine.z)} channels of Z"
        )
        lines += [
            f"  {each.severity.value} {each.code} {each.message} | {each.help} | {[str(at.position) for at in each.labels]}"
            for each in machine.findings
        ]
    for name, (machine, graph) in CASES.items():
        lines.append(name)
        try:
            placed = place(
                graph, machine, file="m.textproto", seconds=600
            )  # a share of it is enough anywhere
        except RefusedError as error:
            found = error.diagnostics
        else:
            found = shortfall_findings(placed, "m.textproto")
            lines += [f"  {line}" for line in placed.table().splitlines()[:24] if line]
            facts = json.dumps(placed.as_json(), sort_keys=True)
            lines.append(f"  {facts if len(facts) < 2600 else facts[:2600] + '…'}")
        for each in found:
            lines.append(
                f"  {each.severity.value} {each.code} at {[str(at.position) for at in each.labels]}: {each.message}"
            )
            lines += [f"    help: {each.help}"] + [f"    note: {note}" for note in each.notes]
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("words.txt"))


def test_what_is_named_where_no_file_is() -> None:
    for file, labels in (("", []), ("m", ["m"])):
        placed = place(CASES["relaxed"][1], T3K)
        [found] = shortfall_findings(placed, file)
        assert [str(label.position) for label in found.labels] == labels


def test_a_rank_pin_that_is_in_the_way() -> None:
    machine = build([card("a"), card("b", channels=1)])
    graph = MeshGraph((mesh(2, 4, policy="STRICT"),))
    assert place(graph, machine, hosts={0: "a"}).meshes[0].host_of(0) == "a"
    with pytest.raises(RefusedError) as caught:
        place(graph, machine, hosts={0: "b"}, seconds=600)
    assert [f"{each.code} {each.message} | {each.help}" for each in caught.value.diagnostics] == [
        "TTR173 mesh 0 would fit with fewer than 2 channels on some links | policy: RELAXED",
        "TTR175 mesh 0 would fit on another host than b | change its rank pin",
    ]
