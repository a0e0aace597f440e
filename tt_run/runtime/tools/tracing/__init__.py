"""`ttnn.torch_tracer` and `ttnn.tracer`: the calls of PyTorch, and of operations beside them, as a graph of networkx."""
