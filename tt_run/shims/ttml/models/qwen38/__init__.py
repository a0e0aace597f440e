"""`ttml.models.qwen38`: of that model the convolution alone."""

from tt_run.runtime.exports import publish as _publish

_SUBMODULES = ("fused_conv",)

__getattr__, __dir__ = _publish(globals(), {}, _SUBMODULES)
