"""Field names of older schemas that are still met in files (reference library 0.81.1)."""

from __future__ import annotations

RENAMED = {
    ("TorusTopology", "types"): "dim_types",
    ("MeshDescriptor", "id"): "name",
    ("SwitchDescriptor", "id"): "name",
    ("GraphDescriptor", "id"): "name",
    ("MeshRef", "id"): "mesh_id",
    ("SwitchRef", "id"): "switch_id",
    ("GraphRef", "id"): "graph_id",
}
"""Old name of a message's field -> the name it has now, same type: a rename repairs it."""

MOVED = {
    ("GraphDescriptor", "channels"): "write it inside graph_topology { … }",
    ("GraphRef", "mesh"): "write sub_ref { mesh { … } }",
    ("GraphRef", "graph"): "write sub_ref { graph { … } }",
    ("GraphRef", "switch"): "write sub_ref { switch { … } }",
}
"""Old field -> what to write instead where a rename is not enough."""


def renamed(message: str, name: str) -> str:
    """What to write for a field of an older schema, "" for a name that never was one."""
    if new := RENAMED.get((message, name)):
        return f"write {new}"
    return MOVED.get((message, name), "")
