"""`ttml.models.wan2_2.rope`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.wan.latents": "axis_split build_tables build_rope_params",
    "tt_run.runtime.train.ops.rope": "apply=rope",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
