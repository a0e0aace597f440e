"""Every word that is said of damaged texts, with its place, and the trees of such as have one: `words.txt` and `trees.txt`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mgd.errors import ParseError
from mgd.reading import loads
from mgd.text.lexer import find_tokens
from mgd.text.tree import BadTree, Block, Comment, WrittenField, read_tree
from tests.words import same_as_read

SOUND = """\
mesh_descriptors {
  name: "M0"  # one
  channels < count: 2; policy: -1 >
  device_topology: { dims: [ 2, 4 ], dim_types: [ RING ] }
  other: [ { x: 1 }, [ -inf ] ] [a.b]: 'c'
}
graph_descriptors { connections { nodes [ { mesh { } } ] directional: false } }
"""
# What is put in the place of a token, in turn.
ODD = (
    "}",
    "[",
    "name",
    ":",
    "08",
    '"',
    "<",
    "]",
    "-",
    ",",
    "/",
    "1.5",
    "{",
    "\u00a0",
    ">",
    "'\\q'",
    ";",
    "x",
)
MORE = [
    "a: -",
    "a: - x",
    "a: -nan",
    "a: [ -Infinity",
    "a: 0xg",
    "a",
    "[a.b",
    "[]: 1",
    "[a.b/c.d]: 1",
    "x { [a.b/c.d] { } }",
    "[ a . b ] { }",
    "mesh_descriptors: [",
    "mesh_descriptors: [ { name: 'a' }, 3 ]",
    "mesh_descriptors: [ { name: 'a' }, ]",
    "mesh_descriptors { name: \"a\\400\" 'b\\xff' }",
    "mesh_descriptors { name: '\\U00110000' }",
    "mesh_descriptors { name: '\\U0010ffff\\u00e9\\1\\12\\123\\x4\\x41\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\?' }",
    "mesh_descriptors { name: '\\u12' }",
    "mesh_descriptors { name: 'open\n  arch: BLACKHOLE }",
    "mesh_descriptors { name: 'open",
    "mesh_descriptors { name: }\nmesh_descriptors { name: = 'x' arch: }\n",
    "mesh_descriptors { arch: 'BLACKHOLE' }",
    "mesh_descriptors { arch: 'BLACKHOL' }",
    "mesh_descriptors { arch: BLACKHOL }",
    "mesh_descriptors { arch: - BLACKHOLE name: 3 }",
    "mesh_descriptors { arch { } name: 'x' }",
    "mesh_descriptors { arch: [ BLACKHOLE ] name: [ 'x' ] }",
    "mesh_descriptors { arch: BLACKHOLE arch: 2147483648 arch: -2147483649 }",
    "graph_descriptors { graph_topology: RING }",
    "graph_descriptors { graph_topology RING connections 3 }",
    "graph_descriptors { connections { directional: maybe directional: -1 directional: 1 } }",
    "graph_descriptors { connections { directional: t directional: False } }",
    "graph_descriptors { instances { mesh { } mesh { } } }",
    "graph_descriptors { instances { mesh { } graph { } switch { } } }",
    "graph_descriptors { instances [ { mesh { } mesh { } }, { mesh { } } ] }",
    "mesh_descriptors { device_topology { dims: [ [ 2 ] ] dims: { } dims: -x } }",
    "a { b { c [ { d:",
    "} } }",
    "a: 1 } b: 2\n} c: 3",
    "mesh_descriptors { express_links { dim_idx: -0 pattern { start: 4294967296 } } }",
    "mesh_descriptors { name: 'a' arch: BLACKHOLE name: 'b' arch: BLACKHOLE }",
    "mesh_descriptors { name: “a b”, arch: 3 }",
    "mesh_descriptors { name: “a b”; name: “c” name: “d” }",
    "mesh_descriptors { name: “a b\n arch: 3 }",
    "mesh_descriptors { name: “a",
    "mesh_descriptors { name: “",
    "nmae: 'x' mesh_descriptor { } zzz: 1 id: 'M'",
    "a: 'x' \"y\" 'z' b: 1",
    "# only a comment",
    "#a\n#b\n\nmesh_descriptors { #c\n }#d",
    "a: [ # in\n 1, # one\n { b: 2 # two\n } # three\n, [ 'x', [ ']' ] ] ] # four\n# five",
    "a # name\n { # open\n # own\n b <> ; c: 'x' , } ,, # end",
    "[ a.b # in\n ] : 1",
]


def damaged() -> Iterator[tuple[str, str]]:
    """The sound text without one token after the other, and with another in its place; what has been done, and the text."""
    tokens = [each for each in find_tokens(SOUND) if each.lastgroup not in ("blank", "comment")]
    for number, token in enumerate(tokens):
        line, column = (
            SOUND.count("\n", 0, token.start()) + 1,
            token.start() - SOUND.rfind("\n", 0, token.start()),
        )
        for new in ("", ODD[number % len(ODD)]):
            yield f"{line}:{column} {new} for {token[0]}", SOUND[: token.start()] + new + SOUND[token.end() :]


def told(text: str) -> Iterator[str]:
    """What is said of a text; of unknown fields only where they are, and the help on the first."""
    try:
        read = loads(text)
    except ParseError as error:
        found = error.diagnostics
    else:
        found = read.notices
        yield from (f"  has {each.name!r} of {each.channels}" for each in read.mesh_descriptors)
    helped = False
    for each in found:
        place = each.position
        assert place is not None
        if each.code == "MGD109" and helped:
            yield f"  {place.line}:{place.column} and another"
            continue
        help, helped = f" | {each.help}" * bool(each.help), helped or each.code == "MGD109"
        label = "".join(f" ({label.text})" for label in each.labels if label.text)
        yield f"  {place.line}:{place.column} {each.code} {each.message}{label}{help}"


def test_the_words_on_damaged_texts() -> None:
    lines = []
    for name, text in damaged():
        lines += [name, *(line for line in told(text) if "MGD109" not in line and "another" not in line)]
    for text in (SOUND, *MORE):
        lines += [text.replace("\n", "⏎"), *told(text)]
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("words.txt"))


def test_the_trees_of_odd_texts() -> None:
    lines = []
    for text in (SOUND, *MORE):
        lines.append(text.replace("\n", "⏎"))
        try:
            tree = read_tree(text)
        except BadTree as error:
            lines.append(f"  none: {error}, {error.offset}")
            continue
        lines.append(f"  {tree.root.start}-{tree.root.end}{_comments(tree.root.comments)}")
        for each in tree.walk():
            assert text[each.name_start : each.name_end] == each.name
            lines.append(f"  {_field(each)}")
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("trees.txt"))


def _field(field: WrittenField) -> str:
    values = ", ".join(
        f"block {each.start}-{each.end}{_comments(each.comments)}"
        if isinstance(each, Block)
        else f"{each.start}-{each.end} {each.text}"
        for each in field.values
    )
    marks = ":" * field.has_colon + "[]" * field.is_list + field.separator
    return f"{field.start}-{field.end} {field.name}{marks}{_comments(field.comments)} = {values}"


def _comments(comments: list[Comment]) -> str:
    return "".join(f" ({each.start}-{each.end} {each.text}{' trails' * each.trailing})" for each in comments)
