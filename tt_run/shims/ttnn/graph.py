"""`ttnn.graph`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.graph.calls": """
        append_python_io_record disable_python_io_recording enable_python_io_recording is_python_io_recording_enabled
        record_python_operation record_python_operation_error store_captured_graph store_output_tensor_ids
        disable_python_stack_traces enable_python_stack_traces is_python_stack_trace_enabled
    """,
    "tt_run.runtime.graph.capture": "RunMode",
    "tt_run.runtime.graph.database.comparisons": "COMPARISON_RECORDS_SIDECAR_SUFFIX=COMPARED_SUFFIX flush_comparison_records_to_db",
    "tt_run.runtime.graph.database.importing": "import_report",
    "tt_run.runtime.graph.capturing": """
        ExitStackWithPop REPORT_VERSION begin_graph_capture end_graph_capture end_graph_capture_to_file full_graph_capture
        is_graph_capture_active track_function_start=track_scope_start track_function_end=track_scope_end
    """,
    "tt_run.runtime.graph.snapshots": """
        disable_detailed_buffer_tracing enable_detailed_buffer_tracing is_detailed_buffer_tracing_enabled
    """,
    "tt_run.runtime.tools.comparison_records": """
        record_tensor_comparison_data has_comparison_records
        reset_comparison_records_data
    """,
    "tt_run.runtime.graph.levels": "extract_levelized_graph",
    "tt_run.runtime.graph.extract": """
        TensorInfo PeakMemoryUsagePerCore extract_calltrace extract_output_info extract_output_tensors
        extract_peak_L1_memory_usage extract_resource_usage_per_core extract_operation_durations
        extract_total_duration_from_graph count_intermediate_and_output_tensors pretty_format pretty_print
        visualize visualize_node visualize_edge
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
