"""`ttml.parallel`: which form of tensor parallelism a model uses, and which of its parameters see a part of the positions only."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from tt_run.runtime.train.autograd.operation import naming_faults

if TYPE_CHECKING:
    from tt_run.runtime.train.autograd.tensor import Tensor

SEQUENCE_DIM = 2
"""The dimension of positions in activations [B, 1, S, D]."""


class TPStrategy(enum.Enum):
    """NONE: whole layers; TENSOR: features cut over the axis `tp`; TENSOR_SEQUENCE: and positions between the cut products."""

    NONE = "none"
    TENSOR = "tensor"
    TENSOR_SEQUENCE = "tensor_sequence"

    @classmethod
    def from_flags(cls, enable_tp: bool, *, enable_sp: bool = False) -> TPStrategy:
        """What two settings of a configuration mean. Raises ValueError for sequence without tensor parallelism."""
        if enable_sp and not enable_tp:
            raise ValueError(
                "enable_sp requires enable_tp: sequence parallelism goes over the tensor-parallel axis; help: enable_tp=True"
            )
        if enable_sp:
            return cls.TENSOR_SEQUENCE
        return cls.TENSOR if enable_tp else cls.NONE

    @property
    def tensor_parallel(self) -> bool:
        """Whether features are cut."""
        return self is not TPStrategy.NONE

    @property
    def sequence_parallel(self) -> bool:
        """Whether positions are cut."""
        return self is TPStrategy.TENSOR_SEQUENCE


class EmbeddingPlacement(enum.Enum):
    """How a table of embeddings lies over the tensor-parallel axis: whole on each device, its rows cut, or its columns."""

    Replicated = "replicated"
    VocabParallel = "vocab_parallel"
    FeatureParallel = "feature_parallel"

    @classmethod
    def from_string(cls, text: str) -> EmbeddingPlacement:
        """The member that a configuration names. Raises ValueError listing the names."""
        try:
            return cls(text.strip().lower())
        except ValueError:
            raise ValueError(
                f"embedding_placement: {text!r} is not one of {', '.join(member.value for member in cls)}"
            ) from None


@naming_faults
def mark_sequence_parallel(parameter: Tensor) -> None:
    """Note that a parameter, whole on each device, meets other positions on each: its gradient is a sum over the axis."""
    parameter.sequence_parallel = True


@naming_faults
def is_sequence_parallel(parameter: Tensor) -> bool:
    """Whether a parameter meets a part of the positions on each device; its gradients are summed as they arrive."""
    return parameter.sequence_parallel
