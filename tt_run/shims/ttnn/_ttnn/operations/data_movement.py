"""`ttnn._ttnn.operations.data_movement`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tuning.choices": "TileReshapeMapMode",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
