"""The shipped bindings of a T3000 name every rank of the descriptor that stands beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import mgd
from mgd.resources import configs_root

BINDINGS = sorted((configs_root() / "bindings").glob("t3k_*.yaml"))


@pytest.mark.parametrize("path", BINDINGS, ids=[path.stem for path in BINDINGS])
def test_bindings_fit_their_descriptor(path: Path) -> None:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    graph = mgd.expand(mgd.load(path.parent / content["mesh_graph_desc_path"]))
    ranks = content["rank_bindings"]
    assert [each["rank"] for each in ranks] == list(range(len(ranks)))
    bound = [(each["mesh_id"], each.get("mesh_host_rank", 0)) for each in ranks]
    assert bound == [(mesh.mesh_id, rank) for mesh in graph.meshes for rank in range(mesh.host_count)]
    boards = [board for each in ranks for board in each["env_overrides"]["TT_VISIBLE_DEVICES"].split(",")]
    assert sorted(boards) == ["0", "1", "2", "3"]  # the four boards of a T3000, each once


def test_there_are_bindings_for_every_way_to_cut_a_t3000() -> None:
    assert {path.stem for path in BINDINGS} >= {
        "t3k_2x4_two_hosts",
        "t3k_2x4_four_hosts",
        "t3k_2x2_two_meshes",
        "t3k_1x2_four_meshes",
        "t3k_1x8_two_hosts",
    }
