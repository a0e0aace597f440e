"""Qwen3.8: three of four layers attend by the gated delta rule, the fourth to all tokens with a gate on what comes out.

With `use_tp` each device of the axis has some heads of both kinds, and the same share of values to keys.
"""

from __future__ import annotations

from typing import Any

from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.decoders.qwen38_config import (
    Qwen38Config,
    joint_init,
    make_column_linear,
    make_row_linear,
    make_sharded_parameter,
    tp_axis,
    tp_size,
)
from tt_run.runtime.train.models.runner import memory_efficient_runner
from tt_run.runtime.train.models.transformer import as_logits
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.layers import Embedding
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.ops import along, binary, delta_rule, distributed, pieces, rope, shapes
from tt_run.runtime.train.ops.attention import causal_attention
from tt_run.runtime.train.ops.gated_norm import gated_rmsnorm
from tt_run.runtime.train.ops.norms import rmsnorm
from tt_run.runtime.train.ops.unary import exp, silu
from tt_run.runtime.train.parallel.tensor_parallel import mark_sequence_parallel

_DRAW = initial.normal(0.0, 0.02)


class Qwen38RMSNorm(AbstractModuleBase):
    """Root-mean-square normalisation with a weight of ones; over heads that `axis` deals out, whose gradients of the weight are summed."""

    def __init__(self, hidden_size: int, eps: float = 1e-6, axis: int | None = None) -> None:
        super().__init__()
        self.eps, self.hidden_size, self.axis = eps, hidden_size, axis
        self.weight = _shared_ones(hidden_size, axis)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """Normalised over the last dimension."""
        return rmsnorm(hidden_states, _seen_by_all(self._tensors["weight"], self.axis), self.eps)


def _shared_ones(width: int, axis: int | None) -> Parameter:
    ones = Parameter(initial.ones()((1, 1, 1, width)))
    if axis is not None:
        ones.add_post_materialize_callback(lambda made: mark_sequence_parallel(made.tensor))
    return ones


def _seen_by_all(weight: Tensor, axis: int | None) -> Tensor:
    """A weight whose gradient is the sum of what the heads of all devices say."""
    return weight if axis is None else distributed.broadcast(weight, axis)


class Qwen38GatedAttention(AbstractModuleBase):
    """Grouped attention whose output is times a sigmoid; a part of each head turns with the position, after a norm of the head."""

    def __init__(
        self, config: Qwen38Config, layer_idx: int, rope_params: rope.RotaryEmbeddingParams | None = None
    ) -> None:
        super().__init__()
        parts, axis = tp_size(config), tp_axis(config)
        if config.num_attention_heads % parts or config.num_key_value_heads % parts:
            raise ValueError(
                f"{config.num_attention_heads} heads and {config.num_key_value_heads} groups do not divide over {parts} tensor-parallel devices; help: multiples of {parts}, or fewer devices on the axis"
            )
        self.layer_idx, self.tp = layer_idx, parts
        self.num_heads, self.num_kv_heads = (
            config.num_attention_heads // parts,
            config.num_key_value_heads // parts,
        )
        self.head_dim, self.hidden_size = config.head_dim, config.hidden_size
        self.output_gate, self.rotary_dim = config.attn_output_gate, config.rotary_dim
        self.rope_params = rope_params or positions(config)
        joint, shared = (
            heads * self.head_dim for heads in (config.num_attention_heads, config.num_key_value_heads)
        )
        # A head's query and its gate are neighbours, so equal cuts hold both.
        self.q_proj = make_column_linear(config, self.hidden_size, joint * (1 + self.output_gate), _DRAW)
        self.k_proj = make_column_linear(config, self.hidden_size, shared, _DRAW)
        self.v_proj = make_column_linear(config, self.hidden_size, shared, _DRAW)
        self.o_proj = make_row_linear(config, joint, self.hidden_size, _DRAW)
        self.q_norm = Qwen38RMSNorm(self.head_dim, config.rms_norm_eps, axis)
        self.k_norm = Qwen38RMSNorm(self.head_dim, config.rms_norm_eps, axis)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Any = None,
        position_offset: int = 0,
    ) -> Tensor:
        """[B, 1, T, D] -> the same shape; without a mask a position sees those up to itself."""
        query, gate = self.q_proj(hidden_states), None
        if self.output_gate:
            batch, _, length, _ = query.shape()
            each = shapes.reshape(query, [batch, length, self.num_heads, 2 * self.head_dim])
            query, gate = (
                shapes.reshape(part, [batch, 1, length, self.num_heads * self.head_dim])
                for part in pieces.split(each, (self.head_dim, self.head_dim), -1)
            )
        query = self._turned(self.q_norm(pieces.split_heads(query, self.num_heads)), position_offset)
        key = pieces.split_heads(self.k_proj(hidden_states), self.num_kv_heads)
        key = self._turned(self.k_norm(key), position_offset)
        value = pieces.split_heads(self.v_proj(hidden_states), self.num_kv_heads)
        if past_key_values is not None:
            key, value = past_key_values.update(self.layer_idx, key, value)
        mixed = shapes.heads_fusion(causal_attention(query, key, value, attention_mask))
        if gate is not None:
            mixed = binary.mul(mixed, pieces.sigmoid(gate))
        out: Tensor = self.o_proj(mixed)
        return out

    def _turned(self, heads: Tensor, first: int) -> Tensor:
        rest = self.head_dim - self.rotary_dim
        if not rest:
            return rope.rope(heads, self.rope_params, first)
        moving, still = pieces.split(heads, (self.rotary_dim, rest), -1)
        return pieces.concat([rope.rope(moving, self.rope_params, first), still], -1)


