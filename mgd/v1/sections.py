"""The sections of MGD 1.0 and what their parts have in common: known keys, kinds, shapes (reference library 0.81.1)."""

from __future__ import annotations

from mgd.documents import Mapping, Node, Sequence
from mgd.text.problems import nearest, quote_text
from mgd.v1.model import Shape
from mgd.v1.nodes import Findings, integer, is_list, is_map, offset, text_of

KEYS = {
    "": ("ChipSpec", "Board", "Mesh", "RelaxedGraph", "Graph"),
    "ChipSpec": ("arch", "ethernet_ports"),
    "ethernet_ports": ("N", "E", "S", "W", "Z"),
    "Board": ("name", "type", "topology"),
    "Mesh": ("id", "board", "device_topology", "host_topology", "host_ranks"),
}


def unknown_keys(found: Findings, node: Node | None, section: str) -> None:
    """Report keys that a section does not know, and those given twice."""
    known = KEYS[section]
    seen: set[str] = set()
    for key, _ in node.pairs if is_map(node) else ():
        name = text_of(key) or ""
        if name not in known:
            near = nearest(name, known)
            found.add(
                "MGD214", offset(key), f"{section or 'the file'} has no key {quote_text(name)}; it is skipped",
                help=f"did you mean {near}?" if near else f"its keys are {', '.join(known)}",
            )  # fmt: skip
        elif name in seen:
            found.add(
                "MGD214", offset(key), f"{name} is given twice; the first one counts", help="remove one"
            )
        seen.add(name)


def list_section(found: Findings, root: Node, node: Node | None, name: str) -> Sequence | None:
    """The section if it is there and is a list; else None, reported."""
    if is_list(node):
        return node
    _absent(found, root, node, name, "a list", "[ … ]")
    return None


def map_section(found: Findings, root: Node, node: Node | None, name: str) -> Mapping | None:
    """The section if it is there and is a map; else None, reported."""
    if is_map(node):
        return node
    _absent(found, root, node, name, "a map", "{ … }")
    return None


def _absent(found: Findings, root: Node, node: Node | None, name: str, what: str, form: str) -> None:
    told = f"{name} is missing" if node is None else f"{name} is not {what}"
    found.add(
        "MGD201",
        offset(root if node is None else node),
        told,
        help=f"write {name}: {form}",
    )


def shape_of(found: Findings, owner: Node, node: Node | None, name: str) -> Shape | None:
    """The [rows, columns] of a node, its absence and mistakes reported."""
    if node is None or not is_list(node):
        told = f"{name} is missing" if node is None else f"{name} is not a list"
        found.add(
            "MGD207", offset(owner if node is None else node), told, help=f"write {name}: [rows, columns]"
        )
        return None
    written = node.items[:3]
    sizes = [size for each in written if (size := integer(each)) is not None and size >= 1]
    if len(written) != 2 or len(sizes) != 2:
        found.add(
            "MGD207",
            offset(node),
            f"{name} is not two positive numbers",
            help=f"write {name}: [rows, columns]",
        )
        return None
    return sizes[0], sizes[1]


def shown_shape(shape: Shape) -> str:
    """A shape as people write it: 2x4."""
    return "x".join(map(str, shape))
