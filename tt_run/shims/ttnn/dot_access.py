"""`ttnn.dot_access`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tensor.model_parameters.containers": "DotAccessDict make_dot_access_dict",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
