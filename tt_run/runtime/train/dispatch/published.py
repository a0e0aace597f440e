"""Operations of `ttml.ops` that go by rules once a program asks for it."""

from __future__ import annotations

import importlib

from tt_run.runtime.train.dispatch.calls import RAW, register_op
from tt_run.runtime.train.modules.linear import LinearLayer

PUBLISHED = {
    "linear": "linear",
    "matmul": "matmul_op=matmul",
    "binary": "add sub mul div",
    "unary": "relu gelu silu",
    "rmsnorm": "rmsnorm rmsnorm_composite",
    "layernorm": "layernorm composite_layernorm",
    "attention": "scaled_dot_product_attention=sdpa",
    "embedding": "embedding",
    "multi_head_utils": "grouped_heads_creation heads_creation heads_fusion",
    "rope": "rope",
    "reshape": "reshape",
    "dropout": "dropout",
    "loss": "cross_entropy_loss",
    "distributed": "ring_attention_sdpa=ring_sdpa broadcast all_gather all_reduce scatter",
}
"""Modules of `ttml.ops`: the names in each, and those of their rules where they differ."""


def init_ops() -> None:
    """From now on `ttml.ops.linear.linear` and others, and linear layers, go by the rules of how their operands lie and are in the dispatch trace.

    Where no operand is on several devices they compute as before. Further calls change nothing. Operations follow how their operands
    lie without it, but products of a matrix whose columns are cut are summed by rule alone.
    """
    for module, names in PUBLISHED.items():
        namespace = importlib.import_module(f"ttml.ops.{module}")
        for entry in names.split():
            name, _, rule = entry.partition("=")
            raw = RAW[rule or name]
            if getattr(namespace, name) is raw:
                setattr(namespace, name, register_op(rule or name, raw))
    LinearLayer.product = staticmethod(register_op("linear", RAW["linear"]))
