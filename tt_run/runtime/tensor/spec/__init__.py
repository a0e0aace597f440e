"""What a tensor is like, without its numbers: shape, layout and tile, memory configuration, spread over the mesh, positions counted."""
