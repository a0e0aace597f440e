"""`ttnn.model_preprocessing`: the parameters of a model as tensors, and their cache on disk."""
