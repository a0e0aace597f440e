"""Operations on mesh tensors: each is a function on shards, declared once and entered into `registry` under its `ttnn` name.

The modules that declare operations are loaded when one of theirs is first asked for (`tt_run.runtime.catalog` finds an operation by its name). Source: reference library 0.81.1.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tt_run.runtime.ops.dispatch import Operation, registry

MODULES = (
    "borders",
    "arithmetic",
    "binary",
    "unary",
    "ternary",
    "reductions",
    "conversions",
    "movement",
    "joining",
    "norms",
    "products",
    "lookup",
    "attention",
    "heads",
    "caches",
    "decoding",
    "latent_attention",
    "gated_delta",
    "delta_attention",
    "delta_transitions",
    "sparse_attention",
    "deformable_attention",
    "per_token",
    "padded_caches",
    "routing",
    "expert_prefill",
    "expert_gates",
    "indexer",
    "hyper_connections",
    "moreh",
    "model_pieces",
    "rotary",
    "ordering",
    "distributed_norms",
    "head_norms",
    "parametric",
    "pairs",
    "special",
    "broadcasting",
    "padding",
    "indexing",
    "losses",
    "statistics",
    "quantization",
    "random_values",
    # The gradients first: they teach the plain operations to take complex tensors, which only `complex_numbers` makes.
    "complex_backward",
    "complex_numbers",
    "channel_norms",
    "video",
    "sample_places",
    "refused",
    "spectra",
    "experimental_elements",
    "backward",
    "convolutions",
    "pooling",
    "sharded_movement",
)
"""The modules of this package that declare operations, those that programs use most in front."""

__all__ = ["MODULES", "Operation", "registry"]


def load() -> None:
    """Enter every operation of this package into the registry."""
    for module in MODULES:
        import_module(f"{__name__}.{module}")


def __getattr__(name: str) -> Any:
    """An operation by its name below `ttnn`: `ops.add`; names in a submodule as `getattr(ops, "transformer.concatenate_heads")`."""
    if f"ttnn.{name}" not in registry:
        if find_spec(f"{__name__}.{name}"):
            return import_module(f"{__name__}.{name}")
        load()
    try:
        return registry[f"ttnn.{name}"]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
