"""`ttml.ops.attention`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.ops.attention": "scaled_dot_product_attention scaled_dot_product_attention_composite"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
