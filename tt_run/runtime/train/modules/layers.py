"""Embedding, normalisation and dropout as modules."""

from __future__ import annotations

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase, RunMode
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.ops import distributed, norms
from tt_run.runtime.train.ops.dropout import dropout, require_probability
from tt_run.runtime.train.ops.embedding import embedding
from tt_run.runtime.train.parallel.tensor_parallel import mark_sequence_parallel


class Embedding(AbstractModuleBase):
    """A table [1, 1, entries, width] from N(0, 0.02)."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, weight_init: initial.Initializer | None = None
    ) -> None:
        super().__init__()
        for name, size in (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)):
            initial.require_size("Embedding", name, size)
        self.weight = Parameter(
            (weight_init or initial.normal(0.0, 0.02))((1, 1, num_embeddings, embedding_dim))
        )

    def forward(self, tensor: Tensor) -> Tensor:
        """ids [B, 1, 1, T] -> [B, 1, T, width]."""
        return embedding(tensor, self._tensors["weight"])


class LayerNormLayer(AbstractModuleBase):
    """Layer normalisation with gamma of ones and, unless `bias` is off, beta of zeros."""

    def __init__(self, features: int, bias: bool = True) -> None:
        super().__init__()
        initial.require_size("LayerNormLayer", "features", features)
        self.gamma = Parameter(initial.ones()((1, 1, 1, features)))
        self.beta = Parameter(initial.zeros()((1, 1, 1, features))) if bias else None

    def forward(self, tensor: Tensor) -> Tensor:
        """Normalised over the last dimension."""
        return norms.layernorm(tensor, self._tensors["gamma"], self._tensors.get("beta"))


class RMSNormLayer(AbstractModuleBase):
    """Root-mean-square normalisation with gamma of ones; `sequence_axis` is a mesh axis over which the positions are cut.

    `use_composite` chooses how devices compute it; the numbers are the same.
    """

    def __init__(
        self,
        features: int,
        epsilon: float = 1e-5,
        use_composite: bool = False,
        *,
        sequence_axis: int | None = None,
    ) -> None:
        super().__init__()
        initial.require_size("RMSNormLayer", "features", features)
        self.epsilon, self.use_composite, self.sequence_axis = epsilon, use_composite, sequence_axis
        self.gamma = Parameter(initial.ones()((1, 1, 1, features)))
        if sequence_axis is not None:
            self.gamma.add_post_materialize_callback(lambda made: mark_sequence_parallel(made.tensor))

    def forward(self, tensor: Tensor) -> Tensor:
        """Normalised over the last dimension."""
        gamma = self._tensors["gamma"]
        if self.sequence_axis is not None:
            # Each device sees some positions: the gradient is the sum of what all of them see.
            gamma = distributed.broadcast(gamma, self.sequence_axis)
        operation = norms.rmsnorm_composite if self.use_composite else norms.rmsnorm
        return operation(tensor, gamma, self.epsilon)


class DropoutLayer(AbstractModuleBase):
    """Dropout in TRAIN mode, nothing in EVAL mode."""

    def __init__(self, probability: float, use_per_device_seed: bool = False) -> None:
        super().__init__()
        require_probability(probability)
        self.probability = probability
        self.use_per_device_seed = use_per_device_seed

    def forward(self, tensor: Tensor) -> Tensor:
        """The masked tensor, or the tensor itself."""
        if self.get_run_mode() is RunMode.EVAL:
            return tensor
        return dropout(tensor, self.probability, self.use_per_device_seed)
