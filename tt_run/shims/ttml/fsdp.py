"""`ttml.fsdp`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.fsdp": "fully_shard FSDPState is_fsdp_managed fsdp_axis_of",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
