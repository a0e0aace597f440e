"""Pictures of a mesh graph: for a terminal and as SVG. Both are deterministic: the same graph gives the same bytes."""
