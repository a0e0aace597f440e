"""`ttnn._ttnn.bfp_utils`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tensor.borders.block_words": "pack_bfp2 pack_bfp4 pack_bfp8 unpack_bfp2 unpack_bfp4 unpack_bfp8",
    "tt_run.runtime.tensor.questions": "compute_shard_page_mapping",
    "tt_run.runtime.mesh.device_queries": "get_dram_alignment=dram_alignment get_l1_alignment=l1_alignment",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
