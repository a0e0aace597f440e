from __future__ import annotations

from typing import Any

import pytest

from mgd.expansion import expand
from mgd.networkx import device_graph, mesh_level_graph
from mgd.reading import loads
from tests.mgd.fixtures import TOP, fabric, link, mesh
from tests.mgd.test_expansion import NESTED


@pytest.fixture(scope="module", autouse=True)
def networkx() -> Any:
    """Imported where it is used: not in each process that collects tests."""
    return pytest.importorskip("networkx")


def test_devices_and_links_of_a_torus(networkx: Any) -> None:
    text = mesh("4, 4", hosts="2, 1").replace("[ 4, 4 ]", "[ 4, 4 ] dim_types: [ RING, RING ]") + TOP
    made = device_graph(expand(loads(text)))
    assert (made.number_of_nodes(), made.number_of_edges()) == (16, 32)
    assert set(dict(made.degree()).values()) == {4}
    assert made.nodes[((("M0", 0),), 15)] == {"mesh_id": 0, "row": 3, "column": 3, "host_rank": 1}
    assert networkx.diameter(networkx.Graph(made)) == 4


def test_links_between_devices_join_meshes(networkx: Any) -> None:
    graph = expand(loads(mesh() + fabric(2, link("0.7", "1.0"))))
    made = device_graph(graph)
    assert networkx.number_connected_components(made) == 1
    assert mesh_level_graph(graph).edges[0, 1, 0]["devices"] == (7, 0)


def test_repeated_ids_need_paths() -> None:
    graph = expand(loads(NESTED))
    assert device_graph(graph).number_of_nodes() == 32
    with pytest.raises(ValueError, match="ids repeat"):
        mesh_level_graph(graph)
