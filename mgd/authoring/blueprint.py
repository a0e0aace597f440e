"""What a descriptor should say, as values, and the text that says it.

Everything the project writes (`mgd new`, splits, replicas, the shipped systems) goes through `Blueprint.text`, so
all of it reads alike and is already in the form that `mgd fmt` keeps.
"""

from __future__ import annotations

from collections.abc import Iterator

from mgd.lean import dataclass

Dims = tuple[int, int]


def quoted(text: str) -> str:
    """A string literal of the text format for any string."""
    escaped = "".join(
        character if character.isprintable() and character not in '"\\' else _escape(character)
        for character in text
    )
    return f'"{escaped}"'


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class MeshTemplate:
    """One `mesh_descriptors` entry. `dims` and `host_dims` are [rows, columns]; `dim_types` LINE or RING for each."""

    name: str
    arch: str
    dims: Dims
    host_dims: Dims = (1, 1)
    dim_types: tuple[str, str] = ("LINE", "LINE")
    channels: int = 1
    policy: str = "RELAXED"
    is_switch: bool = False

    def lines(self) -> Iterator[str]:
        rows, columns = self.dims
        wraps = f" dim_types: [{', '.join(self.dim_types)}]" if "RING" in self.dim_types else ""
        yield "switch_descriptors {" if self.is_switch else "mesh_descriptors {"
        yield f"  name: {quoted(self.name)}"
        yield f"  arch: {self.arch}"
        yield f"  device_topology {{ dims: [{rows}, {columns}]{wraps} }}"
        if not self.is_switch:
            yield f"  host_topology {{ dims: [{self.host_dims[0]}, {self.host_dims[1]}] }}"
        yield f"  channels {{ count: {self.channels} policy: {self.policy} }}"
        yield "}"


@dataclass(frozen=True, slots=True)
class Connection:
    """A link between two mesh ids, at mesh level or, with both device ids, between two devices."""

    a: int
    b: int
    channels: int
    policy: str = "RELAXED"
    z_direction: bool = False
    a_device: int | None = None
    b_device: int | None = None


@dataclass(frozen=True, slots=True)
class GraphLinks:
    """The shorthand: all instances linked ALL_TO_ALL or in a RING, with the same channels."""

    layout: str
    channels: int
    policy: str = "RELAXED"


@dataclass(frozen=True, slots=True)
class Pin:
    """One literal pinning entry: devices of a mesh, and the (tray, asic_location) slots they may sit on."""

    mesh_id: int
    devices: tuple[int, ...]
    slots: tuple[tuple[int, int], ...]
    board_revision: str = ""

    def lines(self) -> Iterator[str]:
        yield "pinnings {"
        for device in self.devices:
            yield f"  logical_fabric_node_id {{ mesh_id: {self.mesh_id} chip_id: {device} }}"
        for tray, location in self.slots:
            yield f"  physical_asic_position {{ tray_id: {tray} asic_location: {location} }}"
        if self.board_revision:
            yield f"  board_revision: {self.board_revision}"
        yield "}"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A flat system: templates, the template of each mesh id in order, and what links the meshes.

    One mesh without links becomes a top-level mesh, anything else a graph of type FABRIC.
    """

    title: str
    templates: tuple[MeshTemplate, ...]
    meshes: tuple[str, ...]  # meshes[i] is the name of the template that mesh_id i instantiates
    connections: tuple[Connection, ...] = ()
    links: GraphLinks | None = None
    pins: tuple[Pin, ...] = ()

    @property
    def is_single(self) -> bool:
        return len(self.meshes) == 1 and not self.connections and self.links is None

    def text(self) -> str:
        """The descriptor as MGD 2.0 text: a comment line, then templates, pins, graph and the top-level instance."""
        blocks = [[f"# {line}".rstrip() for line in self.title.splitlines()]]
        blocks.extend(list(template.lines()) for template in self.templates)
        blocks.extend(list(pin.lines()) for pin in self.pins)
        if self.is_single:
            blocks.append([f"top_level_instance {{ {self._reference(0)} }}"])
        else:
            blocks.append(list(self._graph()))
            blocks.append(['top_level_instance { graph { graph_descriptor: "fabric" graph_id: 0 } }'])
        return "\n\n".join("\n".join(block) for block in blocks) + "\n"

    def _graph(self) -> Iterator[str]:
        yield "graph_descriptors {"
        yield '  name: "fabric"'
        yield '  type: "FABRIC"'
        for mesh_id in range(len(self.meshes)):
            yield f"  instances {{ {self._reference(mesh_id)} }}"
        if self.links:
            yield "  graph_topology {"
            yield f"    layout_type: {self.links.layout}"
            yield f"    channels {{ count: {self.links.channels} policy: {self.links.policy} }}"
            yield "  }"
        for link in self.connections:
            yield "  connections {"
            yield f"    nodes {{ {self._reference(link.a, link.a_device)} }}"
            yield f"    nodes {{ {self._reference(link.b, link.b_device)} }}"
            yield f"    channels {{ count: {link.channels} policy: {link.policy} }}"
            if link.z_direction:
                yield "    assign_z_direction: true"
            yield "  }"
        yield "}"

    def _reference(self, mesh_id: int, device: int | None = None) -> str:
        name = self.meshes[mesh_id]
        kind = "switch" if any(t.is_switch for t in self.templates if t.name == name) else "mesh"
        suffix = "" if device is None else f" device_id: {device}"
        return f"{kind} {{ {kind}_descriptor: {quoted(name)} {kind}_id: {mesh_id}{suffix} }}"
