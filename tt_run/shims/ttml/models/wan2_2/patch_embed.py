"""`ttml.models.wan2_2.patch_embed`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.wan.latents": "conv3d_weight_to_linear grid_size patch_features patchify patchify_output_order unpatchify",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
