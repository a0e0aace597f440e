"""`ttml.ops.metal`: kernels on mesh tensors."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.ops.depthwise": "depthwise_conv1d_k4",
    "tt_run.runtime.train.ops.gated_norm": "gated_rmsnorm_fw gated_rmsnorm_bw",
    "tt_run.runtime.train.ops.packed": "swiglu_packed_fw swiglu_packed_bw",
    "tt_run.runtime.train.ops.experts": "moe_group moe_ungroup",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