def positions(config: Qwen38Config) -> rope.RotaryEmbeddingParams:
    """The angles of all positions, for the features of a head that turn."""
    return rope.build_rope_params(config.max_position_embeddings, config.rotary_dim, config.rope_theta)


def causal_conv1d_silu(x: Tensor, weight_taps: list[Tensor], kernel_size: int) -> Tensor:
    """silu of each channel of [B, 1, T, C] met by the taps [1, 1, 1, C] of this and the `kernel_size - 1` positions before, the earliest first."""
    terms = [
        binary.mul(along.shift_along_dim(x, 2, kernel_size - 1 - number), weight_taps[number])
        for number in range(kernel_size)
    ]
    total = terms[0]
    for term in terms[1:]:
        total = binary.add(total, term)
    return silu(total)


def fold_heads(x: Tensor, num_heads: int, head_dim: int) -> Tensor:
    """[B, 1, T, H * D] -> [B * H, 1, T, D]: each head is a sequence of its own."""
    batch, _, length, _ = x.shape()
    return shapes.reshape(pieces.split_heads(x, num_heads), [batch * num_heads, 1, length, head_dim])


def unfold_heads(x: Tensor, batch: int, num_heads: int) -> Tensor:
    """[B * H, 1, T, D] -> [B, 1, T, H * D]."""
    _, _, length, head_dim = x.shape()
    return shapes.heads_fusion(shapes.reshape(x, [batch, num_heads, length, head_dim]))


