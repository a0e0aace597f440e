"""Wan 2.2: blocks of attention among patches, attention to the text, and a feed-forward part, each shifted and scaled by the time.

What the time and the text make is not trained, as in upstream, where adapters are: it is computed without gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.function import Function, FunctionContext
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.utils import no_grad
from tt_run.runtime.train.models.runner import RunnerType, run
from tt_run.runtime.train.models.sizes import check_sizes
from tt_run.runtime.train.models.wan.latents import patch_features, timestep_features
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.linear import ColumnParallelLinear, LinearLayer, RowParallelLinear
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.ops import distributed, pieces, shapes
from tt_run.runtime.train.ops.attention import scaled_dot_product_attention_composite
from tt_run.runtime.train.ops.norms import layernorm, rmsnorm
from tt_run.runtime.train.ops.rope import RotaryEmbeddingParams, rope
from tt_run.runtime.train.ops.unary import GeluVariant, gelu, silu
from tt_run.runtime.train.parallel.named_mesh import mesh

BLOCK_PARTS, FINAL_PARTS = 6, 2


@dataclass(frozen=True)
class WanConfig:
    """Sizes of one expert, by default those of Wan2.2-T2V-A14B. Raises ValueError for heads that do not divide, and for another type than t2v and i2v.

    Without `init_weights` matrices are zeros until they are loaded. With `use_tp` heads and inner features are cut over the mesh axis "tp".
    """

    dim: int = 5120
    ffn_dim: int = 13824
    num_layers: int = 40
    num_heads: int = 40
    patch_size: tuple[int, int, int] = (1, 2, 2)
    in_channels: int = 16
    out_channels: int = 16
    text_dim: int = 4096
    freq_dim: int = 256
    cross_attn_norm: bool = True
    eps: float = 1e-6
    rope_max_seq_len: int = 1024
    model_type: str = "t2v"
    runner_type: RunnerType = RunnerType.Default
    init_weights: bool = True
    use_tp: bool = False

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.dim % self.num_heads:
            raise ValueError(
                f"dim {self.dim} must be divisible by num_heads {self.num_heads}; help: dim={self.num_heads * (self.dim // self.num_heads + 1)}"
            )
        if len(self.patch_size) != 3 or min(self.patch_size) < 1:
            raise ValueError(
                f"patch_size must be frames, rows and columns of a patch, got {self.patch_size}; help: patch_size=(1, 2, 2)"
            )
        if self.model_type not in ("t2v", "i2v"):
            raise ValueError(f"model_type must be t2v or i2v, got {self.model_type!r}")

    @property
    def head_dim(self) -> int:
        """Features of one head."""
        return self.dim // self.num_heads

    def weight_init(self) -> initial.Initializer:
        """What a matrix starts from."""
        return initial.normal(0.0, 0.02) if self.init_weights else initial.zeros()


class GeluTanh(Function):
    """GELU by the hyperbolic tangent: `GeluTanh.apply(x)`."""

    @staticmethod
    def forward(ctx: FunctionContext, x: Tensor) -> Tensor:
        """The value; its gradient is that of the same form."""
        return gelu(x, GeluVariant.Tanh)


class SplitHeads(Function):
    """[B, 1, S, heads * E] -> [B, heads, S, E]: `SplitHeads.apply(x, num_heads)`."""

    @staticmethod
    def forward(ctx: FunctionContext, x: Tensor, num_heads: int) -> Tensor:
        """The heads."""
        return pieces.split_heads(x, num_heads)


def _inward(config: WanConfig, width: int, inner: int) -> AbstractModuleBase:
    """A layer whose results, with tensor parallelism, are cut over the devices."""
    if config.use_tp:
        return ColumnParallelLinear(
            width, inner, weight_init=config.weight_init(), gather_output=False, axis_name="tp"
        )
    return LinearLayer(width, inner, weight_init=config.weight_init())


def _outward(config: WanConfig, inner: int, width: int) -> AbstractModuleBase:
    """A layer that takes what is cut, and sums."""
    if config.use_tp:
        return RowParallelLinear(
            inner, width, weight_init=config.weight_init(), input_is_parallel=True, axis_name="tp"
        )
    return LinearLayer(inner, width, weight_init=config.weight_init())


class WanRMSNorm(AbstractModuleBase):
    """Over the features of all heads together; those that are cut over a mesh axis are gathered for it."""

    def __init__(self, dim: int, eps: float, tp_axis: int | None = None) -> None:
        super().__init__()
        self.eps, self.tp_axis = eps, tp_axis
        self.weight = Parameter(initial.ones()((1, 1, 1, dim)))

    def forward(self, x: Tensor) -> Tensor:
        """Normalised over the last dimension."""
        if self.tp_axis is None:
            return rmsnorm(x, self._tensors["weight"], self.eps)
        whole = distributed.all_gather(x, 3, self.tp_axis, distributed.GradOutputType.REPLICATED)
        return distributed.scatter(rmsnorm(whole, self._tensors["weight"], self.eps), 3, self.tp_axis)


class WanLayerNorm(AbstractModuleBase):
    """Layer normalisation with a weight and a bias of its own."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = Parameter(initial.ones()((1, 1, 1, dim)))
        self.bias = Parameter(initial.zeros()((1, 1, 1, dim)))

    def forward(self, x: Tensor) -> Tensor:
        """Normalised over the last dimension."""
        return layernorm(x, self._tensors["weight"], self._tensors["bias"])


