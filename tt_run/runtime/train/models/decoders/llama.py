"""Llama as upstream's Python package has it: configuration with Hugging Face's names, blocks in a list, biases where a file has them.

The numbers are those of `models/llama.py`, which has the names of the documents.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.cache import KvCache, turned, update_for
from tt_run.runtime.train.models.decoders.flops import swiglu_width
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType, run
from tt_run.runtime.train.models.transformer import as_logits, initial_in_sections, tensor_parallel_size
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase, ModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.layers import DropoutLayer, Embedding, RMSNormLayer
from tt_run.runtime.train.modules.linear import (
    ColumnParallelLinear,
    FeatureParallelEmbedding,
    LinearLayer,
    RowParallelLinear,
    VocabParallelEmbedding,
)
from tt_run.runtime.train.ops import binary, distributed, packed, rope, shapes
from tt_run.runtime.train.ops.distributed import GradOutputType
from tt_run.runtime.train.ops.ring_attention import attention, context_positions
from tt_run.runtime.train.parallel.tensor_parallel import SEQUENCE_DIM, EmbeddingPlacement, TPStrategy

NO_CACHE = (
    "sequence_parallel does not support a KvCache, which needs all positions on every device; "
    "help: sequence_parallel=False"
)


def layer(
    inputs: int,
    outputs: int,
    bias: bool = False,
    cut: str = "",
    sections: int | tuple[int, ...] = 1,
    sequence: bool = False,
    weight: initial.Initializer | None = None,
) -> ModuleBase:
    """A layer from N(0, 0.02) with a bias of zeros: whole, cut by "column" (a joint one of `sections`) or by "row" with a cut input."""
    weight, zeros = weight or initial.normal(0.0, 0.02), initial.zeros()
    if cut == "column":
        parts = tensor_parallel_size()
        if sections != 1:
            weight, zeros = (
                initial_in_sections(weight, 2, sections, parts),
                initial_in_sections(zeros, 3, sections, parts),
            )
        return ColumnParallelLinear(
            inputs, outputs, bias, weight_init=weight, bias_init=zeros, sequence_parallel=sequence
        )
    if cut == "row":
        return RowParallelLinear(
            inputs, outputs, bias, weight, zeros, input_is_parallel=True, sequence_parallel=sequence
        )
    return LinearLayer(inputs, outputs, bias, weight, zeros)


def sequence_axis() -> int | None:
    """The tensor-parallel axis, over which sequence parallelism cuts positions; None when it has one device."""
    parallelism = AutoContext.get_instance().get_parallelism_context()
    return parallelism.get_tp_axis() if parallelism.get_tp_size() > 1 else None


def table(
    placement: EmbeddingPlacement | None, config: LlamaConfig, weights: initial.Initializer
) -> Embedding | VocabParallelEmbedding | FeatureParallelEmbedding:
    """The table of token embeddings as it is to lie over the tensor-parallel axis."""
    sizes = whole_tiles(config.vocab_size), config.hidden_size
    if placement is EmbeddingPlacement.VocabParallel:
        return VocabParallelEmbedding(*sizes, weight_init=weights)
    if placement is EmbeddingPlacement.FeatureParallel:
        return FeatureParallelEmbedding(*sizes, weight_init=weights)
    return Embedding(*sizes, weights)


def output_head(
    placement: EmbeddingPlacement | None, config: LlamaConfig, weights: initial.Initializer
) -> ColumnParallelLinear | RowParallelLinear | LinearLayer:
    """The layer of logits: whole without an axis (`placement` None); else cut by the vocabulary, or, tied to a table, as that table is."""
    sizes = config.hidden_size, whole_tiles(config.vocab_size), False
    tied = config.weight_tying is WeightTyingType.Enabled
    if placement is None or (tied and placement is EmbeddingPlacement.Replicated):
        return LinearLayer(*sizes, weights)
    if tied and placement is EmbeddingPlacement.FeatureParallel:
        return RowParallelLinear(*sizes, weight_init=weights)
    return ColumnParallelLinear(
        *sizes, weights, gather_output=True, sequence_parallel=config.sequence_parallel
    )


class Share:
    """Some of the features that a joint layer makes, where a program names the layer that once made them alone: `attention.q_linear(x)`.

    A layer that a program sets under that name takes its place.
    """

    def __init__(self, joint: str, *, first: bool, of: Callable[[Any], tuple[int, int]]) -> None:
        self._joint, self._first, self._of = joint, first, of

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        return self if module is None else partial(self._features, module)

    def _features(self, module: Any, x: Tensor) -> Tensor:
        made = getattr(module, self._joint)(x)
        share, whole = self._of(module)
        width = made.shape()[-1]
        middle = width * share // whole
        return shapes.features(made, *((0, middle) if self._first else (middle, width - middle)))


def _queries(attention: GroupedQueryAttention) -> tuple[int, int]:
    return attention.num_heads, attention.num_heads + 2 * attention.num_groups


class GroupedQueryAttention(AbstractModuleBase):
    """Attention whose heads share keys and values in groups, with rotary positions; `tp_strategy` says both of `use_tp` and `sequence_parallel`."""

    q_linear = Share("qkv_linear", first=True, of=_queries)
    kv_linear = Share("qkv_linear", first=False, of=_queries)

    def __init__(
        self,
        embedding_size: int,
        num_heads: int,
        num_groups: int,
        dropout: float,
        rope_params: rope.RotaryEmbeddingParams,
        bias_linears: bool = False,
        use_tp: bool = False,
        sequence_parallel: bool = False,
        tp_strategy: TPStrategy | None = None,
        out_proj_init: initial.Initializer | None = None,
    ) -> None:
        super().__init__()
        if tp_strategy is not None:
            use_tp, sequence_parallel = tp_strategy.tensor_parallel, tp_strategy.sequence_parallel
        if embedding_size % num_heads:
            raise ValueError(
                "Embedding size must be divisible by the number of attention heads. "
                f"Provided embedding_size={embedding_size}, num_heads={num_heads}; help: a hidden_size that is a multiple of {num_heads}"
            )
        parts = tensor_parallel_size() if use_tp else 1
        if num_heads % parts or num_groups % parts:
            raise ValueError(
                f"num_heads ({num_heads}) and num_groups ({num_groups}) must be divisible by the tensor-parallel size ({parts}); help: multiples of {parts}, or fewer devices on the axis"
            )
        self.embedding_size, self.rope_params, self.dropout_prob = embedding_size, rope_params, dropout
        self.num_heads, self.num_groups = num_heads // parts, num_groups // parts
        column, row = ("column", "row") if parts > 1 else ("", "")
        joint = (num_heads + 2 * num_groups) * (embedding_size // num_heads)
        self.sequence_parallel = cut = sequence_parallel
        sections = (num_heads, num_groups, num_groups)
        self.qkv_linear = layer(embedding_size, joint, bias_linears, column, sections, cut)
        self.out_linear = layer(
            embedding_size, embedding_size, bias_linears, row, sequence=cut, weight=out_proj_init
        )
        self.dropout = DropoutLayer(dropout)

    def forward(
        self,
        input: Tensor,
        mask: Tensor | None = None,
        kv_cache: KvCache | None = None,
        layer_idx: int | None = None,
        new_tokens: int | None = None,
    ) -> Tensor:
        """[B, 1, S, D] -> the same shape; with a cache, S new positions after those it holds. A derived class may define either way anew."""
        if kv_cache is None:
            return self.forward_no_kv(input, mask)
        if layer_idx is None:
            raise ValueError(
                "forward with kv_cache requires layer_idx; help: layer_idx=0 for the first block"
            )
        if self.sequence_parallel:
            raise NotImplementedError(NO_CACHE)
        return self.forward_kv(input, mask, kv_cache, layer_idx, new_tokens)

    def forward_no_kv(self, input: Tensor, mask: Tensor | None = None) -> Tensor:
        """All positions at once."""
        query, key, value = self._heads(input)
        return self._out(query, key, value, mask)

    def forward_kv(
        self, input: Tensor, mask: Tensor | None, kv_cache: KvCache, layer_idx: int, new_tokens: int | None
    ) -> Tensor:
        """New positions after those that the cache holds; keys are as many as the mask has columns."""
        query, key, value = self._heads(input, kv_cache.position, new_tokens)
        key, value = update_for(kv_cache, layer_idx, key, value, mask, new_tokens)
        return self._out(query, key, value, mask)

    def _heads(
        self, input: Tensor, start: int = 0, new_tokens: int | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = shapes.heads_creation(self.qkv_linear(input), self.num_heads, self.num_groups)
        query, key = (turned(t, self.rope_params, start, new_tokens) for t in (query, key))
        return query, key, value

    def _out(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        mixed = shapes.heads_fusion(self.sdpa(query, key, value, mask))
        return self.dropout(self.out_linear(mixed))

    def sdpa(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """The attention of heads [B, H, S, E] over groups [B, G, S, E]; a program may put another operation in its place."""
        return attention(query, key, value, mask)


class LlamaMLP(AbstractModuleBase):
    """w2(silu(gate) * up), where one layer makes both: w_gate_up x = [gate | up]."""

    w1 = Share("w_gate_up", first=True, of=lambda _: (1, 2))
    w3 = Share("w_gate_up", first=False, of=lambda _: (1, 2))

    def __init__(
        self,
        embedding_size: int,
        intermediate_size: int | None = None,
        dropout: float = 0.0,
        use_tp: bool = False,
        sequence_parallel: bool = False,
    ) -> None:
        super().__init__()
        cut = sequence_parallel
        wide = intermediate_size or swiglu_width(embedding_size)
        column, row = ("column", "row") if use_tp and tensor_parallel_size() > 1 else ("", "")
        if column and wide % tensor_parallel_size():
            raise RuntimeError(
                "Output features must be divisible by the TP size. "
                f"Output features = {wide}, TP size = {tensor_parallel_size()}"
            )
        self.w_gate_up = layer(embedding_size, 2 * wide, cut=column, sections=2, sequence=cut)
        self.w2 = layer(wide, embedding_size, cut=row, sequence=cut)
        self.dropout = DropoutLayer(dropout)

    def forward(self, input: Tensor) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        return self.dropout(self.w2(packed.gated(self.w_gate_up(input))))


class LlamaBlock(AbstractModuleBase):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(
        self,
        hidden_size: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        rope_params: rope.RotaryEmbeddingParams,
        attention_dropout: float = 0.0,
        mlp_dropout: float = 0.0,
        intermediate_size: int | None = None,
        attention_bias: bool = False,
        use_tp: bool = False,
        sequence_parallel: bool = False,
    ) -> None:
        super().__init__()
        axis = sequence_axis() if sequence_parallel else None
        self.mlp = LlamaMLP(hidden_size, intermediate_size, mlp_dropout, use_tp, sequence_parallel)
        self.attention_norm = RMSNormLayer(hidden_size, sequence_axis=axis)
        self.mlp_norm = RMSNormLayer(hidden_size, sequence_axis=axis)
        self.attention = GroupedQueryAttention(
            hidden_size,
            num_attention_heads,
            num_key_value_heads,
            attention_dropout,
            rope_params,
            attention_bias,
            use_tp,
            sequence_parallel,
        )

    def forward(
        self,
        input: Tensor,
        mask: Tensor | None = None,
        kv_cache: KvCache | None = None,
        layer_idx: int | None = None,
        new_tokens: int | None = None,
    ) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        x = binary.add(
            self.attention(self.attention_norm(input), mask, kv_cache, layer_idx, new_tokens), input
        )
        return binary.add(self.mlp(self.mlp_norm(x)), x)


def run_blocks(
    blocks: ModuleList,
    x: Tensor,
    mask: Tensor | None,
    runner: RunnerType,
    kv_cache: KvCache | None,
    new_tokens: int | None,
) -> Tensor:
    """Activations through the blocks of a decoder; with a cache, which then counts the new tokens."""
    count = x.shape()[-2]
    for number, block in enumerate(blocks):
        if kv_cache is None:
            x = run(lambda inside, block=block: block(inside, mask), x, runner)
        else:
            x = block(x, mask, kv_cache, number, new_tokens)
    if kv_cache is not None:
        kv_cache.advance(count if new_tokens is None else new_tokens)
    return x


class DecoderLlama(AbstractModuleBase):
    """Token embedding, blocks, last norm, head. Parameters are named `Llama/blocks/0/attention/qkv_linear/weight` and so on."""

    @naming_faults
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.create_name("Llama")
        self.config = config
        hidden, parallel = config.hidden_size, config.use_tp and tensor_parallel_size() > 1
        weights, placement = initial.normal(0.0, 0.02), config.embedding_placement if parallel else None
        self.padded_vocab_size = whole_tiles(config.vocab_size)
        self.fc = output_head(placement, config, weights)
        self.tok_emb = table(placement, config, weights)
        if config.weight_tying is WeightTyingType.Enabled:
            self.tok_emb.weight = self.fc.weight
        positions = rope.build_rope_params(
            config.max_position_embeddings,
            hidden // config.num_attention_heads,
            config.rope_theta,
            config.rope_scaling.params(),
            *context_positions(),
        )
        self.blocks = ModuleList(
            LlamaBlock(
                hidden,
                config.num_attention_heads,
                config.num_key_value_heads,
                positions,
                config.attention_dropout,
                config.mlp_dropout,
                config.intermediate_size,
                config.attention_bias,
                config.use_tp,
                config.sequence_parallel,
            )
            for _ in range(config.num_hidden_layers)
        )
        self.sequence_axis = sequence_axis() if config.sequence_parallel else None
        # A head that is cut by the vocabulary gathers the positions itself, with an adapter, too.
        self.head_gathers = isinstance(self.fc, ColumnParallelLinear)
        self.ln_fc = RMSNormLayer(hidden, sequence_axis=self.sequence_axis)

    def forward(
        self,
        input: Tensor,
        mask: Tensor | None = None,
        kv_cache: KvCache | None = None,
        new_tokens: int | None = None,
    ) -> Tensor:
        """ids [B, 1, 1, T] -> logits [B, 1, T, vocabulary]. Without a mask a position sees those up to itself."""
        x = self.tok_emb(input)
        if self.sequence_axis is not None:
            self._check_positions(x, kv_cache)
            x = distributed.scatter(x, 2, self.sequence_axis)
        x = self.ln_fc(run_blocks(self.blocks, x, mask, self.config.runner_type, kv_cache, new_tokens))
        if self.sequence_axis is not None and not self.head_gathers:
            # For another one every device needs them all.
            x = distributed.all_gather(x, SEQUENCE_DIM, self.sequence_axis, GradOutputType.REPLICATED)
        return as_logits(self.fc(x))

    def _check_positions(self, x: Tensor, kv_cache: KvCache | None) -> None:
        """Raise NotImplementedError for a cache, which needs all positions, and ValueError for positions that are no whole tiles on each device."""
        if kv_cache is not None:
            raise NotImplementedError(NO_CACHE)
        # A strategy is the reference's, which cuts whole tiles; the flag alone cuts anywhere.
        count, strict = tensor_parallel_size(), self.config.tp_strategy is not None
        unit = TILE_SIZE * count if strict else count
        if x.shape()[2] % unit:
            said = f"{TILE_SIZE} * tp = {unit}" if strict else f"tp = {unit}"
            raise ValueError(
                f"sequence_parallel needs an input sequence length divisible by {said}, got {x.shape()[2]}; help: a multiple of {unit} positions"
            )
