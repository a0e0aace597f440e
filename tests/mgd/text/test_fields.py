"""Where the values of a field stand, against the tree of the text."""

from __future__ import annotations

import pytest

from mgd.resources import configs_root
from mgd.text.fields import field_values
from mgd.text.tree import Block, WrittenField, read_tree

ODD = """\
mesh_descriptors: [ { name: "a" name: "b" }, < name: "c", dims: [ 1, # one
  2 ]; dims: 3 > ] # after
top { inner { dims: 9 } dims: 4 inner: { name: 'x' "y" } inner [ { } , { dims: [] } ] other: -7 name { name: 1 } }
"""


def expected(block: Block, name: str) -> list[int]:
    found: list[int] = []
    for each in block.find(name):
        if each.is_list or not each.blocks:
            found += [value.start for value in each.values]
        else:
            found.append(each.start)
    return found


def blocks(fields: list[WrittenField]) -> list[tuple[int, Block]]:
    found = []
    for each in fields:
        for block in each.blocks:
            found.append((block.start if each.is_list else each.start, block))
            found += blocks(block.fields)
    return found


@pytest.mark.parametrize(
    "text",
    [ODD, *(path.read_text() for path in sorted((configs_root() / "mgd").glob("*z_graph*.textproto")))],
)
def test_values_stand_where_the_tree_has_them(text: str) -> None:
    tree = read_tree(text)
    for at, block in blocks(tree.root.fields):
        for name in {each.name for each in block.fields} | {"absent"}:
            assert field_values(text, at, name) == expected(block, name), (at, name)


def test_the_whole_file_is_a_message_too() -> None:
    tree = read_tree(ODD)
    assert field_values(ODD, -1, "top") == expected(tree.root, "top")
    assert field_values(ODD, -1, "mesh_descriptors") == expected(tree.root, "mesh_descriptors")
