"""NanoGPT and GPT-2: the same decoder; they differ in defaults, in how weights start, and in whether the head is tied."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType, run
from tt_run.runtime.train.models.sizes import check_sizes
from tt_run.runtime.train.models.transformer import (
    BaseTransformer,
    GPTBlock,
    LayerNorm,
    PositionalEmbeddingType,
    as_logits,
    positional_embedding,
    tensor_parallel_size,
)
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import ModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.layers import DropoutLayer, Embedding
from tt_run.runtime.train.modules.linear import ColumnParallelLinear, LinearLayer
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.ops.ring_attention import require_whole_positions


@dataclass()
class NanoGPTExperimentalConfig:
    """Settings that choose kernels on devices; the numbers are the same."""

    use_composite_layernorm: bool = False


@dataclass()
class NanoGPTConfig:
    """Sizes of a NanoGPT."""

    vocab_size: int = 50304
    block_size: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    dropout: float = 0.2
    bias: bool = True
    runner_type: RunnerType = RunnerType.Default
    weight_tying: WeightTyingType = WeightTyingType.Disabled
    positional_embedding_type: str | PositionalEmbeddingType = "trainable"
    experimental: NanoGPTExperimentalConfig = field(default_factory=NanoGPTExperimentalConfig)


@dataclass()
class GPT2TransformerConfig:
    """Sizes of a GPT-2."""

    num_heads: int = 6
    embedding_dim: int = 384
    dropout_prob: float = 0.2
    num_blocks: int = 6
    vocab_size: int = 256
    max_sequence_length: int = 256
    runner_type: RunnerType = RunnerType.Default
    weight_tying: WeightTyingType = WeightTyingType.Disabled
    positional_embedding_type: str | PositionalEmbeddingType = "trainable"
    experimental: NanoGPTExperimentalConfig = field(default_factory=NanoGPTExperimentalConfig)


class GPT(BaseTransformer):
    """Token and position embeddings, pre-norm blocks, a final norm, and logits over the vocabulary.

    Under tensor parallelism heads and hidden features are cut over the axis and the head's logits are gathered.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        length: int,
        width: int,
        blocks: int,
        heads: int,
        dropout: float,
        bias: bool,
        runner: RunnerType,
        tied: bool,
        positions: str | PositionalEmbeddingType,
        weight_init: initial.Initializer | None,
        bias_init: initial.Initializer | None,
        parallel: bool,
    ) -> None:
        require_whole_positions("GPT")
        super().__init__()
        self.runner, self.length, self.vocab_size = runner, length, vocab_size
        self.tok_emb = Embedding(vocab_size, width)
        self.pos_emb = positional_embedding(positions, width, length)
        self.drop = DropoutLayer(dropout)
        self.blocks = ModuleList(
            [GPTBlock(width, heads, dropout, bias, weight_init, bias_init, parallel) for _ in range(blocks)]
        )
        self.ln_f = LayerNorm(width, bias)
        self.tied = tied
        if tied:
            self.fc: LinearLayer | ColumnParallelLinear = LinearLayer.sharing_weight(
                self.tok_emb.weight, width, vocab_size
            )
        else:
            cut = parallel and tensor_parallel_size() > 1
            make = partial(ColumnParallelLinear, gather_output=True) if cut else LinearLayer
            self.fc = make(width, vocab_size, False, weight_init=weight_init)

    def forward(self, idx: Tensor, mask: Tensor | None = None) -> Tensor:
        """ids [B, 1, 1, T] and a mask [1, 1, T, T] -> logits [B, 1, T, vocabulary]. Raises RuntimeError when T is too long."""
        if idx.shape()[-1] > self.length:
            raise RuntimeError(
                f"the sequence has {idx.shape()[-1]} tokens, the model was made for {self.length}; help: shorter texts, or a larger block_size"
            )
        x = self.drop(self.pos_emb(self.tok_emb(idx)))
        for block in self.blocks:
            x = run(partial(_masked, block, mask), x, self.runner)
        return as_logits(self.fc(self.ln_f(x)))

    @property
    def ln_f_gamma(self) -> Parameter:
        """The gain of the last norm."""
        return self.ln_f.gamma

    @property
    def ln_f_beta(self) -> Parameter | None:
        """The shift of the last norm, None without one."""
        return self.ln_f.beta

    def load_from_safetensors(self, directory: str) -> None:
        """Load weights of a Hugging Face GPT-2 from every *.safetensors file of a directory."""
        from tt_run.runtime.train.models.loading import load_gpt2

        load_gpt2(self, directory)


def _masked(block: ModuleBase, mask: Tensor | None, x: Tensor) -> Tensor:
    out: Tensor = block(x, mask)
    return out


class NanoGPT(GPT):
    """Linear layers start from U(-k, k), embeddings from N(0, 0.02); the head is tied only where the configuration says so."""

    @naming_faults
    def __init__(self, config: NanoGPTConfig, parallel: bool = False) -> None:
        check_sizes(config)
        super().__init__(
            vocab_size=config.vocab_size,
            length=config.block_size,
            width=config.n_embd,
            blocks=config.n_layer,
            heads=config.n_head,
            dropout=config.dropout,
            bias=config.bias,
            runner=config.runner_type,
            tied=config.weight_tying is WeightTyingType.Enabled,
            positions=config.positional_embedding_type,
            weight_init=None,
            bias_init=None,
            parallel=parallel,
        )
        self.config = config


class GPT2(GPT):
    """Weights start from N(0, 0.02), biases from zero."""

    @naming_faults
    def __init__(self, config: GPT2TransformerConfig, parallel: bool = False) -> None:
        check_sizes(config)
        super().__init__(
            vocab_size=config.vocab_size,
            length=config.max_sequence_length,
            width=config.embedding_dim,
            blocks=config.num_blocks,
            heads=config.num_heads,
            dropout=config.dropout_prob,
            bias=True,
            runner=config.runner_type,
            tied=config.weight_tying is WeightTyingType.Enabled,
            positions=config.positional_embedding_type,
            weight_init=initial.normal(0.0, 0.02),
            bias_init=initial.zeros(),
            parallel=parallel,
        )
        self.config = config


def create_nanogpt(config: NanoGPTConfig) -> NanoGPT:
    """A NanoGPT on the open device."""
    return NanoGPT(config)


def create_gpt2_model(config: GPT2TransformerConfig) -> GPT2:
    """A GPT-2 on the open device."""
    return GPT2(config)


def create_distributed_gpt2_model(config: GPT2TransformerConfig) -> GPT2:
    """A GPT-2 cut over the tensor-parallel axis. Needs the parallelism context."""
    return GPT2(config, parallel=True)


def create_distributed_nanogpt(config: NanoGPTConfig) -> NanoGPT:
    """A NanoGPT cut over the tensor-parallel axis. Needs the parallelism context."""
    return NanoGPT(config, parallel=True)
