"""`ttnn._ttnn.bfp_utils`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.mesh.queries": "get_dram_alignment=dram_alignment get_l1_alignment=l1_alignment",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
