"""`ttnn._ttnn.cluster`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.mesh.hardware": "ClusterType get_cluster_type",
    "tt_run.runtime.mesh.cluster_file": "serialize_cluster_descriptor",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
