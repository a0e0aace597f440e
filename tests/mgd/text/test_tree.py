"""The lossless tree: spans that give back the text, and edits by span."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgd.reading import loads
from mgd.text.tree import BadTree, Block, Scalar, read_tree, replaced
from tests.examples import examples
from tests.mgd.text.strategies import messages, said
from tests.mgd.text.test_oracle import SEEDS, SLOW, styled

TEXT = """\
# on top
mesh_descriptors {  # trailing
  name: "M" '0',   # joined
  device_topology: < dims: [ 2, # two
     4 ] dim_types [RING]; >
  # last
}
[my.ext]: [ [1], { a: -2 } ]
"""


def test_nodes_are_spans_of_the_text() -> None:
    tree = read_tree(TEXT)
    top, extension = tree.root.fields
    assert [field.name for field in tree.walk()] == [
        "mesh_descriptors", "name", "device_topology", "dims", "dim_types", "[my.ext]", "a",
    ]  # fmt: skip
    assert TEXT[top.start : top.name_end] == "mesh_descriptors"
    (block,) = top.blocks
    assert TEXT[block.start] == "{" and TEXT[block.end - 1] == "}"
    name, topology = block.fields
    assert [value.text for value in name.values if isinstance(value, Scalar)] == ["\"M\" '0'"]
    assert (name.separator, topology.has_colon) == (",", True)
    dims, types = topology.blocks[0].fields
    assert dims.is_list and [value.text for value in dims.values if isinstance(value, Scalar)] == ["2", "4"]
    assert (types.separator, TEXT[types.start : types.end]) == (";", "dim_types [RING];")
    assert isinstance(extension.values[1], Block)


def test_every_comment_is_kept_once() -> None:
    tree = read_tree(TEXT)
    found = list(tree.root.comments)
    for field in tree.walk():
        found += field.comments
        for block in field.blocks:
            found += block.comments
    assert sorted((each.text, each.trailing) for each in found) == [
        ("# joined", True), ("# last", False), ("# on top", False), ("# trailing", True), ("# two", True),
    ]  # fmt: skip


def test_edits_in_any_order() -> None:
    fields = {field.name: field for field in read_tree(TEXT).walk()}
    edits = [(fields[name].start, fields[name].name_end, name.upper()) for name in ("dims", "name")]
    assert replaced(TEXT, edits) == TEXT.replace("dims:", "DIMS:").replace("name:", "NAME:")
    with pytest.raises(ValueError, match="overlap"):
        replaced("abc", [(0, 2, ""), (1, 3, "")])


@pytest.mark.parametrize("text", ["a {", "a: 1 }", "a: [1", "a:", "a: ]", ": 3", "a: [1,]"])
def test_what_has_no_structure_has_no_tree(text: str) -> None:
    with pytest.raises(BadTree) as caught:
        read_tree(text)
    assert 0 <= caught.value.offset <= len(text)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW)
@given(messages(depth=3, values=said), SEEDS, st.sampled_from([" ", "\n", " # c\n"]))
def test_removing_and_restoring_every_span_keeps_the_text(value: object, seed: int, blank: str) -> None:
    from random import Random

    text = blank.join(styled(Random(seed), value)) + blank
    tree = read_tree(text)
    copied = replaced(text, [(each.start, each.name_end, each.name) for each in tree.walk()])
    assert copied == text
    assert sum(each.name == "mesh_descriptors" for each in tree.root.fields) >= bool(
        loads(text).mesh_descriptors
    )
    for each in tree.walk():
        assert text[each.start : each.name_end] == each.name and each.end >= each.name_end
        for block in each.blocks:
            assert text[block.start] in "{<" and text[block.end - 1] in "}>"
