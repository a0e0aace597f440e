"""`ttml.models.deepseek.autograd_ops`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.ops.pieces": """
        autograd_slice=cut autograd_concat=concat autograd_split=split autograd_sigmoid=sigmoid autograd_softmax=softmax split_heads moe_routing_normalize=share_out
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
