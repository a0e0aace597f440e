"""Values with gradients: tensors, the graph that leads back from a loss, the context of a training program, and its ranks."""
