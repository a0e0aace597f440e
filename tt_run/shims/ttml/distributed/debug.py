"""`ttml.distributed.debug`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.trace": "TraceEntry DispatchTrace DispatchTracer DispatchTraceCallback dispatch_trace",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
