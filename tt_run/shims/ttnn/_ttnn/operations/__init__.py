"""`ttnn._ttnn.operations`: the modules that programs import from."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {}

_SUBMODULES = (
    "binary",
    "ccl",
    "complex",
    "conv",
    "core",
    "data_movement",
    "embedding",
    "experimental",
    "loss",
    "matmul",
    "moreh",
    "normalization",
    "point_to_point",
    "reduction",
    "sliding_window",
    "trace",
    "transformer",
    "unary",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
