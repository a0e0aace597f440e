"""`ttml.common.performance`: names only; rates of a run, and of the device."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.common.utils": "PerformanceMeter get_available_device_memory_in_bytes get_device_peak_tflops_bf16"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
