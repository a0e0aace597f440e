"""`ttml.models.deepseek.moe_sparse_tp`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.decoders.expert_parallel": "SparseMoETP"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
