"""Two whole SVG files as they are written: graphs in graphs, and a mesh with everything that can be wrong."""

from __future__ import annotations

from pathlib import Path

from mgd.drawing.marks import Marks
from mgd.drawing.svg import draw_svg
from mgd.expansion import expand
from mgd.graph import Link, Mesh, MeshGraph
from mgd.reading import loads
from tests.mgd.fixtures import mesh
from tests.words import same_as_read

NESTED = mesh("1, 2") + """graph_descriptors { name: "A" type: "RACK"
  instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } } instances { mesh { mesh_descriptor: "M0" mesh_id: 1 } }
  connections { nodes { mesh { mesh_descriptor: "M0" mesh_id: 0 device_id: 1 } } nodes { mesh { mesh_descriptor: "M0" mesh_id: 1 device_id: 0 } } channels { count: 1 } }
}
graph_descriptors { name: "B" type: "ROW" instances { graph { graph_descriptor: "A" graph_id: 0 } } instances { graph { graph_descriptor: "A" graph_id: 1 } }
  connections { nodes { graph { graph_descriptor: "A" graph_id: 0 } } nodes { graph { graph_descriptor: "A" graph_id: 1 } } channels { count: 3 } }
}
graph_descriptors { name: "C" type: "HALL" instances { graph { graph_descriptor: "B" graph_id: 0 } } }
graph_descriptors { name: "D" type: "SITE" instances { graph { graph_descriptor: "C" graph_id: 0 } } }
top_level_instance { graph { graph_descriptor: "D" graph_id: 0 } }
"""  # fmt: skip


def test_graphs_in_graphs() -> None:
    same_as_read(draw_svg(expand(loads(NESTED)), title="nested"), Path(__file__).with_name("nested.svg"))


def test_a_mesh_with_everything() -> None:
    one = Mesh(
        0, "M0", "BLACKHOLE", (4, 6), (2, 3), ("RING", "RING"), 2, "STRICT",
        express=(Link(0, 2, "Z", 1), Link(6, 18, "Z", 2)),
    )  # fmt: skip
    other = Mesh(1, "SW", "BLACKHOLE", (2, 1), (1, 1), ("RING", "LINE"), 1, "STRICT", is_switch=True)
    marks = Marks(
        frozenset({(0, 7), (1, 1)}),
        frozenset({(0, 0, 1), (0, 8, 14)}),
        frozenset({(0, 5)}),
        labels={(0, 1): "host-b"},
        notes=("first", "second"),
    )
    same_as_read(
        draw_svg(MeshGraph((one, other)), title="all", marks=marks), Path(__file__).with_name("broken.svg")
    )
