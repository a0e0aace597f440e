"""What the references of a descriptor mean: templates by name, children of a graph by id, nodes of a connection.

Source: reference library 0.81.1. Everything here is per template, so that a graph that is instantiated a
thousand times is looked at once.
"""

from __future__ import annotations

from itertools import islice

from mgd.descriptor import (
    Descriptor,
    GraphDescriptor,
    GraphRef,
    MeshDescriptor,
    MeshRef,
    NodeRef,
    SwitchDescriptor,
    SwitchRef,
)
from mgd.lean import dataclass
from mgd.text.problems import quoted

BEYOND = 1 << 62

Template = MeshDescriptor | SwitchDescriptor | GraphDescriptor
Reference = MeshRef | SwitchRef | GraphRef


def reference_of(node: NodeRef) -> Reference | None:
    """The member of the oneof that is set."""
    return node.mesh or node.graph or node.switch


def kind_and_name(reference: Reference) -> tuple[str, str]:
    """The kind ("mesh", "switch", "graph") and the descriptor name of a reference."""
    if isinstance(reference, MeshRef):
        return "mesh", reference.mesh_descriptor
    if isinstance(reference, SwitchRef):
        return "switch", reference.switch_descriptor
    return "graph", reference.graph_descriptor


def local_id(reference: Reference) -> int:
    """The id that a reference writes."""
    if isinstance(reference, MeshRef):
        return reference.mesh_id
    return reference.switch_id if isinstance(reference, SwitchRef) else reference.graph_id


def dims_of(template: MeshDescriptor | SwitchDescriptor) -> tuple[int, ...]:
    """The device extents, () when none are written."""
    return template.device_topology.dims if template.device_topology else ()


def device_count(template: MeshDescriptor | SwitchDescriptor) -> int:
    """The number of devices of one instance; of a number beyond all limits only that it is."""
    count = 1
    for extent in dims_of(template):
        count = min(count * extent, BEYOND)
    return count


@dataclass(frozen=True, slots=True)
class Child:
    """One entry of a graph's `instances`; `devices` counts those of a mesh or switch, a graph has 0."""

    local_id: int
    name: str
    kind: str
    template: Template
    node: NodeRef
    devices: int

    @property
    def label(self) -> str:
        """The type that connections compare: MESH also for switches, since the two mix freely (rule MGD036)."""
        return self.template.type if isinstance(self.template, GraphDescriptor) else "MESH"


@dataclass(frozen=True, slots=True)
class Target:
    """What a node of a connection is: the children passed through from the declaring graph, and perhaps a device."""

    steps: tuple[Child, ...]
    device: int | None = None

    @property
    def child(self) -> Child:
        return self.steps[-1]

    @property
    def label(self) -> str:
        return "DEVICE" if self.device is not None else self.child.label


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why a node of a connection means nothing: the culprit is field `name` of `reference`."""

    reference: Reference | NodeRef
    name: str
    message: str
    help: str


class Templates:
    """The templates of a descriptor by kind and name; of two with one name the first counts."""

    def __init__(self, descriptor: Descriptor) -> None:
        self.by_kind: dict[str, dict[str, Template]] = {"mesh": {}, "switch": {}, "graph": {}}
        for kind, templates in (
            ("mesh", descriptor.mesh_descriptors),
            ("switch", descriptor.switch_descriptors),
            ("graph", descriptor.graph_descriptors),
        ):
            for template in templates:
                self.by_kind[kind].setdefault(template.name, template)
        self._children: dict[int, dict[int, Child]] = {}

    def template(self, node: NodeRef) -> Template | None:
        """The template that a reference names, None when there is none."""
        reference = reference_of(node)
        if reference is None:
            return None
        kind, name = kind_and_name(reference)
        return self.by_kind[kind].get(name)

    def children(self, graph: GraphDescriptor) -> dict[int, Child]:
        """The children of a graph by local id, in written order; of two with one id the first counts."""
        known = self._children.get(id(graph))
        if known is None:
            known = self._children[id(graph)] = {}
            for node in graph.instances:
                reference, template = reference_of(node), self.template(node)
                if reference is not None and template is not None:
                    kind, name = kind_and_name(reference)
                    number = local_id(reference)
                    if number not in known:
                        devices = 0 if isinstance(template, GraphDescriptor) else device_count(template)
                        known[number] = Child(number, name, kind, template, node, devices)
        return known

    def resolve(self, graph: GraphDescriptor, node: NodeRef) -> Target | Unresolved:
        """What a connection's node means in the graph that declares the connection.

        Rules and expansion both ask, and keep nothing: what is remembered of each node takes more than to look again.
        """
        mesh = node.mesh
        if mesh:  # by far the most frequent; all others, and whatever is wrong, below
            child, device = self.children(graph).get(mesh.mesh_id), mesh.device_id
            named = child is not None and child.name == mesh.mesh_descriptor and child.kind != "graph"
            if child is not None and named and (device is None or 0 <= device < child.devices):
                return Target((child,), device)
        return self._resolve(graph, node)

    def _resolve(self, graph: GraphDescriptor, node: NodeRef) -> Target | Unresolved:
        steps: list[Child] = []
        while True:
            reference = reference_of(node)
            if reference is None:
                return Unresolved(
                    node, "", "a node names nothing", "write mesh { … }, switch { … } or graph { … }"
                )
            kind, name = kind_and_name(reference)
            child = self.children(graph).get(local_id(reference))
            if child is None or child.name != name or (child.kind == "graph") != (kind == "graph"):
                return _no_such_child(reference, kind, name, child, self.children(graph))
            steps.append(child)
            if isinstance(reference, GraphRef):
                if reference.sub_ref is None:
                    return Target(tuple(steps))
                assert isinstance(child.template, GraphDescriptor)
                graph, node = child.template, reference.sub_ref
                continue
            assert not isinstance(child.template, GraphDescriptor)
            device = reference.device_id
            if device is not None and not 0 <= device < child.devices:
                return _no_such_device(reference, child.template)
            return Target(tuple(steps), device)


def _no_such_device(
    reference: MeshRef | SwitchRef, template: MeshDescriptor | SwitchDescriptor
) -> Unresolved:
    count = device_count(template)
    shape = "x".join(map(str, dims_of(template)))
    return Unresolved(
        reference, "device_id", f"device {reference.device_id} is not in {quoted(template.name)}, a {shape} grid",
        f"write a device_id from 0 to {count - 1}",
    )  # fmt: skip


def _no_such_child(
    reference: Reference, kind: str, name: str, child: Child | None, known: dict[int, Child]
) -> Unresolved:
    """Explain a reference to a child that the graph does not have, or has under another name."""
    number = local_id(reference)
    if child is None:
        same = list(islice((each.local_id for each in known.values() if each.name == name), 8))
        ids = ", ".join(map(str, same or islice(known, 8)))
        whose = (
            f"{quoted(name)} has {kind}_id {ids} here"
            if same
            else f"the ids of this graph are {ids or 'none'}"
        )
        return Unresolved(reference, f"{kind}_id", f"this graph has no {kind} with id {number}", whose)
    if child.name != name:
        message = f"{kind}_id {number} is {quoted(child.name)} here, not {quoted(name)}"
        return Unresolved(
            reference, f"{kind}_descriptor", message, f"write {quoted(child.name)} or another {kind}_id"
        )
    message = f"{quoted(name)} with id {number} is a {child.kind} here, not a {kind}"
    return Unresolved(reference, "", message, f"write {child.kind} {{ … }}")
