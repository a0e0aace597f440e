"""Operations on mesh tensors: each is a function on shards, declared once and entered into `registry` under its `ttnn` name.

The modules that declare operations are loaded when one of theirs is first asked for (`tt_run.runtime.catalog` finds an operation by its name). Source: reference library 0.81.1.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tt_run.runtime.ops.declaration.dispatch import Operation, registry
from tt_run.runtime.ops.declaration.written_names import written_names

MODULES = (
    "data_movement.borders",
    "elementwise.arithmetic",
    "elementwise.binary",
    "elementwise.unary",
    "elementwise.ternary",
    "reduction.reductions",
    "data_movement.conversions",
    "data_movement.movement",
    "data_movement.repeating",
    "data_movement.joining",
    "data_movement.picking",
    "normalisation.softmaxes",
    "normalisation.norms",
    "products.operations",
    "products.minimal",
    "products.latent_output",
    "data_movement.lookup",
    "attention.prefill",
    "attention.grouped_heads",
    "attention.heads",
    "attention.split_heads",
    "attention.joined_heads",
    "attention.user_products",
    "attention.caches",
    "attention.decoding",
    "attention.joined_sequences",
    "attention.latent_attention",
    "attention.gated_delta",
    "attention.delta_attention",
    "attention.delta_transitions",
    "attention.sparse_attention",
    "attention.deformable_attention",
    "experts.per_token",
    "attention.padded_caches",
    "experts.routing",
    "experts.expert_prefill",
    "experts.expert_networks",
    "experts.expert_gates",
    "experts.gate_products",
    "experts.ring_operations",
    "attention.indexer",
    "attention.sparse_blocks",
    "normalisation.hyper_connections",
    "moreh.reductions",
    "moreh.norms",
    "moreh.products",
    "moreh.losses",
    "moreh.steps",
    "moreh.picking",
    "moreh.creation",
    "reduction.state_space",
    "reduction.outer_dims",
    "attention.model_heads",
    "attention.rotary",
    "reduction.ordering",
    "normalisation.distributed_norms",
    "attention.head_norms",
    "elementwise.parametric",
    "elementwise.pairs",
    "elementwise.halves",
    "elementwise.special",
    "elementwise.bcast",
    "data_movement.padding",
    "data_movement.indexing",
    "data_movement.written_parts",
    "data_movement.narrowing",
    "reduction.losses",
    "reduction.statistics",
    "elementwise.quantization",
    "elementwise.random_values",
    # The gradients first: they teach the plain operations to take complex tensors, which only `complex_numbers` makes.
    "gradients.complex_backward",
    "elementwise.complex_numbers",
    "normalisation.channel_norms",
    "images.video",
    "images.sample_places",
    "refused",
    "images.spectra",
    "data_movement.other_shapes",
    "gradients.backward",
    "images.convolutions",
    "images.prepared_filters",
    "images.pooling",
    "images.resampling",
    "data_movement.sharded_movement",
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
        if f"ttnn.{name}" in written_names():
            load()
    try:
        return registry[f"ttnn.{name}"]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
