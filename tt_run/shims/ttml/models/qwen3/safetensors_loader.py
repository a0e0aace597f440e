"""`ttml.models.qwen3.safetensors_loader`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.weights": "load_from_safetensors load_from_hf _kv_match=key_or_value",
    "tt_run.runtime.train.models.decoders.export": "_repermute_proj_rows=halved _split_kv=split_keys_values",
    "tt_run.runtime.train.models.loading": "_unpermute_proj_rows=interleaved _fuse_kv=joint_keys_values",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
