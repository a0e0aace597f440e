"""`ttml.trainers.grpo_trainer.remote_rollout.mpi_rollout`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.remote_rollout": """
        MPIRolloutServer MPIRolloutClient OP_GENERATE OP_SHUTDOWN OP_REQUEST_TRANSFER
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
