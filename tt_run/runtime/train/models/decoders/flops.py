"""Floating-point operations of training, per token: 6 for each parameter that a token passes, and those of attention scores.

A parameter costs a multiplication and an addition in the forward pass and in each of the two products of the backward pass. Attention costs
12 * layers * heads * width * length where keys and values have one width, as in the PaLM paper.
"""

from __future__ import annotations

from typing import Any

from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.train.models.runner import WeightTyingType


def swiglu_width(hidden: int, multiple: int = 256) -> int:
    """The usual width of a gated feed-forward layer: two thirds of four times the model's, rounded up."""
    return -(-(4 * hidden * 2 // 3) // multiple) * multiple


def _ends(config: Any) -> int:
    """Parameters of embedding, head and last norm."""
    tied = getattr(config, "weight_tying", None) is WeightTyingType.Enabled
    return int(config.vocab_size * config.hidden_size * (1 if tied else 2) + config.hidden_size)


def llama(config: Any, seq_len: int) -> int:
    """Of a Llama with the sizes of a configuration, at a sequence length."""
    hidden, layers = config.hidden_size, config.num_hidden_layers
    head = hidden // config.num_attention_heads
    wide = config.intermediate_size or swiglu_width(hidden)
    each = (
        2 * hidden * hidden + 2 * hidden * config.num_key_value_heads * head + 3 * hidden * wide + 2 * hidden
    )
    return 6 * (_ends(config) + layers * each) + 12 * layers * hidden * seq_len


def qwen3(config: Any, seq_len: int) -> int:
    """Of a Qwen3 with the sizes of a configuration, at a sequence length."""
    hidden, layers, head = config.hidden_size, config.num_hidden_layers, config.head_dim
    heads, groups = config.num_attention_heads, config.num_key_value_heads
    attention = 2 * hidden * heads * head + 2 * hidden * groups * head + 2 * head
    each = attention + 3 * hidden * config.intermediate_size + 2 * hidden
    return 6 * (_ends(config) + layers * each) + 12 * layers * heads * head * seq_len


def nanogpt(config: Any, seq_len: int) -> int:
    """Of a NanoGPT with the sizes of a configuration, at a sequence length."""
    width, layers = config.n_embd, config.n_layer
    parameters = (config.vocab_size + config.block_size) * width + layers * 12 * width * width
    return 6 * parameters + 12 * layers * width * seq_len


def deepseek(config: Any, seq_len: int) -> int:
    """Of a DeepSeek with the sizes of a configuration, at a sequence length; of the experts those count that a token passes."""
    width, heads = config.dim, config.n_heads
    head = config.qk_nope_head_dim + config.qk_rope_head_dim
    query = (
        width * config.q_lora_rank + config.q_lora_rank * heads * head
        if config.q_lora_rank
        else width * heads * head
    )
    latent = width * (config.kv_lora_rank + config.qk_rope_head_dim)
    latent += config.kv_lora_rank * heads * (config.qk_nope_head_dim + config.v_head_dim)
    attention = query + latent + heads * config.v_head_dim * width
    active = (config.n_activated_experts + config.n_shared_experts) * 3 * width * config.moe_inter_dim
    active += width * config.n_routed_experts
    dense = min(config.n_dense_layers, config.n_layers)
    ends = 2 * whole_tiles(config.vocab_size) * width
    parameters = (
        ends
        + config.n_layers * attention
        + dense * 3 * width * config.inter_dim
        + (config.n_layers - dense) * active
    )
    return int(6 * parameters + 6 * config.n_layers * seq_len * heads * (head + config.v_head_dim))
