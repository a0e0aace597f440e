"""What the GPT models share: attention, feed-forward, pre-norm blocks; whole, or cut over the tensor-parallel axis."""

from __future__ import annotations

import math

import numpy as np

from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.device_tensor import Logits
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.joint_layout import JointLayout
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.runner import Named
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.layers import DropoutLayer
from tt_run.runtime.train.modules.lazy import deferred
from tt_run.runtime.train.modules.linear import ColumnParallelLinear, LinearLayer, RowParallelLinear
from tt_run.runtime.train.modules.parameter import Buffer, Parameter
from tt_run.runtime.train.ops import binary, norms, shapes
from tt_run.runtime.train.ops.attention import causal_attention
from tt_run.runtime.train.ops.embedding import embedding
from tt_run.runtime.train.ops.unary import gelu
from tt_run.runtime.values import shapes as values


class PositionalEmbeddingType(Named):
    """Positions have numbers that are trained, or sines and cosines."""

    Trainable = 0
    Fixed = 1


class BaseTransformer(AbstractModuleBase):
    """A model of language that can be filled from Hugging Face's files."""

    def load_from_safetensors(self, directory: str) -> None:
        """Load weights from every *.safetensors file of a directory. Raises TypeError for a model that defines no names for them."""
        raise TypeError(f"{type(self).__name__} defines no load_from_safetensors()")


def tensor_parallel_size() -> int:
    """Devices along the tensor-parallel axis, 1 when it is off. Raises RuntimeError before the axes are initialised."""
    return AutoContext.get_instance().get_parallelism_context().get_tp_size()


def as_logits(tensor: Tensor) -> Tensor:
    """A model's output as programs read it: `ttnn.argmax(logits.get_value(), dim=-1).item()` is the token at the last position."""
    tensor.set_value(Logits.like(tensor.get_value(PreferredPrecision.FULL)))
    return tensor


