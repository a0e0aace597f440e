"""Mesh tensors: element types, layouts, storage, distribution over a mesh, borders to NumPy and torch.

Start at `tensor.Tensor`. A rank stores each distinct shard of its devices once (`shards`), in a buffer (`storage`) that tensors may share.
`mappers` cut host arrays, `composers` put shards together again, `borders` convert from and to other libraries. Operations live above,
in `tt_run.runtime.ops` and `tt_run.runtime.ccl`; they read `tensor.shards` and answer with `tensor.derive(...)`.
"""
