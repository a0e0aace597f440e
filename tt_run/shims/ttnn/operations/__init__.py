"""`ttnn.operations`: the modules that programs import from."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {}

_SUBMODULES = (
    "activations",
    "binary",
    "binary_backward",
    "binary_complex",
    "ccl",
    "comparison",
    "complex_unary_backward",
    "conv2d",
    "core",
    "creation",
    "data_movement",
    "embedding",
    "golden_common",
    "integer_golden",
    "losses",
    "matmul",
    "moreh",
    "normalization",
    "pool",
    "reduction",
    "ternary",
    "ternary_backward",
    "transformer",
    "transformer_golden",
    "unary",
    "unary_backward",
    "unary_complex",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
