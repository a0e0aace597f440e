"""Names that an editor follows: their definitions, uses, new names, explanation, and the outline of a file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgd.editing import names
from mgd.editing.places import Lines
from mgd.systems import systems
from mgd.text.tree import replaced
from tests.mgd.editing.test_server import URI, ask, at

TEXT = """\
mesh_descriptors { name: "box" arch: WORMHOLE_B0 device_topology { dims: [2, 4] } }
mesh_descriptors { name: "pod" arch: WORMHOLE_B0 }
graph_descriptors {
  name: "pod"
  instances { mesh { mesh_descriptor: "box" mesh_id: 0 } }
  instances { mesh { mesh_descriptor: "box" mesh_id: 1 } }
  connections {
    nodes { mesh { mesh_descriptor: "box" mesh_id: 0 device_id: 3 } }
    nodes { mesh { mesh_descriptor: "box" mesh_id: 1 device_id: 0 } }
  }
}
graph_descriptors {
  name: "all"
  instances { graph { graph_descriptor: "pod" graph_id: 0 } }
  instances { graph { graph_descriptor: "pod" graph_id: 1 } }
  connections {
    nodes { graph { graph_descriptor: "pod" graph_id: 0 sub_ref { mesh { mesh_descriptor: "box" mesh_id: 1 } } } }
    nodes { graph { graph_descriptor: "pod" graph_id: 1 sub_ref { mesh { mesh_descriptor: "box" mesh_id: 0 } } } }
  }
}
top_level_instance { graph { graph_descriptor: "all" graph_id: 0 } }
pinnings { logical_fabric_node_id { mesh_id: 1 chip_id: 0 } physical_asic_position { tray_id: 1 } }
"""


def marked(word: str, number: int = 0) -> dict[str, int]:
    """The position inside of an occurrence of a word."""
    at_word = -1
    for _ in range(number + 1):
        at_word = TEXT.index(word, at_word + 1)
    return at(TEXT[: at_word + len(word)] + "|" + TEXT[at_word + len(word) :])[1]


def rows(found: list[dict[str, Any]]) -> list[int]:
    """The lines, from 1, of the places."""
    return [each["range"]["start"]["line"] + 1 for each in found]


@pytest.mark.parametrize(
    ("word", "number", "defined", "used"),
    [
        ('mesh_descriptor: "bo', 0, [1], [5, 6, 8, 9, 17, 18]),
        ('name: "bo', 0, [1], [5, 6, 8, 9, 17, 18]),
        ('graph_descriptor: "po', 0, [4], [14, 15, 17, 18]),  # and not the mesh that is called so
        ('name: "po', 0, [2], []),
        ("mesh_id: 0", 1, [5], [8, 18]),
        ("mesh_id: 1", 3, [6], [9, 17, 22]),  # in a pinning, whose number one graph gives
        ("graph_id: 1", 1, [15], [18]),
        ('graph_descriptor: "al', 0, [13], [21]),
        ("device_id: 3", 0, [], []),
    ],
)  # fmt: skip
def test_a_name_leads_to_its_definition_and_its_uses(
    word: str, number: int, defined: list[int], used: list[int]
) -> None:
    position = marked(word, number)
    assert rows(ask(TEXT, "textDocument/definition", position=position)) == defined
    answer = {
        wanted: ask(
            TEXT, "textDocument/references", position=position, context={"includeDeclaration": wanted}
        )
        for wanted in (True, False)
    }
    assert rows(answer[False]) == used and rows(answer[True]) == sorted(defined + used)
    assert answer[True] == ask(TEXT, "textDocument/documentHighlight", position=position)


def test_a_descriptor_takes_another_name_everywhere() -> None:
    position = marked('graph_descriptor: "po')
    asked = ask(TEXT, "textDocument/prepareRename", position=position)
    assert asked["placeholder"] == "pod"
    edits = ask(TEXT, "textDocument/rename", position=position, newName="rack")["changes"][URI]
    lines = Lines(TEXT)
    spans = [(lines.offset(each["range"]["start"]), lines.offset(each["range"]["end"])) for each in edits]
    new = replaced(TEXT, [(*span, "rack") for span in spans])
    assert new == TEXT.replace('graph_descriptor: "pod"', 'graph_descriptor: "rack"').replace(
        'graph_descriptors {\n  name: "pod"', 'graph_descriptors {\n  name: "rack"'
    )


@pytest.mark.parametrize(
    ("word", "new", "told"),
    [
        ('graph_descriptor: "po', "all", "there is another graph descriptor all"),
        ('graph_descriptor: "po', "", "'' is no name"),
        ('graph_descriptor: "po', 'a"b', "is no name"),
        ("mesh_id: 1", "2", "only names of descriptors can be changed here"),
        ("arch: WORM", "x", "only names of descriptors can be changed here"),
    ],
)
def test_a_name_that_will_not_do_is_refused(word: str, new: str, told: str) -> None:
    answer = ask(TEXT, "textDocument/rename", position=marked(word), newName=new)
    assert answer["code"] == -32803 and told in answer["message"]


def test_a_name_is_explained_by_its_definition() -> None:
    told = names.meaning(TEXT, marked('mesh_descriptor: "bo'))
    assert told.startswith(
        "**mesh** `box`, defined in line 1, used in lines 5, 6, 8, 9, 17, 18\n\n```textproto\n{ name:"
    )
    assert "instance** `1` of graph `pod`, defined in line 6" in names.meaning(TEXT, marked("mesh_id: 1", 1))
    assert names.meaning(TEXT, marked("arch")) == ""
    loose = TEXT.replace('name: "box"', 'name: "bax"')
    assert names.meaning(loose, marked('mesh_descriptor: "bo')).endswith("which is not defined in this file")


def test_the_outline_has_descriptors_instances_and_pinnings() -> None:
    outline = ask(TEXT, "textDocument/documentSymbol")
    assert [(each["name"], each["detail"]) for each in outline] == [
        ("box", "mesh descriptor"),
        ("pod", "mesh descriptor"),
        ("pod", "graph descriptor"),
        ("all", "graph descriptor"),
        ("graph 0", "top level, all"),
        ("pinning", "1 device, 1 slot"),
    ]
    assert [each["name"] for each in outline[2]["children"]] == ["mesh 0", "mesh 1"]
    for each in outline:
        assert each["range"]["start"]["line"] <= each["selectionRange"]["start"]["line"]
        assert each["selectionRange"]["end"]["line"] <= each["range"]["end"]["line"]


@pytest.mark.parametrize("system", systems(), ids=lambda each: str(each.name))
def test_every_reference_of_a_shipped_descriptor_is_defined(system: Any) -> None:
    found = names._names(system.path.read_text())
    defined = {each.key for each in found if each.defines is not None}
    assert defined and {each.key for each in found} == defined


@given(st.text(alphabet=TEXT + "{}\"'", max_size=60), st.integers(0, len(TEXT)))
def test_no_text_is_too_odd(odd: str, where: int) -> None:
    text = TEXT[:where] + odd + TEXT[where + 5 :]
    position = {"line": text.count("\n", 0, where), "character": 3}
    names.symbols(text)
    names.meaning(text, position)
    names.definition(text, URI, position)


def test_yaml_has_no_names_to_follow() -> None:
    asked: dict[str, Any] = {"uri": "file:///a.yaml", "position": {"line": 0, "character": 1}}
    assert ask("Board: []", "textDocument/definition", **asked) == []
    assert ask("Board: []", "textDocument/rename", **asked, newName="x") is None
