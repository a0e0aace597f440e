"""The counts that bound an expansion, exactly: what they say of descriptors that are small."""

from __future__ import annotations

import pytest

from mgd.checks import limits
from mgd.checks.references import check_references
from mgd.checks.report import Report
from mgd.expanding.express import chord_count
from mgd.expanding.resolution import BEYOND, Templates
from mgd.reading import load, loads
from tests.mgd.fixtures import RULE_FOLDERS, TOP, fabric, link, mesh

PINS = """
pinnings {
  logical_fabric_node_id { %s }
  physical_asic_position { tray_id: 1 asic_location: 1 }
}
"""


def test_express_links_within_the_bound_are_fine() -> None:
    report = Report(load(RULE_FOLDERS / "MGD029-express-link-pattern" / "good.textproto"))
    assert report.descriptor.mesh_descriptors[0].express_links
    assert limits.check_templates(report)
    assert not report.findings


def test_as_many_express_links_as_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    links = "express_links { dim_idx: 1 pattern { start: 0 step: 2 } }"
    read = loads(mesh("4, 8", extra=links) + TOP, file="f")
    [found] = read.mesh_descriptors
    count = chord_count((4, 8), found.express_links[0])
    assert count > 1
    monkeypatch.setattr(limits, "MOST_CHORDS", count)
    assert limits.check_templates(Report(read))
    monkeypatch.setattr(limits, "MOST_CHORDS", count - 1)
    assert not limits.check_templates(Report(read))


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("instances", limits.MOST_INSTANCES),
        ("devices", limits.MOST_DEVICES),
        ("records", limits.MOST_RECORDS),
        ("levels", limits.MOST_LEVELS),
    ],
)
def test_what_the_whole_amounts_to(field: str, most: int) -> None:
    report = Report(loads(mesh() + TOP, file="f"))
    assert limits.check_totals(report, limits.Totals(**{field: most}))
    assert not limits.check_totals(report, limits.Totals(**{field: most + 1}))
    [found] = report.findings
    assert f"amounts to {most + 1} " in found.message and found.message.endswith(
        f"at most {most} are expanded"
    )


@pytest.mark.parametrize(
    ("bound", "most", "told"),
    [
        ("MOST_DEVICES", 8, '"M0" has 8 devices; at most 7 are expanded'),
        ("MOST_PORTS", 16, '"M0" has 2 channels on each of 8 devices; at most 15 ports are made'),
    ],
)
def test_what_a_template_amounts_to(
    bound: str, most: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = loads(mesh() + mesh("1, 2", name="small") + TOP, file="f")
    monkeypatch.setattr(limits, bound, most)
    assert limits.check_templates(Report(read))
    monkeypatch.setattr(limits, bound, most - 1)
    report = Report(read)
    assert not limits.check_templates(report)
    assert [each.message for each in report.findings] == [told]


def test_a_mesh_without_channels_has_no_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_PORTS", 0)
    assert limits.check_templates(Report(loads(mesh().replace("channels { count: 2 }", "") + TOP, file="f")))


def test_what_graphs_inside_of_graphs_amount_to() -> None:
    """Twice a pod of two meshes, a switch and two links, beside one mesh, all linked."""
    pod = """graph_descriptors { name: "G1" type: "POD"
  instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } } instances { mesh { mesh_descriptor: "M0" mesh_id: 1 } }
  instances { switch { switch_descriptor: "SW" switch_id: 2 } }
  %s
}
graph_descriptors { name: "G0" type: "FABRIC"
  instances { graph { graph_descriptor: "G1" graph_id: 0 } } instances { graph { graph_descriptor: "G1" graph_id: 1 } }
  instances { mesh { mesh_descriptor: "M0" mesh_id: 2 } }
  connections { nodes { graph { graph_descriptor: "G1" graph_id: 0 } } nodes { graph { graph_descriptor: "G1" graph_id: 1 } } channels { count: 1 } }
}
switch_descriptors { name: "SW" arch: WORMHOLE_B0 device_topology { dims: [ 1, 3 ] } channels { count: 2 } }
top_level_instance { graph { graph_descriptor: "G0" } }
""" % (link("0", "1") * 2)
    read = loads(mesh() + pod, file="f")
    templates, report = Templates(read), Report(read)
    assert read.top_level_instance is not None
    found = limits.totals(templates, read.top_level_instance, check_references(report, templates))
    assert found == limits.Totals(
        grids=7, meshes=5, instances=10, devices=2 * (8 + 8 + 3) + 8, records=2 * 4 + 2, levels=2
    )


def test_a_graph_without_instances_is_one_level() -> None:
    read = loads(mesh() + fabric(0), file="f")
    templates, report = Templates(read), Report(read)
    assert read.top_level_instance is not None
    found = limits.totals(templates, read.top_level_instance, check_references(report, templates))
    assert found == limits.Totals(instances=1, levels=1)


@pytest.mark.parametrize(("nodes", "records"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 12)])
def test_records_of_one_connection(nodes: int, records: int) -> None:
    ends = 'nodes { mesh { mesh_descriptor: "M0" mesh_id: 0 } }' * nodes
    [graph] = loads(
        mesh() + fabric(1, f"connections {{ {ends} channels {{ count: 1 }} }}"), file="f"
    ).graph_descriptors
    found = limits.own_records(graph)
    assert (found, type(found)) == (records, int)


def test_a_number_that_nobody_would_write_out() -> None:
    report = Report(loads(mesh() + TOP, file="f"))
    assert not limits.check_totals(report, limits.Totals(devices=BEYOND))
    assert "amounts to far too many devices" in report.findings[0].message


@pytest.mark.parametrize(("layout", "records"), [("RING", 2 * 4), ("ALL_TO_ALL", 4 * 3)])
def test_records_of_a_graph(layout: str, records: int) -> None:
    topology = f"graph_topology {{ layout_type: {layout} channels {{ count: 2 }} }} "
    [graph] = loads(mesh() + fabric(4, topology), file="f").graph_descriptors
    assert limits.own_records(graph) == records
    [linked] = loads(mesh() + fabric(4, topology + link("0", "1")), file="f").graph_descriptors
    assert limits.own_records(linked) == records + 2


@pytest.mark.parametrize(
    ("node", "steps"),
    [
        ("mesh_id: 0 chip_id: 0", 1 + 1),
        # To match a range: its one piece and every number; then what may be chosen.
        ('mesh_id: 0 chip_id_regex: "0-3"', (1 + 8) + 1 + 8),
        ('mesh_id_regex: "0" chip_id: 0', (1 + 3) + 1 + 3),
        ('mesh_id_regex: "0" chip_id_regex: "0-3"', (1 + 3) + (1 + 8) + 1 + 3 * 8),
    ],
)
def test_steps_of_pins(node: str, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For three meshes of at most eight devices."""
    report = Report(loads(mesh() + TOP + PINS % node, file="f"))
    monkeypatch.setattr(limits, "MOST_PIN_STEPS", steps)
    assert limits.check_pin_work(report, 3, 8)
    monkeypatch.setattr(limits, "MOST_PIN_STEPS", steps - 1)
    assert not limits.check_pin_work(report, 3, 8)
    assert [each.code for each in report.findings] == ["MGD090"]
