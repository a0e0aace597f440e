"""`ttnn.experimental`: operations as declared, and names."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tuning.choices": "RGBRange YUVColorSpace YUVFormat YUVRange",
    "tt_run.runtime.tuning.matmul": "MinimalMatmulConfig",
    "tt_run.runtime.tuning.video": "YUVCoefficients yuv_bt601_coefficients yuv_bt709_coefficients",
    "tt_run.runtime.tuning.conv": "Conv3dConfig",
}

_SUBMODULES = ("deepseek", "deepseek_prefill", "disaggregation", "kda", "moe_compute_utils", "quasar")

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES, operations="ttnn.experimental")
