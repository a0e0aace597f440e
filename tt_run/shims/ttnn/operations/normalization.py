"""`ttnn.operations.normalization`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tools.golden_helpers": "golden_to_output_dtype",
    "tt_run.runtime.tensor.model_parameters.group_norm": "find_max_tile_span find_closest_largest_divisor get_group_norm_cores_across_channel create_group_norm_weight_bias_rm create_group_norm_input_mask create_group_norm_input_negative_mask dram_group_norm_params_from_torch dram_group_norm_virtual_columns determine_expected_group_norm_dram_grid_size create_layer_norm_reciprocals determine_expected_group_norm_sharded_config_and_grid_size",
    "tt_run.runtime.tuning.choices": "LayerNormType DistributedLayerNormStage",
    "tt_run.runtime.tuning.blocks": "LayerNormProgramConfig LayerNormDefaultProgramConfig LayerNormShardedMultiCoreProgramConfig SoftmaxDefaultProgramConfig SoftmaxProgramConfig SoftmaxShardedMultiCoreProgramConfig",
    "tt_run.runtime.tensor.spec.norm_blocking": "create_layernorm_program_config",
    "tt_run.runtime.tuning.compute": "layernorm_default_compute_config rmsnorm_default_compute_config",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
