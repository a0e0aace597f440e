"""Inputs made to exhaust a reader: each is answered, and quickly enough for an editor."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mgd.errors import ParseError, RejectedError, UnreadableError
from mgd.expansion import expand
from mgd.files import LARGEST
from mgd.reading import load, loads
from mgd.v1 import loads as loads_v1
from tests.mgd.fixtures import TOP, fabric, link, mesh
from tests.mgd.test_fuzz import DEADLINE, deadline, survive
from tests.sweep import thinned


def _graphs(count: int, line: Callable[[int], str]) -> str:
    """A chain of graphs G0 … G<count>, the last one with a mesh in it."""
    chain = "".join(f'graph_descriptors {{ name: "G{i}" type: "T{i}" {line(i)} }}\n' for i in range(count))
    last = f'graph_descriptors {{ name: "G{count}" type: "T{count}" instances {{ mesh {{ mesh_descriptor: "M0" }} }} }}\n'
    return mesh() + chain + last + 'top_level_instance { graph { graph_descriptor: "G0" } }\n'


def _child(number: int, graph_id: int = 0) -> str:
    return f'instances {{ graph {{ graph_descriptor: "G{number}" graph_id: {graph_id} }} }}'


def _pins(node: str, count: int = 1) -> str:
    entry = f"pinnings {{ logical_fabric_node_id {{ {node} }} physical_asic_position {{ tray_id: 1 }} }}\n"
    return mesh() + TOP + entry * count


REJECTED = {
    "50,000 dims": mesh("2147483647, " * 50_000 + "2", arch="BLACKHOLE") + TOP,
    "extents without measure": mesh("2147483647, 2147483647", arch="BLACKHOLE") + TOP,
    "channels without measure": mesh().replace("count: 2", "count: 2147483647") + TOP,
    "a chain of 5,000 graphs": _graphs(5000, lambda i: _child(i + 1)),
    "each graph twice in the next": _graphs(60, lambda i: _child(i + 1) + _child(i + 1, 1)),
    "a ring of graphs": _graphs(3000, lambda i: _child((i + 1) % 3000)),
    "all to all of 3,000": mesh() + fabric(3000, "graph_topology { layout_type: ALL_TO_ALL channels { count: 1 } }"),
    "one connection of 3,000 nodes": mesh()
    + fabric(3000, "connections { " + "nodes { mesh { mesh_descriptor: \"M0\" } } " * 3000 + "channels { count: 1 } }"),
    "5,000 names that are one": mesh() * 5000 + TOP,
    "5,000 instances with one id": mesh() + fabric(1, 'instances { mesh { mesh_descriptor: "M0" } }' * 5000),
    "5,000 links to nowhere": mesh() + fabric(9000, link("0", "9999999") * 5000),
    "5,000 instances of nothing": mesh() + "".join(
        f'mesh_descriptors {{ name: "N{i}" }}\n' for i in range(5000)
    ) + fabric(1, 'instances { mesh { mesh_descriptor: "Nowhere" } }' * 5000),
    "a pattern that backtracks": _pins('mesh_id_regex: "' + "(.*)*" * 40 + 'x"'),
    "a pattern of brackets": _pins('mesh_id_regex: "' + "(" * 150 + '"'),
    "a pattern that repeats": _pins('mesh_id_regex: "0{1000000000}"'),
    "many wide patterns": mesh() + TOP + "".join(
        f'pinnings {{ logical_fabric_node_id {{ chip_id: 0 }} physical_asic_position {{ tray_id_regex: ".*{i}?" '
        'asic_location_regex: ".*" } }\n' for i in range(3000)
    ),
    "express links without end": mesh("1000, 1000", arch="BLACKHOLE", extra="express_links { pattern { step: 2 } } " * 2000) + TOP,
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.wide] if "5" in name or "many" in name else [])
        for name in REJECTED
    ],
)
def test_the_measureless_is_refused(name: str) -> None:
    with deadline(DEADLINE), pytest.raises(RejectedError) as caught:
        expand(loads(REJECTED[name]))
    assert caught.value.diagnostics


ACCEPTED = {
    "a mesh of a million devices": mesh("1000, 1000", arch="BLACKHOLE") + TOP,
    "a range beyond all numbers": _pins('chip_id_regex: "0-99999999999999"'),
    "5,000 pins": _pins("chip_id: 1", 5000),
    "64 graphs deep": _graphs(50, lambda i: _child(i + 1)),
    "unknown blocks 200 deep": "a { " * 200 + "} " * 200 + mesh() + TOP,
    "unknown lists 100,000 deep": "a: " + "[" * 100_000 + "]" * 100_000 + " " + mesh() + TOP,
    "50,000 unknown fields": "nmae: 1 " * 50_000 + mesh() + TOP,
}


@pytest.mark.parametrize("name", thinned(list(ACCEPTED), 3))
def test_the_large_is_held(name: str) -> None:
    with deadline(DEADLINE):
        assert survive(ACCEPTED[name].encode(), ".textproto")


UNREADABLE = {
    "blocks 100,000 deep": "a { " * 100_000,
    "closing 50,000 times": "} " * 50_000,
    "one line of rubbish": "name ) " * 50_000,
    "a megabyte of quotes": '"' * 1_000_000,
    "a number of a megabyte": "top_level_instance { mesh { mesh_id: " + "9" * 1_000_000 + " } }",
    "a megabyte of blanks before a mistake": "name" + " " * 1_000_000 + ")",
    "a megabyte of comments before a mistake": "name" + "#  \n" * 250_000 + ")",
    "open strings": 'name: "\n' * 50_000,
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.wide] if "megabyte" in name else []) for name in UNREADABLE],
)
def test_rubbish_is_answered_with_a_place(name: str) -> None:
    with deadline(DEADLINE), pytest.raises(ParseError) as caught:
        loads(UNREADABLE[name])
    assert all(each.position and each.position.line for each in caught.value.diagnostics)
    assert len(caught.value.diagnostics) <= 100


YAML = {
    "nested lists": "a: " + "[" * 50_000,
    "nested maps": "\n".join(" " * i + "a:" for i in range(1500)),
    "aliases of aliases": "a: &a [" + "1," * 5000 + "]\nMesh: [" + "*a," * 5000 + "]",
    "an alias of itself": "Mesh: &a [*a]\nBoard: []\nGraph: []\nChipSpec: {}",
    "a tag": "Mesh: !!python/object/apply:os.system ['true']",
    "a large file": "a: 1\n" * 500_000,
    "two documents": "a: 1\n---\na: 2\n",
    "an unknown alias": "Mesh: *a",
    "nothing": "",
    "10,000 meshes of nothing": "ChipSpec: {}\nBoard: []\nGraph: []\nMesh: ["
    + "{id: 0, board: x}," * 10_000
    + "]",
}


@pytest.mark.parametrize("name", list(YAML))
def test_hostile_yaml_is_refused(name: str) -> None:
    with deadline(DEADLINE), pytest.raises((ParseError, RejectedError)) as caught:
        loads_v1(YAML[name], file="x.yaml")
    assert caught.value.diagnostics


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    large = tmp_path / "large.textproto"
    with large.open("wb") as stream:
        stream.truncate(LARGEST + 1)
    closed = tmp_path / "closed.textproto"
    closed.write_text("")
    for path in (tmp_path, tmp_path / "none", Path("/dev/zero"), large, Path("a\0b"), closed / "below"):
        with deadline(DEADLINE), pytest.raises(UnreadableError) as caught:
            load(path)
        assert caught.value.diagnostics[0].code == "MGD101" and caught.value.diagnostics[0].help


def test_a_pipe_is_read_until_it_closes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.textproto"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(mesh() + TOP))
    writer.start()
    with deadline(DEADLINE):
        descriptor = load(pipe)
    writer.join(timeout=30)
    assert not writer.is_alive()
    assert descriptor.mesh_descriptors[0].name == "M0"


def test_a_typo_in_a_name_is_met_with_the_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "t3k.textproto").write_text(mesh() + TOP)
    with pytest.raises(UnreadableError, match=r"did you mean .*t3k\.textproto"):
        load(tmp_path / "t3K.textprot")
    with pytest.raises(UnreadableError, match="check the path"):
        load(tmp_path / "other.textproto")
