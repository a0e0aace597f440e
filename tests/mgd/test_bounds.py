"""What is left out beyond a number: one less, and one more."""

from __future__ import annotations

from typing import Any

import pytest

from mgd import facts, measures
from mgd.authoring import draft, repair
from mgd.authoring.draft import CannotDraft, Wishes, drafted
from mgd.errors import MgdError
from mgd.expansion import expand
from mgd.graph import Mesh, MeshGraph
from mgd.reading import loads
from mgd.text import problems
from mgd.v1 import nodes
from mgd.v1.reading import loads as loads_v1
from tests.mgd.fixtures import TOP, fabric, link, mesh


def summary(text: str) -> dict[str, Any]:
    return facts.summary(expand(loads(text)))


def test_neighbours_are_listed_of_small_meshes(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, listed in ((8, True), (7, False)):
        monkeypatch.setattr(facts, "MOST_ADJACENT", most)
        assert ("adjacency" in summary(mesh() + TOP)["meshes"][0]) is listed


def test_connections_are_listed_up_to_a_number_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of two nodes: twelve ends of records."""
    text = mesh() + fabric(3, link("0", "1") + link("1", "2") + link("0", "2"))
    for most, listed in ((6, True), (5, False)):
        monkeypatch.setattr(facts, "MOST_LISTED", most)
        assert ("inter_edges_directed" in summary(text)) is listed


def test_host_ranks_are_listed_by_the_number_of_meshes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MOST_LISTED", 5)
    told = summary(mesh(hosts="2, 4") + fabric(2))["meshes"]
    assert [list(each["host_rank_ranges"]) for each in told] == [["0", "1", "2"]] * 2
    assert told[0]["host_rank_ranges"] == {
        "0": [[0, 0], [0, 0]],
        "1": [[0, 1], [0, 1]],
        "2": [[0, 2], [0, 2]],
    }
    assert len(summary(mesh(hosts="2, 2") + TOP)["meshes"][0]["host_rank_ranges"]) == 4


def test_a_mesh_with_chords_is_searched_when_it_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    text = mesh("2, 4", arch="BLACKHOLE", extra="express_links { dim_idx: 1 pattern { step: 4 } }") + TOP
    [one] = expand(loads(text)).meshes
    for most, diameter in ((8, 3), (7, None)):
        monkeypatch.setattr(measures, "MOST_DEVICES", most)
        assert measures.measure_mesh(one).diameter == diameter


def test_halves_of_few_meshes_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = expand(loads(mesh() + fabric(3, link("0", "1") + link("1", "2"))))
    for most, bisection in ((3, 2), (2, None)):
        monkeypatch.setattr(measures, "MOST_MESHES", most)
        found = measures.measure_graph(graph)
        assert found is not None and found.bisection == bisection
    two = measures.measure_graph(expand(loads(mesh() + fabric(2, link("0", "1")))))
    assert two is not None and (two.islands, two.diameter, two.bisection) == (1, 1, 2)


def test_a_draft_has_so_many_meshes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "MOST_MESHES", 3)
    assert len(drafted(Wishes(meshes=3)).meshes) == 3
    with pytest.raises(CannotDraft) as caught:
        drafted(Wishes(meshes=4))
    assert caught.value.reasons == ("4 meshes are too many: at most 3",)


def test_repairs_end_after_so_many_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection given three times goes twice, in a round each."""
    text = mesh() + fabric(2, link("0", "1") * 3)
    for rounds, done in ((1, 1), (2, 2), (3, 2)):
        monkeypatch.setattr(repair, "MOST_ROUNDS", rounds)
        repaired = repair.repair(text)
        assert [each.code for each in repaired.done] == ["MGD066"] * done
        assert repaired.text.count("connections {") == 3 - done


@pytest.mark.parametrize("count", [problems.MOST - 1, problems.MOST, problems.MOST + 1])
def test_so_many_problems_of_a_text_are_told(count: int) -> None:
    with pytest.raises(MgdError) as caught:
        loads("graph_descriptors { name: 3 }\n" * count)
    assert len(caught.value.diagnostics) == min(count, problems.MOST)
    assert len(loads("x: 1\n" * count).notices) == min(count, problems.MOST)


@pytest.mark.parametrize("count", [nodes.MOST - 1, nodes.MOST, nodes.MOST + 1])
def test_so_many_findings_of_a_first_format_are_told(count: int) -> None:
    """Errors and warnings are counted apart."""
    chip = "ChipSpec: {arch: blackhole, ethernet_ports: {N: 2, E: 2, S: 2, W: 2}}\n"
    board = "Board: [{name: B, type: Mesh, topology: [1, 2]}]\nMesh: [{id: 0, board: B, device_topology: [1, 2], host_topology: [1, 1]}]\n"
    keys = "".join(f"key{i}: 1\n" for i in range(count))
    assert len(loads_v1(f"{chip}{board}Graph: []\n{keys}").notices) == min(count, nodes.MOST)
    with pytest.raises(MgdError) as caught:
        loads_v1(f"{chip}{board}Graph: [{'x, ' * count}]\n{keys}")
    told = [each.is_error for each in caught.value.diagnostics]
    assert (told.count(True), told.count(False)) == (min(count, nodes.MOST),) * 2


def test_meshes_of_one_id_are_told_apart_by_their_path_alone() -> None:
    def one(mesh_id: int) -> Mesh:
        return Mesh(mesh_id, "M0", "BLACKHOLE", (1, 2), (1, 1), ("LINE", "LINE"), 1, "RELAXED")

    graph = MeshGraph((one(0), one(1), one(1), one(2)))
    assert graph.mesh(0).mesh_id == 0 and graph.mesh(2).mesh_id == 2 and not graph.ids_unique
    with pytest.raises(KeyError, match="several meshes have the id 1; tell them apart by their path"):
        graph.mesh(1)
    with pytest.raises(KeyError, match="3"):
        graph.mesh(3)
    assert MeshGraph((one(0), one(1))).ids_unique
