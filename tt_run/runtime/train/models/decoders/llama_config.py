"""The sizes of a Llama by Hugging Face's names, and what they have to divide."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.native.arguments import check_fields
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType
from tt_run.runtime.train.models.sizes import check_sizes
from tt_run.runtime.train.models.transformer import tensor_parallel_size
from tt_run.runtime.train.ops import rope
from tt_run.runtime.train.parallel.tensor_parallel import EmbeddingPlacement, TPStrategy


@dataclass(frozen=True)
class LlamaRopeScalingConfig:
    """The Llama-3 rule for long contexts; off while factor or original length is 0."""

    scaling_factor: float = 0.0
    high_freq_factor: float = 4.0
    low_freq_factor: float = 1.0
    original_context_length: int = 0

    def __post_init__(self) -> None:
        check_fields(self)

    def params(self) -> rope.RopeScalingParams:
        """As rotary positions take it."""
        return rope.RopeScalingParams(
            self.original_context_length, self.scaling_factor, self.high_freq_factor, self.low_freq_factor
        )


@dataclass(frozen=True)
class LlamaConfig:
    """Sizes of a Llama. Raises TypeError for sizes that are no numbers, ValueError for those that do not divide."""

    hidden_size: int = 384
    intermediate_size: int | None = None
    num_hidden_layers: int = 6
    num_attention_heads: int = 6
    num_key_value_heads: int = 2
    vocab_size: int = 256
    max_position_embeddings: int = 256
    rope_theta: float = 10000.0
    attention_bias: bool = False
    attention_dropout: float = 0.0
    mlp_dropout: float = 0.0
    runner_type: RunnerType = RunnerType.Default
    weight_tying: WeightTyingType = WeightTyingType.Disabled
    rope_scaling: LlamaRopeScalingConfig = field(default_factory=LlamaRopeScalingConfig)
    use_tp: bool = False
    tp_strategy: TPStrategy | None = None
    """Both of `use_tp` and `sequence_parallel` in one word; the axis is the one of the parallelism context."""
    embedding_placement: EmbeddingPlacement = EmbeddingPlacement.Replicated
    sequence_parallel: bool = False
    """Between the products that are cut over the tensor-parallel axis, each device holds its part of the positions."""

    def __post_init__(self) -> None:
        check_fields(self)
        settle_scaling(self, LlamaRopeScalingConfig)
        if self.tp_strategy is not None:
            if not isinstance(self.tp_strategy, TPStrategy):
                raise TypeError(
                    f"tp_strategy must be a TPStrategy, got {self.tp_strategy!r}; help: TPStrategy.TENSOR"
                )
            object.__setattr__(self, "use_tp", self.tp_strategy.tensor_parallel)
            object.__setattr__(self, "sequence_parallel", self.tp_strategy.sequence_parallel)
        if self.sequence_parallel and not self.use_tp:
            raise ValueError("sequence_parallel goes over the tensor-parallel axis; help: use_tp=True")
        if self.tp_strategy is TPStrategy.TENSOR_SEQUENCE:
            self._check_sequence()
        check_decoder(self, "max_position_embeddings", "hidden_size")
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                "Hidden size must be divisible by the number of attention heads. "
                f"Provided hidden_size={self.hidden_size}, num_attention_heads={self.num_attention_heads}; help: a multiple of {self.num_attention_heads}"
            )
        check_sizes(self)

    def _check_sequence(self) -> None:
        """Raise ValueError for positions that are no whole tiles on each device, which the reference's strategy does not take."""
        unit = TILE_SIZE * tensor_parallel_size()
        if self.max_position_embeddings % unit:
            raise ValueError(
                f"sequence parallelism needs max_position_embeddings divisible by {TILE_SIZE} * tp = {unit}, got {self.max_position_embeddings}; help: a multiple of {unit}"
            )


def settle_scaling(config: Any, kind: type) -> None:
    """Put the scaling that changes nothing in the place of None, as Hugging Face's configurations say it; raise TypeError for another kind."""
    if config.rope_scaling is None:
        object.__setattr__(config, "rope_scaling", kind())
    elif not isinstance(config.rope_scaling, kind):
        raise TypeError(
            f"{type(config).__name__}: rope_scaling must be a {kind.__name__}, not {type_name(config.rope_scaling)}; "
            f"help: rope_scaling={kind.__name__}(scaling_factor=8.0, original_context_length=8192)"
        )


def check_decoder(config: Any, *tiled: str) -> None:
    """Raise ValueError for sizes that are no multiple of a tile, heads that are none, and groups that do not divide them."""
    for name in tiled:
        if getattr(config, name) % TILE_SIZE:
            raise ValueError(
                f"{name} must be divisible by {TILE_SIZE} due to current limitations in tensor. Provided {name}={getattr(config, name)}; help: {name}={max(TILE_SIZE, getattr(config, name) // TILE_SIZE * TILE_SIZE)}"
            )
    for name in ("num_attention_heads", "num_key_value_heads"):
        if getattr(config, name) <= 0:
            raise ValueError(
                f"{name} must be a positive integer. Provided {name}={getattr(config, name)}; help: {name}=1 or more"
            )
    if config.num_attention_heads % config.num_key_value_heads:
        raise ValueError(
            "Number of attention heads must be divisible by the number of key/value heads. Provided "
            f"num_attention_heads={config.num_attention_heads}, num_key_value_heads={config.num_key_value_heads}; help: a divisor of {config.num_attention_heads}"
        )
