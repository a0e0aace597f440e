"""`ttml.common.utils`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.common.data": "build_causal_mask",
    "tt_run.runtime.train.common.utils": """
        set_seed round_up_to_tile initialize_device build_mesh create_optimizer get_loss_over_devices build_logits_mask no_grad run_mode
        PerformanceMeter resolve_padded_load_shape parameter_count summary get_available_device_memory_in_bytes
    """,
    "tt_run.runtime.train.common.files": "get_tt_metal_home get_tt_metal_runtime_root",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
