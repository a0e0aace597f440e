"""`ttml.models.llama.transformer`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.llama": "LlamaBlock LlamaMLP",
    "tt_run.runtime.train.modules.layers": "RMSNormLayer",
    "tt_run.runtime.train.models.decoders.flops": "compute_swiglu_intermediate_size=swiglu_width",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
