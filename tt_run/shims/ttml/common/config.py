"""`ttml.common.config`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.common.config": "load_config get_tt_metal_home TrainingConfig DeviceConfig MultiHostConfig SchedulerConfig EvalConfig TransformerConfig",
    "tt_run.runtime.train.common.keys": "ConfigError",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
