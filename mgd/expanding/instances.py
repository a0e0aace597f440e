"""From templates to instances: every mesh, graph and connection that a descriptor stands for.

Source: reference library 0.81.1. Works on descriptors that `mgd.check` accepts; the walk keeps its own stack, so nesting
costs no recursion.
"""

from __future__ import annotations

from collections.abc import Iterator

from mgd.descriptor import (
    Architecture,
    Connection,
    Descriptor,
    ExpressLink,
    GraphDescriptor,
    GraphTopologyType,
    MeshDescriptor,
    NodeRef,
    SwitchDescriptor,
    TorusTopologyType,
)
from mgd.expanding.connections import ConnectionEnd, InterConnection, Path
from mgd.expanding.express import express_links
from mgd.expanding.links import mesh_links, policy_between
from mgd.expanding.pins import pin_groups
from mgd.expanding.resolution import Child, Target, Templates, dims_of, kind_and_name, local_id, reference_of
from mgd.graph import GraphInstance, Mesh, MeshGraph
from mgd.lean import replace
from mgd.names import policy_name, type_name


def expand_checked(descriptor: Descriptor, templates: Templates | None = None) -> MeshGraph:
    """The mesh graph of a descriptor that is known to have no errors: instances by path, links, pins.

    `templates` are those of the descriptor where they are at hand, with what they have resolved already.
    """
    walk = _Walk(descriptor, templates or Templates(descriptor))
    walk.run()
    connections = tuple(walk.connections)
    top_type = _top_topology_policy(descriptor, walk.templates)
    policy, specified = policy_between(connections, top_type)
    return MeshGraph(
        meshes=tuple(walk.meshes),
        links=mesh_links(connections),
        pins=pin_groups(descriptor, walk.meshes),
        file=descriptor.file,
        arch=type_name(Architecture, descriptor.arch),
        top=walk.graphs[-1] if walk.graphs else walk.meshes[0],
        graphs=tuple(walk.graphs),
        connections=connections,
        inter_policy=policy,
        inter_policy_specified=specified,
        first_format=descriptor.first_format,
    )


def _top_topology_policy(descriptor: Descriptor, templates: Templates) -> str | None:
    top = templates.template(descriptor.top_level_instance) if descriptor.top_level_instance else None
    if not isinstance(top, GraphDescriptor) or top.graph_topology is None:
        return None
    return policy_name(top.graph_topology.channels, "STRICT")


