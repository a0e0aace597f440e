"""`ttml.trainers.grpo_trainer`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.grpo": "GRPOTrainer",
    "tt_run.runtime.train.trainers.grpo_config": """
        GRPOConfig RemoteRolloutConfig get_grpo_config ROLLOUT_SOURCES ROLLOUT_MODES VALID_ROLLOUT_COMBINATIONS=ROLLOUTS
    """,
    "tt_run.runtime.train.trainers.grpo_saving": "save_checkpoint",
    "tt_run.runtime.train.trainers.grpo_monitor": "GRPOMonitor",
    "tt_run.runtime.train.trainers.rollouts": """
        RolloutBatch RolloutSampler compute_advantages_host=advantages_of compute_advantages_ttnn iter_batched_completions dispatch_reward iter_micro_batch upload_micro_advantages
        check_new_weight_version layout_microbatch place_old_nlog_probs
    """,
    "tt_run.runtime.train.trainers.sampler": "TTMLRolloutSampler build_rollout_sampler",
    "tt_run.runtime.train.trainers.remote_rollout": "build_rollout_batch_source",
    "tt_run.runtime.train.trainers.batch_source": """
        ScoredRolloutBatch RolloutBatchSource InProcessRolloutBatchSource validate_rollout_batch
    """,
    "tt_run.runtime.train.trainers.completion": "GRPOCompleter ModelCompleter",
}
_SUBMODULES = (
    "distributed",
    "grpo_trainer",
    "grpo_ttml_model",
    "llama_composite_kv",
    "remote_rollout",
    "rollout_batch_source",
    "ttml_rollout_sampler",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
