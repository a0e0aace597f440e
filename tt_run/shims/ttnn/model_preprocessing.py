"""`ttnn.model_preprocessing`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tensor.model_parameters.preprocessing": """
        preprocess_model_parameters preprocess_model preprocess_linear_weight preprocess_linear_bias
        preprocess_layernorm_parameter preprocess_embedding_weight move_to_device
    """,
    "tt_run.runtime.tensor.model_parameters.containers": "ParameterDict ParameterList make_parameter_dict",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
