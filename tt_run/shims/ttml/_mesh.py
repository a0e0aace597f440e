"""`ttml._mesh`."""

from typing import Any

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.named_mesh": "Mesh mesh maybe_mesh open_device_mesh close_device_mesh sync_gradients",
}

_published, __dir__ = _publish(globals(), _TABLE)


def __getattr__(name: str) -> Any:
    # The mesh opened last changes, so it is looked up each time.
    return _published("maybe_mesh")() if name == "_mesh" else _published(name)
