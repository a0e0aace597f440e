"""`ttml.trainers.grpo_trainer.rollout_batch_source`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.remote_rollout": "build_rollout_batch_source",
    "tt_run.runtime.train.trainers.batch_source": """
        ScoredRolloutBatch RolloutBatchSource InProcessRolloutBatchSource validate_rollout_batch tokenize_prompts score_rollout pad_logprobs
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
