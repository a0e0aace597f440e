"""`ttnn._ttnn.operations.normalization`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        DistributedLayerNormStage LayerNormDefaultProgramConfig LayerNormShardedMultiCoreProgramConfig
        LayerNormType SoftmaxDefaultProgramConfig SoftmaxProgramConfig
        SoftmaxShardedMultiCoreProgramConfig batch_norm create_group_norm_input_mask
        create_group_norm_input_negative_mask create_layernorm_program_config
        determine_expected_group_norm_sharded_config_and_grid_size group_norm layer_norm
        layer_norm_post_all_gather layer_norm_pre_all_gather layernorm_default_compute_config rms_norm
        rms_norm_post_all_gather rms_norm_pre_all_gather rmsnorm_default_compute_config
        scale_causal_mask_hw_dims_softmax_in_place scale_mask_softmax scale_mask_softmax_in_place
        softmax softmax_in_place
    """,
    "tt_run.runtime.tuning.blocks": "LayerNormProgramConfig",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
