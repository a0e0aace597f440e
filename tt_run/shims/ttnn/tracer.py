"""`ttnn.tracer`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.tracing.torch_calls": "TracedTorchTensor",
    "tt_run.runtime.tools.tracing.nodes": """
        InputTensorIndex PositionalArgumentName TorchFunction TorchModule TorchModuleInput TorchParameter TorchTensor TTNNOperation TTNNTensor
    """,
    "tt_run.runtime.tools.tracing.places": "TAG_TRACEDTENSOR",
    "tt_run.runtime.tools.tracing.values": "get_arg_name_value_pairs get_input_tensors",
    "tt_run.runtime.tools.tracing.graphs": "get_graph",
    "tt_run.runtime.tools.tracing.drawing": "LEVEL_COLORS duration_to_string visualize=visualize_if_drawable visualize_node",
    "tt_run.runtime.tools.tracing.operations": "ENABLE_TRACER codegen disable_tracing enable_tracing is_tracing_enabled trace",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
