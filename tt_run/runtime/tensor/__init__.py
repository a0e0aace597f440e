"""Mesh tensors. Start at `tensor.Tensor`, which says what a tensor is like (`spec`) and where its numbers are (`tt_run.runtime.values`).

`creation` makes tensors, `borders` takes them from and to other libraries and files, `distribution` cuts arrays over a mesh and joins them
again, `conversion` changes place, layout and shape. Operations live above, in `tt_run.runtime.ops` and `tt_run.runtime.ccl`; they read
`tensor.shards` and answer with `tensor.derive(...)`.
"""