class Qwen38GatedDeltaNet(AbstractModuleBase):
    """Linear attention: a convolution over few positions, the gated delta rule, a norm of each head times a gate."""

    def __init__(self, config: Qwen38Config, layer_idx: int) -> None:
        super().__init__()
        self.layer_idx, self.config = layer_idx, config
        self.tp, self.axis = tp_size(config), tp_axis(config)
        keys, values = config.linear_num_key_heads, config.linear_num_value_heads
        if keys % self.tp or values % self.tp:
            raise ValueError(
                f"{keys} key heads and {values} value heads do not divide over {self.tp} tensor-parallel devices; help: multiples of {self.tp}, or fewer devices on the axis"
            )
        self.num_k_heads, self.num_v_heads = keys // self.tp, values // self.tp
        self.head_k_dim, self.head_v_dim = config.linear_key_head_dim, config.linear_value_head_dim
        self.gva_repeats, self.conv_kernel = config.gva_repeats, config.linear_conv_kernel_dim
        self.chunk_size, self.eps = config.delta_chunk_size, config.rms_norm_eps
        hidden, wide = config.hidden_size, config.qkv_proj_dim
        self.in_proj_qkv = make_column_linear(config, hidden, wide, joint_init(config, _DRAW, 2))
        self.in_proj_z = make_column_linear(config, hidden, config.value_proj_dim, _DRAW)
        self.in_proj_b = make_column_linear(config, hidden, values, _DRAW)
        self.in_proj_a = make_column_linear(config, hidden, values, _DRAW)
        self.out_proj = make_row_linear(config, config.value_proj_dim, hidden, _DRAW)
        for number in range(self.conv_kernel):
            tap = make_sharded_parameter(config, joint_init(config, _DRAW, 3), (1, 1, 1, wide))
            setattr(self, f"conv_tap_{number}", tap)
        self.A_log = make_sharded_parameter(config, initial.zeros(), (1, 1, 1, values))
        self.dt_bias = make_sharded_parameter(config, initial.zeros(), (1, 1, 1, values))
        self.norm_weight = _shared_ones(self.head_v_dim, self.axis)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """[B, 1, T, D] -> the same shape."""
        own, kernel = self._tensors, self.conv_kernel
        taps = [own[f"conv_tap_{number}"] for number in range(kernel)]
        joint = causal_conv1d_silu(self.in_proj_qkv(hidden_states), taps, kernel)
        sections = tuple(width // self.tp for width in self.config.qkv_sections)
        query, key, value = pieces.split(joint, sections, -1)
        strength = pieces.sigmoid(self.in_proj_b(hidden_states))
        pace = along.softplus(binary.add(self.in_proj_a(hidden_states), own["dt_bias"]))
        decay = binary.mul(pace, binary.mul(exp(own["A_log"]), -1.0))
        query, key = (along.flat_l2_norm(x, self.head_k_dim) for x in (query, key))
        gate = self.in_proj_z(hidden_states)
        mix = self._fused if self.config.delta_rule_impl == "fused" else self._composite
        out: Tensor = self.out_proj(mix(query, key, value, decay, strength, gate))
        return out

    def _fused(
        self, query: Tensor, key: Tensor, value: Tensor, decay: Tensor, strength: Tensor, gate: Tensor
    ) -> Tensor:
        mixed = delta_rule.fused_chunk_gated_delta_rule_flat(
            query,
            key,
            value,
            decay,
            strength,
            num_k_heads=self.num_k_heads,
            num_v_heads=self.num_v_heads,
            key_dim=self.head_k_dim,
            chunk_size=self.chunk_size,
        )
        return gated_rmsnorm(mixed, gate, self._norm_weight(), self.eps)

    def _composite(
        self, query: Tensor, key: Tensor, value: Tensor, decay: Tensor, strength: Tensor, gate: Tensor
    ) -> Tensor:
        """The same by operations for one head each, which takes any number and width of heads."""
        query, key = self._for_each_value(query), self._for_each_value(key)
        n, wide = self.num_v_heads, self.head_v_dim
        mixed = delta_rule.chunk_gated_delta_rule(
            fold_heads(query, n, self.head_k_dim),
            fold_heads(key, n, self.head_k_dim),
            fold_heads(value, n, wide),
            fold_heads(decay, n, 1),
            fold_heads(strength, n, 1),
            chunk_size=self.chunk_size,
            use_qk_l2norm=False,
        )
        gates = fold_heads(gate, n, wide)
        normal = binary.mul(rmsnorm(mixed, self._norm_weight(), self.eps), silu(gates))
        return unfold_heads(normal, query.shape()[0], n)

    def _for_each_value(self, x: Tensor) -> Tensor:
        """Every key head as often as it has value heads, its copies beside one another."""
        batch, _, length, width = x.shape()
        each = shapes.reshape(x, [batch, length, self.num_k_heads, self.head_k_dim])
        copies = pieces.concat([each] * self.gva_repeats, -1)
        return shapes.reshape(copies, [batch, 1, length, width * self.gva_repeats])

    def _norm_weight(self) -> Tensor:
        return _seen_by_all(self._tensors["norm_weight"], self.axis)


class Qwen38MLP(AbstractModuleBase):
    """down_proj(silu(gate_proj x) * up_proj x)."""

    def __init__(self, config: Qwen38Config, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate_proj = make_column_linear(config, hidden_size, intermediate_size, _DRAW)
        self.up_proj = make_column_linear(config, hidden_size, intermediate_size, _DRAW)
        self.down_proj = make_row_linear(config, intermediate_size, hidden_size, _DRAW)

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, T, D] -> the same shape."""
        out: Tensor = self.down_proj(binary.mul(silu(self.gate_proj(x)), self.up_proj(x)))
        return out


class Qwen38Block(AbstractModuleBase):
    """x + attention(norm(x)), then x + mlp(norm(x)); `linear_attn` or `self_attn`, as the configuration says."""

    def __init__(
        self, config: Qwen38Config, layer_idx: int, rope_params: rope.RotaryEmbeddingParams | None = None
    ) -> None:
        super().__init__()
        self.layer_idx = layer_idx
        self.is_full_attention = config.is_full_attention(layer_idx)
        if self.is_full_attention:
            self.self_attn = Qwen38GatedAttention(config, layer_idx, rope_params)
        else:
            self.linear_attn = Qwen38GatedDeltaNet(config, layer_idx)
        self.recompute_block = config.recompute_layers
        self.recompute_mixer = config.recompute_deltanet and not (
            self.is_full_attention or self.recompute_block
        )
        self.mlp = Qwen38MLP(config, config.hidden_size, config.intermediate_size)
        self.input_layernorm = Qwen38RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = Qwen38RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(
        self,
        hidden_states: Tensor,
        mask: Tensor | None = None,
        past_key_values: Any = None,
        position_offset: int = 0,
    ) -> Tensor:
        """[B, 1, T, D] -> the same shape."""
        if self.recompute_block:
            return memory_efficient_runner(self._run, hidden_states, mask, past_key_values, position_offset)
        return self._run(hidden_states, mask, past_key_values, position_offset)

    def _run(self, x: Tensor, mask: Tensor | None, cache: Any, first: int) -> Tensor:
        normal = self.input_layernorm(x)
        if self.is_full_attention:
            mixed = self.self_attn(normal, mask, cache, first)
        elif self.recompute_mixer:
            mixed = memory_efficient_runner(self.linear_attn, normal)
        else:
            mixed = self.linear_attn(normal)
        x = binary.add(x, mixed)
        return binary.add(x, self.mlp(self.post_attention_layernorm(x)))


class Qwen38Transformer(AbstractModuleBase):
    """Embedding, layers, last norm and head; with `use_tp` the head's logits stay cut over the axis."""

    def __init__(self, config: Qwen38Config) -> None:
        super().__init__()
        self.config = config
        hidden, entries = config.hidden_size, config.vocab_size
        padded = whole_tiles(entries)
        if config.tie_word_embeddings:
            # A tied head is whole on every device, as the table is.
            self.lm_head: Any = LinearLayer(hidden, padded, False, _DRAW)
        else:
            self.lm_head = make_column_linear(config, hidden, entries, _DRAW)
        self.embed_tokens = Embedding(padded, hidden, _DRAW)
        if config.tie_word_embeddings:
            self.embed_tokens.weight = self.lm_head.weight
        shared = positions(config) if "full_attention" in config.layer_types else None
        self.layers = ModuleList(
            Qwen38Block(config, number, shared) for number in range(config.num_hidden_layers)
        )
        self.norm = Qwen38RMSNorm(hidden, config.rms_norm_eps)

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        past_key_values: Any = None,
        position_offset: int = 0,
        return_hidden: bool = False,
    ) -> Tensor:
        """ids [B, 1, 1, T] -> logits [B, 1, T, vocabulary], or what the head would see. Without a mask a position sees those up to itself.

        Raises ValueError for a cache in a model with linear attention, whose states no cache holds.
        """
        if past_key_values is not None and "linear_attention" in self.config.layer_types:
            raise ValueError(
                "Qwen38Transformer: layers of linear attention keep no state from call to call; help: past_key_values=None, and the whole sequence each time"
            )
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            x = layer(x, mask, past_key_values, position_offset)
        x = self.norm(x)
        return x if return_hidden else as_logits(self.lm_head(x))
