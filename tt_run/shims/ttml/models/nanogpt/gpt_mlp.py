"""`ttml.models.nanogpt.gpt_mlp`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.transformer": "GPTMLP"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
