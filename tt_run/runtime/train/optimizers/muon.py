"""Muon: momentum whose direction is made orthogonal by a Newton-Schulz iteration; and an optimizer that changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels import gemm
from tt_run.runtime.native.arguments import check_fields
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.optimizers.base import OptimizerBase, checked_settings, emits_step
from tt_run.runtime.train.parallel.sharded_parameters import restore, whole_array

Array = npt.NDArray[Any]

_QUINTIC = tuple(np.float32(c) for c in (3.4445, -4.7750, 2.0315))
_EPSILON = np.float32(1e-7)


@dataclass()
class MuonConfig:
    """Settings of Muon; `ns_steps` counts Newton-Schulz iterations. Raises TypeError for a setting of another kind."""

    lr: float = 1e-3
    momentum: float = 0.95
    ns_steps: int = 5

    def __post_init__(self) -> None:
        check_fields(self)

    @staticmethod
    def make(lr: float = 1e-3, momentum: float = 0.95, ns_steps: int = 5) -> MuonConfig:
        """The settings."""
        return MuonConfig(lr, momentum, ns_steps)


class Muon(OptimizerBase):
    """buffer = momentum * buffer + g (g at the first step), p -= lr * orthogonal(buffer), on the last two dimensions.

    The iteration needs the whole matrix: a sharded parameter is gathered for it, so every rank of its mesh must step together.
    """

    _states = ("momentum_buffer",)
    _kept: ClassVar[Mapping[str, str]] = {"momentum": "momentum", "ns_steps": "ns_steps"}

    def __init__(self, parameters: Mapping[str, Tensor], config: MuonConfig) -> None:
        self._config = checked_settings(self, config, MuonConfig)
        super().__init__(parameters, lr=config.lr, rounded=False)

    @emits_step
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        momentum, lr = np.float32(self._config.momentum), np.float32(self._lr)
        for name, slot in self._slots.items():
            if not slot.tensor.is_grad_initialized():
                continue
            slot.step(lambda p, g, buffer: np.add(buffer * momentum, g, out=buffer))
            value = slot.tensor.get_value(PreferredPrecision.FULL)
            turned = restore(
                value,
                orthogonal(whole_array(value, slot.state[0]), self._config.ns_steps),
                name,
                rounded=False,
            )

            def move(p: Array, direction: Array, buffer: Array) -> None:
                p -= lr * direction

            slot.step(move, turned.shards)
        self._steps += 1


class MuonComposite(Muon):
    """The same mathematics; made of several kernels on devices."""


def orthogonal(matrices: Array, steps: int) -> Array:
    """Matrices (…, rows, columns) brought near to orthogonal ones of the same row and column spaces."""
    a, b, c = _QUINTIC
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = np.ascontiguousarray(np.swapaxes(matrices, -1, -2) if tall else matrices, np.float32)
    x = x / (np.sqrt(np.square(x).sum(axis=(-1, -2), keepdims=True, dtype=np.float32)) + _EPSILON)
    for _ in range(steps):
        square = gemm.matmul(x, np.swapaxes(x, -1, -2))
        x = a * x + gemm.matmul(b * square + c * gemm.matmul(square, square), x)
    return np.ascontiguousarray(np.swapaxes(x, -1, -2)) if tall else x


class NoOp(OptimizerBase):
    """Counts steps and leaves parameters as they are: for measuring forward and backward alone."""

    def __init__(self, parameters: Mapping[str, Tensor], config: Any = None) -> None:
        super().__init__(parameters, lr=0.0)

    @emits_step
    def step(self) -> None:
        """Nothing but the count."""
        self._steps += 1
