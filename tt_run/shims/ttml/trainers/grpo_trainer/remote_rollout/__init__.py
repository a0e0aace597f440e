"""`ttml.trainers.grpo_trainer.remote_rollout`."""

from tt_run.runtime.exports import publish as _publish

_SUBMODULES = (
    "llama_ttt_presets",
    "mpi_rollout",
    "sync_remote_rollout_batch_source",
    "ttt_rollout_sampler",
    "weight_bridge",
)

__getattr__, __dir__ = _publish(globals(), {}, _SUBMODULES)
