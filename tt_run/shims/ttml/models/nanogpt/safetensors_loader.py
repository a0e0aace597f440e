"""`ttml.models.nanogpt.safetensors_loader`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.loading": "load_gpt2_from_safetensors=load_gpt2"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
