"""`ttnn.ccl`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.enums": "Topology",
    "tt_run.runtime.ccl.collectives": "all_gather reduce_scatter all_reduce all_broadcast",
    "tt_run.runtime.ccl.single_shards": "broadcast point_to_point mesh_partition",
    "tt_run.runtime.ccl.experts": "all_to_all_dispatch all_to_all_combine",
    "tt_run.runtime.ccl.reduce_to_root": "reduce_to_root",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
