"""A misspelt field is told once, and what follows from it is not."""

from __future__ import annotations

import pytest

from mgd import check, loads

TEXT = """mesh_descriptors {
  name: "M0" arch: WORMHOLE_B0 device_topology { dims: [2, 4] } host_topology { dims: [1, 2] } channels { count: 2 policy: RELAXED }
}
top_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
"""


@pytest.mark.parametrize(
    ("field", "slip"),
    [
        ("name", "nam"),
        ("arch", "arhc"),
        ("device_topology", "device_toplogy"),
        ("host_topology", "host_topolgy"),
        ("channels", "chanels"),
        ("top_level_instance", "toplevel_instance"),
        ("mesh_descriptors", "mesh_descriptor"),
    ],
)
def test_a_slip_is_one_error(field: str, slip: str) -> None:
    [found] = check(loads(TEXT.replace(field, slip, 1)))
    assert (found.code, found.is_error) == ("MGD109", True)
    assert f"has no field {slip};" in found.message and field in found.help


def test_what_is_wrong_besides_is_told_too() -> None:
    found = check(loads(TEXT.replace("name", "nam", 1).replace("[1, 2]", "[1, 3]")))
    assert [(each.code, each.is_error) for each in found] == [("MGD109", True), ("MGD012", True)]


def test_a_slip_without_consequences_is_a_warning() -> None:
    found = check(loads(TEXT.replace("mesh_id: 0", "mesh_id: 0 mesh_idd: 0").replace("[1, 2]", "[1, 3]")))
    assert {(each.code, each.is_error) for each in found} == {("MGD109", False), ("MGD012", True)}
