"""DeepSeek: attention through a narrow latent, and a mixture of experts from some layer on.

    query   x -> wq_a -> norm -> wq_b, or wq alone; each head is [without | with rotary positions]
    latent  x -> wkv_a -> [latent | one rotary key for all heads]; norm(latent) -> wkv_b -> each head's [key | value]

With `use_tp` heads, hidden features and the vocabulary are cut over the tensor-parallel axis; the latent, the gate and its choice are whole on every
device. `moe_tp_axis_name` cuts the experts, and them alone, over a named axis of the mesh; `moe_type="sparse_ep"`, or `moe_parallel_type="ep"` beside that axis, deals them whole over
`moe_axis_name`, `"sparse_tp"` cuts each of them over it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.decoders.cut_layers import axis_of, narrow, parts_of, wide
from tt_run.runtime.train.models.decoders.expert_parallel import SparseMoEEP, SparseMoETP
from tt_run.runtime.train.models.decoders.mixture import DeepSeekConfig, DeepSeekMLP, MoE, axis_of_experts
from tt_run.runtime.train.models.runner import run
from tt_run.runtime.train.models.transformer import as_logits
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.layers import Embedding, RMSNormLayer
from tt_run.runtime.train.modules.linear import ColumnParallelLinear, LinearLayer
from tt_run.runtime.train.ops import binary, distributed, pieces, rope, shapes
from tt_run.runtime.train.ops.attention import scaled_dot_product_attention_composite
from tt_run.runtime.train.ops.ring_attention import require_whole_positions

Array = npt.NDArray[Any]


class MultiHeadLatentAttention(AbstractModuleBase):
    """Attention whose keys and values come out of a narrow latent; each tensor-parallel device has some of the heads."""

    def __init__(self, config: DeepSeekConfig, rope_params: rope.RotaryEmbeddingParams) -> None:
        super().__init__()
        self.config, self.rope_params = config, rope_params
        self.q_lora_rank, self.kv_lora_rank = config.q_lora_rank, config.kv_lora_rank
        self.qk_nope_head_dim, self.qk_rope_head_dim = config.qk_nope_head_dim, config.qk_rope_head_dim
        self.qk_head_dim = config.qk_nope_head_dim + config.qk_rope_head_dim
        self.v_head_dim = config.v_head_dim
        parts, width = parts_of(config.use_tp), config.dim
        if config.n_heads % parts:
            raise ValueError(
                f"{config.n_heads} heads do not divide over {parts} tensor-parallel devices; help: a multiple of {parts} in n_heads, or fewer devices on 'tp'"
            )
        self.n_heads, cut = config.n_heads // parts, parts > 1
        self.axis = axis_of(config.use_tp)
        joint = config.n_heads * (config.qk_nope_head_dim + config.qk_rope_head_dim)
        if config.q_lora_rank:
            self.wq_a = LinearLayer(width, config.q_lora_rank, False)
            self.q_norm = RMSNormLayer(config.q_lora_rank)
            self.wq_b = wide(config.q_lora_rank, joint, cut)
        else:
            self.wq = wide(width, joint, cut)
        self.wkv_a = LinearLayer(width, config.kv_lora_rank + config.qk_rope_head_dim, False)
        self.kv_norm = RMSNormLayer(config.kv_lora_rank)
        self.wkv_b = wide(
            config.kv_lora_rank, config.n_heads * (config.qk_nope_head_dim + config.v_head_dim), cut
        )
        self.wo = narrow(config.n_heads * config.v_head_dim, width, cut)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """[B, 1, S, D] -> the same shape; without a mask no position sees those after it."""
        if mask is None:
            mask = Tensor.from_numpy(
                np.tril(np.ones((1, 1, *[x.shape()[2]] * 2), np.float32)), new_type=DataType.BFLOAT16
            )
            mask.set_requires_grad(False)
        config, heads = self.config, self.n_heads
        joint = self.wq_b(self.q_norm(self.wq_a(x))) if config.q_lora_rank else self.wq(x)
        plain, turning = pieces.split(
            pieces.split_heads(joint, heads), (config.qk_nope_head_dim, config.qk_rope_head_dim), 3
        )
        query = pieces.concat([plain, rope.rope(turning, self.rope_params)], 3)
        latent, shared = pieces.split(self.wkv_a(x), (config.kv_lora_rank, config.qk_rope_head_dim), 3)
        if self.axis is not None:
            # Each device turns the one rotary key for its own heads: its gradient is the sum of what all of them say.
            shared = distributed.broadcast(shared, self.axis)
        joined = pieces.split_heads(self.wkv_b(self.kv_norm(latent)), heads)
        key, value = pieces.split(joined, (config.qk_nope_head_dim, config.v_head_dim), 3)
        turned = pieces.shared_by_heads(rope.rope(shared, self.rope_params), heads)
        mixed = scaled_dot_product_attention_composite(query, pieces.concat([key, turned], 3), value, mask)
        out: Tensor = self.wo(shapes.heads_fusion(mixed))
        return out


def _mixture(config: DeepSeekConfig) -> MoE:
    kinds: dict[str, type[MoE]] = {"sparse_ep": SparseMoEEP, "sparse_tp": SparseMoETP}
    axis = "tp" if parts_of(config.use_tp) > 1 else axis_of_experts(config)
    if config.moe_type == "sparse" and config.moe_parallel_type == "ep" and axis is not None:
        return SparseMoEEP(config, axis_name=axis)
    return kinds.get(config.moe_type, MoE)(config)


class DeepSeekBlock(AbstractModuleBase):
    """x + attention(norm(x)), then x + ffn(norm(x)); the first layers are dense, the others mixtures."""

    def __init__(
        self, layer_id: int, config: DeepSeekConfig, rope_params: rope.RotaryEmbeddingParams
    ) -> None:
        super().__init__()
        self.attn = MultiHeadLatentAttention(config, rope_params)
        self.ffn: DeepSeekMLP | MoE = (
            DeepSeekMLP(config.dim, config.inter_dim, use_tp=parts_of(config.use_tp) > 1)
            if layer_id < config.n_dense_layers
            else _mixture(config)
        )
        self.attn_norm = RMSNormLayer(config.dim)
        self.ffn_norm = RMSNormLayer(config.dim)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        x = binary.add(x, self.attn(self.attn_norm(x), mask))
        return binary.add(x, self.ffn(self.ffn_norm(x)))


class DeepSeek(AbstractModuleBase):
    """Token embedding, blocks, last norm, head."""

    @naming_faults
    def __init__(self, config: DeepSeekConfig) -> None:
        require_whole_positions("DeepSeek")
        super().__init__()
        self.config = config
        self.padded_vocab_size = whole_tiles(config.vocab_size)
        self.head: ColumnParallelLinear | LinearLayer = (
            ColumnParallelLinear(config.dim, self.padded_vocab_size, False, gather_output=True)
            if parts_of(config.use_tp) > 1
            else LinearLayer(config.dim, self.padded_vocab_size, False)
        )
        self.tok_emb = Embedding(self.padded_vocab_size, config.dim, initial.normal(0.0, 0.02))
        positions = rope.build_rope_params(config.max_seq_len, config.qk_rope_head_dim, config.rope_theta)
        self.blocks = ModuleList(
            DeepSeekBlock(number, config, positions) for number in range(config.n_layers)
        )
        self.norm = RMSNormLayer(config.dim)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """ids [B, 1, 1, S] and the causal mask [1, 1, S, S] -> logits [B, 1, S, vocabulary]. Raises ValueError without a mask."""
        if mask is None:
            raise ValueError(
                "Mask is required for DeepSeek model; help: ttml.autograd.Tensor.from_numpy(build_causal_mask(length))"
            )
        x = self.tok_emb(tokens)
        for block in self.blocks:
            x = run(lambda inside, block=block: block(inside, mask), x, self.config.runner_type)
        logits = self.head(self.norm(x))
        if self.padded_vocab_size != self.config.vocab_size:
            shape = logits.shape()
            logits = pieces.cut(logits, (0, 0, 0, 0), (*shape[:3], self.config.vocab_size))
        return as_logits(logits)

    def get_moe_layers(self) -> list[MoE]:
        """The mixtures, for `update_expert_bias`."""
        return [block.ffn for block in self.blocks if isinstance(block.ffn, MoE)]  # type: ignore[attr-defined]
