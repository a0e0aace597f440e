"""`ttnn._ttnn.operations.ccl`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.enums": "Topology",
    "ttnn": """
        all_broadcast all_gather all_reduce all_to_all_combine all_to_all_dispatch broadcast get_num_links
        get_usable_topology mesh_partition reduce_scatter reduce_to_root
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
