"""What can be written at a place, in full: words, kinds, types and what is inserted."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mgd.editing.answers import completions, diagnostics, explanation

MESH = [
    ("name", 5, "string", "name: "),
    ("arch", 5, "Architecture", "arch: "),
    ("device_topology", 22, "TorusTopology", "device_topology { "),
    ("channels", 22, "Channels", "channels { "),
    ("host_topology", 22, "MeshTopology", "host_topology { "),
    ("express_connections", 22, "list of ExpressConnection", "express_connections { "),
    ("express_links", 22, "list of ExpressLink", "express_links { "),
]
TOPOLOGY = [
    ("dims", 5, "list of int32", "dims: "),
    ("dim_types", 5, "list of TorusTopologyType", "dim_types: "),
]
NAMES = "mesh_descriptors { name: 'a' name: 'b' } mesh_descriptors { name: 'a' } graph_descriptors { name: 'c' instances { mesh { mesh_descriptor: "


def values(*words: str) -> list[tuple[str, int, None, None]]:
    return [(word, 12, None, None) for word in words]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("mesh_descriptors { ", MESH),
        ("mesh_descriptors { name: 'a' ", MESH),
        ("x { y { } } mesh_descriptors { channels { count: 1 } # {\n a", MESH),
        ("mesh_descriptors { device_topology { ", TOPOLOGY),
        ("mesh_descriptors { device_topology { dims: [ 1, 2 ], ", TOPOLOGY),
        ("mesh_descriptors { device_topology { dim_types: [ LINE ] ", TOPOLOGY),
        ("mesh_descriptors { device_topology { dim_types: [ LINE, ", values("LINE", "RING")),
        ("mesh_descriptors { device_topology { dim_types: ", values("LINE", "RING")),
        ("mesh_descriptors { arch: ", values("WORMHOLE_B0", "BLACKHOLE", "QUASAR")),
        ("mesh_descriptors { arch: B", values("WORMHOLE_B0", "BLACKHOLE", "QUASAR")),
        ("graph_descriptors { connections { directional: ", values("true", "false")),
        ("mesh_descriptors { name: -", []),
        ("x { ", []),
        (NAMES, [("a", 18, None, '"a"'), ("b", 18, None, '"b"')]),
        (f'{NAMES}"', [("a", 18, None, "a"), ("b", 18, None, "b")]),
        (f"{NAMES}'a", [("a", 18, None, "a"), ("b", 18, None, "b")]),
    ],
)  # fmt: skip
def test_everything_that_can_be_written(before: str, found: list[tuple[Any, ...]]) -> None:
    position = {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}
    told = completions(f"{before}\n}} }} }}", position)
    assert [
        (each["label"], each["kind"], each.get("detail"), each.get("insertText")) for each in told
    ] == found


def test_the_fields_of_a_file() -> None:
    for text in ("", "mesh_descriptors { } } } mesh_"):
        told = completions(text, {"line": 0, "character": len(text)})
        assert [(each["label"], each["kind"]) for each in told] == [
            (name, 22)
            for name in ("mesh_descriptors", "graph_descriptors", "top_level_instance", "switch_descriptors", "pinnings")
        ]  # fmt: skip


MESH_TEXT = 'mesh_descriptors { name: "M0" arch: BLACKHOLE device_topology { dims: [ 1, 1 ] } host_topology { dims: [ 1, 1 ] } channels { count: 1 } }\n'
TOP = 'top_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }\n'


def test_a_mistake_is_told_with_its_other_places() -> None:
    text = MESH_TEXT * 2 + TOP
    _, told = diagnostics(text, "file:///m", "m", False)
    name = {"start": {"line": 1, "character": 25}, "end": {"line": 1, "character": 29}}
    first = {"start": {"line": 0, "character": 25}, "end": {"line": 0, "character": 29}}
    assert told == {
        "range": name,
        "severity": 1,
        "code": "MGD030",
        "source": "mgd",
        "message": 'two mesh descriptors are named "M0"\nrename one; a mesh is found by its name',
        "relatedInformation": [
            {"location": {"uri": "file:///m", "range": first}, "message": "the first one"}
        ],
    }
    for character, is_told in ((24, False), (25, True), (29, True), (30, False)):
        assert ("MGD030" in explanation(text, {"line": 1, "character": character}, "m", False)) is is_told


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("mesh_descriptors", "list of MeshDescriptor, a field of MeshGraphDescriptor"),
        ("channels", "Channels, a field of MeshDescriptor"),
        ("count", "int32, a field of Channels"),
        ("dims", "list of int32, a field of TorusTopology"),
        ("arch", "Architecture, a field of MeshDescriptor"),
    ],
)
def test_the_type_of_a_field(word: str, told: str) -> None:
    """From its first character to behind its last one."""
    begin = re.search(rf"\b{word}\b", MESH_TEXT).start()  # type: ignore[union-attr] # each is there
    for character in (begin, begin + len(word)):
        assert (
            explanation(MESH_TEXT + TOP, {"line": 0, "character": character}, "m", False)
            == f"`{word}`: {told}"
        )
    assert explanation(MESH_TEXT + TOP, {"line": 0, "character": begin + len(word) + 1}, "m", False) == ""
