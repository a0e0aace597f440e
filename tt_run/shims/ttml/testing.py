"""`ttml.testing`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.testing": "TP_AXIS_SIZE bf16_spacing ulp_error assert_within_ulp mesh_composer read_mesh_tensor device_mesh"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
