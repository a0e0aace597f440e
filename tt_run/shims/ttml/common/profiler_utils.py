"""`ttml.common.profiler_utils`: names only; markers in the timeline."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.markers": "profiler_marker profiler_marker_start profiler_marker_end",
}
__getattr__, __dir__ = _publish(globals(), _TABLE)
