"""`ttml.common.schedulers`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.optimizers.schedulers": """
        identity warmup_linear SCHEDULES WarmupHoldDecay SpeedrunScheduler OptimParamSetter
        SchedulerBase LambdaScheduler StepScheduler LinearScheduler CosineAnnealingScheduler SequentialScheduler
    """,
    "tt_run.runtime.train.common.config": "schedule SchedulerConfig",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
