"""Llama: rotary positions, grouped keys and values, gated feed-forward; whole, cut over an axis, or a stage of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.cache import KvCache, turned, update_for
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType, run
from tt_run.runtime.train.models.sizes import check_sizes
from tt_run.runtime.train.models.transformer import (
    BaseTransformer,
    as_logits,
    initial_in_sections,
    tensor_parallel_size,
)
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase, ModuleBase
from tt_run.runtime.train.modules.layers import DropoutLayer, Embedding, RMSNormLayer
from tt_run.runtime.train.modules.linear import ColumnParallelLinear, LinearLayer, RowParallelLinear
from tt_run.runtime.train.ops import binary, distributed, rope, shapes
from tt_run.runtime.train.ops.matmul import linear
from tt_run.runtime.train.ops.ring_attention import attention, context_positions
from tt_run.runtime.train.ops.unary import silu
from tt_run.runtime.train.parallel.tensor_parallel import SEQUENCE_DIM


@dataclass()
class LlamaConfig:
    """Sizes of a Llama; `intermediate_dim` None means the usual two thirds of four times the width, rounded up to 256."""

    num_heads: int = 6
    num_groups: int = 3
    embedding_dim: int = 384
    intermediate_dim: int | None = None
    dropout_prob: float = 0.0
    theta: float = 10000.0
    num_blocks: int = 6
    vocab_size: int = 256
    max_sequence_length: int = 256
    runner_type: RunnerType = RunnerType.Default
    weight_tying: WeightTyingType = WeightTyingType.Disabled
    scaling_factor: float = 0.0
    high_freq_factor: float = 4.0
    low_freq_factor: float = 1.0
    original_context_length: int = 0
    sequence_parallel: bool = False
    """Between the products of a model that is cut over the tensor-parallel axis, each device holds its part of the positions."""

    def check(self) -> None:
        """Raise TypeError for sizes that are no numbers, ValueError for those below 1, RuntimeError for what does not divide and a tied head that is cut."""
        check_sizes(self)
        if self.sequence_parallel and self.weight_tying is WeightTyingType.Enabled:
            raise RuntimeError(
                "weight_tying: with sequence_parallel the head is cut over the axis and the embedding is not; disable it"
            )
        for name in ("max_sequence_length", "embedding_dim"):
            size = getattr(self, name)
            if size % TILE_SIZE:
                raise RuntimeError(
                    f"{name} should be divisible by {TILE_SIZE} due to current limitations in tensor. Provided {name}={size}"
                )
        if self.embedding_dim % self.num_heads or self.num_heads % self.num_groups:
            raise RuntimeError(
                f"{self.embedding_dim} features, {self.num_heads} heads and {self.num_groups} groups do not divide into each other; help: num_groups that divides num_heads, which divides embedding_dim"
            )

    @property
    def hidden(self) -> int:
        """Width of the feed-forward layers."""
        if self.intermediate_dim:
            return self.intermediate_dim
        return -(-(2 * 4 * self.embedding_dim // 3) // 256) * 256


def _layer(
    inputs: int, outputs: int, parallel: str | None, sequence: bool = False, **settings: Any
) -> ModuleBase:
    """A bias-free layer from N(0, 0.02): whole, cut by "column" or cut by "row" with a cut input; `sequence`: between cut positions."""
    weights = settings.pop("weight_init", None) or initial.normal(0.0, 0.02)
    if parallel == "column":
        return ColumnParallelLinear(
            inputs, outputs, False, weight_init=weights, sequence_parallel=sequence, **settings
        )
    if parallel == "row":
        return RowParallelLinear(
            inputs, outputs, False, weights, input_is_parallel=True, sequence_parallel=sequence
        )
    return LinearLayer(inputs, outputs, False, weights)


class GroupedQueryAttention(AbstractModuleBase):
    """Attention whose heads share keys and values in groups, with rotary positions."""

    def __init__(self, config: LlamaConfig, parameters: rope.RotaryEmbeddingParams, parallel: bool) -> None:
        super().__init__()
        parts = tensor_parallel_size() if parallel else 1
        if config.num_groups % parts:
            raise RuntimeError(
                f"{config.num_groups} groups do not divide over {parts} tensor-parallel devices; help: a multiple of {parts} in num_groups, or fewer devices on the axis"
            )
        self.heads, self.groups, self.rope_parameters = (
            config.num_heads // parts,
            config.num_groups // parts,
            parameters,
        )
        width, head = config.embedding_dim, config.embedding_dim // config.num_heads
        column, row = ("column", "row") if parts > 1 else (None, None)
        weights = initial.normal(0.0, 0.02)
        cut = config.sequence_parallel
        self.q_linear = _layer(width, width, column, cut)
        self.kv_linear = _layer(
            width,
            2 * config.num_groups * head,
            column,
            cut,
            weight_init=initial_in_sections(weights, 2, 2, parts) if parts > 1 else weights,
        )
        self.out_linear = _layer(width, width, row, cut)
        self.dropout = DropoutLayer(config.dropout_prob)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        cache: KvCache | None = None,
        layer: int = 0,
        new_tokens: int | None = None,
    ) -> Tensor:
        """[B, 1, S, D] -> the same shape; with a cache, S new positions after those it holds."""
        query, key, value = shapes.grouped_heads_creation(
            self.q_linear(x), self.kv_linear(x), self.heads, self.groups
        )
        start = 0 if cache is None else cache.position
        query, key = (turned(t, self.rope_parameters, start, new_tokens) for t in (query, key))
        if cache is not None:
            key, value = update_for(cache, layer, key, value, mask, new_tokens)
        mixed = shapes.heads_fusion(attention(query, key, value, mask))
        return self.dropout(self.out_linear(mixed))


class LlamaMLP(AbstractModuleBase):
    """w2(silu(w1 x) * w3 x)."""

    def __init__(self, config: LlamaConfig, parallel: bool) -> None:
        super().__init__()
        column, row = ("column", "row") if parallel and tensor_parallel_size() > 1 else (None, None)
        cut = config.sequence_parallel
        self.w1 = _layer(config.embedding_dim, config.hidden, column, cut)
        self.w3 = _layer(config.embedding_dim, config.hidden, column, cut)
        self.w2 = _layer(config.hidden, config.embedding_dim, row, cut)
        self.dropout = DropoutLayer(config.dropout_prob)

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        return self.dropout(self.w2(binary.mul(silu(self.w1(x)), self.w3(x))))


class LlamaBlock(AbstractModuleBase):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(
        self, config: LlamaConfig, parameters: rope.RotaryEmbeddingParams, parallel: bool = False
    ) -> None:
        super().__init__()
        axis = sequence_axis(config, parallel)
        self.attention_norm = RMSNormLayer(config.embedding_dim, sequence_axis=axis)
        self.attention = GroupedQueryAttention(config, parameters, parallel)
        self.mlp_norm = RMSNormLayer(config.embedding_dim, sequence_axis=axis)
        self.mlp = LlamaMLP(config, parallel)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        cache: KvCache | None = None,
        layer: int = 0,
        new_tokens: int | None = None,
    ) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        x = binary.add(x, self.attention(self.attention_norm(x), mask, cache, layer, new_tokens))
        return binary.add(x, self.mlp(self.mlp_norm(x)))


class Llama(BaseTransformer):
    """Token embedding, blocks, final norm and head; `stage` builds only some blocks, with or without the two ends.

    Blocks keep their global numbers in their names. The initial weights of a stage are those of the whole model: numbers of what it does not
    build are drawn and dropped.
    """

    def __init__(
        self,
        config: LlamaConfig,
        *,
        parallel: bool = False,
        stage: Iterable[int] | None = None,
        first: bool = True,
        last: bool = True,
    ) -> None:
        super().__init__()
        config.check()
        self.create_name("llama")
        self.config, self.first, self.last = config, first, last
        scaling = rope.RopeScalingParams(
            config.original_context_length,
            config.scaling_factor,
            config.high_freq_factor,
            config.low_freq_factor,
        )
        parameters = rope.build_rope_params(
            config.max_sequence_length,
            config.embedding_dim // config.num_heads,
            config.theta,
            scaling,
            *context_positions(),
        )
        mine = set(range(config.num_blocks) if stage is None else stage)
        self.numbers = sorted(mine)
        self.tok_emb = _kept(Embedding(config.vocab_size, config.embedding_dim), first)
        for number in range(config.num_blocks):
            block = LlamaBlock(config, parameters, parallel)
            if number in mine:
                setattr(self, f"llama_block_{number}", block)
        self.sequence_axis = sequence_axis(config, parallel)
        self.ln_fc = _kept(RMSNormLayer(config.embedding_dim, sequence_axis=self.sequence_axis), last)
        self.tied = config.weight_tying is WeightTyingType.Enabled
        if self.tied and not (first and last):
            raise RuntimeError(
                "weight_tying: embedding and head are on different stages of a pipeline; disable it"
            )
        cut = parallel and tensor_parallel_size() > 1
        settings = {"gather_output": True} if cut else {}
        head = (
            None
            if self.tied
            else _layer(
                config.embedding_dim,
                config.vocab_size,
                "column" if cut else None,
                config.sequence_parallel,
                **settings,
            )
        )
        self.fc = _kept(head, last)

    def forward(
        self,
        tensor: Tensor,
        mask: Tensor | None = None,
        kv_cache: KvCache | None = None,
        new_tokens: int | None = None,
    ) -> Tensor:
        """ids [B, 1, 1, T] (or activations, past the first stage) -> logits [B, 1, T, vocabulary] (or activations).

        With a cache the ids are those after the cached ones; `new_tokens` of them count, the rest is padding and not kept.
        """
        if self.sequence_axis is not None and kv_cache is not None:
            raise RuntimeError("a KvCache needs all positions on every device; help: sequence_parallel=False")
        x = tensor
        if self.tok_emb is not None:
            x = self.tok_emb(tensor)
            if self.sequence_axis is not None:
                x = distributed.scatter(x, SEQUENCE_DIM, self.sequence_axis)
        for number in self.numbers:
            block = self._modules[f"llama_block_{number}"]
            if kv_cache is None:
                x = run(partial(_masked, block, mask), x, self.config.runner_type)
            else:
                x = block(x, mask, kv_cache, number, new_tokens)
        if kv_cache is not None:
            kv_cache.advance(new_tokens if new_tokens is not None else tensor.shape()[-1])
        if self.ln_fc is None:
            return x
        x = self.ln_fc(x)
        if self.tied:
            return as_logits(linear(x, self._modules["tok_emb"]._tensors["weight"]))
        return as_logits(self._modules["fc"](x))

    def load_from_safetensors(self, directory: str) -> None:
        """Load weights of a Hugging Face Llama from every *.safetensors file of a directory."""
        from tt_run.runtime.train.models.loading import load_llama

        load_llama(self, directory, self.config.num_heads, self.config.num_groups)


def sequence_axis(config: LlamaConfig, parallel: bool) -> int | None:
    """The tensor-parallel axis, over which positions are cut; None where they are whole. Raises RuntimeError without tensor parallelism."""
    if not config.sequence_parallel:
        return None
    if not parallel:
        raise RuntimeError(
            "sequence_parallel goes over the tensor-parallel axis; help: create a distributed model"
        )
    if tensor_parallel_size() == 1:
        return None
    return AutoContext.get_instance().get_parallelism_context().get_tp_axis()


def _kept(module: Any, keep: bool) -> Any:
    return module if keep else None


def _masked(block: ModuleBase, mask: Tensor | None, x: Tensor) -> Tensor:
    out: Tensor = block(x, mask)
    return out


def create_llama_model(config: LlamaConfig) -> Llama:
    """A Llama on the open device."""
    return Llama(config)


def create_distributed_llama_model(config: LlamaConfig) -> Llama:
    """A Llama cut over the tensor-parallel axis. Needs the parallelism context."""
    return Llama(config, parallel=True)
