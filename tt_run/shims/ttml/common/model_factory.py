"""`ttml.common.model_factory`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.common.factory": "TransformerModelFactory adjust_vocab_size map_runner_type"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
