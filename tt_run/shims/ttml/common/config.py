"""`ttml.common.config`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.common.config": """
        TransformerConfig load_config get_config get_training_config get_device_config get_model_config get_multihost_config yaml_deep_update
        TrainingConfig DeviceConfig MultiHostConfig PipelineParallelHostConfig SchedulerConfig SpeedrunSchedulerConfig=SchedulerConfig EvalConfig
    """,
    "tt_run.runtime.train.common.files": "get_tt_metal_home get_tt_metal_runtime_root",
    "tt_run.runtime.train.settings": "ConfigError",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
