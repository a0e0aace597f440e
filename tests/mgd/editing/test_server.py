"""The answers of the language server, one by one."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgd.editing import answers
from mgd.editing.places import Lines, units
from mgd.editing.server import Server

URI = "file:///tmp/a%20b/x.textproto"
GOOD = """\
mesh_descriptors {
  name: "M0"
  arch: BLACKHOLE
  device_topology { dims: [2, 4] }
  host_topology { dims: [1, 1] }
  channels { count: 2 }
}

top_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
"""


def framed(*messages: dict[str, Any]) -> bytes:
    parts = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(part), part) for part in parts)


def unframed(data: bytes) -> list[dict[str, Any]]:
    found, stream = [], io.BytesIO(data)
    while line := stream.readline():
        length = int(line.split(b":")[1])
        stream.readline()
        found.append(json.loads(stream.read(length)))
    return found


def ask(text: str, method: str, uri: str = URI, **params: Any) -> Any:
    """The answer to one request about an open text."""
    opened = {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": uri, "text": text}}}
    request = {"id": 7, "method": method, "params": {"textDocument": {"uri": uri}, **params}}
    target = io.BytesIO()
    Server(io.BytesIO(framed(opened, request)), target).serve()
    [answer] = [each for each in unframed(target.getvalue()) if each.get("id") == 7]
    return answer["result"] if "result" in answer else answer["error"]


def at(text: str, mark: str = "|") -> tuple[str, dict[str, int]]:
    """A text with its mark taken out, and where it was."""
    before, _, after = text.partition(mark)
    line = before.split("\n")[-1]
    return before + after, {"line": before.count("\n"), "character": units(line)}


@pytest.mark.parametrize(
    ("capability", "method", "params"),
    [
        ("hoverProvider", "hover", {}),
        ("completionProvider", "completion", {}),
        ("definitionProvider", "definition", {}),
        ("referencesProvider", "references", {"context": {"includeDeclaration": True}}),
        ("documentHighlightProvider", "documentHighlight", {}),
        ("documentSymbolProvider", "documentSymbol", {}),
        ("renameProvider", "rename", {"newName": "M1"}),
        ("documentFormattingProvider", "formatting", {}),
        ("codeActionProvider", "codeAction", {}),
    ],
)
def test_an_editor_is_told_of_each_thing_that_is_answered(
    capability: str, method: str, params: dict[str, Any]
) -> None:
    told = ask("", "initialize")["capabilities"]
    assert told[capability] and (capability != "renameProvider" or told[capability]["prepareProvider"])
    assert told["textDocumentSync"] == {"openClose": True, "change": 1}
    text, place = at(GOOD.replace('"M0"', '"M|0"', 1))
    answer = ask(text, f"textDocument/{method}", position=place, **params)
    assert not isinstance(answer, dict) or "code" not in answer


def test_what_is_no_message_ends_nothing_and_what_is_unknown_is_told() -> None:
    assert ask(GOOD, "textDocument/typeDefinition") == {
        "code": -32601,
        "message": "textDocument/typeDefinition: there is no such method",
    }
    assert ask(GOOD, "textDocument/hover") == {
        "code": -32602,
        "message": "textDocument/hover: its parameters: 'position' is missing",
    }
    assert ask(GOOD, "textDocument/hover", textDocument={"uri": "file:///other"})["code"] == -32602
    assert ask(GOOD, "textDocument/hover", position={"line": 99, "character": 99}) is None
    target = io.BytesIO()
    source = b"Content-Length: 3\r\n\r\n{x}" + framed({"id": 1, "method": "shutdown"}, {"method": "exit"})
    assert Server(io.BytesIO(source), target).serve() == 0
    broken, last = unframed(target.getvalue())
    assert broken["error"]["code"] == -32700 and last["id"] == 1
    assert Server(io.BytesIO(b""), io.BytesIO()).serve() == 1


def test_an_exit_that_no_shutdown_announced_is_told_by_its_code() -> None:
    assert Server(io.BytesIO(framed({"method": "exit"})), io.BytesIO()).serve() == 1


def test_what_is_saved_stays_open_and_what_is_closed_has_no_mistakes() -> None:
    events = ("Open", "Save", "Close")
    document = {"uri": URI, "text": GOOD.replace("[1, 1]", "[1, 3]")}
    session = [{"method": f"textDocument/did{each}", "params": {"textDocument": document}} for each in events]
    target = io.BytesIO()
    Server(io.BytesIO(framed(*session)), target).serve()
    told = [each["params"]["diagnostics"] for each in unframed(target.getvalue())]
    assert [[found["code"] for found in each] for each in told] == [["MGD012"], ["MGD012"], []]


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        [],
        "x",
        {"textDocument": {"uri": URI}},
        {"textDocument": {"uri": URI}, "contentChanges": []},
        {"textDocument": 3, "contentChanges": [{"text": "x"}]},
    ],
)
def test_a_notification_without_sense_ends_nothing(params: Any) -> None:
    odd = [{"method": f"textDocument/did{event}", "params": params} for event in ("Open", "Change")]
    session = framed(*odd, {"method": "textDocument/didChange"}, {"id": 1, "method": "shutdown"})
    target = io.BytesIO()
    Server(io.BytesIO(session), target).serve()
    assert unframed(target.getvalue()) == [{"jsonrpc": "2.0", "id": 1, "result": None}]


def test_a_message_may_have_other_headers_besides_its_length() -> None:
    """Of any name and value, before the length and after it; a length that is no number is the end of what can be read."""
    messages = [framed(each) for each in ({"id": 1, "method": "shutdown"}, {"method": "exit"})]
    kind = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
    source = b"X-Number: 3\r\n" + kind + messages[0] + messages[1].replace(b"\r\n", b"\r\nX-Number: 3\r\n", 1)
    target = io.BytesIO()
    assert Server(io.BytesIO(source), target).serve() == 0
    assert [each["id"] for each in unframed(target.getvalue())] == [1]
    target = io.BytesIO()
    unread = b"Content-Length: many\r\n\r\n" + b"".join(messages)
    assert Server(io.BytesIO(unread), target).serve() == 1
    assert [each["error"]["code"] for each in unframed(target.getvalue())] == [-32700]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "|",
            {"mesh_descriptors", "graph_descriptors", "top_level_instance", "switch_descriptors", "pinnings"},
        ),
        ("mesh_descriptors { na|", {"name", "arch", "channels", "express_links"}),
        ("mesh_descriptors { device_topology { dims: [ 2 ] | } }", {"dims", "dim_types"}),
        ('mesh_descriptors { arch: BLACKHOLE name: "M0" |', {"name", "channels"}),
        ("mesh_descriptors { channels { count: 2 policy: |", {"STRICT", "RELAXED"}),
        ("mesh_descriptors { arch: | }", {"WORMHOLE_B0", "BLACKHOLE", "QUASAR"}),
        ("mesh_descriptors { device_topology { dim_types: [ RING, |", {"LINE", "RING"}),
        ("graph_descriptors { connections { assign_z_direction: t|", {"true", "false"}),
        ("graph_descriptors { instances { mesh { # here |\n", {"mesh_descriptor", "mesh_id"}),
    ],
)
def test_completions_are_those_of_the_place(text: str, wanted: set[str]) -> None:
    plain, position = at(text)
    labels = {each["label"] for each in ask(plain, "textDocument/completion", position=position)}
    assert wanted <= labels
    assert ("name" in labels) == ("name" in wanted)


@pytest.mark.parametrize(
    ("begun", "inserted"),
    [
        ("mesh { mesh_descriptor: |", ['"M0"', '"M1"']),
        ("mesh { mesh_descriptor: M|", ['"M0"', '"M1"']),
        ('mesh { mesh_descriptor: "|" mesh_id: 0 }', ["M0", "M1"]),
        ("mesh { mesh_descriptor: 'M|", ["M0", "M1"]),
        ('graph { graph_descriptor: "|', ["G0"]),
        ("switch { switch_descriptor: |", []),
    ],
)
def test_a_reference_is_completed_by_the_names_of_the_file(begun: str, inserted: list[str]) -> None:
    blocks = "mesh_descriptors { name: \"M0\" channels { count: 2 } } mesh_descriptors { name: 'M1' }\n"
    graphs = 'graph_descriptors { name: "G0" type: "FABRIC" instances { mesh { mesh_descriptor: "M0" } } }\n'
    plain, position = at(f"{blocks}{graphs}top_level_instance {{ {begun}")
    found = ask(plain, "textDocument/completion", position=position)
    assert [each["insertText"] for each in found] == inserted


@pytest.mark.parametrize(
    "text",
    [
        'mesh_descriptors { name: "|',
        "mesh_descriptors { name: |",
        "unknown { |",
        "mesh_descriptors { channels { count: |",
    ],
)
def test_nothing_is_completed_where_anything_may_stand(text: str) -> None:
    plain, position = at(text)
    assert ask(plain, "textDocument/completion", position=position) == []


def test_a_field_says_its_type_and_a_mistake_its_rule() -> None:
    for mark in ("|dims: [2", "di|ms: [2", "dims|: [2"):
        plain, position = at(GOOD.replace("dims: [2", mark, 1))
        told = ask(plain, "textDocument/hover", position=position)["contents"]["value"]
        assert told == "`dims`: list of int32, a field of TorusTopology"
    for mark in ("dims:| [2", "dims: |[2"):
        plain, position = at(GOOD.replace("dims: [2", mark, 1))
        assert ask(plain, "textDocument/hover", position=position) is None
    plain, position = at(GOOD.replace("[1, 1]", "[1, |3]"))
    told = ask(plain, "textDocument/hover", position=position)["contents"]["value"]
    assert told.startswith("### MGD012: uneven host split") and "<a" not in told
    for lines in (-1, 1):  # as far to the right, above and below the mistake
        beside = {**position, "line": position["line"] + lines}
        answer = ask(plain, "textDocument/hover", position=beside)
        assert answer is None or "MGD012" not in answer["contents"]["value"]


@pytest.mark.parametrize(
    ("wrong", "marked"), [("name: 'x'", (0, 4)), ("  nme: 'x'", (2, 5)), ("xy { }", (0, 2)), (")", (0, 1))]
)
def test_a_mistake_is_underlined_as_long_as_its_word(wrong: str, marked: tuple[int, int]) -> None:
    found = answers.diagnostics(f"# first\n{wrong}\n{GOOD}", URI, "x.textproto", False)
    places = [each["range"] for each in found if each["range"]["start"]["line"] == 1]
    assert [(each["start"]["character"], each["end"]["character"]) for each in places] == [marked]


def test_layout_and_repairs_are_those_of_fmt_and_fix() -> None:
    [edit] = ask(GOOD.replace("  name", "name"), "textDocument/formatting", options={})
    assert edit["newText"] == GOOD and edit["range"]["end"] == {"line": 9, "character": 0}
    assert ask(GOOD, "textDocument/formatting", options={}) == []
    assert ask("mesh_descriptors {", "textDocument/formatting", options={}) == []
    odd = GOOD.replace("dims: [2, 4]", "dims: [2, 4] dim_types: [RING, LINE]")
    [action] = ask(odd, "textDocument/codeAction", range={}, context={})
    assert "MGD070" in action["title"]
    assert "dim_types: [LINE, LINE]" in action["edit"]["changes"][URI][0]["newText"]
    assert ask(GOOD, "textDocument/codeAction", range={}, context={}) == []


def test_yaml_gets_its_own_findings_and_no_edits() -> None:
    uri = "file:///tmp/old.yaml"
    assert ask("Board: 3\n", "textDocument/completion", uri, position={"line": 0, "character": 0}) == []
    found = answers.diagnostics("ChipSpec: {arch: x}\n", uri, "old.yaml", True)
    assert {each["code"][:4] for each in found} == {"MGD2"}


@given(st.text(alphabet="a\n\U0001f600é\r", max_size=30), st.data())
def test_places_count_utf16_units(text: str, data: st.DataObject) -> None:
    lines = Lines(text)
    offset = data.draw(st.integers(0, len(text)))
    line = text.count("\n", 0, offset)
    before = text[:offset].split("\n")[-1]
    assert lines.offset({"line": line, "character": units(before)}) == offset
    if "\r" not in text:
        span = lines.range_at(line + 1, len(before) + 1)
        assert span["start"] == {"line": line, "character": units(before)}


@given(st.text(max_size=60), st.integers(0, 3), st.integers(0, 60))
def test_no_text_and_no_position_is_too_odd(text: str, line: int, character: int) -> None:
    position = {"line": line, "character": character}
    answers.completions(text, position)
    answers.explanation(text, position, "x", False)
    answers.diagnostics(text, URI, "x", False)
    answers.laid_out(text)
    answers.repairs(text, URI)
