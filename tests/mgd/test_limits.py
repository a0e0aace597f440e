"""The counts that bound an expansion, exactly: what they say of descriptors that are small."""

from __future__ import annotations

import pytest

from mgd.checks import limits
from mgd.checks.report import Report
from mgd.express import chord_count
from mgd.reading import load, loads
from mgd.resolution import BEYOND
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
