"""Collectives over the devices of a mesh, in one process and across ranks, with the bits of one rank for any split.

`groups` cuts a mesh into exchanges between ranks, `rows` learns which distinct shards there are, `wire` moves them; `gather` and
`reduce` are the algorithms on stacks of shards; `lanes` joins them with mesh, guard and events. What programs call is in
`collectives`, `transfers`, `experts` and `asynchronous`, what it refuses in `checks` and `fabric`.
"""
