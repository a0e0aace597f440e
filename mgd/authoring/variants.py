"""Descriptors made from another one by editing its text: cut over more hosts, or copied into several linked meshes.

Comments, pins and everything else that is not concerned stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from mgd.authoring.blueprint import quoted
from mgd.authoring.layout import formatted
from mgd.descriptor import Descriptor, MeshDescriptor, TorusTopologyType
from mgd.diagnostics import Diagnostic, Label
from mgd.errors import MgdError
from mgd.reading import loads
from mgd.text.tree import Block, read_tree, replaced

Edit = tuple[int, int, str]
UNEVEN_SPLIT = "MGD012"


class CannotVary(MgdError):
    """The descriptor has no such cut or copy; the diagnostics say which mesh is in the way and what would fit."""


def split(text: str, hosts: tuple[int, int], *, file: str = "") -> str:
    """The descriptor with every mesh cut over [rows, columns] of hosts, whatever it was cut over before.

    Raises ParseError for a text that is none, CannotVary naming every mesh whose shape does not divide.
    """
    descriptor = loads(text, file=file)
    if min(hosts) < 1:
        raise CannotVary(f"a mesh cannot be cut over {hosts[0]}x{hosts[1]} hosts: both numbers count from 1")
    problems = [
        _misfit(descriptor, mesh, hosts) for mesh in descriptor.mesh_descriptors if not _fits(mesh, hosts)
    ]
    if problems:
        raise CannotVary(problems)
    fields = _blocks(read_tree(text).root, "mesh_descriptors")
    edits = [_host_edit(block, hosts) for block in fields]
    return formatted(f"# Cut over {hosts[0]}x{hosts[1]} hosts.\n" + replaced(text, edits))


def replicate(text: str, count: int, *, file: str = "") -> str:
    """`count` copies of a descriptor's only mesh with mesh_ids 0, 1, …, every pair linked with as many channels.

    Pins apply to each copy. Raises ParseError, and CannotVary when there is not exactly one top-level mesh.
    """
    descriptor = loads(text, file=file)
    top = descriptor.top_level_instance
    if top is None or top.mesh is None:
        name = file or "the descriptor"
        raise CannotVary(
            f"{name} stands for a graph; only a descriptor of one mesh can be copied into several"
        )
    if count < 1:
        raise CannotVary(f"there cannot be {count} meshes")
    if count == 1:
        return text
    name = top.mesh.mesh_descriptor
    template = next((mesh for mesh in descriptor.mesh_descriptors if mesh.name == name), None)
    if template is None:
        raise CannotVary(f'the top-level instance names mesh descriptor "{name}", which does not exist')
    root = read_tree(text).root
    edits = [edit for pin in _blocks(root, "pinnings") for edit in _pin_edits(pin, count)]
    edits.extend(
        (each.start, each.end, _graph(name, count, template)) for each in root.find("top_level_instance")
    )
    return formatted(f"# {count} of the mesh below, every pair linked.\n" + replaced(text, edits))


def _fits(mesh: MeshDescriptor, hosts: tuple[int, int]) -> bool:
    dims = mesh.device_topology.dims if mesh.device_topology else ()
    return len(dims) == 2 and all(dim % host == 0 for dim, host in zip(dims, hosts, strict=True))


def _misfit(descriptor: Descriptor, mesh: MeshDescriptor, hosts: tuple[int, int]) -> Diagnostic:
    dims = mesh.device_topology.dims if mesh.device_topology else ()
    shape = "x".join(map(str, dims)) or "no shape"
    where = descriptor.where(mesh.device_topology or mesh, "dims" if dims else "")
    choices = [" or ".join(map(str, _divisors(dim))) for dim in dims]
    help_text = (
        f"rows over {choices[0]} hosts, columns over {choices[1]}"
        if len(dims) == 2
        else "give it two dimensions"
    )
    message = (
        f'mesh descriptor "{mesh.name}" of {shape} devices cannot be cut over {hosts[0]}x{hosts[1]} hosts'
    )
    return Diagnostic(UNEVEN_SPLIT, message, (Label(where, "each side must divide"),), help_text)


def _divisors(number: int, most: int = 64) -> list[int]:
    return [n for n in range(1, min(number, most) + 1) if number % n == 0]


def _blocks(block: Block, name: str) -> list[Block]:
    return [inner for each in block.find(name) for inner in each.blocks]


def _host_edit(block: Block, hosts: Sequence[int]) -> Edit:
    new = f"host_topology {{ dims: [{hosts[0]}, {hosts[1]}] }}"
    written = block.find("host_topology")
    if written:
        return (written[0].start, written[0].end, new)
    behind = block.find("device_topology")[0].end
    return (behind, behind, f"\n{new}")


def _pin_edits(pin: Block, count: int) -> list[Edit]:
    """A literal mesh 0 becomes the list of all copies; patterns are left as written."""
    edits: list[Edit] = []
    for node in _blocks(pin, "logical_fabric_node_id"):
        written = node.find("mesh_id")
        if written:
            edits.append((written[0].start, written[0].end, f'mesh_id_regex: "0-{count - 1}"'))
        elif not node.find("mesh_id_regex"):
            edits.append((node.end - 1, node.end - 1, f' mesh_id_regex: "0-{count - 1}" '))
    return edits


def _graph(name: str, count: int, template: MeshDescriptor) -> str:
    instances = "\n".join(
        f"instances {{ mesh {{ mesh_descriptor: {quoted(name)} mesh_id: {i} }} }}" for i in range(count)
    )
    channels = _link_channels(template, count)
    z_direction = "assign_z_direction: true" if _is_closed(template) else ""
    return f"""graph_descriptors {{
name: "fabric"
type: "FABRIC"
{instances}
graph_topology {{ layout_type: ALL_TO_ALL
channels {{ count: {channels} policy: RELAXED }} {z_direction} }}
}}
top_level_instance {{ graph {{ graph_descriptor: "fabric" graph_id: 0 }} }}"""


def _is_closed(template: MeshDescriptor) -> bool:
    """True for a torus in both dimensions, which has no edge: links leave it by Z ports."""
    topology = template.device_topology
    if topology is None or len(topology.dim_types) < 2:
        return False
    ring = TorusTopologyType.RING
    return all(kind == ring and dim > 2 for kind, dim in zip(topology.dim_types, topology.dims, strict=False))


def _link_channels(template: MeshDescriptor, count: int) -> int:
    """The mesh's own channel count, or fewer when its edge has not the ports for so many neighbours."""
    topology, channels = template.device_topology, template.channels
    own = max(1, channels.count if channels else 1)
    rows, columns = topology.dims if topology and len(topology.dims) == 2 else (1, 1)
    return max(1, min(own, 2 * (rows + columns) * own // (count - 1)))
