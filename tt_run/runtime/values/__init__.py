"""The numbers that a rank holds: element types and their rounding, the distinct shards of its devices, the cells they lie in.

Arrays only: nothing here knows of tensors, meshes or operations. `shards` is how a tensor keeps numbers today (dense NumPy stacks).
"""
