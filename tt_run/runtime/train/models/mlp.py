"""`ttml.models.mlp`: linear layers with relu between them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.ops.unary import relu


@dataclass()
class MultiLayerPerceptronParameters:
    """Sizes of the layers."""

    input_features: int = 0
    hidden_features: Sequence[int] = field(default_factory=tuple)
    output_features: int = 0

    @staticmethod
    def create(
        input_features: int, hidden_features: Sequence[int], output_features: int
    ) -> MultiLayerPerceptronParameters:
        """These sizes."""
        return MultiLayerPerceptronParameters(input_features, hidden_features, output_features)


class MultiLayerPerceptron(AbstractModuleBase):
    """input -> hidden … -> output."""

    @naming_faults
    def __init__(self, parameters: MultiLayerPerceptronParameters) -> None:
        super().__init__()
        sizes = [parameters.input_features, *parameters.hidden_features, parameters.output_features]
        if min(sizes) < 1:
            raise ValueError(
                f"every layer needs at least one feature, got {sizes}; help: MultiLayerPerceptronParameters(input_features=4, hidden_features=[8], output_features=1)"
            )
        self.layers = ModuleList([LinearLayer(a, b) for a, b in itertools.pairwise(sizes)])

    def forward(self, tensor: Tensor) -> Tensor:
        """[..., input] -> [..., output]."""
        for number, layer in enumerate(self.layers):
            tensor = layer(tensor)
            if number + 1 < len(self.layers):
                tensor = relu(tensor)
        return tensor


def create_mlp_model(parameters: MultiLayerPerceptronParameters) -> MultiLayerPerceptron:
    """The model of these sizes."""
    return MultiLayerPerceptron(parameters)
