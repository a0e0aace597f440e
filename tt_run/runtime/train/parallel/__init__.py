"""How models lie over a mesh: data, tensor and fully sharded parallelism, layouts, and whole parameters out of parts."""
