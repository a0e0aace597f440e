"""What only the runtime refuses: errors with `--profile runtime`, warnings otherwise; and the limits of expansion."""

from __future__ import annotations

from mgd.catalogue import Rule

RULES = (
    Rule(
        "MGD050", "runtime two dimensions",
        "For the runtime every mesh has two device dims and two host dims, used or not.",
        "It opens the file only when all of it can be run.",
        "device_topology { dims: [ 2, 2, 2 ] }  # never instantiated",
        "device_topology { dims: [ 2, 4 ] }",
        profile="runtime", source="the reference's runtime",
    ),
    Rule(
        "MGD051", "runtime express connections",
        "The runtime takes no express_connections.",
        "They exist at descriptor level only; express_links are what the mesh graph carries.",
        "express_connections { src: 0 dst: 4 }",
        "express_links { dim_idx: 0 pattern { start: 0 step: 4 } }",
        profile="runtime", source="the reference's runtime",
    ),
    Rule(
        "MGD052", "runtime several graphs",
        "The runtime takes at most one graph descriptor.",
        "Nested graphs are part of the format and not of what runs.",
        'graph_descriptors { name: "G0" … }\ngraph_descriptors { name: "G1" … }',
        'graph_descriptors { name: "G0" … }',
        profile="runtime", source="the reference's runtime",
    ),
    Rule(
        "MGD053", "runtime graph not fabric",
        "For the runtime a graph's type is exactly FABRIC.",
        "Links of graphs of other types stay invisible to the mesh graph.",
        'graph_descriptors { name: "G0" type: "POD" … }',
        'graph_descriptors { name: "G0" type: "FABRIC" … }',
        profile="runtime", source="the reference's runtime",
    ),
    Rule(
        "MGD054", "runtime many ended connection",
        "For the runtime a connection has exactly two nodes.",
        "The mesh graph keeps links per pair of meshes.",
        "connections { nodes { … } nodes { … } nodes { … } }",
        "connections { nodes { … } nodes { … } }\nconnections { nodes { … } nodes { … } }",
        profile="runtime", source="the reference's runtime",
    ),
    Rule(
        "MGD055", "runtime mixed policies",
        "For the runtime all connections of a graph are STRICT, or all RELAXED.",
        "There is one policy between meshes; a connection without one is STRICT.",
        "connections { … channels { count: 2 policy: RELAXED } }\nconnections { … channels { count: 2 } }",
        "connections { … channels { count: 2 policy: RELAXED } }\nconnections { … channels { count: 2 policy: RELAXED } }",
        profile="runtime", source="the reference's runtime",
    ),
    Rule(
        "MGD056", "runtime file suffix",
        "The runtime opens only files whose name ends in .textproto.",
        "Others are refused by name, MGD 1.0 YAML with a pointer to conversion.",
        "t3k.yaml",
        "t3k.textproto",
        profile="runtime", source="the reference's runtime",
    ),
    Rule(
        "MGD090", "expansion too large",
        "What a descriptor stands for has a size that can be held: 1,048,576 devices, 65,536 instances, 1,048,576 directed connections, 64 levels of graphs.",
        "Huge extents, counts or nestings exhaust the memory of the reference. The largest real system has some thousand devices.",
        "device_topology { dims: [ 1000000000, 4 ] }",
        "device_topology { dims: [ 32, 4 ] }",
        source="known traps of the reference",
    ),
)  # fmt: skip
