"""`ttml.models.wan2_2.conditioning`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.wan.latents": "timestep_features",
    "tt_run.runtime.train.models.wan.transformer": "WanConditioning _ProjectionMLP=ProjectionMLP",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
