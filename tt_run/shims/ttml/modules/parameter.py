"""`ttml.modules.parameter`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.modules.parameter": "Parameter Buffer TensorMetadata LAZY_PARAMETER_ACCESS_MSG replace_lazy_mapper",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