class WanAttention(AbstractModuleBase):
    """Attention of patches to each other, which turn with their places, or to a text; nothing is hidden without a mask."""

    def __init__(self, config: WanConfig, *, is_self: bool) -> None:
        super().__init__()
        self.is_self, self.head_dim, self.num_heads = is_self, config.head_dim, config.num_heads
        axis = None
        if config.use_tp:
            parts = mesh().axis_size("tp")
            if config.num_heads % parts:
                raise ValueError(f"num_heads {config.num_heads} is not divisible by TP size {parts}")
            axis, self.num_heads = mesh().axis_index("tp"), config.num_heads // parts
        self.to_q = _inward(config, config.dim, config.dim)
        self.to_k = _inward(config, config.dim, config.dim)
        self.to_v = _inward(config, config.dim, config.dim)
        self.to_out = _outward(config, config.dim, config.dim)
        self.norm_q = WanRMSNorm(config.dim, config.eps, axis)
        self.norm_k = WanRMSNorm(config.dim, config.eps, axis)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        rope_params: RotaryEmbeddingParams | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """[B, 1, S, dim]; `context` [B, 1, L, dim] is what attention to a text needs, `rope_params` what that among patches does."""
        source = x if self.is_self else context
        if source is None:
            raise ValueError(
                "cross-attention requires a context tensor; help: context=the prompt [B, 1, L, dim]"
            )
        if self.is_self and rope_params is None:
            raise ValueError("self-attention requires rope_params; help: build_rope_params(…)")
        query = SplitHeads.apply(self.norm_q(self.to_q(x)), self.num_heads)
        key = SplitHeads.apply(self.norm_k(self.to_k(source)), self.num_heads)
        value = SplitHeads.apply(self.to_v(source), self.num_heads)
        if self.is_self and rope_params is not None:
            query, key = rope(query, rope_params), rope(key, rope_params)
        return self.to_out(
            shapes.heads_fusion(scaled_dot_product_attention_composite(query, key, value, mask))
        )


class WanFeedForward(AbstractModuleBase):
    """Two layers, and GELU by the hyperbolic tangent between them."""

    def __init__(self, config: WanConfig) -> None:
        super().__init__()
        if config.use_tp and config.ffn_dim % mesh().axis_size("tp"):
            raise ValueError(f"ffn_dim {config.ffn_dim} is not divisible by TP size {mesh().axis_size('tp')}")
        self.ff1 = _inward(config, config.dim, config.ffn_dim)
        self.ff2 = _outward(config, config.ffn_dim, config.dim)

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, S, dim]."""
        return self.ff2(GeluTanh.apply(self.ff1(x)))


def _parts(table: Tensor, told: Tensor, count: int) -> list[Tensor]:
    """A table [1, 1, count, dim] moved by what the time tells [B, 1, count or 1, dim], row by row; none of them is trained."""
    with no_grad():
        moved = table + told
        return list(pieces.split(moved, [1] * count, 2))


def _modulated(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Layer normalisation, scaled and shifted; each of a batch by its own."""
    if scale.shape()[0] == 1:
        return layernorm(x, scale, shift)
    ones = initial.ones()((1, 1, 1, x.shape()[-1]))
    return layernorm(x, ones) * scale + shift


