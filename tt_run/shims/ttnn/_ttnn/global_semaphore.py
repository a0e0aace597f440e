"""`ttnn._ttnn.global_semaphore`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.ccl.semaphores": """
        global_semaphore=GlobalSemaphore create_global_semaphore reset_global_semaphore_value
        get_global_semaphore_address
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
