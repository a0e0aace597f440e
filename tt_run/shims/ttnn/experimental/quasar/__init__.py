"""`ttnn.experimental.quasar`: the operations under a second name, for chips of that architecture."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.ops.data_movement.sharded_movement": "padded_slice",
    "tt_run.runtime.ops.data_movement.written_parts": "slice_write",
}

_SUBMODULES = ("transformer",)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES, operations="ttnn")
