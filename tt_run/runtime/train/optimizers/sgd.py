"""Stochastic gradient descent with momentum, as torch.optim.SGD defines it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.native.arguments import check_fields
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.optimizers.base import OptimizerBase, checked_settings, emits_step

Array = npt.NDArray[Any]


@dataclass()
class SGDConfig:
    """Settings of SGD. Raises RuntimeError for combinations that mean nothing, TypeError for a setting of another kind."""

    lr: float = 1e-3
    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.momentum < 0.0:
            raise RuntimeError(f"SGD: momentum is at least 0, not {self.momentum}; help: momentum=0.9")
        if self.nesterov and self.dampening != 0.0:
            raise RuntimeError(
                f"Nesterov momentum requires zero dampening! dampening={self.dampening}; help: dampening=0.0, or nesterov=False"
            )
        if self.nesterov and self.momentum <= 0.0:
            raise RuntimeError(
                f"Nesterov momentum requires a positive momentum! momentum={self.momentum}; help: momentum=0.9, or nesterov=False"
            )
        if self.dampening != 0.0 and self.momentum <= 0.0:
            raise RuntimeError(
                f"Dampening requires a positive momentum! momentum={self.momentum}; help: momentum=0.9, or dampening=0.0"
            )

    @staticmethod
    def make(
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> SGDConfig:
        """The settings, in the order of the reference: dampening before weight_decay."""
        return SGDConfig(lr, momentum, dampening, weight_decay, nesterov)


class SGD(OptimizerBase):
    """p -= lr * (g + wd * p), with momentum the running sum of it; dampening does not apply to the first step."""

    _states: tuple[str, ...] = ("momentum",)
    _kept: ClassVar[Mapping[str, str]] = {
        "momentum_factor": "momentum",
        "dampening": "dampening",
        "weight_decay": "weight_decay",
        "nesterov": "nesterov",
    }

    def __init__(self, parameters: Mapping[str, Tensor], config: SGDConfig) -> None:
        self._config = checked_settings(self, config, SGDConfig)
        super().__init__(parameters, lr=config.lr)

    @emits_step
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        config, lr = self._config, np.float32(self._lr)
        momentum, decay = np.float32(config.momentum), np.float32(config.weight_decay)
        fresh = np.float32(1.0 if self._steps == 0 else 1.0 - config.dampening)

        def kernel(p: Array, gradient: Array, buffer: Array) -> None:
            g = gradient + decay * p if decay else gradient
            if momentum:
                buffer *= momentum
                buffer += fresh * g
                g = g + momentum * buffer if config.nesterov else buffer
            p -= lr * g

        for slot in self._slots.values():
            slot.step(kernel, keeps=bool(momentum))
        self._steps += 1


class SGDComposite(SGD):
    """The same mathematics, made of several kernels on devices; its state is called theta."""

    _states = ("theta",)
    _kept: ClassVar[Mapping[str, str]] = {}
