"""What differs between two systems, whatever their texts look like.

Names of templates and graphs, order, comments, policies that are the default: nothing of that is a difference. Meshes are
told apart by their mesh_id, or by the ids on the way to them where nested graphs repeat ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping

from mgd.expanding.connections import ConnectionEnd, InterConnection
from mgd.graph import Mesh, MeshGraph, PinGroup
from mgd.lean import dataclass

Key = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: `what` it is about, and its state `before` and `after` ("" where it does not exist)."""

    what: str
    before: str
    after: str

    @property
    def sign(self) -> str:
        """`+` for something new, `-` for something gone, `~` for something else than before."""
        return "+" if not self.before else "-" if not self.after else "~"

    def __str__(self) -> str:
        state = " -> ".join(text for text in (self.before, self.after) if text)
        return f"{self.sign} {self.what}: {state}"


def differences(a: MeshGraph, b: MeshGraph) -> list[Change]:
    """Every difference from `a` to `b`: architecture, meshes, links between them, pins; [] when they are the same system."""
    found = [] if a.arch == b.arch else [Change("architecture", a.arch, b.arch)]
    found += _merged(_meshes(a, b))
    found += _keyed(_links(a), _links(b))
    found += _keyed(_pins(a), _pins(b))
    return found


def _key(mesh: Mesh) -> Key:
    return (*(number for _, number in mesh.path[1:]), mesh.mesh_id)


def _title(key: Key) -> str:
    return "/".join(map(str, key))


def _meshes(a: MeshGraph, b: MeshGraph) -> Iterator[tuple[Key, str, str, str]]:
    """(mesh, aspect, before, after) for everything that is not the same."""
    old, new = {_key(mesh): mesh for mesh in a.meshes}, {_key(mesh): mesh for mesh in b.meshes}
    for key in dict.fromkeys([*old, *new]):
        if key not in new:
            yield key, "", _whole(old[key]), ""
        elif key not in old:
            yield key, "", "", _whole(new[key])
        else:
            before, after = _aspects(old[key]), _aspects(new[key])
            yield from (
                (key, aspect, before[aspect], after[aspect])
                for aspect in before
                if before[aspect] != after[aspect]
            )


def _aspects(mesh: Mesh) -> dict[str, str]:
    wraps = "".join(axis for dim, axis in ((1, "X"), (0, "Y")) if mesh.wraps(dim))
    chords = Counter((min(each.a, each.b), max(each.a, each.b), each.channels) for each in mesh.express)
    pairs = Counter((min(pair), max(pair), mesh.channels) for pair in mesh.express_connections)
    return {
        "kind": "switch" if mesh.is_switch else "mesh",
        "shape": "x".join(map(str, mesh.dims)),
        "hosts": "x".join(map(str, mesh.host_dims)),
        "wraps": wraps or "none",
        "channels": f"{mesh.channels} {mesh.policy}",
        "express links": _listed(chords),
        "express connections": _listed(pairs),
    }


def _listed(found: Mapping[tuple[int, int, int], int], most: int = 6) -> str:
    texts = [
        f"{key[0]}-{key[1]}" + (f" x{count}" if count > 1 else "") for key, count in sorted(found.items())
    ]
    more = len(texts) - most
    return ", ".join(texts[:most] + ([f"and {more} more"] if more > 0 else [])) or "none"


def _whole(mesh: Mesh) -> str:
    facts = _aspects(mesh)
    kind = "" if facts["kind"] == "mesh" else "switch, "
    wraps = "" if facts["wraps"] == "none" else f", torus {facts['wraps']}"
    return f"{kind}{facts['shape']} on {facts['hosts']} hosts, {facts['channels']}{wraps}"


def _merged(found: Iterator[tuple[Key, str, str, str]]) -> list[Change]:
    """One line for all meshes that change in the same way."""
    groups: dict[tuple[str, str, str], list[Key]] = {}
    for key, aspect, before, after in found:
        groups.setdefault((aspect, before, after), []).append(key)
    return [
        Change(f"{_names(keys)} {aspect}".rstrip(), before, after)
        for (aspect, before, after), keys in groups.items()
    ]


def _names(keys: list[Key]) -> str:
    if len(keys) == 1:
        return f"mesh {_title(keys[0])}"
    ids = [key[0] for key in keys if len(key) == 1]
    if len(ids) == len(keys) and ids == list(range(ids[0], ids[0] + len(ids))):
        return f"meshes {ids[0]} to {ids[-1]}"
    shown = ", ".join(map(_title, keys[:8]))
    return f"meshes {shown}" + (f" and {len(keys) - 8} more" if len(keys) > 8 else "")


# --- links and pins -----------------------------------------------------------------------------------------------------


def _links(graph: MeshGraph) -> dict[Hashable, tuple[str, str]]:
    """What to call each link and its terms, by its ends; several between the same ends have their terms together."""
    by_end: dict[tuple[str, ...], list[str]] = {}
    for each in graph.connections:
        ends = tuple(sorted((_end(node) for node in each.nodes), key=_natural))
        by_end.setdefault(ends, []).append(_terms(each))
    found: dict[Hashable, tuple[str, str]] = {}
    for ends, terms in by_end.items():
        once = list(dict.fromkeys(terms)) if not any(":" in end for end in ends) else sorted(terms)
        found[ends] = (f"link {' - '.join(ends)}", "; ".join(once))
    return found


def _end(node: ConnectionEnd) -> str:
    path = _title(tuple(number for _, number in node.path[1:]) or (node.path[-1][1],))
    return ("graph " if node.is_graph else "") + path + ("" if node.device is None else f":D{node.device}")


def _natural(text: str) -> tuple[int, str]:
    return len(text), text


def _terms(each: InterConnection) -> str:
    owner = "" if each.graph_type == "FABRIC" else f", {each.graph_type} only"
    return f"{each.channels} {each.policy}" + (", Z ports" if each.z_direction else "") + owner


def _pins(graph: MeshGraph) -> dict[Hashable, tuple[str, str]]:
    counts = Counter(map(_pin, graph.pins))
    return {
        text: (f"pin {text[0]}", text[1] + (f" x{count}" if count > 1 else ""))
        for text, count in counts.items()
    }


def _pin(group: PinGroup) -> tuple[str, str]:
    slots = ", ".join(f"tray {tray} location {location}" for tray, location in group.slots[:8])
    more = f" and {len(group.slots) - 8} more" if len(group.slots) > 8 else ""
    revision = f" ({group.board_revision})" if group.board_revision else ""
    return f"mesh {group.mesh_id} devices {', '.join(map(str, group.devices))}", f"{slots}{more}{revision}"


def _keyed(old: Mapping[Hashable, tuple[str, str]], new: Mapping[Hashable, tuple[str, str]]) -> list[Change]:
    found = []
    for key in dict.fromkeys([*old, *new]):
        title = (old.get(key) or new[key])[0]
        before, after = old.get(key, ("", ""))[1], new.get(key, ("", ""))[1]
        if before != after:
            found.append(Change(title, before, after))
    return found
