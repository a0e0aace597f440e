"""`ttml.models.linear_regression`: one linear layer."""

from __future__ import annotations

import numpy as np

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.linear import LinearLayer


def _uniform(inputs: int) -> initial.Initializer:
    """U(-k, k), k = sqrt(1 / in), from NumPy's global generator as the documents' model draws it."""
    bound = float(np.sqrt(1.0 / inputs))
    return lambda shape, mapper=None: initial.place(
        np.asarray(np.random.uniform(-bound, bound, shape)), mapper
    )


def create_linear_regression_model(
    in_features: int | None = None,
    out_features: int | None = None,
    bias: bool = True,
    *,
    input_features: int | None = None,
    output_features: int | None = None,
) -> LinearLayer:
    """x @ W^T + b; the two sizes under either of the names the reference's releases give them."""
    inputs = _one_of("in_features", in_features, "input_features", input_features)
    outputs = _one_of("out_features", out_features, "output_features", output_features, 1)
    weights = _uniform(inputs)
    return LinearLayer(inputs, outputs, bias, weights, weights)


def _one_of(name: str, value: int | None, other: str, alias: int | None, otherwise: int | None = None) -> int:
    """The one of two names that was given."""
    if value is not None and alias is not None:
        raise TypeError(
            f"create_linear_regression_model() takes {name} or {other}, not both; help: leave {other} out"
        )
    chosen = next((size for size in (value, alias, otherwise) if size is not None), None)
    if chosen is None:
        raise TypeError(f"create_linear_regression_model() misses {name}; help: {name}=1")
    if not isinstance(chosen, int):
        raise TypeError(
            f"create_linear_regression_model(): {name} must be int, got {type_name(chosen)}; help: {name}=1"
        )
    if chosen < 1:
        raise ValueError(
            f"create_linear_regression_model(): {name} must be at least 1, not {chosen}; help: {name}=1"
        )
    return chosen
