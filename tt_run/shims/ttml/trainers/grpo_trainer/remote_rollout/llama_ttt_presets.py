"""`ttml.trainers.grpo_trainer.remote_rollout.llama_ttt_presets`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.ttt_sampler": "LLAMA_STOP_TOKEN_STRS bf16_attn_bfp8_mlp_optimizations llama_stop_and_pad"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
