"""`ttml.autograd`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.autograd.context": "AutoContext",
    "tt_run.runtime.train.autograd.tensor": "Tensor create_tensor get_links to_numpy=Tensor.to_numpy",
    "tt_run.runtime.train.autograd.autocast": "AutocastTensor",
    "tt_run.runtime.train.autograd.graph": "Graph GraphNode NodeId GradMode PreferredPrecision",
    "tt_run.runtime.train.autograd.parallelism": "DistributedConfig ParallelismContext",
    "tt_run.runtime.train.autograd.function": "Function FunctionContext",
    "tt_run.runtime.train.autograd.callbacks": "callback",
    "tt_run.runtime.train.autograd.assigning": "assign_numpy",
    "tt_run.runtime.enums": "DataType Layout",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
