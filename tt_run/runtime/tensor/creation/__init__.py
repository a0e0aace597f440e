"""New tensors: from a shape, from numbers, and by the constructor of `Tensor`."""
