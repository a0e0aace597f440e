"""`ttnn.decorators`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.ops.declaration.dispatch": "FastOperation Operation",
    "tt_run.runtime.tools.golden": "get_golden_function",
    "tt_run.runtime.tools.hooks": "register_pre_operation_hook register_post_operation_hook",
    "tt_run.runtime.tools.registration": """
        register_python_operation create_module_if_not_exists attach_golden_function query_registered_operations
        dump_operations
    """,
    "tt_run.runtime.queues": """
        command_queue get_current_command_queue_id_for_thread=current_queue
        push_current_command_queue_id_for_thread=push_queue pop_current_command_queue_id_for_thread=pop_queue
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
