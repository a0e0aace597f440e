"""`ttnn._ttnn.operations`: the modules that programs import from."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {}

_SUBMODULES = (
    "bernoulli",
    "binary",
    "binary_backward",
    "ccl",
    "complex",
    "complex_unary",
    "complex_unary_backward",
    "conv",
    "copy",
    "core",
    "creation",
    "data_movement",
    "debug",
    "embedding",
    "embedding_backward",
    "examples",
    "experimental",
    "full",
    "full_like",
    "generic",
    "index_fill",
    "index_fill_new",
    "kv_cache",
    "loss",
    "matmul",
    "moreh",
    "normalization",
    "point_to_point",
    "pool",
    "prefetcher",
    "quantization",
    "rand",
    "randn",
    "reduction",
    "sliding_window",
    "ternary",
    "ternary_backward",
    "trace",
    "transformer",
    "unary",
    "unary_backward",
    "uniform",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