class LayerNorm(AbstractModuleBase):
    """Layer normalisation with gamma of ones and, unless `bias` is off, beta of zeros."""

    def __init__(self, embedding_dim: int, bias: bool = True) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.gamma = Parameter(initial.ones()((1, 1, 1, embedding_dim)))
        self.beta = Parameter(initial.zeros()((1, 1, 1, embedding_dim))) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Normalised over the last dimension."""
        return norms.layernorm(x, self._tensors["gamma"], self._tensors.get("beta"))


class MultiHeadAttention(AbstractModuleBase):
    """Self-attention: query, key and value from one layer, dropout after the output layer.

    Under tensor parallelism each device has some of the heads. The rows of the joint layer are dealt so that a device's part holds its
    heads' queries, keys and values; the numbers drawn are those of the whole model.
    """

    def __init__(
        self,
        embedding_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        weight_init: initial.Initializer | None = None,
        bias_init: initial.Initializer | None = None,
        parallel: bool = False,
    ) -> None:
        super().__init__()
        if embedding_dim % num_heads:
            # An assertion in the reference, which programs expect as one.
            raise AssertionError(
                f"embedding_dim must be divisible by num_heads: {embedding_dim} does not divide into {num_heads} heads; help: a multiple of {num_heads}"
            )
        self.parts = tensor_parallel_size() if parallel else 1
        if num_heads % self.parts:
            raise ValueError(
                f"{num_heads} heads do not divide over {self.parts} tensor-parallel devices; help: a multiple of {self.parts}, or fewer devices on the axis"
            )
        self.heads = num_heads // self.parts
        self.num_heads, self.head_dim = num_heads, embedding_dim // num_heads
        weights = weight_init or initial.fan_in(embedding_dim)
        biases = bias_init or initial.fan_in(embedding_dim)
        joint = (embedding_dim, 3 * embedding_dim, bias)
        if self.parts > 1:
            self.qkv_linear: ColumnParallelLinear | LinearLayer = ColumnParallelLinear(
                *joint,
                weight_init=initial_in_sections(weights, 2, 3, self.parts),
                bias_init=initial_in_sections(biases, 3, 3, self.parts),
            )
            self.out_linear: RowParallelLinear | LinearLayer = RowParallelLinear(
                embedding_dim, embedding_dim, bias, weights, biases, input_is_parallel=True
            )
        else:
            self.qkv_linear = LinearLayer(*joint, weights, biases)
            self.out_linear = LinearLayer(embedding_dim, embedding_dim, bias, weights, biases)
        self.dropout = DropoutLayer(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        query, key, value = shapes.heads_creation(self.qkv_linear(x), self.heads)
        mixed = shapes.heads_fusion(causal_attention(query, key, value, mask))
        return self.dropout(self.out_linear(mixed))


def initial_in_sections(
    make: initial.Initializer, dim: int, sections: int | tuple[int, ...], parts: int
) -> initial.Initializer:
    """An initialiser that draws the whole tensor, then reorders `dim` so that equal cuts hold a part of each section.

    [q | k | v] over two devices becomes [q0 k0 v0 | q1 k1 v1].
    """

    @deferred
    def redrawn(shape: tuple[int, ...], mapper: object = None) -> Tensor:
        joint = JointLayout(dim, sections, parts)
        drawn = make(shape)
        # Without values there is nothing to reorder, and nothing is read.
        whole = values.zeros(shape, np.float32) if values.active() else drawn.to_numpy()
        tensor = initial.place(joint.dealt(whole), mapper)
        tensor.joint = joint
        return tensor

    return redrawn


class GPTMLP(AbstractModuleBase):
    """Feed-forward: four times wider, gelu, back, dropout."""

    def __init__(
        self,
        embedding_dim: int,
        dropout: float = 0.0,
        bias: bool = True,
        weight_init: initial.Initializer | None = None,
        bias_init: initial.Initializer | None = None,
        parallel: bool = False,
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.dropout_prob = dropout
        wide = embedding_dim * 4
        if parallel and tensor_parallel_size() > 1:
            self.fc1: ColumnParallelLinear | LinearLayer = ColumnParallelLinear(
                embedding_dim, wide, bias, weight_init=weight_init, bias_init=bias_init
            )
            self.fc2: RowParallelLinear | LinearLayer = RowParallelLinear(
                wide, embedding_dim, bias, weight_init, bias_init, input_is_parallel=True
            )
        else:
            self.fc1 = LinearLayer(embedding_dim, wide, bias, weight_init, bias_init)
            self.fc2 = LinearLayer(wide, embedding_dim, bias, weight_init, bias_init)
        self.dropout = DropoutLayer(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        return self.dropout(self.fc2(gelu(self.fc1(x))))


class GPTBlock(AbstractModuleBase):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(
        self,
        embedding_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        weight_init: initial.Initializer | None = None,
        bias_init: initial.Initializer | None = None,
        parallel: bool = False,
    ) -> None:
        super().__init__()
        self.ln1 = LayerNorm(embedding_dim, bias)
        self.attention = MultiHeadAttention(
            embedding_dim, num_heads, dropout, bias, weight_init, bias_init, parallel
        )
        self.ln2 = LayerNorm(embedding_dim, bias)
        self.mlp = GPTMLP(embedding_dim, dropout, bias, weight_init, bias_init, parallel)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        x = binary.add(x, self.attention(self.ln1(x), mask))
        return binary.add(x, self.mlp(self.ln2(x)))


class _Positions(AbstractModuleBase):
    """What is added to token embeddings at each position, and the dropout behind it."""

    def __init__(self, sequence_length: int, embedding_dim: int, dropout_prob: float) -> None:
        owner = type(self).__name__
        for name, size in (("sequence_length", sequence_length), ("embedding_dim", embedding_dim)):
            initial.require_size(owner, name, size)
        super().__init__()
        self.sequence_length, self.dropout_prob = sequence_length, dropout_prob
        self.dropout = DropoutLayer(dropout_prob)

    def check(self, x: Tensor) -> int:
        """The positions of embeddings [B, 1, T, D]. Raises ValueError for another rank, and for more than there are."""
        shape, owner = x.shape(), type(self).__name__
        if len(shape) != 4:
            raise ValueError(
                f"{owner}: input tensor must have 4 dimensions. Got rank {len(shape)}; help: [batch, 1, positions, width]"
            )
        if shape[2] > self.sequence_length:
            raise ValueError(
                f"{owner}: input tensor sequence length ({shape[2]}) does not match the expected value ({self.sequence_length}); "
                f"help: at most {self.sequence_length} positions"
            )
        return int(shape[2])


class TrainablePositionalEmbedding(_Positions):
    """A learned vector for each position, added to the token embeddings."""

    def __init__(
        self,
        sequence_length: int,
        embedding_dim: int,
        dropout_prob: float = 0.0,
        weight_init: initial.Initializer | None = None,
    ) -> None:
        super().__init__(sequence_length, embedding_dim, dropout_prob)
        self.weight = Parameter(
            (weight_init or initial.normal(0.0, 0.02))((1, 1, sequence_length, embedding_dim))
        )

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, T, D] plus the first T vectors."""
        from tt_run.runtime.enums import DataType, Layout

        positions = np.arange(self.check(x), dtype=np.uint32).reshape(1, 1, 1, -1)
        ids = Tensor.from_numpy(positions, layout=Layout.ROW_MAJOR, new_type=DataType.UINT32)
        return self.dropout(binary.add(x, embedding(ids, self._tensors["weight"])))


class PositionalEmbedding(_Positions):
    """Sines and cosines of each position, added to the token embeddings; not trained."""

    def __init__(self, sequence_length: int, embedding_dim: int, dropout_prob: float = 0.0) -> None:
        super().__init__(sequence_length, embedding_dim, dropout_prob)
        position = np.arange(sequence_length, dtype=np.float64)[:, None]
        rate = np.exp(np.arange(0, embedding_dim, 2, dtype=np.float64) * (-math.log(10000.0) / embedding_dim))
        table = np.zeros((1, 1, sequence_length, embedding_dim), np.float32)
        table[0, 0, :, 0::2] = np.sin(position * rate)
        table[0, 0, :, 1::2] = np.cos(position * rate)[:, : embedding_dim // 2]
        self.table = table
        self.positions = Buffer(initial.place(table))

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, T, D] plus the table's first T rows."""
        length = self.check(x)
        held = self._buffers["positions"]
        if length != held.shape()[-2]:
            held = initial.place(self.table[:, :, :length])
            held.set_requires_grad(False)
        return self.dropout(binary.add(x, held))


def positional_embedding(
    kind: str | PositionalEmbeddingType, embedding_dim: int, length: int
) -> AbstractModuleBase:
    """The embedding that a configuration names. Raises ValueError for an unknown name."""
    if not isinstance(kind, PositionalEmbeddingType):
        kind = PositionalEmbeddingType.from_string(kind)
    if kind is PositionalEmbeddingType.Trainable:
        return TrainablePositionalEmbedding(length, embedding_dim)
    return PositionalEmbedding(length, embedding_dim)
