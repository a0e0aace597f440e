"""protobuf's own text format as the oracle: both accept or both reject, and what is accepted is equal.

Python's text_format departs from the C++ parser that the reference library uses; there that one wins, and each difference is
listed in DIFFERENCES with an example.
"""

from __future__ import annotations

import re
import warnings
from random import Random
from typing import Any

import pytest
from google.protobuf import text_format
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mgd import proto_pb2
from mgd.descriptor import Descriptor
from mgd.errors import ParseError
from mgd.protobuf import from_protobuf, to_protobuf
from mgd.reading import loads
from mgd.text.writer import write
from tests.examples import examples
from tests.mgd.text.strategies import messages, said, styled

SEEDS = st.integers(0, 2**32)
SLOW = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
]


def ours(text: str) -> Descriptor | None:
    try:
        return loads(text)
    except ParseError as error:
        assert error.diagnostics and all(each.position and each.position.line for each in error.diagnostics)
        return None


def theirs(text: str) -> Any:
    message = proto_pb2.MeshGraphDescriptor()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its way to read an unknown escape
            return text_format.Parse(text, message, allow_unknown_field=True, allow_unknown_extension=True)
    except (text_format.ParseError, ValueError, UnicodeDecodeError):
        return None


def test_what_is_not_written_has_the_default_of_protobuf() -> None:
    text = "mesh_descriptors { channels {} express_links {} } top_level_instance { mesh {} } graph_descriptors { instances { mesh {} } }"
    read, oracle = ours(text), theirs(text)
    assert read is not None
    pairs = [
        (read.mesh_descriptors[0], oracle.mesh_descriptors[0], ("name", "arch")),
        (read.mesh_descriptors[0].channels, oracle.mesh_descriptors[0].channels, ("count",)),
        (
            read.mesh_descriptors[0].express_links[0],
            oracle.mesh_descriptors[0].express_links[0],
            ("dim_idx", "wrap"),
        ),
        (read.top_level_instance.mesh, oracle.top_level_instance.mesh, ("mesh_descriptor", "mesh_id")),
        (read.graph_descriptors[0], oracle.graph_descriptors[0], ("name", "type")),
    ]
    for own, other, names in pairs:
        assert [getattr(own, name) for name in names] == [getattr(other, name) for name in names]


BLANKS = [" ", "\n", "\t", "\r\n", " # a comment\n", "  "]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW)
@given(messages(), SEEDS)
def test_every_way_to_write_a_message_is_read_alike(value: Descriptor, seed: int) -> None:
    chance = Random(seed)
    text = "".join(token + chance.choice(BLANKS) for token in styled(chance, value))
    read = ours(text)
    assert read == value
    assert to_protobuf(value) == theirs(text)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=SLOW)
@given(messages())
def test_writing_and_protobuf_keep_a_descriptor(value: Descriptor) -> None:
    assert loads(write(value)) == value
    assert from_protobuf(to_protobuf(value)) == value
    assert theirs(write(value)) == to_protobuf(value)
    assert ours(text_format.MessageToString(to_protobuf(value))) == value


VOCABULARY = [
    "{",
    "}",
    "<",
    ">",
    "[",
    "]",
    ":",
    ",",
    ";",
    "-",
    "7",
    "0x1F",
    "017",
    "2147483648",
    "4294967296",
    "1.5",
    "2f",
    '"M0"',
    "'x'",
    "true",
    "t",
    "yes",
    "LINE",
    "RELAXED",
    "WORMHOLE_B0",
    "NONE",
    "foo",
    "name",
    "arch",
    "dims",
    "dim_types",
    "channels",
    "count",
    "policy",
    "instances",
    "mesh",
    "graph",
    "nodes",
    "mesh_id",
    "directional",
    "[my.ext]",
    "3",
    "bar",
    ":",
    "{",
    "foo",
    ":",
    "3",
]

DIFFERENCES = [
    ("an octal number for an enum", "mesh_descriptors { arch: 01 }", True, False),
    ("a default given twice", "top_level_instance { mesh { mesh_id: 0 mesh_id: 0 } }", False, True),
    ("blanks between sign and number", "top_level_instance { mesh { mesh_id: - 5 } }", True, False),
    ("Python's own integer literals", "top_level_instance { mesh { mesh_id: 1_0 } }", False, True),
    ("an unknown escape", r'mesh_descriptors { name: "\q" }', False, True),
    ("bytes that are not UTF-8", r'mesh_descriptors { name: "\xff" }', True, False),
    ("a NUL in a comment", "# \0\n", False, True),
    ("a blank that only Unicode knows", "\xa0", False, True),
    ("a float as a field's name", "foo { 2f: 3 }", False, True),
    (
        "hexadecimal for a bool",
        "graph_descriptors { graph_topology { assign_z_direction: 0x1 } }",
        True,
        False,
    ),
]
"""What it is, an example, whether we (and the reference) accept it, whether Python's text_format does."""


@pytest.mark.parametrize(("what", "text", "accepted", "in_python"), DIFFERENCES)
def test_listed_differences(what: str, text: str, accepted: bool, in_python: bool) -> None:
    assert (ours(text) is not None, theirs(text) is not None) == (accepted, in_python)


# Python's names go on behind a sign, and its signs do not stand alone.
_SIGN_APART = re.compile(r"-\s|[A-Za-z0-9_\"'][-+]|-[A-Za-z{\[<\"'0]")

_FLOAT_NAME = re.compile(r"\b(?:2f|1\.5) *[:{<\[]")

_OCTAL_ENUM = re.compile(
    r"\b(?:arch|policy|type|dim_types|layout_type|wrap|routing_direction|board_revision)\b[ :]*\[?[^\]}]*?\b0[0-7]"
)


def damaged(value: Descriptor, seed: int) -> str:
    """The text of a descriptor with one to three of its tokens lost, doubled, swapped or added."""
    chance = Random(seed)
    tokens = styled(chance, value)
    for _ in range(chance.randint(1, 3)):
        place = chance.randint(0, len(tokens))
        kind = chance.choice(["insert", "delete", "repeat", "swap"])
        if kind == "insert":
            tokens.insert(place, chance.choice(VOCABULARY))
        elif kind == "delete":
            del tokens[place : place + 1]
        elif kind == "repeat":
            tokens[place:place] = tokens[place : place + 1]
        else:
            tokens[place : place + 2] = reversed(tokens[place : place + 2])
    return " ".join(tokens)


def judged_alike(text: str) -> None:
    assume(not any(known.search(text) for known in (_SIGN_APART, _OCTAL_ENUM, _FLOAT_NAME)))
    read, wanted = ours(text), theirs(text)
    assert (read is None) == (wanted is None), text
    if read is not None:
        assert to_protobuf(read) == wanted


@settings(max_examples=examples(150), deadline=None, suppress_health_check=SLOW)
@given(messages(depth=4, values=said), SEEDS)
def test_a_damaged_text_is_judged_alike(value: Descriptor, seed: int) -> None:
    judged_alike(damaged(value, seed))


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=4000, deadline=None, suppress_health_check=SLOW)
@given(messages(depth=4, values=said), SEEDS)
def test_many_damaged_texts_are_judged_alike(value: Descriptor, seed: int) -> None:
    judged_alike(damaged(value, seed))
