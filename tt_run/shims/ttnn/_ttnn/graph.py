"""`ttnn._ttnn.graph`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.graph.capture": "RunMode",
    "tt_run.runtime.graph.capturing": """
        REPORT_VERSION begin_graph_capture end_graph_capture
        end_graph_capture_to_file=end_graph_capture_to_file_as_text
        is_graph_capture_active track_function_start track_function_end unwind_open_functions
    """,
    "tt_run.runtime.graph.snapshots": """
        disable_detailed_buffer_tracing enable_detailed_buffer_tracing is_detailed_buffer_tracing_enabled
    """,
    "tt_run.runtime.graph.levels": "extract_levelized_graph",
    "tt_run.runtime.graph.extract": """
        TensorInfo PeakMemoryUsagePerCore extract_calltrace extract_output_info extract_output_tensors
        extract_peak_L1_memory_usage extract_resource_usage_per_core count_intermediate_and_output_tensors
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
