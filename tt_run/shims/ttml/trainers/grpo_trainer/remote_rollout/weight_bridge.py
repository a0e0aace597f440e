"""`ttml.trainers.grpo_trainer.remote_rollout.weight_bridge`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.weight_bridge": """
        WeightBridge HostWeightBridge TTML_RANK TTT_RANK SENDER_RANK RECEIVER_RANK
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
