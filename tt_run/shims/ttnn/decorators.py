"""`ttnn.decorators`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.ops.declaration.dispatch": "FastOperation Operation DEFAULT_OUTPUT_TENSOR_KWARG_NAMES=OUTPUTS",
    "tt_run.runtime.tools.golden": "get_golden_function get_fallback_function",
    "tt_run.runtime.tools.compared": """
        GoldenComparisonConfig set_golden_comparison_config compare_tensors_using_pcc compare_scalar_outputs
        should_compare_tensor_outputs should_compare_scalar_outputs
    """,
    "tt_run.runtime.tools.tensor_ids": """
        TENSOR_ID_TO_GLOBAL_LEVEL_GOLDEN_TENSOR=goldens
        TENSOR_IDS_PRODUCED_BY_OPERATION=produced set_tensor_id
        get_tensors get_ttnn_tensors get_all_tensors get_devices get_output_tensor_ids get_inplace_output_tensors
        default_preprocess_golden_function_inputs default_postprocess_golden_function_outputs
        refresh_or_invalidate_global_goldens set_output_tensor_id_decorator get_tensor_report_record
        _merge_local_golden_metadata_into_global_inputs=merge_local_golden_metadata
        prepare_backward_golden_inputs to_torch_for_comparison postprocess_global_golden_function_outputs
    """,
    "tt_run.runtime.tools.tolerances": "comp_pcc comp_ulp",
    "tt_run.runtime.tools.hooks": "register_pre_operation_hook register_post_operation_hook",
    "tt_run.runtime.tools.hook_lists": "PRE_OPERATION_HOOKS POST_OPERATION_HOOKS OPERATION_CALL_STACK",
    "tt_run.runtime.tools.absent_tools": "TRACE_ALLOC_TRACKING TRACE_ALLOC_DIAGNOSTICS",
    "tt_run.runtime.tools.registration": """
        register_python_operation create_module_if_not_exists attach_golden_function query_registered_operations
        dump_operations register_ttl_operation_as_ttnn_operation RegisteredOperations REGISTERED_OPERATIONS
    """,
    "tt_run.runtime.queues": """
        command_queue get_current_command_queue_id_for_thread=current_queue
        push_current_command_queue_id_for_thread=push_queue pop_current_command_queue_id_for_thread=pop_queue
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
