"""`ttnn.model_preprocessing`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tensor.model_parameters.preprocessing": """
        preprocess_model_parameters preprocess_model preprocess_linear_weight preprocess_linear_bias
        preprocess_layernorm_parameter preprocess_embedding_weight move_to_device convert_torch_model_to_ttnn_model
        default_preprocessor preprocess_remaining_children_and_parameters
        from_torch=preprocess_model
    """,
    "tt_run.runtime.tensor.model_parameters.module_arguments": """
        ModuleArgs Conv2dArgs ConvTranspose2dArgs MaxPool2dArgs GroupNormArgs infer_ttnn_module_args
        merge_ttnn_module_args_into_parameters fold_batch_norm2d_into_conv2d
    """,
    "tt_run.runtime.tensor.model_parameters.containers": "ParameterDict ParameterList make_parameter_dict make_dot_access_dict repr_parameters",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
