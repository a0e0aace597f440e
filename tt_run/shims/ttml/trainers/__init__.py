"""`ttml.trainers`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.sft": "SFTTrainer",
    "tt_run.runtime.train.trainers.sft_config": "SFTConfig",
    "tt_run.runtime.train.trainers.callback": "TrainerCallback",
    "tt_run.runtime.train.trainers.grpo": "GRPOTrainer",
    "tt_run.runtime.train.trainers.grpo_config": "GRPOConfig RemoteRolloutConfig get_grpo_config",
    "tt_run.runtime.train.trainers.grpo_monitor": "GRPOMonitor",
    "tt_run.runtime.train.trainers.rollouts": "RolloutBatch RolloutSampler",
    "tt_run.runtime.train.trainers.sampler": "TTMLRolloutSampler",
    "tt_run.runtime.train.trainers.async_grpo": "FullyAsyncGRPOTrainer FullyAsyncRolloutBatch OneStepAsyncGRPOTrainer",
    "tt_run.runtime.train.trainers.completion": "GRPOCompleter ModelCompleter",
    "tt_run.runtime.train.trainers.reports": "ProgressBar LossHistory Throughput MemorySummary",
    "tt_run.runtime.train.modules.lora": "LoraConfig",
}
_SUBMODULES = (
    "callback",
    "grpo_monitor",
    "grpo_trainer",
    "fully_async_grpo_trainer",
    "one_step_async_grpo_trainer",
    "rollout",
    "sft_trainer",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
