"""`ttnn._ttnn.operations.creation`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        arange empty empty_like from_buffer full full_like ones ones_like zeros zeros_like
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
