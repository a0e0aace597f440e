"""`ttml.fsdp`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.fsdp": """
        fully_shard FSDPState is_fsdp_managed fsdp_axis_of
        _pick_shard_dim_from_shape=pick_shard_dim _is_tile_aligned_shard=is_tile_aligned _matching_replicate_patterns=matching_patterns
    """,
    "tt_run.runtime.train.parallel.fsdp_overlap": "enable_overlap",
    "tt_run.runtime.train.parallel.gather_slots": "SlotSchedule",
    "tt_run.runtime.train.parallel.fsdp_memory": "fsdp_units parameter_bytes unsharded_bytes blocks_to_keep_gathered unshard_for_inference",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
