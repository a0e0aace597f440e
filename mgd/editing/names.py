"""Names in a descriptor, for an editor that follows them: where each is defined, where it is used, how the file is arranged.

Descriptors have a name, which the fields of `_KINDS` refer to. Instances have a number within their graph; connections of that
graph refer to it, `sub_ref` to one within the graph before it, pinnings to a number that only one graph of the file gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mgd.editing.places import Lines
from mgd.lean import dataclass
from mgd.text.tree import BadTree, Block, Scalar, Tree, WrittenField, read_tree

_KINDS = ("mesh", "graph", "switch")
_STRUCT, _NAMESPACE, _OBJECT, _VARIABLE, _ARRAY = 23, 3, 19, 13, 18  # kinds of symbols
_NAME = re.compile(r"""(["'])([^"'\\\n]+)\1""")
_NEW_NAME = re.compile(r"[^\"'\\\n]+")

Key = tuple[str, str, str]  # what it is, the graph that has it or "", the name or number


class NoName(ValueError):
    """What is to be renamed is no name of a descriptor, or the new one will not do; the text says which."""


@dataclass(frozen=True)
class Name:
    """One name or number as written: what it means, its span, and the block that it stands for where it is defined."""

    key: Key
    start: int
    end: int
    defines: Block | None = None


def definition(text: str, uri: str, position: dict[str, int]) -> list[dict[str, Any]]:
    """The places where what stands at a position is defined."""
    found = _at(text, position)
    return _places(text, uri, [each for each in found if each.defines is not None])


def references(
    text: str, uri: str, position: dict[str, int], *, and_definition: bool
) -> list[dict[str, Any]]:
    """The places where what stands at a position is used."""
    found = _at(text, position)
    return _places(text, uri, [each for each in found if and_definition or each.defines is None])


def renamed(text: str, uri: str, position: dict[str, int], new: str) -> dict[str, Any]:
    """The edit that gives a descriptor another name, here and wherever it is used. Raises NoName."""
    found = _renameable(text, position)
    kind, _, old = found[0].key
    if not _NEW_NAME.fullmatch(new):
        raise NoName(f"{new!r} is no name: write letters, digits, _ and - alone")
    if new != old and any(each.key == (kind, "", new) and each.defines is not None for each in _names(text)):
        raise NoName(f"there is another {kind} descriptor {new}")
    edits = [{"range": each["range"], "newText": new} for each in _places(text, uri, found, inside=True)]
    return {"changes": {uri: edits}}


def renameable(text: str, uri: str, position: dict[str, int]) -> dict[str, Any]:
    """The range of the name at a position, and the name. Raises NoName."""
    found = _renameable(text, position)
    offset = Lines(text).offset(position)
    here = [each for each in found if each.start <= offset <= each.end]
    return {"range": _places(text, uri, here, inside=True)[0]["range"], "placeholder": found[0].key[2]}


def meaning(text: str, position: dict[str, int]) -> str:
    """Markdown on the name at a position: what it is, its definition as written, where it is used; "" for what is no name."""
    found = _at(text, position)
    if not found:
        return ""
    what, graph, name = found[0].key
    lines = Lines(text)
    told = f"**{what}** `{name}`" + (f" of graph `{graph}`" if graph else "")
    defined = [each for each in found if each.defines is not None]
    if not defined:
        return f"{told}, which is not defined in this file"
    block = defined[0].defines
    assert block is not None
    written = "\n".join(line.rstrip() for line in text[block.start : block.end].split("\n"))
    used = [lines.row(each.start) for each in found if each.defines is None]
    uses = f"used in line{'s' * (len(used) > 1)} {', '.join(map(str, used))}" if used else "not used"
    return f"{told}, defined in line {lines.row(defined[0].start)}, {uses}\n\n```textproto\n{written}\n```"


def symbols(text: str) -> list[dict[str, Any]]:
    """The file as an outline: descriptors, in a graph its instances, what is instantiated, pinnings."""
    tree = _tree(text)
    lines = Lines(text)
    found = []
    for each in tree.root.fields if tree is not None else ():
        for number, block in enumerate(each.blocks):
            kind = next((kind for kind in _KINDS if each.name == f"{kind}_descriptors"), None)
            if kind is not None:
                shown, detail = _value(block, "name"), f"{kind} descriptor"
                children = [_symbol(lines, inner, inner_block, *_instance(inner_block), _OBJECT)
                            for inner in block.find("instances") for inner_block in inner.blocks]  # fmt: skip
                symbol_kind = _NAMESPACE if kind == "graph" else _STRUCT
            elif each.name == "top_level_instance":
                (shown, detail), children, symbol_kind = _instance(block), [], _VARIABLE
                detail = f"top level, {detail}"
            elif each.name == "pinnings":
                shown, detail = "pinning", ", ".join(_counts(block))
                children, symbol_kind = [], _ARRAY
            else:
                continue
            field = each if number == 0 and len(each.blocks) == 1 else None
            found.append(_symbol(lines, field, block, shown, detail, symbol_kind, children))
    return found


def _counts(pinning: Block) -> Iterator[str]:
    for field, what in (("logical_fabric_node_id", "device"), ("physical_asic_position", "slot")):
        number = len(pinning.find(field))
        yield f"{number} {what}{'s' * (number != 1)}"


def _symbol(
    lines: Lines,
    field: WrittenField | None,
    block: Block,
    name: str,
    detail: str,
    kind: int,
    children: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    start = field.start if field is not None else block.start
    return {
        "name": name or "(no name)",
        "detail": detail,
        "kind": kind,
        "range": lines.span(start, block.end),
        "selectionRange": lines.span(start, field.name_end if field is not None else block.start + 1),
        "children": children or [],
    }


def _instance(block: Block) -> tuple[str, str]:
    """What an instance is called in an outline, and of what it is one."""
    for kind in _KINDS:
        for inner in (inner for each in block.find(kind) for inner in each.blocks):
            return f"{kind} {_value(inner, f'{kind}_id') or 0}", _value(inner, f"{kind}_descriptor")
    return "", ""


def _at(text: str, position: dict[str, int]) -> list[Name]:
    """Everything that means the same as the name at a position; empty where there is none."""
    offset = Lines(text).offset(position)
    names = _names(text)
    here = next((each for each in names if each.start <= offset <= each.end), None)
    return [each for each in names if here is not None and each.key == here.key]


def _renameable(text: str, position: dict[str, int]) -> list[Name]:
    found = _at(text, position)
    if not found or found[0].key[0] not in _KINDS:
        raise NoName("only names of descriptors can be changed here")
    return found


def _places(text: str, uri: str, names: list[Name], *, inside: bool = False) -> list[dict[str, Any]]:
    """Where the names stand; `inside` of their quotes."""
    lines, less = Lines(text), int(inside)
    return [{"uri": uri, "range": lines.span(each.start + less, each.end - less)} for each in names]


def _tree(text: str) -> Tree | None:
    try:
        return read_tree(text)
    except BadTree:
        return None


def _names(text: str) -> list[Name]:
    """All names of a text in their order; none of a text that has no structure."""
    tree = _tree(text)
    if tree is None:
        return []
    found: list[Name] = []
    for field in tree.root.fields:
        for block in field.blocks:
            found += _of_descriptor(field.name, block)
    graphs = {each.key[:2] for each in found if each.defines is not None and each.key[0].endswith("instance")}
    having = [graph for what, graph in sorted(graphs) if what == "mesh instance"]
    for pinning in (block for field in tree.root.find("pinnings") for block in field.blocks):
        for node in (block for field in pinning.find("logical_fabric_node_id") for block in field.blocks):
            found += _number(node, "mesh", having[0]) if len(having) == 1 else []
    return sorted(found, key=lambda each: each.start)


def _of_descriptor(field: str, block: Block) -> Iterator[Name]:
    """The names in a field of the whole file."""
    if field == "top_level_instance":
        yield from _node(block, "", block)
        return
    kind = next((kind for kind in _KINDS if field == f"{kind}_descriptors"), None)
    if kind is None:
        return
    for scalar, name in _words(block, "name"):
        yield Name((kind, "", name), scalar.start, scalar.end, block)
    graph = _value(block, "name")
    for each in block.fields:
        for inner in each.blocks if each.name == "instances" else ():
            yield from _node(inner, graph, inner)
        for inner in each.blocks if each.name == "connections" else ():
            for node in (node for nodes in inner.find("nodes") for node in nodes.blocks):
                yield from _node(node, graph, None)


def _node(block: Block, graph: str, defines: Block | None) -> Iterator[Name]:
    """The names of a reference to an instance, and of what is inside of it."""
    for kind in _KINDS:
        for inner in (inner for each in block.find(kind) for inner in each.blocks):
            for scalar, name in _words(inner, f"{kind}_descriptor"):
                yield Name((kind, "", name), scalar.start, scalar.end)
            yield from _number(inner, kind, graph, defines)
            for sub in (sub for each in inner.find("sub_ref") for sub in each.blocks):
                yield from _node(sub, _value(inner, "graph_descriptor"), None)


def _number(block: Block, kind: str, graph: str, defines: Block | None = None) -> Iterator[Name]:
    for each in block.find(f"{kind}_id"):
        for value in each.values:
            if isinstance(value, Scalar):
                yield Name((f"{kind} instance", graph, value.text), value.start, value.end, defines)


def _words(block: Block, field: str) -> Iterator[tuple[Scalar, str]]:
    """The texts that a field of a block has, each in one pair of quotes."""
    for value in (value for each in block.find(field) for value in each.values):
        written = _NAME.fullmatch(value.text) if isinstance(value, Scalar) else None
        if written is not None and isinstance(value, Scalar):
            yield value, written[2]


def _value(block: Block, field: str) -> str:
    """The text or number of a field; "" where it has none."""
    for value in (value for each in block.find(field) for value in each.values):
        if isinstance(value, Scalar):
            return value.text.strip("\"'")
    return ""
