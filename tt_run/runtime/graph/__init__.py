"""`ttnn.graph`: operations, tensors and buffers of a stretch of program as nodes and edges. Source: reference library 0.81.1.

What happens inside of a device operation (kernels, circular buffers, native functions below the operation) is not emulated and not shown.
"""
