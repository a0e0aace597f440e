"""`ttml.schedulers`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.optimizers.schedulers": "SchedulerBase LRSchedulerBase=SchedulerBase",
    "tt_run.runtime.train.optimizers.begun_schedulers": """
        LambdaScheduler StepScheduler LinearScheduler CosineAnnealingScheduler SequentialScheduler
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
