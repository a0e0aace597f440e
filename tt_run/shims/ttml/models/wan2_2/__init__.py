"""`ttml.models.wan2_2`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.wan.latents": "build_rope_params build_tables conv3d_weight_to_linear grid_size patch_features patchify patchify_output_order timestep_features unpatchify",
    "tt_run.runtime.train.models.wan.transformer": "WanConfig WanConditioning WanTransformer3D WanTransformerBlock",
    "tt_run.runtime.train.models.wan.weights": "load_expert_from_safetensors to_ttml_name",
}
_SUBMODULES = ("attention", "conditioning", "patch_embed", "rope", "transformer", "weights")

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