class _Walk:
    """Depth first in written order; a graph is finished when its children are."""

    def __init__(self, descriptor: Descriptor, templates: Templates) -> None:
        self.descriptor, self.templates = descriptor, templates
        self.meshes: list[Mesh] = []
        self.graphs: list[GraphInstance] = []
        self.connections: list[InterConnection] = []
        self._shared: dict[int, Mesh] = {}
        self._paths: dict[tuple[Path, int], Path] = {}

    def run(self) -> None:
        top = self.descriptor.top_level_instance
        assert top is not None
        pending: list[tuple[NodeRef, Path, bool]] = [(top, (), False)]
        while pending:
            node, path, entered = pending.pop()
            reference, template = reference_of(node), self.templates.template(node)
            assert reference is not None and template is not None
            if not isinstance(template, GraphDescriptor):
                self._mesh(node, template, local_id(reference), path)
            elif entered:
                self._graph(node, template, path)
            else:
                pending.append((node, path, True))
                own = (*path, (kind_and_name(reference)[1], local_id(reference)))
                pending += [(child, own, False) for child in reversed(template.instances)]

    def _mesh(
        self, node: NodeRef, template: MeshDescriptor | SwitchDescriptor, mesh_id: int, path: Path
    ) -> None:
        shared = self._shared.get(id(template))
        if shared is None:
            shared = self._shared[id(template)] = _template_mesh(self.descriptor, template)
        reference = reference_of(node)
        self.meshes.append(
            Mesh(
                mesh_id, shared.descriptor, shared.arch, shared.dims, shared.host_dims, shared.dim_types, shared.channels,
                shared.policy, path, shared.is_switch, shared.express, shared.express_connections,
                self.descriptor.where(reference), shared.host_position,
            )
        )  # fmt: skip

    def _graph(self, node: NodeRef, template: GraphDescriptor, path: Path) -> None:
        reference = reference_of(node)
        assert reference is not None
        instance = GraphInstance(
            local_id(reference),
            template.name,
            template.type,
            path,
            len(template.instances),
            self.descriptor.where(reference),
        )
        self.graphs.append(instance)
        for connection in template.connections:
            self.connections.append(self._explicit(connection, template, instance))
        self.connections.extend(self._shorthand(template, instance))

    def _explicit(
        self, connection: Connection, template: GraphDescriptor, owner: GraphInstance
    ) -> InterConnection:
        nodes, own = [], owner.own_path
        for each in connection.nodes:
            target = self.templates.resolve(template, each)
            assert isinstance(target, Target)
            nodes.append(self._node(own, target.steps, target.device))
        return InterConnection(
            tuple(nodes),
            connection.channels.count if connection.channels else 0,
            policy_name(connection.channels, "STRICT"),
            bool(connection.assign_z_direction),
            own,
            template.type,
            self.descriptor.where(connection),
        )

    def _shorthand(self, template: GraphDescriptor, owner: GraphInstance) -> Iterator[InterConnection]:
        """The pairs of ALL_TO_ALL or RING, in declared order. A ring of two names its pair twice, as upstream counts it."""
        topology = template.graph_topology
        if topology is None:
            return
        own = owner.own_path
        children = [self._node(own, (child,), None) for child in self.templates.children(template).values()]
        count = len(children)
        if topology.layout_type == GraphTopologyType.RING:
            pairs = [(i, (i + 1) % count) for i in range(count)]
        else:
            pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
        channels = topology.channels.count if topology.channels else 0
        policy, position = policy_name(topology.channels, "STRICT"), self.descriptor.where(topology)
        z = bool(topology.assign_z_direction)
        for i, j in pairs:
            yield InterConnection(
                (children[i], children[j]), channels, policy, z, own, template.type, position
            )

    def _node(self, own: Path, steps: tuple[Child, ...], device: int | None) -> ConnectionEnd:
        """A node below the graph at `own`; nodes of one child share its path."""
        path = own
        for step in steps:
            key = (path, step.local_id)
            known = self._paths.get(key)
            if known is None:
                known = self._paths[key] = (*path, (step.name, step.local_id))
            path = known
        return ConnectionEnd(path, device, steps[-1].kind == "graph")


def _template_mesh(descriptor: Descriptor, template: MeshDescriptor | SwitchDescriptor) -> Mesh:
    """A mesh with everything but its id and place."""
    rows, columns = dims_of(template)
    assert template.device_topology is not None
    types = [type_name(TorusTopologyType, each) for each in template.device_topology.dim_types]
    types += ["LINE"] * (2 - len(types))
    is_switch = isinstance(template, SwitchDescriptor)
    host_dims, host_position = (1, 1), None
    entries: tuple[ExpressLink, ...] = ()
    if isinstance(template, MeshDescriptor) and template.host_topology is not None:
        host_dims = (template.host_topology.dims[0], template.host_topology.dims[1])
        host_position, entries = descriptor.where(template.host_topology), template.express_links
    mesh = Mesh(
        mesh_id=-1,
        descriptor=template.name,
        arch=type_name(Architecture, template.arch),
        dims=(rows, columns),
        host_dims=host_dims,
        dim_types=(types[0], types[1]),
        channels=template.channels.count if template.channels else 0,
        policy=policy_name(template.channels, "STRICT" if is_switch else "RELAXED"),
        is_switch=is_switch,
        express_connections=tuple((each.src, each.dst) for each in template.express_connections),
        host_position=host_position,
    )
    if not entries:
        return mesh
    return replace(mesh, express=express_links(mesh.dims, (mesh.wraps(0), mesh.wraps(1)), entries))
