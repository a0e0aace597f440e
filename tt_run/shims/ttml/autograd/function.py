"""`ttml.autograd.function`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.autograd.function": "Function FunctionContext",
    "tt_run.runtime.train.autograd.tensor": "get_links",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
