"""BERT: an encoder that sees both sides of a token; norms come after each part, as in the paper and in Hugging Face's files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.loading import Filling
from tt_run.runtime.train.models.runner import RunnerType, run
from tt_run.runtime.train.models.safetensors import Weights
from tt_run.runtime.train.models.sizes import check_sizes
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.layers import DropoutLayer, Embedding
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.ops import binary, norms, pieces, shapes
from tt_run.runtime.train.ops.attention import scaled_dot_product_attention
from tt_run.runtime.train.ops.ring_attention import require_whole_positions
from tt_run.runtime.train.ops.unary import gelu, tanh


@dataclass()
class BertConfig:
    """Sizes of a BERT; the defaults are those of BERT base."""

    vocab_size: int = 30522
    max_sequence_length: int = 512
    embedding_dim: int = 768
    intermediate_size: int = 3072
    num_heads: int = 12
    num_blocks: int = 12
    dropout_prob: float = 0.1
    layer_norm_eps: float = 1e-12
    use_token_type_embeddings: bool = True
    type_vocab_size: int = 2
    use_pooler: bool = False
    runner_type: RunnerType = RunnerType.Default


@dataclass(frozen=True)
class BertIntermediates:
    """Tensors [B, 1, S, D] on the way through a BERT: those of a list have one for each block."""

    embeddings: Tensor
    block_attention_outputs: list[Tensor]
    block_outputs: list[Tensor]
    final_output: Tensor


class _Norm(AbstractModuleBase):
    """Layer normalisation with the configuration's epsilon."""

    def __init__(self, features: int, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.gamma = Parameter(initial.ones()((1, 1, 1, features)))
        self.beta = Parameter(initial.zeros()((1, 1, 1, features)))

    def forward(self, x: Tensor) -> Tensor:
        """Normalised over the last dimension."""
        return norms.layernorm_of(x, self._tensors["gamma"], self._tensors["beta"], self.epsilon)


def _layer(inputs: int, outputs: int) -> LinearLayer:
    return LinearLayer(inputs, outputs, True, initial.normal(0.0, 0.02), initial.zeros())


class BertSelfAttention(AbstractModuleBase):
    """Every position sees every other that the mask does not hide."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(
                f"embedding_dim {width} does not divide into {heads} heads; help: a multiple of num_heads"
            )
        self.heads = heads
        self.qkv_linear = _layer(width, 3 * width)
        self.out_linear = _layer(width, width)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        query, key, value = shapes.heads_creation(self.qkv_linear(x), self.heads)
        return self.out_linear(shapes.heads_fusion(scaled_dot_product_attention(query, key, value, mask)))


class BertAttention(AbstractModuleBase):
    """norm(x + dropout(attention(x)))."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.self_attention = BertSelfAttention(config.embedding_dim, config.num_heads)
        self.dropout = DropoutLayer(config.dropout_prob)
        self.norm = _Norm(config.embedding_dim, config.layer_norm_eps)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        return self.norm(binary.add(x, self.dropout(self.self_attention(x, mask))))


class BertMLP(AbstractModuleBase):
    """norm(x + dropout(dense2(gelu(dense1(x)))))."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense1 = _layer(config.embedding_dim, config.intermediate_size)
        self.dense2 = _layer(config.intermediate_size, config.embedding_dim)
        self.dropout = DropoutLayer(config.dropout_prob)
        self.norm = _Norm(config.embedding_dim, config.layer_norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        return self.norm(binary.add(x, self.dropout(self.dense2(gelu(self.dense1(x))))))


class BertBlock(AbstractModuleBase):
    """Attention, then the feed-forward part."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = BertAttention(config)
        self.mlp = BertMLP(config)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """[B, 1, S, D] or [B, S, D], and a mask [B, 1, 1, S] of ones where a position may be seen -> [B, 1, S, D]."""
        if x.get_rank() == 3:
            batch, length, width = x.shape()
            x = shapes.reshape(x, (batch, 1, length, width))
        return self.mlp(self.attention(x, mask))


class Bert(AbstractModuleBase):
    """Token, position and segment embeddings, a norm, and blocks."""

    @naming_faults
    def __init__(self, config: BertConfig) -> None:
        require_whole_positions("BERT")
        check_sizes(config)
        super().__init__()
        self.create_name("bert")
        self.config = config
        width = config.embedding_dim
        self.token_embeddings = Embedding(config.vocab_size, width)
        self.position_embeddings = Embedding(config.max_sequence_length, width)
        self.token_type_embeddings = (
            Embedding(config.type_vocab_size, width) if config.use_token_type_embeddings else None
        )
        self.embedding_norm = _Norm(width, config.layer_norm_eps)
        self.embedding_dropout = DropoutLayer(config.dropout_prob)
        for number in range(config.num_blocks):
            setattr(self, f"bert_block_{number}", BertBlock(config))
        self.pooler = _layer(width, width) if config.use_pooler else None

    def get_block(self, index: int) -> BertBlock:
        """A block by its number. Raises IndexError when there is none."""
        if not 0 <= index < self.config.num_blocks:
            raise IndexError(f"block {index}: the model has {self.config.num_blocks}")
        block: BertBlock = getattr(self, f"bert_block_{index}")
        return block

    def get_embeddings(self, input_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """ids [B, 1, 1, S] and segments of the same shape (all 0 without), as integers or whole floats -> [B, 1, S, D], normalised.

        Raises RuntimeError for a sequence that is too long, and for floats that are no ids.
        """
        length = input_ids.shape()[-1]
        if length > self.config.max_sequence_length:
            raise RuntimeError(
                f"the sequence has {length} tokens, the model was made for {self.config.max_sequence_length}; help: shorter texts, or a larger max_sequence_length"
            )
        x = binary.add(
            self.token_embeddings(_counted(input_ids)), self.position_embeddings(_ids(np.arange(length)))
        )
        if self.token_type_embeddings is not None:
            if token_type_ids is None:
                token_type_ids = _ids(np.zeros(length))
            x = binary.add(x, self.token_type_embeddings(_counted(token_type_ids)))
        return self.embedding_dropout(self.embedding_norm(x))

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
    ) -> Tensor:
        """ids [B, 1, 1, S], a mask [B, 1, 1, S] of ones for tokens and zeros for padding -> [B, 1, S, D]; [B, 1, 1, D] with a pooler."""
        x = self.get_embeddings(input_ids, token_type_ids)
        for number in range(self.config.num_blocks):
            block = self.get_block(number)
            x = run(lambda inside, block=block: block(inside, attention_mask), x, self.config.runner_type)
        if self.pooler is None:
            return x
        batch, _, _, width = x.shape()
        return tanh(self.pooler(pieces.cut(x, (0, 0, 0, 0), (batch, 1, 1, width))))

    def forward_with_intermediates(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
    ) -> BertIntermediates:
        """What `forward` makes on its way, for comparisons layer by layer; a pooler is left out."""
        x = embeddings = self.get_embeddings(input_ids, token_type_ids)
        attended, finished = [], []
        for number in range(self.config.num_blocks):
            block = self.get_block(number)
            attended.append(block.attention(x, attention_mask))
            x = block.mlp(attended[-1])
            finished.append(x)
        return BertIntermediates(embeddings, attended, finished, x)

    def load_model_from_safetensors(self, path: str) -> None:
        """Fill the model from a file of Hugging Face's, or a directory of them, whose positions beyond `max_sequence_length` are left out. Raises FileNotFoundError without it, RuntimeError for a matrix of another size."""
        stored = Weights(path, "bert.")
        filling = Filling(self.get_name(), self.parameters())
        for name in stored:
            if ".attention.self.query." in name:
                self._fill_joint(filling, stored, name)
            elif (place := _place(name)) is not None:
                rows = self.config.max_sequence_length if place.startswith("position_") else None
                filling.put(place, stored[name][:rows], name)
        filling.report(set(stored))

    def _fill_joint(self, filling: Filling, stored: Weights, query: str) -> None:
        """Queries, keys and values are one matrix here."""
        sources = [query.replace("query", part) for part in ("query", "key", "value")]
        number, kind = query.split(".")[2], query.rpartition(".")[2]
        joint = np.concatenate([stored[name] for name in sources])
        filling.put(f"bert_block_{number}/attention/self_attention/qkv_linear/{kind}", joint, *sources)


_ENDS = {
    "embeddings.word_embeddings": "token_embeddings",
    "embeddings.position_embeddings": "position_embeddings",
    "embeddings.token_type_embeddings": "token_type_embeddings",
    "embeddings.LayerNorm": "embedding_norm",
    "pooler.dense": "pooler",
}
_PARTS = {
    "attention.output.dense": "attention/self_attention/out_linear",
    "attention.output.LayerNorm": "attention/norm",
    "intermediate.dense": "mlp/dense1",
    "output.dense": "mlp/dense2",
    "output.LayerNorm": "mlp/norm",
}


def _place(name: str) -> str | None:
    """Where an array of the file belongs; None for what the model has not."""
    stem, _, kind = name.rpartition(".")
    layer = re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)", stem)
    part = _PARTS.get(layer[2]) if layer else _ENDS.get(stem)
    if part is None:
        return None
    # Older files say gamma and beta themselves.
    own = {"weight": "gamma", "bias": "beta"}.get(kind, kind) if "norm" in part else kind
    return f"bert_block_{layer[1]}/{part}/{own}" if layer else f"{part}/{own}"


def _ids(numbers: np.ndarray) -> Tensor:
    ids = numbers.astype(np.uint32).reshape(1, 1, 1, -1)
    return Tensor.from_numpy(ids, Layout.ROW_MAJOR, DataType.UINT32)


def _counted(ids: Tensor) -> Tensor:
    """Ids that came as float32, as integers: from what was given, as bfloat16 would lose those above 256."""
    if ids.dtype() is DataType.UINT32:
        return ids
    value = ids.get_value(PreferredPrecision.FULL)
    given = value.shards
    numbers: Any = given.data
    if ((numbers < 0) | (numbers != np.floor(numbers))).any():
        raise RuntimeError(
            "Bert: ids are whole numbers; help: from_numpy(ids, new_type=ttnn.DataType.UINT32)"
        )
    counted = given.map(lambda stack: stack.astype(np.uint32))
    return Tensor(value.derive(counted, dtype=DataType.UINT32, layout=Layout.ROW_MAJOR), requires_grad=False)


def create(config: BertConfig) -> Bert:
    """A BERT on the open device."""
    return Bert(config)
