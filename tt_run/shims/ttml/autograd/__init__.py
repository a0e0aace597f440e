"""`ttml.autograd`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.context": "AutoContext",
    "tt_run.runtime.train.tensor": "Tensor create_tensor get_links to_numpy=Tensor.to_numpy",
    "tt_run.runtime.train.autocast": "AutocastTensor",
    "tt_run.runtime.train.graph": "Graph GraphNode NodeId GradMode PreferredPrecision",
    "tt_run.runtime.train.parallelism": "DistributedConfig ParallelismContext",
    "tt_run.runtime.train.function": "Function FunctionContext",
    "tt_run.runtime.train.callbacks": "callback",
    "tt_run.runtime.train.assigning": "assign_numpy",
    "tt_run.runtime.enums": "DataType Layout",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