class WanTransformerBlock(AbstractModuleBase):
    """Attention among patches, attention to the text, and a feed-forward part; the first and the last are shifted, scaled and gated by the time."""

    def __init__(self, config: WanConfig) -> None:
        super().__init__()
        self.attn1 = WanAttention(config, is_self=True)
        self.attn2 = WanAttention(config, is_self=False)
        self.norm2 = WanLayerNorm(config.dim) if config.cross_attn_norm else None
        self.ffn = WanFeedForward(config)
        self.scale_shift_table = Parameter(initial.zeros()((1, 1, BLOCK_PARTS, config.dim)))

    def _modulation(self, temb: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Scale, shift and gate of attention among patches, and those of the feed-forward part."""
        shift, scale, gate, *last = _parts(self._tensors["scale_shift_table"], temb, BLOCK_PARTS)
        with no_grad():
            return _one_more(scale), shift, gate, _one_more(last[1]), last[0], last[2]

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        prompt: Tensor,
        temb: Tensor,
        rope_params: RotaryEmbeddingParams,
    ) -> Tensor:
        """[B, 1, S, dim], with the text [B, 1, L, dim], what the time tells [B, 1, 6, dim], and a mask of the text."""
        scale, shift, gate, last_scale, last_shift, last_gate = self._modulation(temb)
        x = x + self.attn1(_modulated(x, scale, shift), rope_params=rope_params) * gate
        asking = x if self.norm2 is None else self.norm2(x)
        x = x + self.attn2(asking, context=prompt, mask=mask)
        out: Tensor = x + self.ffn(_modulated(x, last_scale, last_shift)) * last_gate
        return out


def _one_more(tensor: Tensor) -> Tensor:
    return Tensor(stacks.compute(lambda stack: stack + np.float32(1), tensor.get_value()), False)


class ProjectionMLP(AbstractModuleBase):
    """Two layers and an activation between them."""

    def __init__(self, config: WanConfig, in_features: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.linear_1 = LinearLayer(in_features, config.dim, weight_init=config.weight_init())
        self.linear_2 = LinearLayer(config.dim, config.dim, weight_init=config.weight_init())
        self._activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """[..., dim]."""
        return self.linear_2(self._activation(self.linear_1(x)))


class WanConditioning(AbstractModuleBase):
    """What times and texts tell the blocks, without gradients."""

    def __init__(self, config: WanConfig) -> None:
        super().__init__()
        self.dim, self.freq_dim = config.dim, config.freq_dim
        self.time_embedder = ProjectionMLP(config, config.freq_dim, silu)
        self.time_proj = LinearLayer(config.dim, BLOCK_PARTS * config.dim, weight_init=config.weight_init())
        self.text_embedder = ProjectionMLP(config, config.text_dim, GeluTanh.apply)

    def forward(self, timesteps: Any, text_embed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of times [B] and texts [B, 1, L, text_dim]: [B, 1, 6, dim] for the blocks, [B, 1, 1, dim] for the end, the text [B, 1, L, dim]."""
        features = timestep_features(timesteps, self.freq_dim)
        with no_grad():
            given = Tensor.from_numpy(features[:, None, None], new_type=DataType.BFLOAT16)
            told = self.time_embedder(given)
            blocks = shapes.reshape(self.time_proj(silu(told)), (len(features), 1, BLOCK_PARTS, self.dim))
            return blocks, told, self.text_embedder(text_embed)


class WanTransformer3D(AbstractModuleBase):
    """One expert: rows that `patchify` made of noisy latents -> rows in the order of `patchify_output_order`."""

    @naming_faults
    def __init__(self, config: WanConfig) -> None:
        super().__init__()
        self.config = config
        init, patch = config.weight_init(), config.patch_size
        self.patch_embed = LinearLayer(
            patch_features(config.in_channels, patch), config.dim, weight_init=init
        )
        self.condition_embedder = WanConditioning(config)
        self.blocks = ModuleList([WanTransformerBlock(config) for _ in range(config.num_layers)])
        self.scale_shift_table = Parameter(initial.zeros()((1, 1, FINAL_PARTS, config.dim)))
        self.proj_out = LinearLayer(config.dim, patch_features(config.out_channels, patch), weight_init=init)

    def forward(
        self,
        tokens: Tensor,
        timesteps: Any,
        text_embed: Tensor,
        rope_params: RotaryEmbeddingParams,
        mask: Tensor | None = None,
    ) -> Tensor:
        """[B, 1, patches, features] -> the same with the features of `out_channels`."""
        x = self.patch_embed(tokens)
        times, told, prompt = self.condition_embedder(timesteps, text_embed)
        for block in self.blocks:
            x = run(
                lambda given, block=block: block(given, mask, prompt, times, rope_params),
                x,
                self.config.runner_type,
            )
        shift, scale = _parts(self._tensors["scale_shift_table"], told, FINAL_PARTS)
        return self.proj_out(_modulated(x, _one_more(scale), shift))
