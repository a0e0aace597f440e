"""Qwen3: Llama's decoder with separate projections, heads of a width of their own, and queries and keys normalised for each head."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import type_name
from tt_run.runtime.native.arguments import check_fields
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.cache import KvCache, turned, update_for
from tt_run.runtime.train.models.decoders.cut_layers import axis_of, narrow, parts_of, wide
from tt_run.runtime.train.models.decoders.llama import run_blocks
from tt_run.runtime.train.models.decoders.llama_config import (
    LlamaRopeScalingConfig as Qwen3RopeScalingConfig,
)
from tt_run.runtime.train.models.decoders.llama_config import check_decoder, settle_scaling
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType
from tt_run.runtime.train.models.sizes import check_sizes
from tt_run.runtime.train.models.transformer import as_logits
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.layers import Embedding, RMSNormLayer
from tt_run.runtime.train.modules.linear import ColumnParallelLinear, LinearLayer
from tt_run.runtime.train.ops import binary, pieces, rope, shapes
from tt_run.runtime.train.ops.norms import rmsnorm
from tt_run.runtime.train.ops.ring_attention import attention, context_positions
from tt_run.runtime.train.ops.unary import silu

__all__ = [
    "ConcatLastDim",
    "Qwen3",
    "Qwen3Attention",
    "Qwen3Config",
    "Qwen3DecoderLayer",
    "Qwen3MLP",
    "Qwen3Model",
    "Qwen3RMSNorm",
    "Qwen3RopeScalingConfig",
    "RMSNormFunction",
    "build_attn_mask",
    "create_qwen3_config_from_hf",
]


@dataclass(frozen=True)
class Qwen3Config:
    """Sizes of a Qwen3. Raises TypeError for sizes that are no numbers, ValueError for those that do not divide."""

    vocab_size: int = 151936
    hidden_size: int = 4096
    intermediate_size: int = 22016
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int = 32
    head_dim: int = 128
    max_position_embeddings: int = 32768
    rms_norm_eps: float = 1e-6
    attention_bias: bool = True
    attention_dropout: float = 0.0
    rope_theta: float = 1000000.0
    runner_type: RunnerType = RunnerType.Default
    weight_tying: WeightTyingType = WeightTyingType.Disabled
    rope_scaling: Qwen3RopeScalingConfig = field(default_factory=Qwen3RopeScalingConfig)
    use_tp: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        settle_scaling(self, Qwen3RopeScalingConfig)
        check_decoder(self, "max_position_embeddings", "hidden_size", "head_dim")
        check_sizes(self)


def create_qwen3_config_from_hf(
    hf_config: Any, max_sequence_length: int, runner_type: RunnerType = RunnerType.Default
) -> Qwen3Config:
    """The sizes of a Hugging Face configuration object, for sequences of at most `max_sequence_length`. Raises TypeError for what is none."""
    if not hasattr(hf_config, "num_attention_heads"):
        raise TypeError(
            f"create_qwen3_config_from_hf: a configuration of transformers is wanted, not {type_name(hf_config)}; help: AutoConfig.from_pretrained(path)"
        )
    given = getattr(hf_config, "rope_parameters", None) or getattr(hf_config, "rope_scaling", None) or {}
    scaling = Qwen3RopeScalingConfig(
        scaling_factor=float(given.get("factor", 0.0)),
        high_freq_factor=float(given.get("high_freq_factor", 4.0)),
        low_freq_factor=float(given.get("low_freq_factor", 1.0)),
        original_context_length=int(given.get("original_max_position_embeddings", 0)),
    )
    heads = hf_config.num_attention_heads
    theta = getattr(hf_config, "rope_theta", None) or given.get("rope_theta", 1000000.0)
    tied = getattr(hf_config, "tie_word_embeddings", False)
    return Qwen3Config(
        vocab_size=hf_config.vocab_size,
        hidden_size=hf_config.hidden_size,
        intermediate_size=hf_config.intermediate_size,
        num_hidden_layers=hf_config.num_hidden_layers,
        num_attention_heads=heads,
        num_key_value_heads=hf_config.num_key_value_heads,
        head_dim=getattr(hf_config, "head_dim", None) or hf_config.hidden_size // heads,
        max_position_embeddings=max_sequence_length,
        rms_norm_eps=hf_config.rms_norm_eps,
        attention_bias=getattr(hf_config, "attention_bias", True),
        rope_theta=float(theta),
        rope_scaling=scaling,
        weight_tying=WeightTyingType.Enabled if tied else WeightTyingType.Disabled,
        runner_type=runner_type,
    )


class Qwen3RMSNorm(RMSNormLayer):
    """Root-mean-square normalisation with gamma of ones."""

    def __init__(self, hidden_size: int, eps: float = 1e-6, sequence_axis: int | None = None) -> None:
        super().__init__(hidden_size, eps, sequence_axis=sequence_axis)


class ConcatLastDim:
    """Two tensors side by side on their last dimension, as upstream calls it: `ConcatLastDim.apply(a, b)`."""

    @staticmethod
    def apply(a: Tensor, b: Tensor) -> Tensor:
        """[..., n] and [..., m] -> [..., n + m]."""
        return pieces.concat([a, b], -1)


class RMSNormFunction:
    """Root-mean-square normalisation, as upstream calls it: `RMSNormFunction.apply(x, gamma, eps)`."""

    @staticmethod
    def apply(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
        """[..., D] by gamma [1, 1, 1, D] -> the same shape."""
        return rmsnorm(x, gamma, eps)


class Qwen3Attention(AbstractModuleBase):
    """Grouped attention, rotary positions, and a norm over each head of queries and keys before those.

    With `use_tp` each tensor-parallel device has some of the heads.
    """

    def __init__(
        self,
        hidden_size: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        head_dim: int,
        rope_params: rope.RotaryEmbeddingParams,
        attention_bias: bool = True,
        rms_norm_eps: float = 1e-6,
        use_tp: bool = False,
    ) -> None:
        super().__init__()
        parts, axis = parts_of(use_tp), axis_of(use_tp)
        if num_attention_heads % parts or num_key_value_heads % parts:
            raise ValueError(
                f"{num_attention_heads} heads and {num_key_value_heads} groups do not divide over {parts} tensor-parallel devices; help: multiples of {parts}, or use_tp=False"
            )
        self.num_heads, self.num_kv_heads = num_attention_heads // parts, num_key_value_heads // parts
        self.head_dim, self.rope_params, cut = head_dim, rope_params, parts > 1
        joint, shared = num_attention_heads * head_dim, num_key_value_heads * head_dim
        self.q_proj = wide(hidden_size, joint, cut, attention_bias)
        self.k_proj = wide(hidden_size, shared, cut, attention_bias)
        self.v_proj = wide(hidden_size, shared, cut, attention_bias)
        self.o_proj = narrow(joint, hidden_size, cut, attention_bias)
        # Every device norms its own heads by the one gamma, whose gradient is the sum of what all of them say.
        self.q_norm = Qwen3RMSNorm(head_dim, rms_norm_eps, axis)
        self.k_norm = Qwen3RMSNorm(head_dim, rms_norm_eps, axis)

    def forward(
        self,
        hidden_states: Tensor,
        mask: Tensor | None = None,
        kv_cache: KvCache | None = None,
        layer_idx: int | None = None,
        new_tokens: int | None = None,
    ) -> Tensor:
        """[B, 1, S, D] -> the same shape; with a cache, S new positions after those it holds."""
        query = self.q_norm(pieces.split_heads(self.q_proj(hidden_states), self.num_heads))
        key = self.k_norm(pieces.split_heads(self.k_proj(hidden_states), self.num_kv_heads))
        value = pieces.split_heads(self.v_proj(hidden_states), self.num_kv_heads)
        start = 0 if kv_cache is None else kv_cache.position
        query, key = (turned(t, self.rope_params, start, new_tokens) for t in (query, key))
        if kv_cache is not None:
            if layer_idx is None:
                raise ValueError(
                    "forward with kv_cache requires layer_idx; help: layer_idx=0 for the first block"
                )
            key, value = update_for(kv_cache, layer_idx, key, value, mask, new_tokens)
        mixed = self.sdpa(query, key, value, mask)
        out: Tensor = self.o_proj(shapes.heads_fusion(mixed))
        return out

    def sdpa(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """The attention of heads [B, H, S, E] over groups [B, G, S, E]; a program may put another operation in its place."""
        return attention(query, key, value, mask)


class Qwen3MLP(AbstractModuleBase):
    """down_proj(silu(gate_proj x) * up_proj x)."""

    def __init__(self, hidden_size: int, intermediate_size: int, use_tp: bool = False) -> None:
        super().__init__()
        cut = parts_of(use_tp) > 1
        self.gate_proj = wide(hidden_size, intermediate_size, cut)
        self.up_proj = wide(hidden_size, intermediate_size, cut)
        self.down_proj = narrow(intermediate_size, hidden_size, cut)

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        out: Tensor = self.down_proj(binary.mul(silu(self.gate_proj(x)), self.up_proj(x)))
        return out


class Qwen3DecoderLayer(AbstractModuleBase):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        head_dim: int,
        rope_params: rope.RotaryEmbeddingParams,
        attention_bias: bool = True,
        rms_norm_eps: float = 1e-6,
        use_tp: bool = False,
    ) -> None:
        super().__init__()
        self.input_layernorm = Qwen3RMSNorm(hidden_size, rms_norm_eps)
        self.self_attn = Qwen3Attention(
            hidden_size,
            num_attention_heads,
            num_key_value_heads,
            head_dim,
            rope_params,
            attention_bias,
            rms_norm_eps,
            use_tp,
        )
        self.post_attention_layernorm = Qwen3RMSNorm(hidden_size, rms_norm_eps)
        self.mlp = Qwen3MLP(hidden_size, intermediate_size, use_tp)

    def forward(
        self,
        hidden_states: Tensor,
        mask: Tensor | None = None,
        kv_cache: KvCache | None = None,
        layer_idx: int | None = None,
        new_tokens: int | None = None,
    ) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        inner = self.self_attn(self.input_layernorm(hidden_states), mask, kv_cache, layer_idx, new_tokens)
        x = binary.add(hidden_states, inner)
        return binary.add(x, self.mlp(self.post_attention_layernorm(x)))


class Qwen3Model(AbstractModuleBase):
    """Embedding, layers and last norm."""

    def __init__(self, config: Qwen3Config) -> None:
        super().__init__()
        self.config = config
        positions = rope.build_rope_params(
            config.max_position_embeddings,
            config.head_dim,
            config.rope_theta,
            config.rope_scaling.params(),
            *context_positions(),
        )
        self.embed_tokens = Embedding(
            whole_tiles(config.vocab_size), config.hidden_size, initial.normal(0.0, 0.02)
        )
        self.layers = ModuleList(
            Qwen3DecoderLayer(
                config.hidden_size,
                config.intermediate_size,
                config.num_attention_heads,
                config.num_key_value_heads,
                config.head_dim,
                positions,
                config.attention_bias,
                config.rms_norm_eps,
                config.use_tp,
            )
            for _ in range(config.num_hidden_layers)
        )
        self.norm = Qwen3RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        kv_cache: KvCache | None = None,
        new_tokens: int | None = None,
    ) -> Tensor:
        """ids [B, 1, 1, T] -> activations [B, 1, T, D]."""
        x = self.embed_tokens(input_ids)
        return self.norm(run_blocks(self.layers, x, mask, self.config.runner_type, kv_cache, new_tokens))


class Qwen3(AbstractModuleBase):
    """The model and its head; `tok_emb`, `blocks`, `ln_fc` and `fc` are its parts by the names of the reference's newer form."""

    @naming_faults
    def __init__(self, config: Qwen3Config) -> None:
        super().__init__()
        self.config = config
        self.model = Qwen3Model(config)
        head, tied = (config.hidden_size, whole_tiles(config.vocab_size), False), config.weight_tying
        # A tied head is whole on every device, as the table is.
        cut = parts_of(config.use_tp) > 1 and tied is not WeightTyingType.Enabled
        weights = initial.normal(0.0, 0.02)
        self.lm_head: ColumnParallelLinear | LinearLayer = (
            ColumnParallelLinear(*head, weights, gather_output=True) if cut else LinearLayer(*head, weights)
        )
        if tied is WeightTyingType.Enabled:
            self.lm_head.weight = self.model.embed_tokens.weight

    @property
    def tok_emb(self) -> Embedding:
        """The table of token embeddings."""
        return self.model.embed_tokens

    @property
    def blocks(self) -> ModuleList:
        """The layers."""
        return self.model.layers

    @property
    def ln_fc(self) -> Qwen3RMSNorm:
        """The last norm."""
        return self.model.norm

    @property
    def fc(self) -> ColumnParallelLinear | LinearLayer:
        """The head."""
        return self.lm_head

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        kv_cache: KvCache | None = None,
        new_tokens: int | None = None,
        past_key_values: KvCache | None = None,
    ) -> Tensor:
        """ids [B, 1, 1, T] -> logits [B, 1, T, vocabulary]. Without a mask a position sees those up to itself.

        `past_key_values` is another name of `kv_cache`. Raises TypeError for both.
        """
        if past_key_values is not None and kv_cache is not None:
            raise TypeError("Qwen3: kv_cache and past_key_values are two names of one cache; help: give one")
        cache = kv_cache if past_key_values is None else past_key_values
        return as_logits(self.lm_head(self.model(input_ids, mask, cache, new_tokens)))


def build_attn_mask(
    seq_len: int, *, kv_cache: KvCache | None = None, max_seq_len: int | None = None
) -> Tensor:
    """The causal mask of `seq_len` new positions after those that a cache holds, [1, 1, seq_len, held + seq_len]."""
    held = 0 if kv_cache is None else kv_cache.position
    if max_seq_len is not None and held + seq_len > max_seq_len:
        raise ValueError(
            f"build_attn_mask: {held} + {seq_len} positions exceed max_seq_len {max_seq_len}; help: a larger max_seq_len"
        )
    rows = np.tril(np.ones((1, 1, seq_len, held + seq_len), np.float32), held)
    return Tensor.from_numpy(rows, new_type=DataType.BFLOAT16)
