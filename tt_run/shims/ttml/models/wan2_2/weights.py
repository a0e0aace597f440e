"""`ttml.models.wan2_2.weights`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.wan.weights": "load_expert_from_safetensors to_ttml_array to_ttml_name",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
