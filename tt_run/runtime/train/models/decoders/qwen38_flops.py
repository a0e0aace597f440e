"""Floating-point operations of a training step of Qwen3.8, by part.

A product of a token with a weight costs 2 for each number of the weight, its input's gradient as much, and the weight's own where it is
trained. Products of activations are of attention to all tokens, 4 for each head, feature and token seen, and of the delta rule by chunks; each
costs three times the forward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Qwen38Flops:
    """Operations of one step: forward and backward pass of a batch."""

    delta_net: int
    attention: int
    mlp: int
    embedding_and_head: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.delta_net + self.attention + self.mlp + self.embedding_and_head

    def per_token(self, batch: int, seq_len: int) -> float:
        """Of one token of the batch."""
        return self.total / (batch * seq_len)


def qwen38_flops(config: Any, batch: int, seq_len: int, *, train_base: bool = False) -> Qwen38Flops:
    """Of a model with the sizes of a configuration; without `train_base` its own weights are frozen, as under adapters."""
    tokens, passes, hidden = batch * seq_len, 3 if train_base else 2, config.hidden_size
    full = config.layer_types.count("full_attention")
    heads, groups, width = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    projected = hidden * width * (heads * (2 + config.attn_output_gate) + 2 * groups)
    seen = 12 * heads * width * seq_len
    values, chunk = config.linear_num_value_heads, config.delta_chunk_size
    key, value = config.linear_key_head_dim, config.linear_value_head_dim
    linear = hidden * (config.qkv_proj_dim + 2 * config.value_proj_dim + 2 * values)
    taps = config.qkv_proj_dim * config.linear_conv_kernel_dim
    rule = 3 * values * (chunk * (6 * key + 4 * value) + 6 * key * value)
    return Qwen38Flops(
        delta_net=(len(config.layer_types) - full) * tokens * (2 * passes * (linear + taps) + rule),
        attention=full * tokens * (2 * passes * projected + seen),
        mlp=len(config.layer_types) * tokens * 2 * passes * 3 * hidden * config.intermediate_size,
        embedding_and_head=tokens * 2 * passes * hidden * config.vocab_size,
    )


def flops_per_token(config: Any, batch: int, seq_len: int, *, train_base: bool = False) -> float:
    """`qwen38_flops` of one token."""
    return qwen38_flops(config, batch, seq_len, train_base=train_base).per_token(batch, seq_len)
