"""`mgd fmt`: idempotent, of the same meaning, with every comment, whatever the author's layout was."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mgd
from mgd.authoring.layout import WIDTH, TooDeep, formatted
from mgd.authoring.reformat import reformatted
from mgd.errors import ParseError
from mgd.systems import System
from tests.examples import examples
from tests.mgd.authoring.texts import SMALL, comments, text_of, untidy
from tests.mgd.fixtures import EACH_SYSTEM


@pytest.mark.parametrize("system", EACH_SYSTEM)
def test_every_shipped_text_has_this_layout(system: System) -> None:
    assert formatted(text_of(system)) == text_of(system)


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_layout_becomes_the_same_text_but_for_comments_and_gaps(data: st.DataObject) -> None:
    system = data.draw(st.sampled_from(SMALL))
    messy = data.draw(untidy(text_of(system)))
    tidy = reformatted(messy, "x")
    assert mgd.loads(tidy) == mgd.loads(messy) == mgd.load(system.path)
    assert comments(tidy) == comments(messy)
    assert formatted(tidy) == tidy


def test_an_example() -> None:
    messy = (
        "# top\n\n\n\nmesh_descriptors: <name:'M0'; arch:WORMHOLE_B0 # which\n"
        "device_topology{dims:[2 ,\n4]},channels { # how many\ncount : - 1}>\n"
        "graph_descriptors { name: 'G' \"H\" instances: [{ mesh { mesh_id: 1 } }, { mesh: < mesh_id: 2 > }] }"
        'top_level_instance{mesh{mesh_descriptor:"M0"}}unknown: { a: [] b: 0x1F } # end'
    )
    assert formatted(messy) == (
        "# top\n\n"
        "mesh_descriptors {\n"
        "  name: 'M0'\n"
        "  arch: WORMHOLE_B0  # which\n"
        "  device_topology { dims: [2, 4] }\n"
        "  channels {\n"
        "    # how many\n"
        "    count: -1\n"
        "  }\n"
        "}\n\n"
        "graph_descriptors {\n"
        "  name: 'G' \"H\"\n"
        "  instances { mesh { mesh_id: 1 } }\n"
        "  instances { mesh { mesh_id: 2 } }\n"
        "}\n\n"
        'top_level_instance { mesh { mesh_descriptor: "M0" } }\n'
        "unknown { a: [] b: 0x1F }  # end\n"
    )


def test_a_message_that_is_too_wide_takes_several_lines() -> None:
    name = "M" * WIDTH
    assert formatted(f'top_level_instance {{ mesh {{ mesh_descriptor: "{name}" }} }}').count("\n") == 5


@pytest.mark.parametrize(("wide", "lines"), [(WIDTH, 1), (WIDTH + 1, 3)])
def test_a_line_may_be_as_wide_as_the_page(wide: int, lines: int) -> None:
    text = f'm {{ name: "{"x" * (wide - 14)}" }}'
    assert len(text) == wide and formatted(text).count("\n") == lines


@pytest.mark.parametrize(
    ("messy", "tidy"),
    [
        # A comment between adjacent literals stays there, once.
        ("name: 'a' # c\n 'b'", "name: 'a' # c\n 'b'\n"),
        ("m { name: 'a' # c\n 'b' }", "m {\n  name: 'a' # c\n 'b'\n}\n"),
        # One inside of a list goes above it, one behind it stays behind.
        ("x: [1, # one\n 2] # two\ny: 1 # three\n# four\nz: 2", "# one\nx: [1, 2]  # two\n\ny: 1  # three\n# four\nz: 2\n"),
    ],
)  # fmt: skip
def test_where_comments_go(messy: str, tidy: str) -> None:
    assert formatted(messy) == tidy
    assert formatted(tidy) == tidy


@pytest.mark.parametrize("text", ["x: -5", "x: - 5", "x:-   5"])
def test_a_sign_stays_before_its_number(text: str) -> None:
    assert formatted(text) == "x: -5\n"


def test_an_unknown_field_of_scalars_and_messages_keeps_all_of_them() -> None:
    assert formatted("x: [1, { a: 2 }, -3]") == "x: 1\nx { a: 2 }\nx: -3\n"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "# one\n\n# two\n"])
def test_texts_without_fields(text: str) -> None:
    assert formatted(text) == text.strip("\n") + "\n" * bool(text.strip())


def test_what_is_no_descriptor_is_refused() -> None:
    with pytest.raises(ParseError):
        reformatted("mesh_descriptors { name: }")
    with pytest.raises(TooDeep, match="more than 200 deep"):
        formatted("a { # deep\n" * 201 + "}" * 201)
    assert formatted("a { # deep\n" * 200 + "}" * 200).count("\n") == 600


def test_a_comment_right_after_a_value_is_beside_it() -> None:
    assert formatted("name: 'a'# right after\nx: 'b' # within\n 'c' # after\n") == (
        "name: 'a'  # right after\nx: 'b' # within\n 'c'  # after\n"
    )
