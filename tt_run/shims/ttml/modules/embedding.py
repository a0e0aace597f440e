"""`ttml.modules.embedding`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.modules.layers": "Embedding",
    "tt_run.runtime.train.modules.linear": "VocabParallelEmbedding FeatureParallelEmbedding",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
