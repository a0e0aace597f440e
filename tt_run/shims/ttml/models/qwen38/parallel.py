"""`ttml.models.qwen38.parallel`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen38_config": "tp_size make_column_linear make_row_linear make_sharded_parameter qkv_shard_permutation tp_shard_dim",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
