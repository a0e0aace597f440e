"""`ttnn._ttnn.operations.pool`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        avg_pool2d grid_sample max_pool2d prepare_grid_sample_grid rotate upsample
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
