"""`ttnn._ttnn.core`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.queues": """
        get_current_command_queue_id_for_thread=current_queue
        push_current_command_queue_id_for_thread=push_queue pop_current_command_queue_id_for_thread=pop_queue
    """,
    "tt_run.runtime.tensor.borders.packing": "tilize_and_pack_bfp8_b tilize_and_pack_bfp4_b",
    "tt_run.runtime.mesh.device_functions": "dump_stack_trace_on_segfault",
    "tt_run.runtime.settings": "Config",
    "tt_run.runtime.tensor.questions": "get_memory_config",
    "tt_run.runtime.tensor.printing": "set_printoptions",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
