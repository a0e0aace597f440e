"""Collectives over the devices of a mesh, in one process and across ranks, with the bits of one rank for any split.

A collective is a `record`; `plans` says of one call who takes part and what the result will be, `calls` runs it: agree, move, announce.
`exchange/` moves the shards and sums them. What programs call is in `collectives`, `asynchronous`, `single_shards`, `all_to_all`, `experts`,
`halos`, `reduce_to_root`, in the further forms of `gather_forms` and `scatter_forms`, and in `fused/`; what is refused is in `checks`.
"""
