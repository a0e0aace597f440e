"""`ttml.models.mlp`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.mlp": "MultiLayerPerceptron MultiLayerPerceptronParameters create_mlp_model"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
