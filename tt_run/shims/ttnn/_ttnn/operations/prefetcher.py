"""`ttnn._ttnn.operations.prefetcher`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "dram_prefetcher",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
