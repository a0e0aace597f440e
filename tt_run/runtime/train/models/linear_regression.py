"""`ttml.models.linear_regression`: one linear layer."""

from __future__ import annotations

import numpy as np

from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.linear import LinearLayer


def _uniform(inputs: int) -> initial.Initializer:
    """U(-k, k), k = sqrt(1 / in), from NumPy's global generator as the documents' model draws it."""
    bound = float(np.sqrt(1.0 / inputs))
    return lambda shape, mapper=None: initial.place(
        np.asarray(np.random.uniform(-bound, bound, shape)), mapper
    )


def create_linear_regression_model(in_features: int, out_features: int = 1, bias: bool = True) -> LinearLayer:
    """x @ W^T + b."""
    weights = _uniform(in_features)
    return LinearLayer(in_features, out_features, bias, weights, weights)
